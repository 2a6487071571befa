"""One threshold of one board, searched by the thread that owns the board and by idle workers (work stealing).

A thread without work pauses the others. One of them gives it every second node of its stack, or, in a `SubtreeList`,
the next subtrees. The threads' nodes are disjoint, so a threshold that is searched to its end has the same nodes on any
number of threads. An exception in any thread ends the search, and is raised by the owner.
"""

import time
from collections import deque
from collections.abc import Callable
from threading import Condition, RLock, get_ident

from solver.checkpoint import Subtrees
from solver.engine import search_memory as mem
from solver.engine.work import Work
from solver.engine.worker_pool import WorkerPool
from solver.progress import Iteration, Limits, Report

# Seconds between two looks at the limits by an owner that has no work.
_WAIT_S = 0.05
# Solutions that wait to be listed before workers wait too: a slow `listed` must not delay the time limit for long.
_MOST_UNLISTED = 16
# No limit on nodes.
NO_LIMIT = 1 << 62

Listed = Callable[[tuple[int, ...]], None]


class ThresholdSearch:
    """Search of one threshold. The owner calls `search`, workers call `help`, each in its own thread.

    It ends at the first solution; with `finds_all` it goes on and counts them. `listed` is called with the tiles of
    each, one at a time, by the owner's thread.
    """

    def __init__(
        self, threshold: int, max_nodes: int | None, *, finds_all: bool = False, listed: Listed | None = None
    ) -> None:
        self.threshold = threshold
        self._max_nodes = NO_LIMIT if max_nodes is None else max_nodes
        self._finds_all = finds_all
        self._listed = listed
        # Not `with Condition()`: an interrupt that comes while a thread waits for it would leave it locked.
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._offered: deque[Work] = deque()
        # The thread that does each work. An interrupt may come while work changes hands.
        self._working: dict[Work, int] = {}
        self._n_waiting = 0
        # The thread that lists solutions.
        self._owner = get_ident()
        self._unlisted: deque[tuple[int, ...]] = deque()
        self._error: BaseException | None = None
        self.is_over = False
        self.status = mem.PAUSED
        self.tiles: tuple[int, ...] = ()
        self.generated = self.expanded = self.n_solutions = 0
        # Seconds of earlier runs.
        self.seconds = 0.0

    def resume(self, known: Subtrees) -> None:
        """Count the nodes and the seconds of what was searched before. Called by the owner's thread."""
        with self._lock:
            self.generated += known.generated
            self.expanded += known.expanded
        self.seconds = known.seconds

    def search(
        self, work: Work, limits: Limits, start: float, report: Report | None = None, pool: WorkerPool | None = None
    ) -> Iteration:
        """Search to the end or a limit. If `status` is PAUSED and there is no pool, the rest is in `work`.

        `start` is when the seconds of `limits` began; the limit on nodes is `max_nodes`. `report` is called every
        fraction of a second. Workers of `pool` help from the second slice on. Raises what `report`, `listed` or the
        search raise, in whichever thread.
        """
        started = time.perf_counter()

        def progress() -> Iteration:
            seconds = self.seconds + time.perf_counter() - started
            return Iteration(self.threshold, self.generated, self.expanded, seconds)

        self._owner = self._working[work] = get_ident()
        try:
            is_offered = False
            while not self.is_over:
                if self._unlisted:
                    self._list_one()
                elif work not in self._working:
                    taken = self._take(_WAIT_S)
                    work = work if taken is None else taken
                if work in self._working and not self._unlisted:
                    status = self._search_slice(work)
                    if status == mem.PAUSED and pool is not None and not is_offered:
                        pool.offer(self)
                        is_offered = True
                if report is not None and not self.is_over:
                    report(progress())
                if limits.time_limit is not None and time.perf_counter() - start >= limits.time_limit:
                    self._end(mem.PAUSED)
            if work in self._working:
                work.release()
        except BaseException as error:
            self._fail(error)
        finally:
            # An interrupt may have come before `_fail` was through.
            self._end(mem.PAUSED)
            if pool is not None:
                pool.withdraw(self)
            self._leave()
            with self._lock:
                self._changed.wait_for(lambda: not self._working)
                while self._offered:
                    self._offered.popleft().release()
        self._raise_error()
        while self._unlisted:
            self._list_one()
        if self.status == mem.EXHAUSTED and self.n_solutions:
            self.status = mem.FOUND
        return progress()

    def _raise_error(self) -> None:
        """Raise the error that ended the search, if any. It is not kept: its traceback holds this search."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error

    def help(self) -> None:
        """Take work from the others until the threshold is over."""
        work: Work | None = None
        try:
            while not self.is_over:
                work = self._take(None)
                while work is not None and work in self._working and not self.is_over:
                    self._search_slice(work)
            if work is not None and work in self._working:
                # Before the owner may return: it raises what fails here. After an error nothing is used again.
                work.release()
        except BaseException as error:
            self._fail(error)
        finally:
            self._leave()

    def _list_one(self) -> None:
        """List a solution that waits. The callback runs without the lock."""
        assert self._listed is not None
        with self._lock:
            tiles = self._unlisted.popleft()
            self._changed.notify_all()
        self._listed(tiles)

    def _leave(self) -> None:
        """Stop working on the parts of this thread."""
        with self._lock:
            for work in [work for work, thread in self._working.items() if thread == get_ident()]:
                del self._working[work]
            self._changed.notify_all()

    def _search_slice(self, work: Work) -> int:
        """Search a slice, count it, and act on it."""
        # One solution is wanted even if they are only counted.
        counts_goals = self._finds_all and self._listed is None and bool(self.tiles)
        nodes_left = max(1, self._max_nodes - self.generated)
        # The first slice is short: workers wait for the rest of a threshold that is not over by then.
        n_nodes = work.slice_nodes if self.generated else work.slice_nodes // 8
        status = work.search(min(n_nodes, nodes_left), nodes_left, counts_goals=counts_goals)
        counted = work.counters.tolist()
        tiles = work.tiles() if status == mem.FOUND else ()
        work.counters[mem.GENERATED] = work.counters[mem.EXPANDED] = work.counters[mem.SOLUTIONS] = 0
        donated = work.split() if status == mem.PAUSED and self._n_waiting > len(self._offered) else None
        with self._lock:
            self.generated += counted[mem.GENERATED]
            self.expanded += counted[mem.EXPANDED]
            self.n_solutions += counted[mem.SOLUTIONS]
            if donated is not None:
                self._offered.append(donated)
            if status == mem.EXHAUSTED:
                del self._working[work]
                if not self._working and not self._offered:
                    self._end_locked(mem.EXHAUSTED)
            if status == mem.FOUND:
                self.tiles = tiles
                if not self._finds_all:
                    self._end_locked(mem.FOUND)
                elif self._listed is not None:
                    self._unlisted.append(tiles)
            if self.generated >= self._max_nodes:
                self._end_locked(mem.PAUSED)
            self._changed.notify_all()
            if get_ident() != self._owner:
                self._changed.wait_for(lambda: len(self._unlisted) < _MOST_UNLISTED or self.is_over)
        if status == mem.EXHAUSTED:
            work.release()
        return status

    def _take(self, timeout: float | None) -> Work | None:
        """Wait for work. Returns None if there is none in time, or the threshold is over."""
        end = time.perf_counter() + (timeout or 0.0)
        with self._lock:
            self._n_waiting += 1
            try:
                while not self._offered and not self.is_over:
                    for work in self._working:
                        work.pause()
                    # Others notify often. Pausing them each time would leave them no time to search.
                    self._changed.wait_for(lambda: self._offered or self.is_over, _WAIT_S)
                    if timeout is not None and time.perf_counter() >= end:
                        break
            finally:
                self._n_waiting -= 1
            if self.is_over or not self._offered:
                return None
            work = self._offered.popleft()
            self._working[work] = get_ident()
            return work

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._error is None:
                self._error = error
            self._end_locked(mem.PAUSED)

    def _end(self, status: int) -> None:
        with self._lock:
            self._end_locked(status)

    def _end_locked(self, status: int) -> None:
        if not self.is_over:
            self.is_over = True
            self.status = status
        for work in self._working:
            work.pause()
        self._changed.notify_all()
