"""Several threads search one board or many; callbacks."""

import errno
import gc
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.puzzle import blank_last
from pdb_query.lookup import Int64s
from solver import Iteration, Limits, Solver, WorkerPool
from solver.engine import stack
from solver.engine.search_memory import FOUND, GENERATED, N_COUNTERS, PAUSED, SOLUTIONS
from solver.engine.threshold import ThresholdSearch
from solver.engine.work import Work
from solver.engine.worker_pool import in_parallel, stream_in_parallel
from tests.solving import S4, database_for, engine_for, hard_board, node_counts, solvable_boards


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
def test_new_solver_has_run_every_kernel_of_its_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seconds of the first board do not include compilation."""
    called = set()

    def noting(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            called.add(name)
            return kernel(*args)

        return run

    names = {(stack, "split"), (stack, "search_boards")}
    for module, name in names:
        monkeypatch.setattr(module, name, noting(name, getattr(module, name)))
    with database_for("3,5/2,4/1", "3x2") as database:
        Solver(database)
    assert called == {name for _, name in names}


@pytest.mark.usefixtures("tiny_slices")
def test_workers_do_search() -> None:
    """Several threads run the kernel."""
    threads = set()
    real = stack.search_boards

    def noting(*args: Any) -> int:
        threads.add(threading.get_ident())
        return real(*args)

    with database_for("663", "4x4") as database, pytest.MonkeyPatch.context() as patch, WorkerPool(2) as pool:
        solver = Solver(database)
        patch.setattr(stack, "search_boards", noting)
        solver.solve(hard_board(), limits=Limits(nodes=3_000_000), pool=pool)
    assert len(threads) > 1


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("n_allowed", [0, 2])
def test_search_goes_on_with_the_threads_that_the_system_starts(
    limit_threads: Callable[[int], None], n_allowed: int
) -> None:
    board = solvable_boards(S4, blank_last(S4), 1, 14)[0]
    with database_for("663", "4x4") as database:
        solver = Solver(database)
        alone = solver.solve(board)
        limit_threads(n_allowed)
        with WorkerPool(64) as pool, pytest.warns(RuntimeWarning, match="starts no more threads") as warned:
            shared = [solver.solve(board, pool=pool) for _ in range(3)]
    assert {solution.length for solution in shared} == {alone.length}
    assert len(warned) == 1


@pytest.mark.parametrize("n_allowed", [0, 2])
def test_items_are_done_with_the_threads_that_the_system_starts(
    limit_threads: Callable[[int], None], n_allowed: int
) -> None:
    limit_threads(n_allowed)
    with pytest.warns(RuntimeWarning, match="starts no more threads") as warned:
        assert list(in_parallel(range(60), lambda item, *_: item * item, n_threads=16)) == [i * i for i in range(60)]
    assert len(warned) == 1


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("end", ["solution", "limit", "interrupt"])
def test_stacks_of_a_search_that_ends_early_are_used_again(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stacks: weakref.WeakSet[stack.Stack] = weakref.WeakSet()
    n_made, reports = 0, itertools.count(1)
    allocate = stack.Stack._allocate

    def noting(made: stack.Stack, *sizes: int) -> None:
        nonlocal n_made
        n_made += 1
        stacks.add(made)
        allocate(made, *sizes)

    def interrupt(_at: Iteration) -> None:
        if next(reports) % 40 == 0:
            raise KeyboardInterrupt

    with database_for("663", "4x4") as database, WorkerPool(3) as pool:
        solver = Solver(database)
        monkeypatch.setattr(stack.Stack, "_allocate", noting)
        gc.disable()
        try:
            for _ in range(12):
                if end == "solution":
                    solver.solve(solvable_boards(S4, blank_last(S4), 1, 14)[0], pool=pool)
                elif end == "limit":
                    solver.solve(hard_board(), limits=Limits(nodes=60_000), pool=pool)
                else:
                    with pytest.raises(KeyboardInterrupt):
                        solver.solve(hard_board(), report=interrupt, pool=pool)
            n_kept = len(stacks)
        finally:
            gc.enable()
    # Four threads, and shares that no thread had taken yet. After an exception the owner's stack is dropped.
    assert n_kept <= 8
    assert n_made <= (20 if end == "interrupt" else 8)


def test_stack_that_has_grown_is_not_kept() -> None:
    with database_for("663", "4x4") as database:
        stacks = engine_for([database]).stacks
        with stacks.borrowed() as usual:
            pass
        with stacks.borrowed() as large:
            large.grow()
        assert large is usual
        assert stacks.take() is not large


@pytest.mark.usefixtures("tiny_slices")
def test_thread_without_memory_for_its_stack_leaves_the_work_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    board = solvable_boards(S4, blank_last(S4), 1, 14)[0]
    with database_for("663", "4x4") as database, WorkerPool(2) as pool:
        solver = Solver(database)
        alone = solver.solve(board)
        monkeypatch.setattr(stack, "private_memory", fail)
        assert solver.solve(board, pool=pool).length == alone.length


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


@pytest.mark.parametrize("n_threads", [1, 2])
def test_outcomes_come_before_their_item_is_finished(n_threads: int) -> None:
    is_seen, ended = threading.Event(), threading.Event()

    def work(
        item: int, _report: Callable[[Iteration], None], _pool: WorkerPool | None
    ) -> Generator[tuple[int, int], None, None]:
        try:
            yield item, 0
            assert is_seen.wait(10)
            yield item, 1
            while True:
                yield item, 2
        finally:
            ended.set()

    answers = stream_in_parallel(iter([7]), work, n_threads=n_threads)
    assert next(answers) == (7, 0)
    is_seen.set()
    assert next(answers) == (7, 1)
    answers.close()  # type: ignore[attr-defined]
    assert ended.is_set()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_error_of_the_source_comes_after_the_outcomes_before(n_threads: int) -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("no item 3")

    def work(item: int, _report: Callable[[Iteration], None], _pool: WorkerPool | None) -> int:
        time.sleep(0.02)
        return item

    answers = in_parallel(items(), work, n_threads=n_threads)
    assert [next(answers), next(answers)] == [1, 2]
    with pytest.raises(ValueError, match="no item 3"):
        next(answers)


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


# Callbacks: slow ones delay neither the time limit nor the other threads


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

    def search(self, _pause_at: int, _max_nodes: int, *, counts_goals: bool) -> int:  # noqa: ARG002
        time.sleep(0.0001)
        self._counters[GENERATED] += 1
        self._counters[SOLUTIONS] += self._status == FOUND
        return self._status

    def split(self) -> Work | None:
        return EndlessWork(FOUND)

    def pause(self) -> None:
        pass

    def release(self) -> None:
        pass

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
    with WorkerPool(2) as pool:
        search.search(EndlessWork(PAUSED), Limits(seconds=0.2), time.perf_counter(), pool=pool)
    assert search.status == PAUSED
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
