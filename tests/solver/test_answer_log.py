"""The log of solved boards, by itself and in the command."""

import gzip
import json
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
from tests import ROOT
from tests.command_line import BOARD, pdb, refused
from tests.solver.test_frontier import DIVIDED, PARTITION, UNDIVIDED
from tests.solving import FINISHED, HARDEST_8, S3, node_counts, solver_for

# Log of version 0.2.0.
STOPPED = b"""\
{"journal": "log of pdb solve 4", "algorithm": "ida-star"}
{"width":3,"board":[8,6,7,2,5,4,3,0,1],"goal":[1,2,3,4,5,6,7,8,0],"threshold":29,"division":"16029274905c2b74",\
"subtrees":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31],\
"generated":171,"expanded":106,"seconds":0.019255506000035894,"check":"c45afcc4"}
"""
METHOD: dict[str, Any] = {"algorithm": "ida-star", "tables": ["ab" * 32]}
SUBTREES = Subtrees(60, "abc", {0, 1, 2, 7}, 100, 50, 1.5)
REQUEST = Request("1", Board(HARDEST_8, S3), blank_last(S3))


def journal_of(path: Path, method: dict[str, Any] = METHOD) -> Journal:
    return Journal(path, method)


def write(path: Path, **limits: int) -> bytes:
    """Write a log with the answer to REQUEST."""
    found = HeuristicSolver("3x3").solve(REQUEST.board, limits=Limits(**limits))
    with AnswerLog(path, METHOD) as log:
        log.finish(Answer(REQUEST, found))
    return path.read_bytes()


def test_boards_that_were_given_up_are_not_logged(tmp_path: Path) -> None:
    assert [len(write(tmp_path / f"log{nodes}", max_nodes=nodes).splitlines()) for nodes in (10**9, 1)] == [2, 1]


def test_answers_of_boards_that_are_not_square_are_logged(tmp_path: Path) -> None:
    board = Board("1 2 3/0 4 5")
    request = Request("1", board, blank_last(board.size))
    found = HeuristicSolver(board.size).solve(board)
    with AnswerLog(tmp_path / "log", METHOD) as log:
        log.finish(Answer(request, found))
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
            checkpoint.finish_subtrees(SUBTREES)
    assert checkpoint.subtrees(60, "abc") == SUBTREES


def test_log_returns_its_checkpoints(tmp_path: Path) -> None:
    """Finished thresholds, and the subtrees of the last division; of the others nothing."""
    path = tmp_path / "log"
    with AnswerLog(path, METHOD, write_s=0) as log:
        checkpoint = log.checkpoint(REQUEST)
        checkpoint.finish_subtrees(replace(SUBTREES, threshold=38, division="old"))
        checkpoint.finish_threshold(FINISHED)
        checkpoint.finish_subtrees(SUBTREES)
        for is_new in (True, False):
            assert checkpoint.finish_subtrees(Subtrees(60, "abc", {3}, 10, 5, 2.5)) is is_new
    with AnswerLog(path, METHOD) as log:
        checkpoint = log.checkpoint(REQUEST)
        assert checkpoint.finished == FINISHED
        for threshold, division in ((60, "another"), (62, "abc")):
            assert checkpoint.subtrees(threshold, division) == Subtrees(threshold, division)
        assert checkpoint.subtrees(60, "abc") == Subtrees(60, "abc", {0, 1, 2, 3, 7}, 110, 55, 2.5)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[-1]]))
    with pytest.raises(InputError, match=r"the log .* is damaged: subtrees that are in an earlier line"):
        AnswerLog(path, METHOD)


def test_log_of_weeks_of_searches_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with gzip.open(ROOT / "data" / "random400.log.gz") as file:
        lines = [next(file) for _ in range(20)]
    path.write_bytes(b"".join(lines))
    method, *records = map(json.loads, lines)
    del method["journal"]
    for n_solved in (19, 20):
        with AnswerLog(path, method) as log:
            assert log.n_solved == n_solved
            for record in records:
                solution = log.known(Request("1", Board(record["board"]), tuple(record["goal"])))
                assert list(solution.moves) == record["moves"]
            log.finish(Answer(REQUEST, HeuristicSolver("3x3").solve(REQUEST.board)))
    assert path.read_bytes().startswith(b"".join(lines))


def test_log_of_version_0_2_that_stopped_inside_a_threshold_is_continued(tmp_path: Path) -> None:
    path, method = tmp_path / "log", {"algorithm": "ida-star"}
    path.write_bytes(STOPPED)
    solver, whole = (solver_for(PARTITION, "3x3", tuning=each) for each in (DIVIDED, UNDIVIDED))
    for nodes in (1500, None):
        with AnswerLog(path, method) as log:
            found = solver.solve(REQUEST.board, limits=Limits(max_nodes=nodes), checkpoint=log.checkpoint(REQUEST))
            assert len(log.checkpoint(REQUEST).subtrees(29, "16029274905c2b74").subtrees) > 32 or found.length
    assert node_counts(found.thresholds[:-1]) == node_counts(whole.solve(REQUEST.board).thresholds[:-1])
