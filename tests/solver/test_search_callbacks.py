"""Callbacks of searches on several threads: slow ones delay neither the time limit nor the other threads."""

import time

import numpy as np
import pytest

from pdb_query.lookup import Int64s
from solver import Iteration, Solver, WorkerPool
from solver.engine.layout import FOUND, GENERATED, N_COUNTERS, PAUSED, SOLUTIONS
from solver.engine.threshold import ThresholdSearch
from solver.engine.work import Work
from tests.solving import database_for

HARD = (8, 6, 7, 2, 5, 4, 3, 0, 1)


class EndlessWork(Work):
    """Work without end: with solutions only, or without any."""

    slice_nodes = 8

    def __init__(self, status: int) -> None:
        self._status = status
        self._counters = np.zeros(N_COUNTERS, dtype=np.int64)

    @property
    def counters(self) -> Int64s:
        return self._counters

    def search(self, _pause_at: int, _max_nodes: int, _at_goal: int) -> int:
        time.sleep(0.0001)
        self._counters[GENERATED] += 1
        self._counters[SOLUTIONS] += self._status == FOUND
        return self._status

    def split(self) -> Work | None:
        return EndlessWork(FOUND)

    def tiles(self) -> tuple[int, ...]:
        return (1,)


@pytest.mark.tiny
def test_slow_listing_keeps_the_time_limit() -> None:
    """Workers find solutions faster than the callback takes them."""
    n_listed = 0

    def list_slowly(_tiles: tuple[int, ...]) -> None:
        nonlocal n_listed
        n_listed += 1
        assert n_listed < 1000, "the time limit is not looked at"
        time.sleep(0.002)

    search = ThresholdSearch(31, None, finds_all=True, listed=list_slowly)
    end = time.monotonic() + 0.2
    with WorkerPool(2) as pool:
        assert search.search(EndlessWork(PAUSED), lambda: time.monotonic() < end, pool) == PAUSED
    # Each of those found is listed, and counted once.
    assert 0 < n_listed == search.n_solutions


@pytest.mark.usefixtures("tiny_slices")
def test_callbacks_may_search_with_the_same_solver_and_pool() -> None:
    """They run without a lock."""
    depth = 0

    def report(_: Iteration) -> None:
        nonlocal depth
        if depth < 2:
            depth += 1
            assert solver.solve(HARD, report=report, pool=pool).length == 31

    with database_for("1,2,5/3,4,6/7,8", "3x3") as database, WorkerPool(2) as pool:
        solver = Solver(database)
        assert solver.solve(HARD, report=report, pool=pool).length == 31
        depth = 0
        assert solver.solve_all(HARD, listed=lambda _: report(Iteration(0, 0, 0, 0.0)), pool=pool).length == 31
    assert depth == 2
