"""The state that requests share: databases, threads, and two bounded queues of searches, short and long ones.

docs/http.md, "Queues", is the contract.
"""

import asyncio
import itertools
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from pdb_core.errors import BusyError
from pdb_core.jit import announce_compilation
from pdb_core.puzzle import Board
from pdb_core.system import lower_thread_priority
from pdb_query.database import Database
from pdb_query.probes import Probe
from pdb_service.databases import Databases, Served
from pdb_service.hints import Report, short_solution
from pdb_service.metrics import Metrics
from pdb_service.requests import SearchLimits
from pdb_service.settings import ServiceSettings
from solver.engine.checkpoint import Checkpoint
from solver.progress import Iteration, Limits
from solver.solution import Solution, one_move_away
from solver.solve import Solver

# Niceness of the searching threads, on systems where threads have one (Linux): lookups go first.
_NICENESS = 10
_PAGE_BYTES = 4096
_MOST_TOGETHER = 64
_STOPPING = "this server is being stopped; try again in a moment"
_log = logging.getLogger("tile_pdb.service")

Result = TypeVar("Result")
# Returns the answer of a search, whose progress it reports. Raises what the report raises.
Find = Callable[[Report], Any]


class Search:
    """One search. Its thread reports progress; the event loop reads it.

    queue    the name of its queue
    answer   the task of its answer; cancelled, it ends the search soon
    started  the time of its start; None while it waits
    reports  the last report of each threshold
    """

    answer: asyncio.Task[Any]

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.started: float | None = None
        self.reports: dict[int, Iteration] = {}

    def progress(self) -> dict[str, Any] | None:
        """Return the data of the event `progress`; None before the first report."""
        reports = tuple(self.reports.values())  # its thread may add one meanwhile
        if not reports or self.started is None:
            return None
        generated, seconds = sum(at.generated for at in reports), time.monotonic() - self.started
        return {
            "threshold": reports[-1].threshold, "generated": generated, "expanded": sum(at.expanded for at in reports),
            "seconds": round(seconds, 3), "nodes_per_s": round(generated / seconds),
        }  # fmt: skip


