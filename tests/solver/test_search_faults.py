"""Failures on the threads of a search end in the exact answer or an exception. docs/reliability.md has the figures."""

import pytest

from solver import Solver, WorkerPool
from solver.engine import worker_pool
from tests.project.test_faults import nothing_is_lost, outcome
from tests.solving import database_for


def test_no_failure_of_a_search_changes_its_answer() -> None:
    nothing_is_lost(outcome("failing_search", "--tried", "32", "--interrupts", "16"), at_least=48)


@pytest.mark.slow
def test_no_failure_of_many_changes_an_answer() -> None:
    nothing_is_lost(outcome("failing_search", "--tried", "2000", "--interrupts", "1000", "--seed", "2"), at_least=3000)


@pytest.mark.usefixtures("tiny_slices")
def test_pool_that_may_not_start_a_thread_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    board = (8, 6, 7, 2, 5, 4, 3, 0, 1)
    threads = []

    class Thread(worker_pool.Thread):
        def start(self) -> None:
            threads.append(self)
            if len(threads) == 2:
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr(worker_pool, "Thread", Thread)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database, WorkerPool(3) as pool:
        solver = Solver(database)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            solver.solve(board, pool=pool)
        assert solver.solve(board, pool=pool).length == 31
    assert len(threads) == 4
