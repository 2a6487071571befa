"""The log of solved boards, by itself and in the command."""

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, blank_last
from solver.answers.journal import Journal
from solver.answers.log import AnswerLog
from solver.answers.requests import Answer, Request
from solver.engine.checkpoint import Subtrees
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.progress import Iteration, Limits
from tests import ROOT
from tests.solver.test_frontier import DIVIDED, PARTITION, UNDIVIDED
from tests.solving import HARDEST_8, S3, node_counts, solver_for

# Log of version 0.2.0.
STOPPED = b"""\
{"journal": "log of pdb solve 4", "algorithm": "ida-star"}
{"width":3,"board":[8,6,7,2,5,4,3,0,1],"goal":[1,2,3,4,5,6,7,8,0],"threshold":29,"division":"16029274905c2b74",\
"subtrees":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31],\
"generated":171,"expanded":106,"seconds":0.019255506000035894,"check":"c45afcc4"}
"""
METHOD: dict[str, Any] = {"algorithm": "ida-star", "tables": ["ab" * 32]}
FINISHED = tuple(Iteration(40 + 2 * i, 10 * 8**i, 5 * 8**i, 0.5 * i) for i in range(10))
SUBTREES = Subtrees(60, "abc", {0, 1, 2, 7}, 100, 50, 1.5)
REQUEST = Request("1", Board(HARDEST_8, S3), blank_last(S3))


def test_only_solutions_are_logged(tmp_path: Path) -> None:
    """Also of boards that are not square. Boards that were given up are not."""
    board = Board("1 2 3/0 4 5")
    request = Request("1", board, blank_last(board.size))
    for n_lines, nodes in ((1, 1), (2, None)):
        found = HeuristicSolver(board.size).solve(board, limits=Limits(max_nodes=nodes))
        with AnswerLog(tmp_path / "log", METHOD) as log:
            log.finish(Answer(request, found))
        assert len((tmp_path / "log").read_bytes().splitlines()) == n_lines
    with AnswerLog(tmp_path / "log", METHOD) as log:
        assert log.known(request) == found


def test_records_that_are_no_answers_and_wrong_solutions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    fields = {"width": 3} | asdict(HeuristicSolver("3x3").solve(REQUEST.board))
    for moves in (fields["moves"][1:], [9], [-1]):
        with Journal(path, METHOD) as journal:
            journal.append(fields | {"moves": moves})
        with AnswerLog(path, METHOD) as log, pytest.raises(InputError, match=r"the log .* is damaged: move 1 of the s"):
            log.known(REQUEST)
    with Journal(path, METHOD) as journal:
        journal.append({"board": [], "goal": []})
    with pytest.raises(InputError, match=r"the log .* is damaged"):
        AnswerLog(path, METHOD)


def test_incomplete_counts_of_earlier_versions_are_not_answers(tmp_path: Path) -> None:
    path, method = tmp_path / "log", METHOD | {"all": True}
    found = HeuristicSolver("3x3").solve_all(REQUEST.board)
    for is_complete in (False, True):
        with Journal(path, method) as journal:
            journal.append({"width": 3} | asdict(replace(found, is_complete=is_complete)))
        with AnswerLog(path, method) as log:
            assert (log.n_solved, log.known(REQUEST) is not None) == (is_complete, is_complete)


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


def test_answers_of_version_0_2_are_known(tmp_path: Path) -> None:
    with gzip.open(ROOT / "data" / "random400.log.gz") as file:
        lines = [next(file), next(file)]
    (tmp_path / "log").write_bytes(b"".join(lines))
    method, answer = map(json.loads, lines)
    del method["journal"]
    with AnswerLog(tmp_path / "log", method) as log:
        solution = log.known(Request("1", Board(answer["board"]), tuple(answer["goal"])))
    assert list(solution.moves) == answer["moves"]


def test_log_of_version_0_2_that_stopped_inside_a_threshold_is_continued(tmp_path: Path) -> None:
    path, method = tmp_path / "log", {"algorithm": "ida-star"}
    path.write_bytes(STOPPED)
    solver, whole = (solver_for(PARTITION, "3x3", tuning=each) for each in (DIVIDED, UNDIVIDED))
    for nodes in (1500, None):
        with AnswerLog(path, method) as log:
            found = solver.solve(REQUEST.board, limits=Limits(max_nodes=nodes), checkpoint=log.checkpoint(REQUEST))
            assert len(log.checkpoint(REQUEST).subtrees(29, "16029274905c2b74").subtrees) > 32 or found.length
    assert node_counts(found.thresholds[:-1]) == node_counts(whole.solve(REQUEST.board).thresholds[:-1])
