"""Subtrees: divided, interrupted and paused searches have the nodes and answers of whole ones."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from pdb_core.encoding import Encoding
from pdb_core.puzzle import Tiles, blank_last
from solver import (
    Checkpoint,
    HeuristicSolver,
    Iteration,
    Limits,
    Solver,
    Subtrees,
    WorkerPool,
    checkpoint as checkpoint_module,
    replay,
)
from solver.engine.frontier import FrontierLimits
from solver.engine.subtrees import search_subtrees
from tests.solving import S3, S4, database_for, node_counts, solvable_boards

HARD = (8, 6, 7, 2, 5, 4, 3, 0, 1)
PARTITIONS = {S3: ("1,2,5/3,4,6/7,8", "3x3"), S4: ("555", "4x4")}


@pytest.fixture
def divided_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide thresholds of some nodes into some subtrees."""
    monkeypatch.setattr(checkpoint_module, "DIVIDE_ABOVE", 5)
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 64)
    divide_by(monkeypatch, 1)


def divide_by(monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    """Set the ratio of the nodes of a threshold to those that divide the next one."""
    monkeypatch.setattr("solver.engine.ida_star.DIVISION", FrontierLimits(1 << 24, previous_nodes=0, share=share))


class CountedCheckpoint(Checkpoint):
    """Checkpoint that counts the finished subtrees."""

    def __init__(self) -> None:
        super().__init__()
        self.n_subtrees = 0
        self.shares: list[float] = []

    def finish_subtrees(self, threshold: int, division: str, more: Subtrees) -> None:
        super().finish_subtrees(threshold, division, more)
        self.n_subtrees += len(more.numbers)
        assert self.share is not None
        self.shares.append(self.share)


class StoppedError(Exception):
    """Error of a report that stops the search."""


def same_search(solver: Any, board: Tiles, pool: WorkerPool | None, checkpoint: Checkpoint) -> None:
    """Compare the search with a checkpoint with one without."""
    alone = solver.solve(board)
    found = solver.solve(board, pool=pool, checkpoint=checkpoint)
    assert found.length == alone.length
    assert node_counts(found.iterations[:-1]) == node_counts(alone.iterations[:-1])
    assert found.iterations[-1].threshold == alone.iterations[-1].threshold


@pytest.mark.usefixtures("divided_early")
@pytest.mark.parametrize(("encoding", "plain", "n_workers"), [("bits", False, 3), ("bytes", True, 0)])
def test_divided_thresholds_have_the_nodes_of_undivided_ones(encoding: Encoding, plain: bool, n_workers: int) -> None:
    n_subtrees = 0
    with database_for(*PARTITIONS[S3], encoding=encoding) as database, WorkerPool(n_workers) as pool:
        solver = Solver(database, plain=plain)
        for board in solvable_boards(S3, blank_last(S3), 8, 3):
            checkpoint = CountedCheckpoint()
            same_search(solver, board, pool if n_workers else None, checkpoint)
            n_subtrees += checkpoint.n_subtrees
            assert all(0 <= share <= 1 for share in checkpoint.shares)
    assert n_subtrees > 100


@pytest.mark.usefixtures("divided_early")
def test_thresholds_of_other_heuristics_are_divided() -> None:
    checkpoint = CountedCheckpoint()
    same_search(HeuristicSolver(S3, blank_last(S3), ["linear-conflict"]), HARD, None, checkpoint)
    assert checkpoint.n_subtrees > 50


@pytest.mark.usefixtures("divided_early")
def test_interrupted_search_continues_with_the_same_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 5000)
    divide_by(monkeypatch, 80)
    n_stops = 0
    with database_for(*PARTITIONS[S4], encoding="bits") as database, WorkerPool(2) as pool:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 4, 5):
            checkpoint, alone, found = CountedCheckpoint(), solver.solve(board), None
            # Each run ends at a later report, so that the last one reaches the solution.
            for most_reports in count(1):
                reports = count(1)

                def stop(_iteration: Iteration, reports: Iterator[int] = reports, most: int = most_reports) -> None:
                    if next(reports) == most:
                        raise StoppedError

                try:
                    found = solver.solve(board, report=stop, pool=pool, checkpoint=checkpoint)
                    break
                except StoppedError:
                    n_stops += 1
            replay(board, found.tiles or (), database.goal, S4)
            assert found.length == alone.length
            assert node_counts(found.iterations[:-1]) == node_counts(alone.iterations[:-1])
    assert n_stops > 20


