"""The state that requests share: databases, threads, and two bounded queues of searches, short and long ones.

docs/http.md, "Queues", is the contract.
"""

import asyncio
import itertools
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from pdb_core.errors import BusyError
from pdb_core.jit import announce_compilation
from pdb_core.puzzle import Board, Tiles
from pdb_core.system import lower_thread_priority
from pdb_core.types import BLANK
from pdb_query.database import Database
from pdb_query.probes import Probe
from pdb_service.databases import Databases, Served
from pdb_service.metrics import Metrics
from pdb_service.models import Answer, MoveAnswer, MovesAnswer, SearchLimits, SolveProgress
from pdb_service.settings import ServiceSettings
from solver import Checkpoint, Iteration, Limits, Solution, Solver
from solver.beams.solutions import find_by_beams
from solver.solution import one_move_away

# Niceness of the searching threads, on systems where threads have one (Linux): lookups go first.
_NICENESS = 10
_PAGE_BYTES = 4096
# Beams of this width take some 30 ms for a 5x5 board. With a tenth of it, the first moves of one solution after another
# may lead to and fro.
_BEAM_WIDTH, _BEAM_MOVES = 2000, 700
# Seconds between two checks whether the first database is loaded.
_POLL_S = 0.05
_MOST_TOGETHER = 64
_STOPPING = "this server is being stopped; try again in a moment"
_log = logging.getLogger("tile_pdb.service")

Result = TypeVar("Result")
Report = Callable[[Iteration], None]
# Returns the answer of a search, whose progress it reports. Raises what the report raises.
Find = Callable[[Report], Answer]


class Search:
    """One search. Its thread reports progress; the event loop reads it.

    queue    the name of the pool that it runs in or waits for
    answer   the task of its answer
    started  the time of its start; None while it waits
    reports  the last report of each threshold
    """

    answer: asyncio.Task[Answer]

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.is_given_up = False
        self.started: float | None = None
        self.reports: dict[int, Iteration] = {}

    def close(self) -> None:
        """Give the search up. To cancel a running one would free its slot, but not end its thread."""
        self.is_given_up = True
        if self.started is None:
            self.answer.cancel()

    def progress(self) -> SolveProgress | None:
        """Return the data of the event `progress`; None before the first report."""
        reports = tuple(self.reports.values())  # its thread may add one meanwhile
        if not reports or self.started is None:
            return None
        generated, seconds = sum(at.generated for at in reports), time.monotonic() - self.started
        return SolveProgress(
            threshold=reports[-1].threshold, generated=generated, expanded=sum(at.expanded for at in reports),
            seconds=round(seconds, 3), nodes_per_s=round(generated / seconds) if seconds > 0 else 0,
        )  # fmt: skip


