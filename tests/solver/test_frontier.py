"""Subtrees: divided and stopped searches have the nodes and answers of whole ones; of a cluster: its test_solve.py."""

from functools import partial
from itertools import count

import pytest

from pdb_core.encoding import Encoding
from pdb_core.errors import InputError
from pdb_core.puzzle import Tiles
from solver.engine.checkpoint import Checkpoint, Subtrees
from solver.engine.paths import search_subtrees
from solver.engine.worker_pool import WorkerPool
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.progress import Limits
from solver.solve import Solver
from tests.solving import (
    HARDEST_8,
    S3,
    database_for,
    divided_early,
    goal_with_blank,
    node_counts,
    solvable_boards,
    solver_for,
)

PARTITION = "1,2,5/3,4,6/7,8"
# Its image at the diagonal is the board itself, so only two of its first moves are searched.
OWN_IMAGE = (5, 6, 3, 8, 0, 2, 7, 4, 1)


# Thresholds of some nodes are divided into some subtrees: the ratio of the nodes of a threshold to those that divide
# the next one is 1.
DIVIDED = divided_early(5, 100_000, 1, slice_nodes=64)
UNDIVIDED = divided_early(1 << 60, 100_000, 1, slice_nodes=64)


class CountedCheckpoint(Checkpoint):
    """Checkpoint that keeps the finished share of a threshold at the end of each subtree."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: list[float] = []

    def finish_subtrees(self, more: Subtrees) -> bool:
        self.shares += len(more.subtrees) * [self.share]
        return super().finish_subtrees(more)


@pytest.mark.parametrize(("encoding", "plain", "n_workers"), [("bits", False, 3), ("bytes", True, 0)])
def test_divided_and_shared_thresholds_have_the_nodes_of_whole_ones(
    encoding: Encoding, plain: bool, n_workers: int
) -> None:
    catalogue = database_for("1,2/3,6/4,7/5,8+1,3/2,4/5,7/6,8", "3x3", encoding="bits")
    with database_for(PARTITION, "3x3", encoding=encoding) as database, WorkerPool(n_workers) as pool:
        for make in (
            partial(Solver, database, plain=plain),
            partial(Solver, catalogue, plain=plain),
            partial(HeuristicSolver, S3, database.goal, ["linear-conflict"], plain=plain),
        ):
            divided, whole, shares = make(tuning=DIVIDED), make(tuning=UNDIVIDED), list[float]()
            for board in solvable_boards(S3, 8, 3):
                checkpoint, alone = CountedCheckpoint(), whole.solve(board)
                for found in (whole.solve(board, pool=pool), divided.solve(board, pool=pool, checkpoint=checkpoint)):
                    assert (found.length, found.thresholds[-1].threshold) == (alone.length, alone.length)
                    assert node_counts(found.thresholds[:-1]) == node_counts(alone.thresholds[:-1])
                shares += checkpoint.shares
            assert len(shares) > 100
            assert 0 <= min(shares) <= max(shares) <= 1


@pytest.mark.parametrize("n_workers", [0, 2])
def test_stopped_search_continues_with_the_same_nodes(n_workers: int) -> None:
    """Limits are on the nodes of all runs. tests/faults/failing_search.py interrupts such searches."""
    solver, whole = (solver_for(PARTITION, "3x3", tuning=each) for each in (DIVIDED, UNDIVIDED))
    with WorkerPool(n_workers) as pool:
        alone, checkpoint, found = whole.solve(HARDEST_8), Checkpoint(), None
        for nodes in count(20, 40):
            found = solver.solve(HARDEST_8, limits=Limits(max_nodes=nodes), pool=pool, checkpoint=checkpoint)
            if found.length is not None:
                break
            assert found.h <= found.lower_bound <= 31
            assert nodes <= found.generated < nodes + (300 if n_workers else 4)
        assert nodes > 1000
        assert found.length == 31
        assert node_counts(found.thresholds[:-1]) == node_counts(alone.thresholds[:-1])


@pytest.mark.parametrize(("board", "n_workers"), [(HARDEST_8, 0), (HARDEST_8, 2), (OWN_IMAGE, 0)])
def test_rest_of_a_paused_search_has_all_nodes_that_are_left(board: Tiles, n_workers: int) -> None:
    """The cluster sends it out, and takes a threshold without a rest for a finished one."""
    ida_star = solver_for(PARTITION, "3x3", tuning=DIVIDED).ida_star
    stacks, alone = ida_star.stacks, ida_star.search(board)
    complete = dict(zip((done.threshold for done in alone.thresholds[:-1]), alone.thresholds, strict=False))

    n_finished, pool = 0, WorkerPool(n_workers)
    for nodes in range(20, alone.generated, max(40, alone.generated // 25)):
        begun = ida_star.search(board, Limits(max_nodes=nodes), pool=pool)
        if begun.moves is not None:
            break
        assert begun.rest
        at = begun.thresholds[-1]
        rest = search_subtrees(stacks, board, begun.rest, at.threshold, max_nodes=1 << 40, max_seconds=60)
        if rest.moves is None:
            assert rest.rest == ()
            assert at.generated + rest.generated == complete[at.threshold].generated
            assert at.expanded + rest.expanded == complete[at.threshold].expanded
            n_finished += 1
    pool.close()
    assert n_finished > 10


def test_checkpoint_of_another_search_is_refused() -> None:
    """Its finished thresholds would prove a wrong length."""
    solver, checkpoint, narrow = solver_for(PARTITION, "3x3", tuning=DIVIDED), Checkpoint(), Checkpoint()
    database = solver.databases[0]
    solver.solve(HARDEST_8, checkpoint=checkpoint)
    HeuristicSolver("3x2").solve((1, 2, 3, 4, 0, 5), checkpoint=narrow)
    board = solvable_boards(S3, 1, 3)[0]
    for search, name in (
        (lambda: solver.solve(board, checkpoint=checkpoint), "board"),
        (lambda: list(solver.solve_batch([HARDEST_8, board], checkpoints=lambda _: checkpoint)), "board"),
        (lambda: solver.solve(HARDEST_8, goal_with_blank(0, S3), checkpoint=checkpoint), "goal"),
        (lambda: solver.solve_all(HARDEST_8, checkpoint=checkpoint), "method"),
        (lambda: Solver(database, plain=True).solve(HARDEST_8, checkpoint=checkpoint), "method"),
        (lambda: Solver(database_for("8", "3x3")).solve(HARDEST_8, checkpoint=checkpoint), "method"),
        (lambda: HeuristicSolver(S3).solve(HARDEST_8, checkpoint=checkpoint), "method"),
        (lambda: HeuristicSolver("2x3").solve((1, 2, 3, 4, 0, 5), checkpoint=narrow), "method"),
    ):
        with pytest.raises(InputError, match=f"the checkpoint belongs to the search of another {name}; use a new"):
            search()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_all_solutions_are_counted_from_a_checkpoint_on(n_workers: int) -> None:
    """Also those of the finished subtrees of a paused search."""
    solver = solver_for("1,2/3,6/4,7/5,8", "3x3", tuning=DIVIDED)
    alone, checkpoint = solver.solve_all(HARDEST_8), Checkpoint()
    known = set()
    with WorkerPool(n_workers) as pool:
        for nodes in count(100, 150):
            limits = Limits(max_nodes=nodes)
            found = solver.solve_all(HARDEST_8, limits=limits, pool=pool, checkpoint=checkpoint)
            if found.is_complete:
                break
            known.add(found.n_solutions)
    assert found.n_solutions == alone.n_solutions
    assert any(0 < n < found.n_solutions for n in known)
    assert node_counts(found.thresholds) == node_counts(alone.thresholds)
    # Each run lists all of them: those of the last threshold are searched again.
    listed: list[tuple[int, ...]] = []
    assert solver.solve_all(HARDEST_8, listed=listed.append, checkpoint=checkpoint).n_solutions == len(set(listed))
    assert len(set(listed)) == alone.n_solutions