class Together(Generic[Result]):
    """Boards of requests that wait at the same time, answered by one call. For the event loop.

    answer     returns the results of boards, in their order
    n_at_once  calls of `answer` that may run at the same time
    """

    def __init__(self, answer: Callable[[Served, list[Board]], Awaitable[Sequence[Result]]], n_at_once: int) -> None:
        self._answer, self._n_at_once = answer, n_at_once
        self._waiting: dict[Served, list[tuple[Board, asyncio.Future[Result | Exception]]]] = {}
        self._tasks: set[asyncio.Task[None] | None] = set()

    async def ask(self, board: Board, served: Served) -> Result:
        """Return the result of a board. Raises what the call for it and for other boards raises."""
        result: asyncio.Future[Result | Exception] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(served, []).append((board, result))
        if len(self._tasks) < self._n_at_once:
            # Other requests that have arrived run first, and ask too.
            self._tasks.add(asyncio.create_task(self._answer_all()))
        found = await result
        if isinstance(found, Exception):
            raise found
        return found

    async def _answer_all(self) -> None:
        while self._waiting:
            served = next(iter(self._waiting))
            waiting = [each for each in self._waiting.pop(served) if not each[1].done()]  # some may have left
            # Calls that may start now share the boards.
            n_now = min(_MOST_TOGETHER, -(-len(waiting) // (1 + self._n_at_once - len(self._tasks))))
            asked, left = waiting[:n_now], waiting[n_now:]
            if left:
                self._waiting[served] = left
            found: Sequence[Result | Exception]
            try:
                found = await self._answer(served, [board for board, _ in asked])
            except Exception as error:
                found = [error] * len(asked)
            for (_, result), one in zip(asked, found, strict=True):
                if not result.done():
                    result.set_result(one)
        # At once: those who have their results may ask again before a callback of this task is called.
        self._tasks.discard(asyncio.current_task())


class Searches:
    """Databases, threads and searches of one server. For the event loop, but for `load`, `stop` and what searches call.

    Searches with a time limit of at most `short_s` have a queue of their own: hints do not wait behind long searches.

    solver  returns the solver of a database; the first call loads or compiles its kernels
    """

    def __init__(self, databases: Iterable[Database], settings: ServiceSettings) -> None:
        self.settings = settings
        self.databases, self.metrics = Databases(databases), Metrics()
        self.solver = lru_cache(maxsize=None)(Solver)
        # The searches that run or wait, in the order of their arrival, and the places of those that run.
        self._queues: dict[str, list[Search]] = {"short": [], "long": []}
        self._slots = {name: asyncio.Semaphore(settings.n_solves) for name in self._queues}
        # Those of both queues, and those of easy boards.
        self.searching = ThreadPoolExecutor(3 * settings.n_solves, "search", lower_thread_priority, (_NICENESS,))
        self.batches = ThreadPoolExecutor(settings.n_solves, "batch")
        # Requests that wait at the same time share a call.
        self.lookups = Together(self._probe, 1)
        self.easy_solves = Together(self._solve_easy, settings.n_solves)
        # The time when running searches must end.
        self._end = math.inf

    def load(self) -> None:
        """Compile kernels and read the tables into memory, so that no request waits for them."""
        announce_compilation(lambda: _log.info("compiling kernels, up to a minute, once after each update"))
        for database in self.databases.by_id.values():
            for index in database.header.tables:
                np.bitwise_or.reduce(database.table(index)[::_PAGE_BYTES])  # reads every page
            goal = self.databases.default_goal(database)
            database.probe(goal, goal)
            near = one_move_away(goal, database.size)
            self.solver(database).label([near], goal, n_threads=1)
            short_solution(near, Served("", database, goal))

    # Queues

    def n_ahead(self, search: Search) -> int:
        """Return the number of searches that wait and start before this one."""
        before = itertools.takewhile(lambda other: other is not search, self._queues[search.queue])
        return sum(other.started is None for other in before)

    def limits(self, given: SearchLimits, default_s: float = math.inf) -> Limits:
        """Return the limits of a request, of which the time is at most that of the service."""
        seconds = default_s if given.time_limit is None else given.time_limit
        return Limits(min(self.settings.solve_s, seconds), given.max_nodes)

    def begin(self, find: Find, limits: Limits) -> Search:
        """Return a new search. Raises `BusyError` if its queue is full or the service stops."""
        search = Search("short" if (limits.time_limit or 0) <= self.settings.short_s else "long")
        searches = self._queues[search.queue]
        if len(searches) >= self.settings.n_solves + self.settings.n_waiting:
            raise BusyError(f"{len(searches)} solves run or wait here, and no more may wait; try again in some seconds")
        self.check_not_stopping()
        searches.append(search)
        search.answer = asyncio.create_task(self._run(find, search))
        search.answer.add_done_callback(lambda _: searches.remove(search))
        return search

    async def in_time(self, waiting: Awaitable[Result]) -> Result:
        """Return what is awaited. Raises `BusyError` after the longest time that a search may wait."""
        wait_s = self.settings.wait_s
        try:
            async with asyncio.timeout(wait_s):
                return await waiting
        except TimeoutError:
            raise BusyError(
                f"no search ended within {wait_s:g} seconds, the longest that a solve may wait here; try again in some "
                "seconds"
            ) from None

    def stop(self) -> None:
        """Refuse new searches, and end running ones after the time of grace. Thread-safe."""
        self._end = min(self._end, time.monotonic() + self.settings.grace_s)

    async def close(self) -> None:
        """Stop, and wait for the threads of searches."""
        self.stop()
        await asyncio.to_thread(self.searching.shutdown)

    async def _run(self, find: Find, search: Search) -> Any:
        def report(progress: Iteration) -> None:
            if search.answer.done() or time.monotonic() >= self._end:
                raise BusyError(_STOPPING)
            search.reports[progress.threshold] = progress

        slot = self._slots[search.queue]
        with self.metrics.waiting.track_inprogress():
            await self.in_time(slot.acquire())
        try:
            self.check_not_stopping()
            search.started = time.monotonic()
            with self.metrics.running.track_inprogress():
                return await asyncio.get_running_loop().run_in_executor(self.searching, find, report)
        finally:
            slot.release()

    def check_not_stopping(self) -> None:
        """Raise `BusyError` if the service stops."""
        if self._end < math.inf:
            raise BusyError(_STOPPING)

    # What requests share and threads search

    async def _probe(self, served: Served, boards: list[Board]) -> list[Probe | None]:
        """Look boards up together: their waits for memory overlap, and kernels release the GIL once for all of them."""
        found = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
        rows = zip(found.values.tolist(), found.sums.tolist(), found.h.tolist(), strict=True)
        return [None if h < 0 else Probe(values, sums, h) for values, sums, h in rows]

    async def _solve_easy(self, served: Served, boards: list[Board]) -> list[Solution | Checkpoint]:
        return await asyncio.get_running_loop().run_in_executor(self.searching, self.solve_easy, served, boards)

    def solve_easy(self, served: Served, boards: list[Board]) -> list[Solution | Checkpoint]:
        """Return the solutions of boards, or the checkpoint of one that takes more than some 10 ms.

        Boards are searched without Python between them, which takes half of the time of single searches.
        """
        answers: list[Solution | Checkpoint] = []
        while len(answers) < len(boards):
            checkpoint, left = Checkpoint(), boards[len(answers) :]
            found: Iterator[list[Any]] = self.solver(served.database).solve_batch(
                left,
                served.goal,
                checkpoints=lambda _: checkpoint,  # noqa: B023
            )
            solutions = next(found)
            answers += solutions if len(solutions) == len(left) else [*solutions, checkpoint]
        return answers
