"""State that the requests of one server share, and the start of the server."""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from functools import lru_cache
from typing import Any

import numpy as np

from pdb_core.errors import BusyError, LimitReachedError, PdbError, ServiceError
from pdb_core.jit import announce_compilation
from pdb_core.puzzle import Board, Tiles
from pdb_query.database import Database
from pdb_service.metrics import Metrics
from pdb_service.searches import Report, SearchPools
from pdb_service.served_databases import Served, ServedDatabases
from pdb_service.settings import ServiceSettings
from solver import Checkpoint, Limits, Solution, Solver
from solver.beams.solutions import find_by_beams
from solver.solution import one_move_away

_PAGE_BYTES = 4096
# Beams of this width take some 30 ms for a 5x5 board. With a tenth of it, the first moves of one solution after another
# may lead to and fro.
_BEAM_WIDTH, _BEAM_MOVES = 2000, 700
# Seconds between two checks whether the first database is loaded.
_POLL_S = 0.05
_log = logging.getLogger("tile_pdb.service")


class Service:
    """State that the requests of one server share.

    databases     those that can answer: `load` adds them, in the thread that `start` begins
    loaded        ends when `load` has ended
    solver        returns the solver of a database; the first call loads or compiles its kernels
    n_held_bytes  of bodies and answers in memory, counted by `middleware.Gate` in the event loop
    """

    def __init__(self, databases: Iterable[Database], settings: ServiceSettings) -> None:
        self.settings = settings
        self._given = databases
        self.databases = ServedDatabases()
        self.metrics = Metrics()
        self.pools = SearchPools(settings, self.metrics)
        self.solver = lru_cache(maxsize=None)(Solver)
        self.n_held_bytes = 0
        self.loaded: Future[None] = Future()

    def start(self) -> None:
        """Load in a thread, which does not delay the end of the process."""

        def run() -> None:
            try:
                self.load()
            except BaseException as error:
                self._fail(error)
            else:
                self.loaded.set_result(None)

        self.loaded.set_running_or_notify_cancel()  # a request that leaves cannot cancel it
        try:
            threading.Thread(target=run, name="start", daemon=True).start()
        except RuntimeError:  # can't start new thread
            self._fail(LimitReachedError("the system starts no more threads; raise its limits (ulimit -u and -v)"))

    def _fail(self, error: BaseException) -> None:
        """Log why tables and kernels cannot be loaded: under another server than `server.serve`, nothing else does."""
        if isinstance(error, PdbError):
            _log.critical("%s", error)
        else:
            reason = f"the service could not be made ready: {type(error).__name__}: {error}"
            _log.critical(reason, exc_info=error)
            error = ServiceError(f"{reason}; its log has the traceback")
        self.loaded.set_exception(error)

    def load(self) -> None:
        """Compile kernels and read the tables into memory, so that no request waits for them."""
        for database in self._given:
            name = f"{database.path} for {database.size}"
            _log.info("reading %s", name)
            for index in database.header.tables:
                np.bitwise_or.reduce(database.table(index)[::_PAGE_BYTES])  # reads every page
            goal = self.databases.default_goal(database)
            _announce_compilation("lookups")
            database.probe(goal, goal)
            _announce_compilation("searches")
            self.solver(database)
            self.databases.add(database)
            _log.info("serving %s", name)
            # Only hints of boards that are too hard need it.
            self.first_tile(one_move_away(goal, database.size), Served(name, database, goal))
        self.databases.is_complete = True

    def check_ready(self) -> None:
        """Raise `BusyError` if tables and kernels are not loaded."""
        if not self.loaded.done():
            raise BusyError("the tables are not loaded yet; try again later")
        if self.loaded.exception() is not None:
            raise BusyError("the tables could not be loaded; see the log of the server")

    async def wait_until_ready(self) -> None:
        """Wait until a database can answer. Raises `BusyError` if that fails, has not begun, or takes too long."""
        end = time.monotonic() + self.settings.wait_s
        # The lifespan of a mounted app is not run.
        while self.loaded.running() and not (self.databases or self.pools.is_stopping or time.monotonic() > end):
            await asyncio.sleep(_POLL_S)
        if not self.databases:
            self.check_ready()

    def check_memory(self) -> None:
        """Raise `BusyError` if bodies and answers take more memory than allowed."""
        if self.n_held_bytes > self.settings.max_held_bytes:
            raise BusyError("too many large requests at once; send smaller ones, or this one later")

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
        solution = self.solver(served.database).solve(
            board, served.goal, limits=limits, report=report, checkpoint=checkpoint
        )
        self.metrics.nodes.inc(solution.generated)
        return solution

    def first_tile(self, board: Tiles, served: Served, report: Report | None = None) -> int | None:
        """Return the first tile of a short solution, perhaps not optimal, that beams find; None if they find none."""
        moves = find_by_beams(board, served.goal, served.size, _BEAM_WIDTH, _BEAM_MOVES, math.inf, report)
        return moves[0] if moves else None


def _announce_compilation(kind: str) -> None:
    announce_compilation(lambda: _log.info("compiling the kernels of %s, up to a minute, once after each update", kind))
