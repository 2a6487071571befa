"""The log of solved boards, by itself and in the command."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, blank_last
from solver import HeuristicSolver, Iteration, Limits
from solver.answers.journal import Journal
from solver.answers.log import AnswerLog
from solver.answers.requests import Answer, Request
from solver.engine.checkpoint import Subtrees
from tests.command_line import BOARD, pdb, refused
from tests.solving import FINISHED, HARDEST_8, S3

METHOD: dict[str, Any] = {"algorithm": "ida-star", "tables": ["ab" * 32]}
REQUEST = Request("1", Board(HARDEST_8, S3), blank_last(S3))


def journal_of(path: Path, method: dict[str, Any] = METHOD) -> Journal:
    return Journal(path, "log of pdb solve 4", method, advice="")


def write(path: Path, **limits: int) -> bytes:
    """Write a log with the answer to REQUEST."""
    found = HeuristicSolver("3x3").solve(REQUEST.board, limits=Limits(**limits))
    with AnswerLog(path, METHOD) as log:
        log.add(Answer(REQUEST, found))
    return path.read_bytes()


def test_boards_that_were_given_up_are_not_logged(tmp_path: Path) -> None:
    assert [len(write(tmp_path / f"log{nodes}", max_nodes=nodes).splitlines()) for nodes in (10**9, 1)] == [2, 1]


def test_answers_of_boards_that_are_not_square_are_logged(tmp_path: Path) -> None:
    board = Board("1 2 3/0 4 5")
    request = Request("1", board, blank_last(board.size))
    found = HeuristicSolver(board.size).solve(board)
    with AnswerLog(tmp_path / "log", METHOD) as log:
        log.add(Answer(request, found))
    with AnswerLog(tmp_path / "log", METHOD) as log:
        assert log.known(request) == found


def test_records_that_are_no_answers_and_wrong_solutions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path)
    with journal_of(path) as journal:
        ((_, fields),) = journal.records()
    for moves in (fields["moves"][1:], [9], [-1]):
        with journal_of(path) as journal:
            list(journal.records())
            journal.append(fields | {"moves": moves})
        with AnswerLog(path, METHOD) as log, pytest.raises(InputError, match=r"the log .* is damaged: move 1 of the s"):
            log.known(REQUEST)
    with journal_of(path) as journal:
        journal.append({"board": [], "goal": []})
    with pytest.raises(InputError, match=r"the log .* is damaged"):
        AnswerLog(path, METHOD)


def test_incomplete_counts_of_earlier_versions_are_not_answers(tmp_path: Path) -> None:
    path, method = tmp_path / "log", METHOD | {"all": True}
    found = HeuristicSolver("3x3").solve_all(REQUEST.board)
    for is_complete in (False, True):
        with journal_of(path, method) as journal:
            journal.append({"width": 3} | asdict(replace(found, is_complete=is_complete)))
        with AnswerLog(path, method) as log:
            assert (log.n_solved, log.known(REQUEST) is not None) == (is_complete, is_complete)


def test_log_of_another_search_is_refused(small_table: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    pdb("solve", "--db", small_table, BOARD, "--log", str(log), code=0)
    refused(pdb("search", "--db", small_table, BOARD, "--plain", "--log", str(log)), 2, "plain false, not true")


def test_log_keeps_thresholds_by_their_time(tmp_path: Path) -> None:
    """Slow heuristics take minutes for the nodes that tables search in half a second."""
    slow = (Iteration(40, 10, 5, 0.001), Iteration(42, 1000, 500, 1.0))
    for finished in (slow, (slow[0], Iteration(42, 10**8, 10**8, 0.1))):
        with AnswerLog(tmp_path / "log", METHOD) as log:
            log.checkpoint(REQUEST).finish_threshold(finished)
    with AnswerLog(tmp_path / "log", METHOD) as log:
        assert log.checkpoint(REQUEST).finished == slow


def test_subtrees_stay_if_earlier_thresholds_had_no_record(tmp_path: Path) -> None:
    """The next run searches those thresholds again. It would log the subtrees twice, and the log would be damaged."""
    quick = (Iteration(58, 10, 5, 0.1),)
    for _ in range(3):
        with AnswerLog(tmp_path / "log", METHOD, write_s=0) as log:
            checkpoint = log.checkpoint(REQUEST)
            assert checkpoint.finished == ()
            checkpoint.finish_threshold(quick)
            checkpoint.finish_subtrees(60, "abc", Subtrees({1}, 100, 50, 1.5))
    assert checkpoint.subtrees(60, "abc") == Subtrees({1}, 100, 50, 1.5)


def test_log_returns_its_checkpoints(tmp_path: Path) -> None:
    """Finished thresholds, and the subtrees of the last division; of the others nothing."""
    path = tmp_path / "log"
    with AnswerLog(path, METHOD, write_s=0) as log:
        checkpoint = log.checkpoint(REQUEST)
        checkpoint.finish_subtrees(38, "old", Subtrees({1}, 1, 1, 1.0))
        checkpoint.finish_threshold(FINISHED)
        checkpoint.finish_subtrees(60, "abc", Subtrees({0, 1, 2, 7}, 100, 50, 1.5))
        for is_new in (True, False):
            assert checkpoint.finish_subtrees(60, "abc", Subtrees({3}, 10, 5, 2.5)) is is_new
    with AnswerLog(path, METHOD) as log:
        checkpoint = log.checkpoint(REQUEST)
        assert checkpoint.finished == FINISHED
        assert checkpoint.subtrees(60, "another") == checkpoint.subtrees(62, "abc") == Subtrees()
        assert checkpoint.subtrees(60, "abc") == Subtrees({0, 1, 2, 3, 7}, 110, 55, 2.5)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[-1]]))
    with pytest.raises(InputError, match=r"the log .* is damaged: subtrees that are in an earlier line"):
        AnswerLog(path, METHOD)
