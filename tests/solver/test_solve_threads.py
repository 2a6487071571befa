"""Several threads search one board; limits, interrupts and callbacks."""

import gc
import time
from collections.abc import Callable
from functools import partial
from itertools import count, pairwise

import pytest

from solver.engine import stack
from solver.engine.tuning import Tuning
from solver.engine.worker_pool import WorkerPool
from solver.graph_search.graph_search import GraphSolver
from solver.progress import Iteration, Limits
from solver.solve import Solver
from tests.solving import (
    HARDEST_8,
    S4,
    TINY_SLICES,
    divided_early,
    hard_board,
    solver_for,
)


def test_workers_search_while_the_caller_is_busy() -> None:
    n_reports = count(1)

    def report(at: Iteration) -> None:
        time.sleep(0.02)
        # The caller searches some 300 nodes between two reports, and could report for hours.
        if at.generated > 10_000 + 500 * next(n_reports):
            raise KeyboardInterrupt

    with WorkerPool(2) as pool, pytest.raises(KeyboardInterrupt):
        solver_for("663", "4x4", "bits", TINY_SLICES).solve(hard_board(), report=report, pool=pool)


def test_searches_that_are_interrupted_keep_no_memory() -> None:
    n_reports, n_stacks = count(1), list[int]()

    def interrupt(_at: Iteration) -> None:
        if next(n_reports) % 20 == 0:
            # isinstance asks dead proxies
            n_stacks.append(sum(type(found) is stack.Stack for found in gc.get_objects()))
            raise KeyboardInterrupt

    solver = solver_for("663", "4x4", tuning=TINY_SLICES)
    gc.disable()
    try:
        with WorkerPool(3) as pool:
            for _ in range(12):
                with pytest.raises(KeyboardInterrupt):
                    solver.solve(hard_board(), report=interrupt, pool=pool)
    finally:
        gc.enable()
    # Stacks of four threads, and of shares that no thread has taken yet.
    assert n_stacks[0] > 0
    assert max(n_stacks) < n_stacks[0] + 8


# Limits and interrupts


# Nodes around the first slice, which has 300, and many. Without a limit, the board takes minutes.
NODES = [*range(250, 600, 50), 50_000]


@pytest.mark.parametrize(("n_workers", "divide_above"), [(0, 1 << 40), (2, 1 << 40), (0, 1000)])
def test_limits_end_a_search_with_a_lower_bound(n_workers: int, divide_above: int) -> None:
    solver = solver_for("663", "4x4", "bits", divided_early(divide_above, 20_000, 1, slice_nodes=300))
    with WorkerPool(n_workers) as pool:
        for limits in (*(Limits(max_nodes=nodes) for nodes in NODES), Limits(time_limit=0.3)):
            for search in (solver.solve, solver.solve_all):
                found = search(hard_board(), limits=limits, pool=pool)
                assert {found.optimal, found.is_complete} == {False}
                assert found.moves is found.length is None
                assert found.h <= found.lower_bound <= 80
                if limits.max_nodes is not None:
                    assert limits.max_nodes <= found.generated < limits.max_nodes + (3000 if n_workers else 4)


@pytest.mark.parametrize(
    "make",
    [
        partial(solver_for, "555", "4x4"),
        *(partial(GraphSolver, S4, algorithm=at) for at in ("a-star", "bidirectional")),
    ],
    ids=["tables", "a-star", "bidirectional"],
)
def test_report_gets_rising_thresholds_and_can_end_the_search_soon(make: Callable[[], Solver | GraphSolver]) -> None:
    reports: list[Iteration] = []

    def report(iteration: Iteration) -> None:
        reports.append(iteration)
        if len({at.threshold for at in reports}) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().solve(hard_board(), report=report)
    # A million nodes take 10 to 30 ms, so Ctrl-C acts at once.
    for at, later in pairwise(reports):
        assert at.threshold <= later.threshold
        assert later.generated - at.generated < 1_100_000


# Callbacks


def test_slow_listing_keeps_the_time_limit() -> None:
    """Workers find the 40 solutions faster than the callback takes them."""
    listed: list[tuple[int, ...]] = []

    def list_slowly(tiles: tuple[int, ...]) -> None:
        time.sleep(0.02)
        listed.append(tiles)

    with WorkerPool(2) as pool:
        solver = solver_for("1,2/3,6/4,7/5,8", "3x3", tuning=Tuning(slice_nodes=300))
        found = solver.solve_all(HARDEST_8, limits=0.3, pool=pool, listed=list_slowly)
    assert not found.is_complete
    # Each that is found is listed, and counted once: 15 in the time.
    assert found.n_solutions == len(set(listed)) < 22


def test_callbacks_may_search_with_the_same_solver_and_pool() -> None:
    """They run without a lock."""
    depth = 0

    def report(_: Iteration) -> None:
        nonlocal depth
        if depth < 2:
            depth += 1
            assert solver.solve(HARDEST_8, report=report, pool=pool).length == 31

    solver = solver_for("1,2,5/3,4,6/7,8", "3x3", tuning=TINY_SLICES)
    with WorkerPool(2) as pool:
        assert solver.solve(HARDEST_8, report=report, pool=pool).length == 31
        depth = 0
        assert solver.solve_all(HARDEST_8, listed=lambda _: report(Iteration(0, 0, 0, 0.0)), pool=pool).length == 31
    assert depth == 2