@pytest.mark.usefixtures("divided_early")
def test_limits_are_on_the_nodes_of_all_runs() -> None:
    with database_for(*PARTITIONS[S3]) as database:
        solver = Solver(database)
        alone, checkpoint = solver.solve(HARD), Checkpoint()
        for nodes in range(20, alone.generated - 200, 40):
            found = solver.solve(HARD, limits=Limits(nodes=nodes), checkpoint=checkpoint)
            assert found.length is None
            assert nodes <= found.generated < nodes + 4
            assert found.h <= found.lower_bound <= 31
        same_search(solver, HARD, None, checkpoint)


@pytest.mark.usefixtures("divided_early")
def test_all_solutions_are_counted_from_a_checkpoint_on() -> None:
    with database_for(*PARTITIONS[S3]) as database:
        solver = Solver(database)
        alone, checkpoint = solver.solve_all(HARD), CountedCheckpoint()
        for _ in range(2):
            found = solver.solve_all(HARD, checkpoint=checkpoint)
            assert (found.n_solutions, found.is_complete) == (alone.n_solutions, True)
            assert node_counts(found.iterations) == node_counts(alone.iterations)
        assert checkpoint.finished == found.iterations[:-1]
        assert checkpoint.n_subtrees == 0


def test_checkpoint_of_other_thresholds_is_ignored() -> None:
    iterations = tuple(Iteration(threshold, 10, 5, 0.1) for threshold in (20, 22, 24))
    for kept in (iterations[1:], iterations[::2], (iterations[0], iterations[0], iterations[0])):
        checkpoint = Checkpoint()
        checkpoint.finished = kept
        assert checkpoint.resume(iterations[:1], 20) == iterations[:1]
    checkpoint.finished = iterations
    assert checkpoint.resume(iterations[:1], 20) == iterations
    assert checkpoint.resume((), 21) == ()


# Subtrees of a paused search


def counts_in_parts(solver: Solver, board: Tiles, nodes: int) -> tuple[int, list[tuple[int, int, int]]]:
    """Pause a search, then search its subtrees `nodes` nodes at a time, as a cluster does.

    Return the length, and (threshold, generated, expanded) of each complete threshold.
    """
    ida_star = solver.ida_star
    paused = ida_star.search(board, Limits(nodes=1))
    assert paused.tiles is None
    *counts, (threshold, generated, expanded) = node_counts(paused.iterations)
    paths = paused.rest
    while True:
        while paths:
            part = search_subtrees(ida_star.stacks, board, paths, threshold, max_nodes=nodes, max_seconds=60)
            if part.tiles is not None:
                replay(board, part.tiles, ida_star.engine.goal, ida_star.engine.size)
                return len(part.tiles), counts
            generated, expanded, paths = generated + part.generated, expanded + part.expanded, part.rest
        counts.append((threshold, generated, expanded))
        threshold, generated, expanded, paths = threshold + 2, 0, 0, (b"",)


@pytest.mark.parametrize(
    ("nodes", "encoding", "plain"), [(1, "bytes", True), (7, "bits", False), (100, "bytes", False)]
)
def test_nodes_of_all_subtrees_of_a_paused_search_add_up(nodes: int, encoding: Encoding, plain: bool) -> None:
    with database_for(*PARTITIONS[S3], encoding=encoding) as database:
        solver = Solver(database, plain=plain)
        for board in solvable_boards(S3, blank_last(S3), 8, 3):
            alone = solver.solve(board)
            assert counts_in_parts(solver, board, nodes) == (alone.length, node_counts(alone.iterations[:-1]))
