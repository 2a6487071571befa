"""Searches of the service: two bounded queues, searches that requests share, and kept answers.

Requests with equal questions wait for one search, which goes on while one of them waits. Its answer is kept if no limit
cut it short. docs/http.md, "Queues and kept answers", is the contract.
"""

import asyncio
import contextlib
import logging
import math
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
from cachetools import LRUCache

from pdb_core.errors import BusyError
from pdb_core.puzzle import Board
from pdb_query.database import Database
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


class GivenUpError(Exception):
    """All clients of a search have left."""


class Solvers:
    """One solver for each database, made when it is first needed. Thread-safe.

    count_nodes  called with the generated nodes of each search that ends
    """

    def __init__(self, count_nodes: Callable[[int], None]) -> None:
        self._count_nodes = count_nodes
        self._solvers: dict[Database, Solver] = {}
        self._lock = threading.Lock()

    def solve(self, database: Database, board: Board, goal: Board, limits: Limits, report: Report) -> Solution:
        """Return the solution of a solvable board, as `solver.Solver.solve`."""
        solution = self.solver(database).solve(board, goal, limits=limits, report=report)
        self._count_nodes(solution.generated)
        return solution

    def solver(self, database: Database) -> Solver:
        """Return the solver of a database. The first call loads or compiles its kernels."""
        with self._lock:
            if database not in self._solvers:
                self._solvers[database] = Solver(database)
            return self._solvers[database]


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
    def find(self, solvers: Solvers, report: Report) -> tuple[dict[str, Any], bool]:
        """Return the body of the answer, and whether no limit cut it short. Raises what `report` raises."""

    def without_limits(self) -> "Question":
        """Return the question that complete answers belong to."""
        return replace(self, seconds=math.inf, nodes=None)


@dataclass(frozen=True)
class Found:
    """The body of an answer, and whether no limit cut it short."""

    body: bytes
    is_complete: bool


