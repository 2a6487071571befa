"""The log of solved boards, by itself and in the command."""

import json
from pathlib import Path
from typing import Any

import pytest

from pdb_core.errors import InputError
from pdb_core.journal import Journal
from pdb_core.puzzle import Board, BoardSize, blank_last
from solver import HeuristicSolver, Limits, Solver
from solver.answer_log import AnswerLog
from solver.checkpoint import Subtrees
from solver.progress import Iteration
from solver.requests import Answer, Request
from tests.command_line import BOARD, UNSOLVABLE, pdb, refused
from tests.solving import S3, database_for, solvable_boards

METHOD: dict[str, Any] = {"search": "ida-star", "tables": ["ab" * 32]}
REQUESTS = [
    Request(str(n), Board(tiles, S3), blank_last(S3))
    for n, tiles in enumerate(solvable_boards(S3, blank_last(S3), 4, 1))
]


@pytest.fixture(scope="module")
def answers() -> list[Answer]:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        return [Answer(request, solver.solve(request.board)) for request in REQUESTS]


def write(path: Path, answers: list[Answer]) -> bytes:
    with AnswerLog(path, METHOD) as log:
        for answer in answers:
            log.add(answer)
    return path.read_bytes()


def test_log_gives_back_what_it_was_given(tmp_path: Path, answers: list[Answer]) -> None:
    write(tmp_path / "log", answers[:-1])
    with AnswerLog(tmp_path / "log", METHOD) as log:
        assert log.n_solved == 3
        log.add(answers[-1])
        assert [log.known(answer.request) for answer in answers] == [answer.result for answer in answers]
        for size in (S3, BoardSize(3, 2), BoardSize(17, 17)):  # whose numbers do not fit in bytes
            assert log.known(Request("a", Board(blank_last(size), size), blank_last(size))) is None


def test_boards_that_were_given_up_are_not_logged(tmp_path: Path, answers: list[Answer]) -> None:
    request = answers[0].request
    given_up = HeuristicSolver(S3, request.goal, ["manhattan"]).solve(request.board, limits=Limits(nodes=1))
    assert given_up.length is None
    assert len(write(tmp_path / "log", [Answer(request, given_up)]).splitlines()) == 1


def test_records_that_are_no_answers_and_wrong_solutions_are_refused(tmp_path: Path, answers: list[Answer]) -> None:
    path = tmp_path / "log"
    write(path, answers[:1])
    with Journal(path, "log of pdb solve 3", METHOD, advice="") as journal:
        ((_, fields),) = journal.records()
        journal.append(fields | {"tiles": fields["tiles"][1:]})
    with AnswerLog(path, METHOD) as log, pytest.raises(InputError, match=r"the log .* is damaged: move 1 of the solu"):
        log.known(answers[0].request)
    with Journal(path, "log of pdb solve 3", METHOD, advice="") as journal:
        journal.append({"board": [], "goal": []})
    with pytest.raises(InputError, match=r"the log .* is damaged"):
        AnswerLog(path, METHOD)


def test_command_takes_finished_boards_from_its_log(small_table: str, tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    command = ["solve", "--db", small_table, BOARD, BOARD, UNSOLVABLE, "--log", log, "--format", "ndjson"]
    first, second = pdb(*command, "--threads", "2"), pdb(*command)
    one, same, _ = (json.loads(line) for line in first.stdout.splitlines())
    assert one | {"id": "2"} == same  # searched once: seconds too
    assert (first.returncode, second.returncode) == (3, 3), first.stderr
    assert second.stdout == first.stdout
    assert "1 finished board in" in second.stderr
    refused(pdb("search", "--db", small_table, BOARD, "--plain", "--log", log), 2, "plain false, not true")
    (tmp_path / "old").write_text('{"log": "tile-pdb solve log", "version": 2}\n', encoding="utf-8")
    refused(pdb("solve", BOARD, "--log", str(tmp_path / "old")), 2, r"old is not a log of pdb solve \(format 3\); name")


FINISHED = tuple(Iteration(40 + 2 * i, 10 * 8**i, 5 * 8**i, 0.5 * i) for i in range(10))


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Write a log with a checkpoint: finished thresholds, and two lines about subtrees. Return its lines."""
    monkeypatch.setattr("solver.checkpoint.DIVIDE_ABOVE", 1000)
    monkeypatch.setattr("solver.answer_log._WRITE_S", 0.0)
    with AnswerLog(tmp_path / "log", METHOD) as log:
        checkpoint = log.checkpoint(REQUESTS[0])
        checkpoint.finish_subtrees(38, "old", Subtrees({1}, 1, 1, 1.0))
        checkpoint.finish_threshold(FINISHED)
        checkpoint.finish_subtrees(60, "abc", Subtrees({0, 1, 2, 7}, 100, 50, 1.5))
        checkpoint.finish_subtrees(60, "abc", Subtrees({3}, 10, 5, 2.5))
    return (tmp_path / "log").read_bytes().splitlines(keepends=True)


def subtrees_of(path: Path, lines: list[bytes]) -> Subtrees:
    """Return the finished subtrees in a log of these lines."""
    path.write_bytes(b"".join(lines))
    with AnswerLog(path, METHOD) as log:
        checkpoint = log.checkpoint(REQUESTS[0])
        assert checkpoint.finished == FINISHED
        assert checkpoint.subtrees(60, "another") == checkpoint.subtrees(62, "abc") == Subtrees()
        return checkpoint.subtrees(60, "abc")


def test_log_returns_its_checkpoints(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "log"
    assert subtrees_of(path, lines) == Subtrees({0, 1, 2, 3, 7}, 110, 55, 2.5)
    # Without one of its lines, or with a torn one, less is known.
    assert subtrees_of(path, [*lines[:3], lines[4]]) == Subtrees({3}, 10, 5, 2.5)
    assert subtrees_of(path, [*lines[:4], lines[4][:-1]]) == Subtrees({0, 1, 2, 7}, 100, 50, 1.5)
    with pytest.raises(InputError, match=r"the log .* is damaged: subtrees that are in an earlier line"):
        subtrees_of(path, [*lines, lines[4]])


def test_solved_board_needs_no_checkpoint(tmp_path: Path, lines: list[bytes], answers: list[Answer]) -> None:
    (tmp_path / "log").write_bytes(b"".join(lines))
    for _ in range(2):
        with AnswerLog(tmp_path / "log", METHOD) as log:
            log.add(answers[0])
            assert (log.n_solved, log.n_unfinished) == (1, 0)
