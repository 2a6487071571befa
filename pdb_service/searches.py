"""Searches that requests share: those under way, and the answers of those that ended.

Requests that ask the same question at the same time wait for one search. It goes on as long as one of them waits. Its
answer is kept if no limit cut it short.
"""

import asyncio
import contextlib
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
from cachetools import LRUCache

from pdb_core.errors import BusyError
from pdb_core.puzzle import Board
from pdb_service.metrics import Metrics
from pdb_service.served_databases import Served
from pdb_service.settings import ServiceSettings
from pdb_service.solve_queue import Job, SolveQueue, Stopping
from pdb_service.solving import Solving

_log = logging.getLogger("tile_pdb.service")
# What an answer takes in the cache beside its text: the question, and the entry itself.
_ENTRY_BYTES = 1000
# Searches end within a slice of a fraction of a second. This is for one that does not.
_LAST_SLICE_S = 5.0


@dataclass(frozen=True)
class Question(ABC):
    """Task of a search. Questions that are equal have the same answer.

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
    def find(self, solving: Solving, job: Job) -> dict[str, Any]:
        """Return the body of the answer. Raises what `job.report` raises."""

    @abstractmethod
    def is_complete(self, answer: dict[str, Any]) -> bool:
        """Return False if a limit cut this answer short."""

    def without_limits(self) -> "Question":
        """Return the question that complete answers belong to."""
        return replace(self, seconds=math.inf, nodes=None)


@dataclass(frozen=True)
class Found:
    """The body of an answer, and whether no limit cut it short."""

    body: bytes
    is_complete: bool


class Search:
    """A search under way or ended, and the number of requests that wait for it."""

    def __init__(self, job: Job, queue: SolveQueue | None, found: "asyncio.Future[Found]") -> None:
        self._job, self._queue = job, queue
        self.found = found
        self.n_clients = 0

    @property
    def n_ahead(self) -> int:
        """The number of searches that get their turn before this one."""
        return 0 if self._queue is None else self._queue.ahead(self._job)

    def progress(self) -> dict[str, float] | None:
        """Return the progress for the client; None before the first report."""
        return self._job.progress()


class Searches:
    """All searches of a service. For the event loop.

    Short searches, those with a time limit of at most `short_s`, have a queue of their own: a hint does not wait until
    a search of a minute ends.
    """

    def __init__(self, solving: Solving, settings: ServiceSettings, metrics: Metrics) -> None:
        self.stopping = Stopping(settings.grace_s)
        self._solving, self._short_s, self._metrics = solving, settings.short_s, metrics
        self._short, self._long = (
            SolveQueue(settings.n_solves, settings.n_waiting, settings.wait_s, self.stopping, metrics.of_queue(name))
            for name in ("short", "long")
        )
        self._under_way: dict[Question, Search] = {}
        # asyncio keeps only weak references to tasks. Those that were given up stay here until their threads are free.
        self._tasks: set[asyncio.Task[Found]] = set()
        self._answers: LRUCache[Question, bytes] = LRUCache(
            settings.max_cached_bytes, getsizeof=lambda body: len(body) + _ENTRY_BYTES
        )

    @property
    def n_running(self) -> int:
        """The number of searches that run."""
        return self._short.n_running + self._long.n_running

    @property
    def n_waiting(self) -> int:
        """The number of searches that wait for a turn."""
        return self._short.n_waiting + self._long.n_waiting

    @property
    def n_cached_bytes(self) -> int:
        """The memory that kept answers take."""
        return int(self._answers.currsize)

    def check_open(self, question: Question) -> None:
        """Raise `BusyError` if `join` would."""
        if question.needs_search and question not in self._under_way and question.without_limits() not in self._answers:
            self._queue(question).check_open()

    @contextlib.contextmanager
    def join(self, question: Question) -> Iterator[Search]:
        """Wait for the answer to a question: one that is kept, or of a search under way, or of a new search.

        When the last request leaves a search, the search ends. Raises `BusyError` if the queue is full, or the server
        stops.
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
                search.found.cancel()

    async def close(self) -> None:
        """Wait for the threads of searches that have ended or been given up, and let them end."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_LAST_SLICE_S)
            if late:
                _log.error("%d searches go on %g seconds after their end", len(late), _LAST_SLICE_S)
        for queue in (self._short, self._long):
            queue.close()

    def _queue(self, question: Question) -> SolveQueue:
        return self._short if question.seconds <= self._short_s else self._long

    def _search(self, question: Question) -> Search:
        if not question.needs_search:
            job = Job(self.stopping)
            return _ended(job, _body(question.find(self._solving, job)))
        kept = self._answers.get(question.without_limits())
        if kept is not None:
            self._metrics.answers.labels("cache").inc()
            return _ended(Job(self.stopping), kept)
        shared = self._under_way.get(question)
        if shared is not None:
            self._metrics.answers.labels("shared").inc()
            return shared
        search = self._start(question)
        self._metrics.answers.labels("search").inc()
        return search

    def _start(self, question: Question) -> Search:
        queue = self._queue(question)
        queue.check_open()
        job = Job(self.stopping)
        task = asyncio.ensure_future(self._run(question, queue, job))
        search = Search(job, queue, task)
        self._under_way[question] = search
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, question, search))
        return search

    async def _run(self, question: Question, queue: SolveQueue, job: Job) -> Found:
        def work() -> Found:
            answer = question.find(self._solving, job)
            return Found(_body(answer), question.is_complete(answer))

        async with queue.turn(job):
            return await queue.run(job, work)

    def _end(self, question: Question, search: Search, task: "asyncio.Task[Found]") -> None:
        self._tasks.discard(task)
        self._forget(question, search)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            if search.n_clients == 0 and not isinstance(error, BusyError):
                _log.error("a search without clients failed", exc_info=error)
        elif task.result().is_complete:
            with contextlib.suppress(ValueError):  # larger than the cache
                self._answers[question.without_limits()] = task.result().body

    def _forget(self, question: Question, search: Search) -> None:
        if self._under_way.get(question) is search:
            del self._under_way[question]


def _ended(job: Job, body: bytes) -> Search:
    """Return a search whose answer is known."""
    found: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
    found.set_result(Found(body, True))
    return Search(job, None, found)


def _body(answer: dict[str, Any]) -> bytes:
    return orjson.dumps(answer)
