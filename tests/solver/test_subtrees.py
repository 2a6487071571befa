"""Subtrees: divided, interrupted and paused searches have the nodes and answers of whole ones."""

from itertools import count

import pytest

from pdb_core.encoding import Encoding
from pdb_core.puzzle import Tiles
from solver import (
    Checkpoint,
    HeuristicSolver,
    Limits,
    Solver,
    Subtrees,
    WorkerPool,
    checkpoint as checkpoint_module,
    replay,
)
from solver.engine.frontier import FrontierLimits
from solver.engine.subtrees import search_subtrees
from tests.solving import S3, database_for, node_counts, solvable_boards

HARD = (8, 6, 7, 2, 5, 4, 3, 0, 1)
PARTITION = "1,2,5/3,4,6/7,8"


@pytest.fixture
def divided_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide thresholds of some nodes into some subtrees."""
    monkeypatch.setattr(checkpoint_module, "DIVIDE_ABOVE", 5)
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 64)
    # The ratio of the nodes of a threshold to those that divide the next one is 1.
    monkeypatch.setattr("solver.engine.ida_star.DIVISION", FrontierLimits(1 << 24, previous_nodes=0, share=1))


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


@pytest.mark.usefixtures("divided_early")
@pytest.mark.parametrize(("encoding", "plain", "n_workers"), [("bits", False, 3), ("bytes", True, 0)])
def test_divided_thresholds_have_the_nodes_of_undivided_ones(encoding: Encoding, plain: bool, n_workers: int) -> None:
    with database_for(PARTITION, "3x3", encoding=encoding) as database, WorkerPool(n_workers) as pool:
        for solver in (
            Solver(database, plain=plain),
            HeuristicSolver(S3, database.goal, ["linear-conflict"], plain=plain),
        ):
            n_subtrees = 0
            for board in solvable_boards(S3, database.goal, 8, 3):
                checkpoint, alone = CountedCheckpoint(), solver.solve(board)
                found = solver.solve(board, pool=pool if n_workers else None, checkpoint=checkpoint)
                assert found.length == alone.length
                assert node_counts(found.iterations[:-1]) == node_counts(alone.iterations[:-1])
                assert found.iterations[-1].threshold == alone.iterations[-1].threshold
                n_subtrees += checkpoint.n_subtrees
                assert all(0 <= share <= 1 for share in checkpoint.shares)
            assert n_subtrees > 100


@pytest.mark.usefixtures("divided_early")
@pytest.mark.parametrize("n_workers", [0, 2])
def test_stopped_search_continues_with_the_same_nodes(n_workers: int) -> None:
    """Limits are on the nodes of all runs. tests/faults/failing_search.py interrupts such searches."""
    with database_for(PARTITION, "3x3") as database, WorkerPool(n_workers) as pool:
        solver = Solver(database)
        alone, checkpoint, found = solver.solve(HARD), Checkpoint(), None
        for nodes in count(20, 40):
            found = solver.solve(
                HARD, limits=Limits(nodes=nodes), pool=pool if n_workers else None, checkpoint=checkpoint
            )
            if found.length is not None:
                break
            assert found.h <= found.lower_bound <= 31
            assert nodes <= found.generated < nodes + (300 if n_workers else 4)
        assert nodes > 1000
        assert found.length == 31
        assert node_counts(found.iterations[:-1]) == node_counts(alone.iterations[:-1])


@pytest.mark.usefixtures("divided_early")
def test_all_solutions_are_counted_from_a_checkpoint_on() -> None:
    with database_for(PARTITION, "3x3") as database:
        solver = Solver(database)
        alone, checkpoint = solver.solve_all(HARD), CountedCheckpoint()
        for _ in range(2):
            found = solver.solve_all(HARD, checkpoint=checkpoint)
            assert (found.n_solutions, found.is_complete) == (alone.n_solutions, True)
            assert node_counts(found.iterations) == node_counts(alone.iterations)
        assert checkpoint.finished == found.iterations[:-1]
        assert checkpoint.n_subtrees == 0


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


@pytest.mark.parametrize(("nodes", "encoding", "plain"), [(7, "bytes", True), (100, "bits", False)])
def test_nodes_of_all_subtrees_of_a_paused_search_add_up(nodes: int, encoding: Encoding, plain: bool) -> None:
    with database_for(PARTITION, "3x3", encoding=encoding) as database:
        solver = Solver(database, plain=plain)
        for board in solvable_boards(S3, database.goal, 8, 3):
            alone = solver.solve(board)
            assert counts_in_parts(solver, board, nodes) == (alone.length, node_counts(alone.iterations[:-1]))
