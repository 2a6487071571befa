"""Subtrees: divided and stopped searches have the nodes and answers of whole ones; of a cluster: its test_solve.py."""

from collections.abc import Callable
from itertools import count

import pytest

from pdb_core.encoding import Encoding
from pdb_core.puzzle import Tiles
from solver import Checkpoint, HeuristicSolver, Limits, Solution, Solver, Subtrees, WorkerPool
from solver.engine.division import Division
from tests.solving import HARDEST_8, S3, database_for, node_counts, solvable_boards, solver_for

PARTITION = "1,2,5/3,4,6/7,8"


@pytest.fixture
def divided_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide thresholds of some nodes into some subtrees."""
    monkeypatch.setattr("solver.checkpoint.DIVIDE_ABOVE", 0.5)
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 64)
    # The ratio of the nodes of a threshold to those that divide the next one is 1.
    monkeypatch.setattr("solver.engine.ida_star.DIVISION", Division(most_nodes=100_000, ratio=0.1))


def undivided(search: Callable[[Tiles], Solution], board: Tiles) -> Solution:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solver.checkpoint.DIVIDE_ABOVE", 1 << 60)
        return search(board)


class CountedCheckpoint(Checkpoint):
    """Checkpoint that counts the finished subtrees."""

    def __init__(self) -> None:
        super().__init__()
        self.n_subtrees = 0
        self.shares: list[float] = []

    def finish_subtrees(self, threshold: int, division: str, more: Subtrees) -> None:
        super().finish_subtrees(threshold, division, more)
        self.n_subtrees += len(more.numbers)
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
            for board in solvable_boards(S3, 8, 3):
                checkpoint, alone = CountedCheckpoint(), undivided(solver.solve, board)
                found = solver.solve(board, pool=pool if n_workers else None, checkpoint=checkpoint)
                assert found.length == alone.length
                assert node_counts(found.thresholds[:-1]) == node_counts(alone.thresholds[:-1])
                assert found.thresholds[-1].threshold == alone.thresholds[-1].threshold
                n_subtrees += checkpoint.n_subtrees
                assert all(0 <= share <= 1 for share in checkpoint.shares)
            assert n_subtrees > 100


@pytest.mark.usefixtures("divided_early")
@pytest.mark.parametrize("n_workers", [0, 2])
def test_stopped_search_continues_with_the_same_nodes(n_workers: int) -> None:
    """Limits are on the nodes of all runs. tests/faults/failing_search.py interrupts such searches."""
    solver = solver_for(PARTITION, "3x3")
    with WorkerPool(n_workers) as pool:
        alone, checkpoint, found = undivided(solver.solve, HARDEST_8), Checkpoint(), None
        for nodes in count(20, 40):
            found = solver.solve(
                HARDEST_8, limits=Limits(max_nodes=nodes), pool=pool if n_workers else None, checkpoint=checkpoint
            )
            if found.length is not None:
                break
            assert found.h <= found.lower_bound <= 31
            assert nodes <= found.generated < nodes + (300 if n_workers else 4)
        assert nodes > 1000
        assert found.length == 31
        assert node_counts(found.thresholds[:-1]) == node_counts(alone.thresholds[:-1])


@pytest.mark.usefixtures("divided_early")
def test_all_solutions_are_counted_from_a_checkpoint_on() -> None:
    solver = solver_for(PARTITION, "3x3")
    alone, checkpoint = solver.solve_all(HARDEST_8), CountedCheckpoint()
    for _ in range(2):
        found = solver.solve_all(HARDEST_8, checkpoint=checkpoint)
        assert (found.n_solutions, found.is_complete) == (alone.n_solutions, True)
        assert node_counts(found.thresholds) == node_counts(alone.thresholds)
    assert checkpoint.finished == found.thresholds[:-1]
    assert checkpoint.n_subtrees == 0
