"""Searches of the service: two bounded queues, searches that requests share, and kept answers.

Requests with equal questions wait for one search, which goes on while one of them waits. Its answer is kept if no limit
cut it short. docs/http.md, "Queues and kept answers", is the contract.
"""

import asyncio
import contextlib
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from cachetools import LRUCache

from pdb_core.errors import BusyError
from pdb_core.puzzle import Board, Tiles
from pdb_core.system import lower_thread_priority
from pdb_core.threads import thread_pool
from pdb_query.database import Database
from pdb_service.answers import Answer, SolveProgress
from pdb_service.metrics import Metrics
from pdb_service.served_databases import Served
from pdb_service.settings import ServiceSettings
from solver import Iteration, Limits, Solution, Solver

_log = logging.getLogger("tile_pdb.service")
# Memory of a kept answer beside its text: the question and the entry.
_ENTRY_BYTES = 1000
# A search notices within a fraction of a second that it should end. This bounds the wait for one that does not.
_LAST_SLICE_S = 5.0
# Niceness of the searching threads, on systems where threads have one (Linux): lookups go first.
_NICENESS = 10
_STOPPING = "this server is being stopped; try again in a moment"

Report = Callable[[Iteration], None]
# The body of an answer, and whether no limit cut it short.
Found = tuple[bytes, bool]


class GivenUpError(Exception):
    """All clients of a search have left."""


class Solvers:
    """One solver for each database. Thread-safe.

    count_nodes  called with the generated nodes of each search that ends
    """

    def __init__(self, count_nodes: Callable[[int], None]) -> None:
        self._count_nodes = count_nodes
        # The first call for a database loads or compiles its kernels.
        self.solver = lru_cache(maxsize=None)(Solver)

    def solve(self, database: Database, board: Tiles, goal: Tiles, limits: Limits, report: Report) -> Solution:
        """Return the solution of a solvable board, as `solver.Solver.solve`."""
        solution = self.solver(database).solve(board, goal, limits=limits, report=report)
        self._count_nodes(solution.generated)
        return solution


@dataclass(frozen=True)
class Question(ABC):
    """Task of a search. Equal questions have the same answer.

    seconds  the longest that the search may take
    nodes    the most nodes that it may generate; None for no limit
    """

    board: Board
    served: Served
    seconds: float
    nodes: int | None

    @property
    @abstractmethod
    def needs_search(self) -> bool:
        """Return whether the answer needs more than lookups."""

    @abstractmethod
    def find(self, solvers: Solvers, report: Report) -> tuple[Answer, bool]:
        """Return the answer, and whether no limit cut it short. Raises what `report` raises."""

    def without_limits(self) -> "Question":
        """Return the question that complete answers belong to."""
        return replace(self, seconds=math.inf, nodes=None)


class _Queue:
    """Threads that search, and the searches that wait for one of them, first come, first served."""

    def __init__(self, name: str, n_threads: int) -> None:
        self.name = name
        self.pool = thread_pool(
            n_threads, thread_name_prefix=name, initializer=lower_thread_priority, initargs=(_NICENESS,)
        )
        self.slots = asyncio.Semaphore(n_threads)
        self.waiting: dict[Search, None] = {}
        self.n_running = 0


class Search:
    """One search. Its thread reports progress; the event loop reads it.

    found      the task of its answer
    n_clients  requests that wait for it
    started    the time of its start; None while it waits
    """

    found: "asyncio.Future[Found]"

    def __init__(self, queue: _Queue) -> None:
        self.queue = queue
        self.n_clients = 0
        self.is_given_up = False
        self.started: float | None = None
        # Generated and expanded nodes of finished thresholds, and the report of the current one.
        self._progress: tuple[int, int, Iteration] | None = None

    @property
    def n_ahead(self) -> int:
        """The number of searches that wait and start before this one."""
        return next((at for at, waiting in enumerate(self.queue.waiting) if waiting is self), 0)

    def report(self, progress: Iteration) -> None:
        """Take the progress of the search."""
        generated = expanded = 0
        if self._progress is not None:
            generated, expanded, latest = self._progress
            if latest.threshold != progress.threshold:
                generated, expanded = generated + latest.generated, expanded + latest.expanded
        self._progress = generated, expanded, progress

    def progress(self) -> SolveProgress | None:
        """Return the data of the event `progress`; None before the first report."""
        if self._progress is None or self.started is None:
            return None
        generated, expanded, latest = self._progress
        seconds = time.monotonic() - self.started
        generated += latest.generated
        return SolveProgress(
            threshold=latest.threshold,
            generated=generated,
            expanded=expanded + latest.expanded,
            seconds=round(seconds, 3),
            nodes_per_s=round(generated / seconds) if seconds > 0 else 0,
        )


