"""Several threads: at one board, and at many."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.puzzle import blank_last
from solver import Iteration, Solver, WorkerPool
from solver.engine.worker_pool import in_parallel
from solver.ida_star import threshold
from tests.solving import S4, database_for, node_counts, solvable_boards


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("n_workers", [1, 3])
def test_workers_change_neither_lengths_nor_finished_thresholds(n_workers: int, encoding: Encoding) -> None:
    with database_for("663", "4x4", encoding=encoding) as database:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 12, 14):
            alone = solver.solve(board)
            with WorkerPool(n_workers) as pool:
                shared = solver.solve(board, pool=pool)
            assert shared.length == alone.length
            assert node_counts(shared.iterations[:-1]) == node_counts(alone.iterations[:-1])


@pytest.mark.tiny
def test_a_new_solver_has_run_every_kernel_that_helping_threads_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the seconds of the first board would hold their compilation."""
    called = set()

    def noting(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            called.add(name)
            return kernel(*args)

        return run

    names = {"find_work", "take_over", "search_below_threshold"}
    for name in names:
        monkeypatch.setattr(threshold, name, noting(name, getattr(threshold, name)))
    with database_for("3,5/2,4/1", "3x2") as database:
        Solver(database)
    assert called == names


@pytest.mark.usefixtures("tiny_slices")
def test_workers_do_search() -> None:
    """Who works is seen in the threads that run the kernel."""
    board = max(solvable_boards(S4, blank_last(S4), 12, 14), key=str)
    threads = set()
    real = threshold.search_below_threshold

    def noting(*args: Any) -> int:
        threads.add(threading.get_ident())
        return real(*args)

    with (
        database_for("663", "4x4") as database,
        pytest.MonkeyPatch.context() as patch,
        WorkerPool(2) as pool,
    ):
        solver = Solver(database)
        patch.setattr(threshold, "search_below_threshold", noting)
        solver.solve(board, pool=pool)
    assert len(threads) > 1


# Many at once


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_outcomes_come_in_the_order_of_the_items(n_threads: int) -> None:
    def work(item: int, _report: Callable[[Iteration], None], _pool: WorkerPool | None) -> int:
        time.sleep(0.002 * (item % 5))
        return item * item

    assert list(in_parallel(range(60), work, n_threads=n_threads)) == [item * item for item in range(60)]


def test_one_thread_takes_an_item_only_when_the_one_before_is_answered() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(3):
            taken.append(item)
            yield item

    answers = in_parallel(items(), lambda item, _report, _pool: item, n_threads=1)
    assert next(answers) == 0
    assert taken == [0]


def test_error_of_one_item_ends_the_others() -> None:
    stopped = threading.Event()

    def work(item: int, report: Callable[[Iteration], None], _pool: WorkerPool | None) -> int:
        if item == 1:
            time.sleep(0.05)
            raise ValueError("item 1")
        if item == 0:
            return 0
        try:
            while True:
                report(Iteration(0, 0, 0, 0.0))
                time.sleep(0.005)
        except BaseException:
            stopped.set()
            raise

    with pytest.raises(ValueError, match="item 1"):
        list(in_parallel(range(100), work, n_threads=2))
    assert stopped.wait(2.0)
