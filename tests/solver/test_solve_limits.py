"""Limits, and reports that raise, end a search: on one thread, on several, and of all solutions."""

import time

import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import BoardSize, blank_last
from solver import Iteration, Limits, Solver, WorkerPool
from tests.naive.boards_and_tables import naive_distances
from tests.solving import database_for, hard_board


@pytest.mark.tiny
def test_limits_end_the_search_with_a_lower_bound() -> None:
    with database_for("1,2,3/4,5,6/7,8", "3x3") as database:
        solver = Solver(database)
        board = (8, 6, 7, 2, 5, 4, 3, 0, 1)
        whole = solver.solve(board)
        cut = solver.solve(board, limits=Limits(nodes=100))
        assert whole.length == 31
        assert cut.length is None
        assert cut.tiles is None
        assert not cut.is_optimal
        assert cut.h <= cut.lower_bound <= 31
        # A node has up to three children, and the limit is looked at before a node is expanded.
        assert 100 <= cut.generated <= 110
        assert solver.solve(board, limits=Limits(nodes=whole.generated + 1)).length == 31


@pytest.mark.tiny
@pytest.mark.parametrize(("seconds", "nodes"), [(-0.1, None), (float("nan"), None), (None, -1)])
def test_limits_below_zero_are_refused(seconds: float | None, nodes: int | None) -> None:
    with pytest.raises(InputError, match=r"=(-0\.1|nan|-1): a limit of a search must be 0 or more"):
        Limits(seconds, nodes)


def test_time_limit_is_kept() -> None:
    board = hard_board()
    with database_for("555", "4x4") as database:
        solver = Solver(database)
        start = time.perf_counter()
        solution = solver.solve(board, limits=Limits(seconds=0.3))
        assert solution.length is None
        assert solution.lower_bound >= solution.h
        assert time.perf_counter() - start < 1.5


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("limits", [Limits(nodes=50_000), Limits(seconds=0.3)])
def test_limits_end_a_shared_search(limits: Limits) -> None:
    with database_for("663", "4x4") as database, WorkerPool(2) as pool:
        solution = Solver(database).solve(hard_board(), limits=limits, pool=pool)
    assert solution.length is None
    assert not solution.is_optimal
    assert solution.generated > 0
    if limits.nodes is not None:
        assert solution.generated < limits.nodes + 3000


def test_all_solutions_end_at_a_limit() -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        solution = Solver(database).solve_all(hard_board(), limits=Limits(nodes=10_000))
    assert not solution.is_complete


def test_report_gets_rising_thresholds_and_can_end_the_search() -> None:
    board = hard_board()
    told: list[Iteration] = []

    def report(iteration: Iteration) -> None:
        told.append(iteration)
        if len(told) == 40:
            raise KeyboardInterrupt

    with database_for("555", "4x4") as database, pytest.raises(KeyboardInterrupt):
        Solver(database).solve(board, report=report)
    thresholds = [iteration.threshold for iteration in told]
    assert thresholds == sorted(thresholds)
    assert len(set(thresholds)) > 2


@pytest.mark.tiny
def test_thresholds_far_above_h_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.engine.boards_search._MOST_THRESHOLDS", 2)
    monkeypatch.setattr("solver.engine.stack._USUAL_DEPTH", 2)
    size = BoardSize(3, 2)
    goal = blank_last(size)
    with database_for("1/2/3/4/5", "3x2") as database:
        solver = Solver(database)
        for board, distance in list(naive_distances(size, goal).items())[::11]:
            assert solver.solve(board).length == distance
