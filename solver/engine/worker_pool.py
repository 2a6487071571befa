"""Pool of threads that search boards, and that help with hard boards when no other board is left."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Condition, RLock, Thread
from typing import Any, Generic, Self, TypeVar

from pdb_core.arguments import as_count, check_kind
from pdb_core.errors import InputError, LimitReachedError
from solver.progress import Iteration, Report

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# How often the main thread looks up from waiting, in seconds: only it can act on Ctrl-C.
_WAIT_S = 0.1
# Seconds between two looks at a source that has no item yet, if nothing else is to do.
_SOURCE_S = 0.01
# Items per thread that are begun and not yet yielded.
_MOST_WAITING = 64


class WorkerPool:
    """Pool of threads, started when there is work. Thread-safe.

    Workers run the submitted tasks first, then help with the searches that are offered. Use the pool as a context
    manager, or `close` it.

    Parameters
    ----------
    n_workers
        Largest number of threads.
    """

    def __init__(self, n_workers: int) -> None:
        self._n_workers = as_count(n_workers, "n_workers", 0, 1024)
        # Not `with Condition()`: an interrupt that comes while the main thread waits for it would leave it locked.
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._threads: list[Thread] = []
        self._n_free = 0
        self._tasks: deque[Callable[[], None]] = deque()
        self._n_helpers: dict[Any, int] = {}
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def submit(self, task: Callable[[], None]) -> None:
        """Run a task, which must not raise, on a worker; in the calling thread if the pool has none.

        Raises `InputError` if the pool is closed, and `RuntimeError` if the system starts no more threads.
        """
        check_kind(task, Callable, "task", "a function")
        with self._lock:
            if self._is_closed:
                raise InputError("the pool is closed; make another one")
            self._tasks.append(task)
            self._start_workers(len(self._tasks))
            if self._threads:
                return
            self._tasks.pop()
        task()

    def offer(self, search: Any) -> None:
        """Let free workers call `search.help()`, until `withdraw(search)` is called or `search.is_over` is True."""
        with self._lock:
            self._n_helpers[search] = 0
            self._start_workers(self._n_workers)

    def withdraw(self, search: Any) -> None:
        """Stop offering a search to workers."""
        with self._lock:
            self._n_helpers.pop(search, None)

    def close(self) -> None:
        """Drop the tasks that have not begun, and wait for the workers."""
        with self._lock:
            self._is_closed = True
            self._tasks.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _start_workers(self, n_wanted: int) -> None:
        """Start workers until `n_wanted` are free, or there are as many as there may be."""
        while self._n_free < n_wanted and len(self._threads) < self._n_workers and not self._is_closed:
            thread = Thread(target=self._work, name="tile-pdb worker", daemon=True)
            thread.start()  # it waits for the lock
            self._threads.append(thread)
            self._n_free += 1
        self._changed.notify_all()

    def _work(self) -> None:
        with self._lock:
            while True:
                self._changed.wait_for(lambda: self._is_closed or self._tasks or self._open_searches())
                if self._tasks:
                    self._run_unlocked(self._tasks.popleft())
                elif self._is_closed:
                    return
                # A search ends without the lock of the pool: it may have ended since.
                elif open_searches := self._open_searches():
                    search = min(open_searches, key=lambda offered: self._n_helpers[offered])
                    self._n_helpers[search] += 1
                    self._run_unlocked(search.help)
                    if search in self._n_helpers:
                        self._n_helpers[search] -= 1

    def _run_unlocked(self, work: Callable[[], None]) -> None:
        self._n_free -= 1
        self._lock.release()
        try:
            work()
        finally:
            self._lock.acquire()
            self._n_free += 1

    def _open_searches(self) -> list[Any]:
        return [search for search in self._n_helpers if not search.is_over]


class _CancelledError(LimitReachedError):
    """Error that ends the search of one board when its batch ends early."""


@dataclass(eq=False)
class _Turn(Generic[Outcome]):
    """Item of `stream_in_parallel` that was begun: its outcomes that are not yielded yet, and its error."""

    outcomes: deque[Outcome] = field(default_factory=deque)
    is_done: bool = False
    error: BaseException | None = None


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
    items: Iterable[Item | None],
    work: Callable[[Item, Report, WorkerPool | None], Generator[Outcome, None, None]],
    *,
    n_threads: int,
) -> Iterator[Outcome]:
    """Iterate over `work(item, report, pool)` for each item, `n_threads` items at a time.

    Yield the outcomes in the order of the items, as soon as they are found.

    Items are taken as they are needed; with one thread, when the item before is finished, because the source may wait
    for its outcomes. With more threads, the source must not wait: None means that the next item is not there yet. If no
    items are left, free workers help with the searches that `work` offers to the pool. What `work` raises is raised
    here. Leaving the iteration early, by an error or Ctrl-C, stops the searches within a fraction of a second: `report`
    then raises.
    """
    if n_threads == 1:
        for item in items:
            assert item is not None
            yield from work(item, lambda _: None, None)
        return
    with WorkerPool(n_threads) as pool:
        stream = _Stream(iter(items), work, pool, n_threads)
        try:
            yield from stream.outcomes()
        finally:
            stream.is_cancelled = True


class _Stream(Generic[Item, Outcome]):
    """Items that a pool works on, and their outcomes in the order of the items."""

    def __init__(
        self,
        source: Iterator[Item | None],
        work: Callable[[Item, Report, WorkerPool | None], Generator[Outcome, None, None]],
        pool: WorkerPool,
        n_threads: int,
    ) -> None:
        self._source, self._work, self._pool, self._n_threads = source, work, pool, n_threads
        self._waiting: deque[_Turn[Outcome]] = deque()
        # What the source raised, at its end or before: raised after the outcomes of the items before.
        self._end: Exception | None = None
        # Not events or futures: an interrupt could leave their locks locked, see `WorkerPool`.
        self._changes: SimpleQueue[None] = SimpleQueue()
        self.is_cancelled = False

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcomes as soon as they are found. Raises what the source and the work raise."""
        while True:
            self._begin_items()
            if not self._waiting:
                if self._end is None:
                    time.sleep(_SOURCE_S)
                    continue
                if isinstance(self._end, StopIteration):
                    return
                raise self._end
            turn = self._waiting[0]
            is_done = turn.is_done
            while turn.outcomes:
                yield turn.outcomes.popleft()
            if not is_done:
                with suppress(Empty):
                    self._changes.get(timeout=_WAIT_S)
            elif turn.error is not None:
                raise turn.error
            else:
                self._waiting.popleft()

    def _begin_items(self) -> None:
        """Begin a few more items than there are threads, so that a hard board at the head leaves no core idle."""
        while self._end is None and len(self._waiting) < _MOST_WAITING * self._n_threads:
            if sum(not turn.is_done for turn in self._waiting) >= 2 * self._n_threads:
                return
            try:
                item = next(self._source)
            except Exception as error:
                self._end = error
                return
            if item is None:
                return
            self._waiting.append(_Turn())
            self._pool.submit(partial(self._run, item, self._waiting[-1]))

    def _run(self, item: Item, turn: _Turn[Outcome]) -> None:
        try:
            # Closed here: after an error, a traceback would keep the generator alive, and what it holds.
            with closing(self._work(item, self._check, self._pool)) as found:
                for outcome in found:
                    turn.outcomes.append(outcome)
                    self._changes.put(None)
                    self._check()
        except BaseException as error:
            turn.error = error
        turn.is_done = True
        self._changes.put(None)

    def _check(self, _iteration: Iteration | None = None) -> None:
        if self.is_cancelled:
            raise _CancelledError("cancelled")
