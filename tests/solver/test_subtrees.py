"""Subtrees: divided and stopped searches have the nodes and answers of whole ones; of a cluster: its test_solve.py."""

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from pdb_core.encoding import Encoding
from pdb_core.errors import InputError
from pdb_core.puzzle import Tiles
from solver import Checkpoint, HeuristicSolver, Limits, Solution, Solver, Subtrees, WorkerPool
from solver.engine.division import Division
from solver.engine.search_result import SearchResult
from solver.engine.subtrees import search_subtrees
from tests.solving import HARDEST_8, S3, database_for, goal_with_blank, node_counts, solvable_boards, solver_for

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
def test_search_with_the_smallest_slices_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 0)
    assert solver_for(PARTITION, "3x3").solve(HARDEST_8, limits=10).length == 31


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
def test_rest_of_a_paused_search_has_all_nodes_that_are_left() -> None:
    """The cluster sends it out, and takes a threshold without a rest for a finished one."""
    ida_star = solver_for(PARTITION, "3x3").ida_star
    stacks, alone = ida_star.stacks, ida_star.search(HARDEST_8)
    complete = dict(zip((done.threshold for done in alone.thresholds[:-1]), alone.thresholds, strict=False))

    def paused(nodes: int, pool: WorkerPool | None = None, *, keeps_rest: bool) -> SearchResult:
        return ida_star.search(HARDEST_8, Limits(max_nodes=nodes), pool=pool, keeps_rest=keeps_rest)

    n_finished = 0
    for nodes in range(20, alone.generated, 40):
        begun = paused(nodes, keeps_rest=True)
        if begun.moves is not None:
            break
        assert begun.rest is not None
        at = begun.thresholds[-1]
        rest = search_subtrees(stacks, HARDEST_8, begun.rest, at.threshold, max_nodes=1 << 40, max_seconds=60)
        if rest.moves is None:
            assert rest.rest == ()
            assert at.generated + rest.generated == complete[at.threshold].generated
            assert at.expanded + rest.expanded == complete[at.threshold].expanded
            n_finished += 1
        with WorkerPool(1) as pool:
            for search in (partial(paused, keeps_rest=False), partial(paused, pool=pool, keeps_rest=True)):
                assert search(nodes).rest is None
    assert n_finished > 10


@pytest.mark.usefixtures("divided_early")
def test_checkpoint_of_another_search_is_refused() -> None:
    """Its finished thresholds would prove a wrong length."""
    solver, checkpoint = solver_for(PARTITION, "3x3"), Checkpoint()
    database = solver.databases[0]
    solver.solve(HARDEST_8, checkpoint=checkpoint)
    board = solvable_boards(S3, 1, 3)[0]
    for searches, name in (
        (lambda: solver.solve(board, checkpoint=checkpoint), "board"),
        (lambda: list(solver.solve_batch([HARDEST_8, board], checkpoints=lambda _: checkpoint)), "board"),
        (lambda: solver.solve(HARDEST_8, goal_with_blank(0, S3), checkpoint=checkpoint), "goal"),
        (lambda: solver.solve_all(HARDEST_8, checkpoint=checkpoint), "method"),
        (lambda: Solver(database, plain=True).solve(HARDEST_8, checkpoint=checkpoint), "method"),
        (lambda: Solver(database_for("8", "3x3")).solve(HARDEST_8, checkpoint=checkpoint), "method"),
        (lambda: HeuristicSolver(S3).solve(HARDEST_8, checkpoint=checkpoint), "method"),
    ):
        with pytest.raises(InputError, match=f"the checkpoint belongs to the search of another {name}; use a new"):
            searches()
    # The goal of this solver's other boards does not matter.
    other = Solver(database, goal=goal_with_blank(0, S3))
    assert other.solve(HARDEST_8, database.goal, checkpoint=checkpoint).length == 31


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
