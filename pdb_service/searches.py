"""Searches of the service: two bounded queues, one for short searches and one for long ones.

docs/http.md, "Queues", is the contract.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pdb_core.errors import BusyError
from pdb_core.system import lower_thread_priority
from pdb_core.threads import thread_pool
from pdb_service.answers import Answer, SolveProgress
from pdb_service.metrics import Metrics
from pdb_service.settings import ServiceSettings
from solver import Iteration

# Niceness of the searching threads, on systems where threads have one (Linux): lookups go first.
_NICENESS = 10
_STOPPING = "this server is being stopped; try again in a moment"

Result = TypeVar("Result")
Report = Callable[[Iteration], None]
# Returns the answer of a search, whose progress it reports. Raises what the report raises.
Find = Callable[[Report], Answer]


class GivenUpError(Exception):
    """The client of a search has left."""


class Search:
    """One search. Its thread reports progress; the event loop reads it.

    queue    the name of the pool that it runs in or waits for
    answer   the task of its answer
    started  the time of its start; None while it waits
    """

    answer: asyncio.Task[Answer]

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.is_given_up = False
        self.started: float | None = None
        # The last report of each threshold.
        self._reports: dict[int, Iteration] = {}

    def report(self, progress: Iteration) -> None:
        """Take the progress of the search."""
        self._reports[progress.threshold] = progress

    def progress(self) -> SolveProgress | None:
        """Return the data of the event `progress`; None before the first report."""
        reports = tuple(self._reports.values())  # its thread may add one meanwhile
        if not reports or self.started is None:
            return None
        generated = sum(at.generated for at in reports)
        seconds = time.monotonic() - self.started
        return SolveProgress(
            threshold=reports[-1].threshold,
            generated=generated,
            expanded=sum(at.expanded for at in reports),
            seconds=round(seconds, 3),
            nodes_per_s=round(generated / seconds) if seconds > 0 else 0,
        )


class SearchPools:
    """All threads of a service, by the names of their pools, and its searches. For the event loop.

    "batch" is for batches of lookups. "easy" is for boards whose search takes no more than some 10 ms; they do not
    wait in a queue.
    Searches with a time limit of at most `short_s` have a queue of their own: hints do not wait behind long searches.
    """

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        # All that run or wait, in the order of their arrival.
        self._searches: list[Search] = []
        self._slots = {name: asyncio.Semaphore(settings.n_solves) for name in ("short", "long")}
        self._pools = {"batch": ThreadPoolExecutor(settings.n_solves)}
        for name in ("easy", "short", "long"):
            self._pools[name] = thread_pool(
                settings.n_solves, initializer=lower_thread_priority, initargs=(_NICENESS,), thread_name_prefix=name
            )
        # The time when running searches must end.
        self._end = math.inf
        metrics.running.set_function(lambda: self.n_running)
        metrics.waiting.set_function(lambda: self.n_waiting)

    @property
    def n_running(self) -> int:
        """The number of searches that run."""
        return sum(search.started is not None for search in self._searches)

    @property
    def n_waiting(self) -> int:
        """The number of searches that wait for a thread."""
        return len(self._searches) - self.n_running

    @property
    def is_stopping(self) -> bool:
        """Whether the service is stopping, so that new searches are refused."""
        return self._end < math.inf

    def n_ahead(self, search: Search) -> int:
        """Return the number of searches that wait and start before this one."""
        before = self._searches[: self._searches.index(search)]
        return sum(other.queue == search.queue and other.started is None for other in before)

    def queue(self, seconds: float) -> str:
        """Return the queue for a search with this time limit."""
        return "short" if seconds <= self._settings.short_s else "long"

    def check_open(self, seconds: float) -> str:
        """Return the queue for a search with this time limit. Raises `BusyError` if it would be refused at once."""
        queue = self.queue(seconds)
        searches = [search for search in self._searches if search.queue == queue]
        if len(searches) >= self._settings.n_solves + self._settings.n_waiting:
            n_running = sum(search.started is not None for search in searches)
            state = f"of {len(searches)} solves here {n_running} run, the others wait"
            raise self._refusal(queue, "full", f"{state}; try again in some seconds")
        self._check_not_stopping(queue)
        return queue

    @contextlib.contextmanager
    def start(self, find: Find, seconds: float) -> Iterator[Search]:
        """Yield a new search with a time limit. It ends when the block is left. Raises `BusyError` as `check_open`."""
        search = Search(self.check_open(seconds))
        self._searches.append(search)
        search.answer = asyncio.create_task(self._run(find, search))
        search.answer.add_done_callback(lambda _: self._remove(search))
        try:
            yield search
        finally:
            search.is_given_up = True
            if search.started is None:
                search.answer.cancel()

    async def search(self, find: Find, seconds: float) -> Answer:
        """Return the answer of a search with a time limit. It ends if this is cancelled. Raises as `start`."""
        with self.start(find, seconds) as search:
            await asyncio.wait({search.answer})  # to cancel it would free its slot, but not end its thread
            return search.answer.result()

    async def in_time(self, queue: str, waiting: Awaitable[Result]) -> Result:
        """Return what is awaited. Raises `BusyError` after the longest time that a search may wait."""
        wait_s = self._settings.wait_s
        try:
            async with asyncio.timeout(wait_s):
                return await waiting
        except TimeoutError:
            message = f"no search ended within {wait_s:g} seconds, the longest that a solve may wait here"
            raise self._refusal(queue, "waited", f"{message}; try again in some seconds") from None

    async def run(self, pool: str, call: Callable[..., Result], *arguments: object) -> Result:
        """Return what a call returns in a thread of a pool."""
        return await asyncio.get_running_loop().run_in_executor(self._pools[pool], call, *arguments)

    def stop(self) -> None:
        """Refuse new searches, and end running ones after the time of grace. Thread-safe."""
        self._end = min(self._end, time.monotonic() + self._settings.grace_s)

    async def close(self) -> None:
        """Wait for the threads of searches that have ended or been given up."""
        if self._searches:
            await asyncio.wait([search.answer for search in self._searches])

    async def _run(self, find: Find, search: Search) -> Answer:
        def report(progress: Iteration) -> None:
            if search.is_given_up:
                raise GivenUpError
            if time.monotonic() >= self._end:
                raise BusyError(_STOPPING)
            search.report(progress)

        queue = search.queue
        with self._metrics.wait_seconds.labels(queue).time():
            await self.in_time(queue, self._slots[queue].acquire())
        try:
            self._check_not_stopping(queue)
            search.started = time.monotonic()
            return await self.run(queue, find, report)
        finally:
            self._slots[queue].release()

    def _remove(self, search: Search) -> None:
        self._searches.remove(search)
        if not search.answer.cancelled():
            search.answer.exception()  # otherwise asyncio logs the error of a search that was given up

    def _check_not_stopping(self, queue: str) -> None:
        if self.is_stopping:
            raise self._refusal(queue, "stopping", _STOPPING)

    def _refusal(self, queue: str, reason: str, message: str) -> BusyError:
        self._metrics.refusals.labels(queue, reason).inc()
        return BusyError(message)
