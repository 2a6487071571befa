"""Threads that search boards, and that help with hard boards when no other board is left."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from pdb_core.errors import LimitReachedError
from solver.progress import Iteration, Report

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# How often the main thread looks up from waiting, in seconds: only it can act on Ctrl-C.
_WAIT_S = 0.1
# Items per thread that are begun and not yet yielded.
_MOST_WAITING = 64


class Helped(Protocol):
    """A search that takes long and can be shared."""

    @property
    def is_over(self) -> bool: ...

    def help(self) -> None:
        """Work on the search until it is over."""


class WorkerPool:
    """Up to `n_workers` threads, started when there is work. Thread-safe. Use it as a context manager, or `close` it.

    Workers run the tasks that are submitted first, then help with the searches that are offered.
    """

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._changed = Condition()
        self._threads: list[Thread] = []
        self._n_free = 0
        self._tasks: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._n_helpers: dict[Any, int] = {}
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def submit(self, task: Callable[[], Any]) -> Future[Any]:
        """Run a task on a worker. Its result, or what it raises, is in the future."""
        future: Future[Any] = Future()
        with self._changed:
            self._tasks.append((future, task))
            self._start_workers(len(self._tasks))
        return future

    def offer(self, search: Helped) -> None:
        """Let free workers help with a search, until `withdraw`."""
        with self._changed:
            self._n_helpers[search] = 0
            self._start_workers(self._n_workers)

    def withdraw(self, search: Helped) -> None:
        """Let no more workers help with a search."""
        with self._changed:
            self._n_helpers.pop(search, None)

    def close(self) -> None:
        """Cancel the tasks that have not begun, and wait for the workers."""
        with self._changed:
            self._is_closed = True
            while self._tasks:
                self._tasks.popleft()[0].cancel()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _start_workers(self, n_wanted: int) -> None:
        """Start workers until `n_wanted` are free, or there are as many as there may be."""
        while self._n_free < n_wanted and len(self._threads) < self._n_workers and not self._is_closed:
            thread = Thread(target=self._work, name="tile-pdb worker", daemon=True)
            self._threads.append(thread)
            self._n_free += 1
            thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._is_closed or self._tasks or self._open_searches())
                if self._tasks:
                    future, task = self._tasks.popleft()
                    self._run_unlocked(partial(_fulfil, future, task))
                elif self._is_closed:
                    return
                else:
                    search = min(self._open_searches(), key=lambda at: self._n_helpers[at])
                    self._n_helpers[search] += 1
                    self._run_unlocked(search.help)
                    if search in self._n_helpers:
                        self._n_helpers[search] -= 1

    def _run_unlocked(self, work: Callable[[], None]) -> None:
        self._n_free -= 1
        self._changed.release()
        try:
            work()
        finally:
            self._changed.acquire()
            self._n_free += 1

    def _open_searches(self) -> list[Any]:
        return [search for search in self._n_helpers if not search.is_over]


def _fulfil(future: "Future[Any]", task: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = task()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class _CancelledError(LimitReachedError):
    """The batch was given up while this board was searched."""


def in_parallel(
    items: Iterable[Item], work: Callable[[Item, Report, WorkerPool | None], Outcome], *, n_threads: int
) -> Iterator[Outcome]:
    """Do `work(item, report, pool)` for each item, `n_threads` at a time, and yield the outcomes in the order of the
    items. See `stream_in_parallel`.
    """

    def stream(item: Item, report: Report, pool: WorkerPool | None) -> Generator[Outcome, None, None]:
        yield work(item, report, pool)

    return stream_in_parallel(items, stream, n_threads=n_threads)


def stream_in_parallel(
    items: Iterable[Item],
    work: Callable[[Item, Report, WorkerPool | None], Generator[Outcome, None, None]],
    *,
    n_threads: int,
) -> Iterator[Outcome]:
    """Iterate over `work(item, report, pool)` for each item, `n_threads` items at a time.

    Yield the outcomes in the order of the items, as soon as they are found.

    Items are taken as they are needed; with one thread, when the item before is finished, because the source may wait
    for its outcomes. If no items are left, free workers help with the searches that `work` offers to the pool. What
    `work` raises is raised here. Leaving the iteration early, by an error or Ctrl-C, stops the searches within a
    fraction of a second: `report` then raises, and nothing more is taken from `work`.
    """
    if n_threads == 1:
        for item in items:
            yield from work(item, lambda _: None, None)
        return
    give_up, has_changed = Event(), Event()

    def check(_iteration: Iteration | None = None) -> None:
        if give_up.is_set():
            raise _CancelledError("cancelled")

    with WorkerPool(n_threads) as pool:

        def run(item: Item, outcomes: deque[Outcome]) -> None:
            # Closed here: after an error, a traceback would keep the generator alive, and what it holds.
            with closing(work(item, check, pool)) as found:
                for outcome in found:
                    outcomes.append(outcome)
                    has_changed.set()
                    check()

        waiting: deque[tuple[Future[None], deque[Outcome]]] = deque()
        source = iter(items)
        end: Exception | None = None
        try:
            while True:
                # A few more than there are threads, so that a hard board at the head does not leave a core idle.
                while end is None and len(waiting) < _MOST_WAITING * n_threads:
                    if sum(not task.done() for task, _ in waiting) >= 2 * n_threads:
                        break
                    try:
                        item = next(source)
                    except Exception as error:  # raised after the outcomes of the items before
                        end = error
                        break
                    outcomes: deque[Outcome] = deque()
                    task = pool.submit(partial(run, item, outcomes))
                    task.add_done_callback(lambda _: has_changed.set())
                    waiting.append((task, outcomes))
                if not waiting:
                    if end is None or isinstance(end, StopIteration):
                        return
                    raise end
                has_changed.clear()
                task, outcomes = waiting[0]
                is_done = task.done()
                while outcomes:
                    yield outcomes.popleft()
                if is_done:
                    task.result()
                    waiting.popleft()
                else:
                    has_changed.wait(_WAIT_S)
        finally:
            give_up.set()