class Together(Generic[Result]):
    """Boards of requests that wait at the same time, answered by one call. For the event loop.

    answer     returns the results of the first boards, at least of one; the others get another call
    n_at_once  calls of `answer` that may run at the same time
    """

    def __init__(self, answer: Callable[[Served, list[Board]], Awaitable[Sequence[Result]]], n_at_once: int) -> None:
        self._answer, self._n_at_once = answer, n_at_once
        self._waiting: dict[Served, list[tuple[Board, asyncio.Future[Result]]]] = {}
        self._tasks: set[asyncio.Task[None] | None] = set()

    async def ask(self, board: Board, served: Served) -> Result:
        """Return the result of a board. Raises what the call for it and for other boards raises."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(served, []).append((board, result))
        if len(self._tasks) < self._n_at_once:
            # Other requests that have arrived run first, and ask too.
            self._tasks.add(asyncio.create_task(self._answer_all()))
        return await result

    async def _answer_all(self) -> None:
        while self._waiting:
            served, waiting = next(iter(self._waiting.items()))
            # Calls that may start now share the boards.
            n_now = min(_MOST_TOGETHER, -(-len(waiting) // (1 + self._n_at_once - len(self._tasks))))
            asked, waiting[:n_now] = [each for each in waiting[:n_now] if not each[1].done()], []  # some may have left
            if not waiting:
                del self._waiting[served]
            while asked:
                try:
                    found = await self._answer(served, [board for board, _ in asked])
                except Exception as error:
                    for _, result in asked:
                        if not result.done():
                            result.set_exception(error)
                    break
                for (_, result), one in zip(asked, found, strict=False):
                    if not result.done():
                        result.set_result(one)
                asked = asked[len(found) :]
        self._tasks.discard(asyncio.current_task())


class Searches:
    """Databases, threads and searches of one server. For the event loop, but for `load`, `stop` and what searches call.

    Searches with a time limit of at most `short_s` have a queue of their own: hints do not wait behind long searches.
    The threads "easy" are for boards whose search takes no more than some 10 ms, and "batch" for batches of lookups.

    databases  those that can answer: `load` adds them, in the thread that `start` begins
    loaded     ends when `load` has ended
    solver     returns the solver of a database; the first call loads or compiles its kernels
    """

    def __init__(self, databases: Iterable[Database], settings: ServiceSettings) -> None:
        self.settings, self._given = settings, databases
        self.databases, self.metrics = Databases(), Metrics()
        self.solver = lru_cache(maxsize=None)(Solver)
        self.loaded: Future[None] = Future()
        # The searches that run or wait, in the order of their arrival, and the places of those that run.
        self._queues: dict[str, list[Search]] = {"short": [], "long": []}
        self._slots = {name: asyncio.Semaphore(settings.n_solves) for name in self._queues}
        self._pools = {
            name: ThreadPoolExecutor(settings.n_solves, name, lower_thread_priority, (_NICENESS,))
            for name in ("easy", *self._queues)
        }
        self._pools["batch"] = ThreadPoolExecutor(settings.n_solves, "batch")
        # Requests that wait at the same time share a call.
        self.lookups = Together(self._probe, 1)
        self.easy_solves = Together(self._solve_easy, settings.n_solves)
        # The time when running searches must end.
        self._end = math.inf

    # The start

    def start(self) -> None:
        """Load in a thread, which does not delay the end of the process."""

        def run() -> None:
            try:
                self.load()
            except BaseException as error:
                _log.critical("the service could not be made ready: %s", error)
                self.loaded.set_exception(error)
            else:
                self.loaded.set_result(None)

        self.loaded.set_running_or_notify_cancel()  # a request that leaves cannot cancel it
        threading.Thread(target=run, name="start", daemon=True).start()

    def load(self) -> None:
        """Compile kernels and read the tables into memory, so that no request waits for them."""
        for database in self._given:
            name = f"{database.path} for {database.size}"
            _log.info("reading %s", name)
            for index in database.header.tables:
                np.bitwise_or.reduce(database.table(index)[::_PAGE_BYTES])  # reads every page
            goal = self.databases.default_goal(database)
            announce_compilation(lambda: _log.info("compiling kernels, up to a minute, once after each update"))
            database.probe(goal, goal)
            self.solver(database)
            self.databases.add(database)
            _log.info("serving %s", name)
            # Only hints of boards that are too hard need it.
            self.first_tile(one_move_away(goal, database.size), Served(name, database, goal))
        self.databases.is_complete = True

    def check_ready(self) -> None:
        """Raise `BusyError` if tables and kernels are not loaded. If that has failed, `server.serve` ends."""
        if not self.loaded.done() or self.loaded.exception() is not None:
            raise BusyError("the tables are not loaded yet; try again later")

    async def wait_until_ready(self) -> None:
        """Wait until a database can answer. Raises `BusyError` if that fails, has not begun, or takes too long."""
        end = time.monotonic() + self.settings.wait_s
        # The lifespan of a mounted app is not run.
        while self.loaded.running() and not (self.databases or self.is_stopping or time.monotonic() > end):
            await asyncio.sleep(_POLL_S)
        if not self.databases:
            self.check_ready()

    # Queues

    @property
    def is_stopping(self) -> bool:
        """Whether the service is stopping, so that new searches are refused."""
        return self._end < math.inf

    def n_ahead(self, search: Search) -> int:
        """Return the number of searches that wait and start before this one."""
        before = itertools.takewhile(lambda other: other is not search, self._queues[search.queue])
        return sum(other.started is None for other in before)

    def limits(self, given: SearchLimits, default_s: float = math.inf) -> Limits:
        """Return the limits of a request, of which the time is at most that of the service."""
        seconds = default_s if given.time_limit is None else given.time_limit
        return Limits(min(self.settings.solve_s, seconds), given.max_nodes)

    def queue(self, limits: Limits) -> str:
        """Return the queue for a search."""
        return "short" if (limits.time_limit or 0) <= self.settings.short_s else "long"

    def begin(self, find: Find, limits: Limits) -> Search:
        """Return a new search. Raises `BusyError` if its queue is full or the service stops."""
        search = Search(self.queue(limits))
        searches = self._queues[search.queue]
        if len(searches) >= self.settings.n_solves + self.settings.n_waiting:
            message = f"{len(searches)} solves run or wait here, and no more may wait; try again in some seconds"
            raise self._refusal(search.queue, "full", message)
        self._check_not_stopping(search.queue)
        searches.append(search)
        search.answer = asyncio.create_task(self._run(find, search))
        search.answer.add_done_callback(lambda _: self._remove(search))
        return search

    async def search(self, find: Find, limits: Limits) -> Answer:
        """Return the answer of a search. It ends if this is cancelled. Raises as `begin`."""
        with closing(self.begin(find, limits)) as search:
            await asyncio.wait({search.answer})
            return search.answer.result()

    async def in_time(self, queue: str, waiting: Awaitable[Result]) -> Result:
        """Return what is awaited. Raises `BusyError` after the longest time that a search may wait."""
        wait_s = self.settings.wait_s
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
        self._end = min(self._end, time.monotonic() + self.settings.grace_s)

    async def close(self) -> None:
        """Stop, and wait for the threads of searches."""
        self.stop()
        searches = itertools.chain(*self._queues.values())
        await asyncio.gather(*(search.answer for search in searches), return_exceptions=True)

    async def _run(self, find: Find, search: Search) -> Answer:
        def report(progress: Iteration) -> None:
            if search.is_given_up or time.monotonic() >= self._end:
                raise BusyError(_STOPPING)
            search.reports[progress.threshold] = progress

        slot = self._slots[search.queue]
        with self.metrics.wait_seconds.labels(search.queue).time(), self.metrics.waiting.track_inprogress():
            await self.in_time(search.queue, slot.acquire())
        try:
            self._check_not_stopping(search.queue)
            search.started = time.monotonic()
            with self.metrics.running.track_inprogress():
                return await self.run(search.queue, find, report)
        finally:
            slot.release()

    def _remove(self, search: Search) -> None:
        self._queues[search.queue].remove(search)
        if not search.answer.cancelled():
            search.answer.exception()  # otherwise asyncio logs the error of a search that was given up

    def _check_not_stopping(self, queue: str) -> None:
        if self.is_stopping:
            raise self._refusal(queue, "stopping", _STOPPING)

    def _refusal(self, queue: str, reason: str, message: str) -> BusyError:
        self.metrics.refusals.labels(queue, reason).inc()
        return BusyError(message)

    # What requests share and threads search

    async def _probe(self, served: Served, boards: list[Board]) -> list[Probe | None]:
        """Look boards up together: their waits for memory overlap, and kernels release the GIL once for all of them."""
        found = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
        rows = zip(found.values.tolist(), found.sums.tolist(), found.h.tolist(), strict=True)
        return [None if h < 0 else Probe(values, sums, h) for values, sums, h in rows]

    async def _solve_easy(self, served: Served, boards: list[Board]) -> list[Solution | Checkpoint]:
        return await self.run("easy", self.solve_easy, served, boards)

    def solve_easy(self, served: Served, boards: list[Board]) -> list[Solution | Checkpoint]:
        """Return the solutions of boards up to the first one that takes more than some 10 ms, and its checkpoint.

        Boards are searched without Python between them, which takes half of the time of single searches.
        """
        checkpoint = Checkpoint()
        found: Iterator[list[Any]] = self.solver(served.database).solve_batch(
            boards, served.goal, checkpoints=lambda _: checkpoint
        )
        solutions = next(found)
        self.metrics.nodes.inc(sum(solution.generated for solution in solutions))
        return solutions if len(solutions) == len(boards) else [*solutions, checkpoint]

    def solve(
        self, board: Tiles, served: Served, limits: Limits, report: Report, checkpoint: Checkpoint | None = None
    ) -> Solution:
        """Return the solution of a solvable board, as `solver.Solver.solve`, and count its nodes."""
        solver = self.solver(served.database)
        solution = solver.solve(board, served.goal, limits=limits, report=report, checkpoint=checkpoint)
        self.metrics.nodes.inc(solution.generated)
        return solution

    def first_tile(self, board: Tiles, served: Served, report: Report | None = None) -> int | None:
        """Return the first tile of a short solution, perhaps not optimal, that beams find; None if they find none."""
        moves = find_by_beams(board, served.goal, served.size, _BEAM_WIDTH, _BEAM_MOVES, math.inf, report)
        return moves[0] if moves else None


def list_moves(
    service: Searches, board: Board, served: Served, limits: Limits, report: Report | None = None
) -> MovesAnswer:
    """Return every legal move, best first; without `report`, distances are not searched."""
    children = [board.move(tile) for tile in board.moves()]
    solvable, h_of, distances = board.is_solvable(served.goal), dict[Board, int](), dict[Board, int]()
    if solvable:
        boards = [board, *children]
        found = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
        h_of = dict(zip(boards, found.h.tolist(), strict=True))
    if board == served.goal:
        distances = dict.fromkeys(children, 1) | {board: 0}
    elif report is not None:
        distances = _distances(service, board, children, served, limits, report)
    distance = distances.get(board)
    if solvable:
        # A child whose distance was not found is between those one nearer and those one farther.
        children.sort(key=lambda child: (distances.get(child, distance or 0), h_of[child]))
        if distance is None and report is not None:
            # By h, one hint after another may lead to and fro.
            first = service.first_tile(board, served, report)
            children.sort(key=lambda child: board[child.index(BLANK)] != first)
    moves = tuple(MoveAnswer.of(board, child, h_of.get(child), distances.get(child)) for child in children)
    about = MovesAnswer.about(board, served, solvable=solvable)
    return MovesAnswer(**about, h=h_of.get(board), distance=distance, moves=moves)


class _TooFarError(Exception):
    """A search has passed the largest distance of interest."""


def _distances(
    service: Searches, board: Board, children: Sequence[Board], served: Served, limits: Limits, report: Report
) -> dict[Board, int]:
    """Return the distances of a board and of its children, as far as they are found within the limits.

    A child is one move nearer or one farther, by parity. So its search may stop after the nearer distance.
    """
    deadline, nodes_left = time.monotonic() + (limits.time_limit or 0), limits.max_nodes

    def solve(start: Board, longest: float) -> Solution | None:
        """Return the solution, without a length if a limit was reached; None if it is longer than `longest`."""
        nonlocal nodes_left

        def check(progress: Iteration) -> None:
            report(progress)
            if progress.threshold > longest:
                raise _TooFarError

        try:
            solution = service.solve(start, served, Limits(max(0.0, deadline - time.monotonic()), nodes_left), check)
        except _TooFarError:
            return None
        if nodes_left is not None:
            nodes_left = max(1, nodes_left - solution.generated)
        return solution

    root = solve(board, math.inf)
    if root is None or not root.moves:
        return {}
    distance = len(root.moves)
    distances = {board: distance}
    for child in children:
        if board[child.index(BLANK)] == root.moves[0]:
            distances[child] = distance - 1
        elif (solution := solve(child, distance - 1)) is None:
            distances[child] = distance + 1
        elif solution.length is not None:
            distances[child] = solution.length
    return distances