class Searches:
    """All searches of a service. For the event loop.

    Searches with a time limit of at most `short_s` have a queue of their own: hints do not wait behind long searches.
    """

    def __init__(self, solvers: Solvers, settings: ServiceSettings, metrics: Metrics) -> None:
        self._solvers, self._settings, self._metrics = solvers, settings, metrics
        self._short, self._long = (_Queue(name, settings.n_solves) for name in ("short", "long"))
        self._current: dict[Question, Search] = {}
        # asyncio keeps only weak references to tasks. Those that were given up stay here until their threads are free.
        self._tasks: set[asyncio.Task[Found]] = set()
        self._answers: LRUCache[Question, bytes] = LRUCache(
            settings.max_cached_bytes, getsizeof=lambda body: len(body) + _ENTRY_BYTES
        )
        # The time when running searches must end.
        self._end = math.inf
        metrics.running.set_function(lambda: self.n_running)
        metrics.waiting.set_function(lambda: self.n_waiting)
        metrics.cached.set_function(lambda: self._answers.currsize)

    @property
    def n_running(self) -> int:
        """The number of searches that run."""
        return self._short.n_running + self._long.n_running

    @property
    def n_waiting(self) -> int:
        """The number of searches that wait for a thread."""
        return len(self._short.waiting) + len(self._long.waiting)

    @property
    def is_stopping(self) -> bool:
        """Return whether `stop` was called."""
        return self._end < math.inf

    def _known(self, question: Question) -> bytes | None:
        """Return the body of the answer if it was kept or needs no search, else None."""
        if not question.needs_search:
            return question.find(self._solvers, lambda _: None)[0].to_json()
        kept = self._answers.get(question.without_limits())
        if kept is not None:
            self._metrics.answers.labels("cache").inc()
        return kept

    def check_open(self, question: Question) -> None:
        """Raise `BusyError` if `join` would."""
        if not question.needs_search or question in self._current or question.without_limits() in self._answers:
            return
        queue = self._queue(question)
        if queue.n_running + len(queue.waiting) >= self._settings.n_solves + self._settings.n_waiting:
            message = f"{queue.n_running} solves run here and {len(queue.waiting)} wait; try again in some seconds"
            raise self._refusal(queue, "full", message)
        self._check_not_stopping(queue)

    @contextlib.contextmanager
    def join(self, question: Question) -> Iterator[Search]:
        """Yield the search that answers a question: one that has ended, one that others wait for, or a new one.

        The search ends when its last request leaves. Raises `BusyError` if the queue is full, or the server stops.
        """
        known = self._known(question)
        if known is not None:
            answered = Search(self._queue(question))
            answered.found = asyncio.get_running_loop().create_future()
            answered.found.set_result((known, True))
            yield answered
            return
        search = self._current.get(question)
        if search is None:
            search = self._start(question)
        else:
            self._metrics.answers.labels("shared").inc()
        search.n_clients += 1
        try:
            yield search
        finally:
            search.n_clients -= 1
            if search.n_clients == 0 and not search.found.done():
                # The next request with this question starts a new search: this one is about to end without an answer.
                self._forget(question, search)
                search.is_given_up = True
                if search.started is None:
                    search.found.cancel()

    def stop(self) -> None:
        """Refuse new searches, and end running ones after the time of grace. Thread-safe."""
        self._end = min(self._end, time.monotonic() + self._settings.grace_s)

    async def close(self) -> None:
        """Wait for the threads of searches that have ended or been given up, and stop the threads."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_LAST_SLICE_S)
            if late:
                _log.error("%d searches have not ended after %g seconds", len(late), _LAST_SLICE_S)
        for queue in (self._short, self._long):
            queue.pool.shutdown(wait=False, cancel_futures=True)

    def _queue(self, question: Question) -> _Queue:
        return self._short if question.seconds <= self._settings.short_s else self._long

    def _start(self, question: Question) -> Search:
        self.check_open(question)
        search = Search(self._queue(question))
        search.queue.waiting[search] = None
        search.found = asyncio.create_task(self._run(question, search))
        self._current[question] = search
        self._tasks.add(search.found)
        search.found.add_done_callback(lambda found: self._note(question, search, found))
        self._metrics.answers.labels("search").inc()
        return search

    async def _run(self, question: Question, search: Search) -> Found:
        queue = search.queue
        await self._wait(search)
        queue.n_running += 1
        try:
            self._check_not_stopping(queue)
            search.started = time.monotonic()
            return await asyncio.get_running_loop().run_in_executor(queue.pool, self._find, question, search)
        finally:
            queue.n_running -= 1
            queue.slots.release()

    async def _wait(self, search: Search) -> None:
        """Take a slot of the queue. Raises `BusyError` after the longest time that a search may wait."""
        queue, wait_s = search.queue, self._settings.wait_s
        started = time.monotonic()
        try:
            async with asyncio.timeout(wait_s):
                await queue.slots.acquire()
        except TimeoutError:
            message = f"no search ended within {wait_s:g} seconds, the longest that a solve may wait here"
            raise self._refusal(queue, "waited", f"{message}; try again in some seconds") from None
        finally:
            queue.waiting.pop(search, None)
            self._metrics.wait_seconds.labels(queue.name).observe(time.monotonic() - started)

    def _find(self, question: Question, search: Search) -> Found:
        """Search, in a thread."""

        def report(progress: Iteration) -> None:
            if search.is_given_up:
                raise GivenUpError
            if time.monotonic() >= self._end:
                raise BusyError(_STOPPING)
            search.report(progress)

        answer, is_complete = question.find(self._solvers, report)
        return answer.to_json(), is_complete

    def _note(self, question: Question, search: Search, found: "asyncio.Task[Found]") -> None:
        """Keep the answer of a search that has ended, or log its error."""
        self._tasks.discard(found)
        search.queue.waiting.pop(search, None)
        self._forget(question, search)
        if found.cancelled():
            return
        error = found.exception()
        if error is not None:
            # With clients, the request logs the error.
            if search.n_clients == 0 and not isinstance(error, BusyError | GivenUpError):
                _log.error("a search without clients failed", exc_info=error)
            return
        body, is_complete = found.result()
        if is_complete:
            with contextlib.suppress(ValueError):  # larger than the cache
                self._answers[question.without_limits()] = body

    def _forget(self, question: Question, search: Search) -> None:
        if self._current.get(question) is search:
            del self._current[question]

    def _check_not_stopping(self, queue: _Queue) -> None:
        if self.is_stopping:
            raise self._refusal(queue, "stopping", _STOPPING)

    def _refusal(self, queue: _Queue, reason: str, message: str) -> BusyError:
        self._metrics.refusals.labels(queue.name, reason).inc()
        return BusyError(message)
