"""State that the requests of one server share, and the start of the server."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable

import numpy as np

from pdb_core.errors import BusyError, LimitReachedError, PdbError
from pdb_query.database import Database
from pdb_service.metrics import Metrics
from pdb_service.searches import Searches, Solvers
from pdb_service.served_databases import ServedDatabases
from pdb_service.settings import ServiceSettings

_PAGE_BYTES = 4096
# Seconds between two checks whether tables and kernels are loaded.
_POLL_S = 0.05
_log = logging.getLogger("tile_pdb.service")


class Service:
    """State that the requests of one server share.

    n_held_bytes  of bodies and answers in memory, counted by `middleware.Gate` in the event loop
    failure       the exception of the start, if it failed
    on_ready      called in the thread of the start after loading
    on_failure    called there if loading or `on_ready` fails; `server.serve` ends the process
    """

    def __init__(self, databases: Iterable[Database], settings: ServiceSettings) -> None:
        self.settings = settings
        self.databases = ServedDatabases(databases)
        self.metrics = Metrics()
        self.solvers = Solvers(self.metrics.nodes.inc)
        self.searches = Searches(self.solvers, settings, self.metrics)
        self.n_held_bytes = 0
        self.is_loading = self.is_ready = False
        self.failure: BaseException | None = None
        self.on_ready: Callable[[], None] = lambda: None
        self.on_failure: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Load in a thread, and log a failure."""

        def run() -> None:
            try:
                self.load()
                self.is_ready = True
                self.on_ready()
            except BaseException as error:  # a thread that ends by SystemExit reports nothing
                self._fail(error)
            finally:
                self.is_loading = False

        self.is_loading = True
        try:
            threading.Thread(target=run, name="start", daemon=True).start()
        except RuntimeError:
            self.is_loading = False
            self._fail(LimitReachedError("the system starts no more threads; raise its limits (ulimit -u and -v)"))

    def _fail(self, error: BaseException) -> None:
        # Errors of the project say all in their message.
        trace = None if isinstance(error, PdbError) else error
        _log.critical("the service could not be made ready: %s", error, exc_info=trace)
        self.is_ready, self.failure = False, error
        self.on_failure()

    def check_ready(self) -> None:
        """Raise `BusyError` if tables and kernels are not loaded."""
        if self.failure is not None:
            raise BusyError("the tables could not be loaded; see the log of the server")
        if not self.is_ready:
            raise BusyError("the tables are being loaded; try again later")

    async def wait_until_loaded(self) -> None:
        """Wait for the end of `start` if it runs. Raises `BusyError` if it failed."""
        while self.is_loading and not self.is_ready:
            await asyncio.sleep(_POLL_S)
        if self.failure is not None:
            self.check_ready()

    def load(self) -> None:
        """Compile kernels and read the tables into memory, so that no request waits for them."""
        for _, database in self.databases:
            goal = self.databases.default_goal(database)
            database.probe(goal, goal)
            self.solvers.solver(database)
            for index in database.header.tables:
                np.bitwise_or.reduce(database.table(index)[::_PAGE_BYTES])  # reads every page

    def check_memory(self) -> None:
        """Raise `BusyError` if bodies and answers take more memory than allowed."""
        if self.n_held_bytes > self.settings.max_held_bytes:
            raise BusyError("too many large requests at once; send smaller ones, or this one later")
