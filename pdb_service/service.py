"""State that the requests of one server share, and the start of the server."""

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import orjson

from pdb_query.database import Database
from pdb_service.batches import BINARY, JSON, NDJSON, Batches, BatchNames
from pdb_service.metrics import Metrics
from pdb_service.middleware import MemoryBudget
from pdb_service.searches import Searches, Solvers
from pdb_service.served_databases import ServedDatabases
from pdb_service.settings import ServiceSettings

_log = logging.getLogger("tile_pdb.service")
_PAGE_BYTES = 4096


class StartUp:
    """State of the start: loading tables and kernels, in a thread.

    failure     the exception of the start, if it failed
    on_failure  called then; `server.serve` ends the process
    """

    def __init__(self) -> None:
        self.is_ready = False
        self.failure: BaseException | None = None
        self.on_failure: Callable[[], None] = lambda: None

    def begin(self, load: Callable[[], None], on_ready: Callable[[], None] | None) -> None:
        """Call `load`, then `on_ready`, in a thread. Log what either raises."""

        def run() -> None:
            try:
                load()
                self.is_ready = True
                if on_ready is not None:
                    on_ready()
            except BaseException as error:  # a thread that ends by SystemExit reports nothing
                _log.critical("the service could not be made ready", exc_info=error)
                self.is_ready = False
                self.failure = error
                self.on_failure()

        threading.Thread(target=run, name="start-up", daemon=True).start()


class Service:
    """State that the requests of one server share."""

    def __init__(self, databases: Iterable[Database], settings: ServiceSettings) -> None:
        self.settings = settings
        self.databases = ServedDatabases(databases)
        self.batches = Batches(self.databases, settings.max_boards)
        self.metrics = Metrics()
        self.memory = MemoryBudget(settings.max_held_bytes)
        self.solvers = Solvers(self.metrics.nodes.inc)
        self.searches = Searches(self.solvers, settings, self.metrics)
        self.start_up = StartUp()
        # Kept by connection_limits.Connection.
        self.idle_connections: dict[Any, None] = {}

    def load(self) -> None:
        """Compile kernels and read the tables into memory, so that no request waits for them."""
        for name, database in self.databases:
            goal = self.databases.default_goal(database)
            database.probe(goal, goal)
            self.solvers.solver(database)
            # Batches have kernels of their own.
            names = BatchNames(None, name, None)
            board = orjson.dumps(goal)
            for media_type, body in ((JSON, b'{"boards":[' + board + b"]}"), (NDJSON, board), (BINARY, bytes(goal))):
                self.batches.answer(media_type, body, names)
            for index in database.header.tables:
                np.bitwise_or.reduce(database.table(index)[::_PAGE_BYTES])  # reads every page