class Stopping:
    """End of the service: no new searches, and a time of grace for those that run. Thread-safe."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._end = math.inf

    def begin(self) -> None:
        """Refuse new searches, and end running ones after the time of grace."""
        self._end = min(self._end, time.monotonic() + self._grace_s)

    @property
    def has_begun(self) -> bool:
        """Return whether `begin` was called."""
        return self._end < math.inf

    @property
    def is_grace_over(self) -> bool:
        """Return whether running searches must end."""
        return time.monotonic() >= self._end


class Search:
    """One search. Its thread reports progress; the event loop reads it.

    found      the future of its answer
    n_clients  requests that wait for it
    """

    found: "asyncio.Future[Found]"

    def __init__(self, stopping: Stopping, queue: "SearchQueue | None") -> None:
        self._stopping, self._queue = stopping, queue
        self.n_clients = 0
        self._is_given_up = False
        self._started: float | None = None
        # Generated and expanded nodes of finished thresholds, and the report of the current one.
        self._progress: tuple[int, int, Iteration] | None = None

    @property
    def n_ahead(self) -> int:
        """The number of searches that start before this one."""
        return 0 if self._queue is None else self._queue.n_ahead(self)

    def start(self) -> None:
        """Count the seconds of the search from now on."""
        self._started = time.monotonic()

    def give_up(self) -> None:
        """End the search: at once while it waits, within a fraction of a second while it runs."""
        self._is_given_up = True
        if self._started is None:
            self.found.cancel()

    def report(self, progress: Iteration) -> None:
        """Take the progress of the search. Raises `GivenUpError`, and `BusyError` if the server stops."""
        if self._is_given_up:
            raise GivenUpError
        if self._stopping.is_grace_over:
            raise BusyError(_STOPPING)
        generated = expanded = 0
        if self._progress is not None:
            generated, expanded, latest = self._progress
            if latest.threshold != progress.threshold:
                generated, expanded = generated + latest.generated, expanded + latest.expanded
        self._progress = generated, expanded, progress

    def progress(self) -> dict[str, float] | None:
        """Return the data of the event `progress`; None before the first report."""
        if self._progress is None or self._started is None:
            return None
        generated, expanded, latest = self._progress
        seconds = time.monotonic() - self._started
        generated += latest.generated
        return {
            "threshold": latest.threshold,
            "generated": generated,
            "expanded": expanded + latest.expanded,
            "seconds": round(seconds, 3),
            "nodes_per_s": round(generated / seconds) if seconds > 0 else 0,
        }


class SearchQueue:
    """Threads that search, and the searches that wait for one of them, first come, first served.

    For the event loop. docs/http.md, "Limits", has the meaning of `n_solves`, `n_waiting` and `wait_s`.
    """

    def __init__(self, name: str, settings: ServiceSettings, stopping: Stopping, metrics: Metrics) -> None:
        self._name, self._settings, self._stopping, self._metrics = name, settings, stopping, metrics
        self._pool = ThreadPoolExecutor(settings.n_solves, thread_name_prefix=name, initializer=_lower_priority)
        self._slots = asyncio.Semaphore(settings.n_solves)
        self._waiting: dict[Search, None] = {}
        self.n_running = 0

    @property
    def n_waiting(self) -> int:
        """The number of searches that wait."""
        return len(self._waiting)

    def n_ahead(self, search: Search) -> int:
        """Return the number of searches that wait and start before `search`."""
        return next((at for at, waiting in enumerate(self._waiting) if waiting is search), 0)

    def check_open(self) -> None:
        """Raise `BusyError` if too many searches wait, or the server stops."""
        if self.n_running + self.n_waiting >= self._settings.n_solves + self._settings.n_waiting:
            raise self._refusal(
                "full", f"{self.n_running} solves run here and {self.n_waiting} wait; try again in some seconds"
            )
        self._check_not_stopping()

    def enter(self, search: Search, work: Callable[[], Found]) -> "asyncio.Task[Found]":
        """Let a search wait for a thread and return the task that ends with its answer. Raises as `check_open`."""
        self.check_open()
        self._waiting[search] = None
        return asyncio.ensure_future(self._run(search, work))

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self, search: Search, work: Callable[[], Found]) -> Found:
        await self._wait(search)
        self.n_running += 1
        try:
            self._check_not_stopping()
            search.start()
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self.n_running -= 1
            self._slots.release()

    async def _wait(self, search: Search) -> None:
        """Take a slot. Raises `BusyError` after the longest time that a search may wait."""
        started = time.monotonic()
        wait_s = self._settings.wait_s
        try:
            async with asyncio.timeout(wait_s):
                await self._slots.acquire()
        except TimeoutError:
            raise self._refusal(
                "waited",
                f"no search ended within {wait_s:g} seconds, the longest that a solve may wait here; try again in some "
                "seconds",
            ) from None
        finally:
            self.leave(search)
            self._metrics.wait_seconds.labels(self._name).observe(time.monotonic() - started)

    def leave(self, search: Search) -> None:
        """Remove a search that was cancelled while it waited."""
        self._waiting.pop(search, None)

    def _check_not_stopping(self) -> None:
        if self._stopping.has_begun:
            raise self._refusal("stopping", _STOPPING)

    def _refusal(self, reason: str, message: str) -> BusyError:
        self._metrics.refusals.labels(self._name, reason).inc()
        return BusyError(message)


class Searches:
    """All searches of a service. For the event loop.

    Searches with a time limit of at most `short_s` have a queue of their own: hints do not wait behind long searches.
    """

    def __init__(self, solvers: Solvers, settings: ServiceSettings, metrics: Metrics) -> None:
        self.stopping = Stopping(settings.grace_s)
        self._solvers, self._short_s, self._metrics = solvers, settings.short_s, metrics
        self._short, self._long = (SearchQueue(name, settings, self.stopping, metrics) for name in ("short", "long"))
        self._current: dict[Question, Search] = {}
        # asyncio keeps only weak references to tasks. Those that were given up stay here until their threads are free.
        self._tasks: set[asyncio.Future[Found]] = set()
        self._answers: LRUCache[Question, bytes] = LRUCache(
            settings.max_cached_bytes, getsizeof=lambda body: len(body) + _ENTRY_BYTES
        )

    @property
    def n_running(self) -> int:
        """The number of searches that run."""
        return self._short.n_running + self._long.n_running

    @property
    def n_waiting(self) -> int:
        """The number of searches that wait for a thread."""
        return self._short.n_waiting + self._long.n_waiting

    @property
    def n_cached_bytes(self) -> int:
        """The memory of kept answers."""
        return int(self._answers.currsize)

    def check_open(self, question: Question) -> None:
        """Raise `BusyError` if `join` would."""
        if question.needs_search and question not in self._current and question.without_limits() not in self._answers:
            self._queue(question).check_open()

    @contextlib.contextmanager
    def join(self, question: Question) -> Iterator[Search]:
        """Yield the search that answers a question: an ended one, one that others wait for, or a new one.

        The search ends when its last request leaves. Raises `BusyError` if the queue is full, or the server stops.
        """
        search = self._search(question)
        search.n_clients += 1
        try:
            yield search
        finally:
            search.n_clients -= 1
            if search.n_clients == 0 and not search.found.done():
                # The next request with this question starts a new search: this one is about to end without an answer.
                self._forget(question, search)
                search.give_up()

    async def close(self) -> None:
        """Wait for the threads of searches that have ended or been given up, and stop the threads."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_LAST_SLICE_S)
            if late:
                _log.error("%d searches have not ended after %g seconds", len(late), _LAST_SLICE_S)
        for queue in (self._short, self._long):
            queue.close()

    def _queue(self, question: Question) -> SearchQueue:
        return self._short if question.seconds <= self._short_s else self._long

    def _search(self, question: Question) -> Search:
        if not question.needs_search:
            return self._ended(_found(question, self._solvers, Search(self.stopping, None)))
        kept = self._answers.get(question.without_limits())
        if kept is not None:
            self._metrics.answers.labels("cache").inc()
            return self._ended(Found(kept, True))
        current = self._current.get(question)
        if current is not None:
            self._metrics.answers.labels("shared").inc()
            return current
        search = self._start(question)
        self._metrics.answers.labels("search").inc()
        return search

    def _ended(self, found: Found) -> Search:
        """Return a search whose answer is known."""
        search = Search(self.stopping, None)
        search.found = asyncio.get_running_loop().create_future()
        search.found.set_result(found)
        return search

    def _start(self, question: Question) -> Search:
        queue = self._queue(question)
        search = Search(self.stopping, queue)
        search.found = queue.enter(search, partial(_found, question, self._solvers, search))
        self._current[question] = search
        self._tasks.add(search.found)
        search.found.add_done_callback(partial(self._end, question, search, queue))
        return search

    def _end(self, question: Question, search: Search, queue: SearchQueue, found: "asyncio.Future[Found]") -> None:
        self._tasks.discard(found)
        queue.leave(search)
        self._forget(question, search)
        if found.cancelled():
            return
        error = found.exception()
        if error is not None:
            # With clients, the request logs the error.
            if search.n_clients == 0 and not isinstance(error, BusyError | GivenUpError):
                _log.error("a search without clients failed", exc_info=error)
        elif found.result().is_complete:
            with contextlib.suppress(ValueError):  # larger than the cache
                self._answers[question.without_limits()] = found.result().body

    def _forget(self, question: Question, search: Search) -> None:
        if self._current.get(question) is search:
            del self._current[question]


def _found(question: Question, solvers: Solvers, search: Search) -> Found:
    answer, is_complete = question.find(solvers, search.report)
    return Found(orjson.dumps(answer), is_complete)


def _lower_priority() -> None:
    """Lower the priority of the calling thread."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
