"""State that the requests of one server share."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from pdb_core.errors import BusyError
from pdb_query.database import Database
from pdb_service.metrics import Metrics
from pdb_service.searches import Searches, Solvers
from pdb_service.served_databases import ServedDatabases
from pdb_service.settings import ServiceSettings

_PAGE_BYTES = 4096


class Service:
    """State that the requests of one server share.

    n_held_bytes      of bodies and answers in memory, counted by `middleware.Gate` in the event loop
    idle_connections  kept by `connection_limits.Connection`
    """

    def __init__(self, databases: Iterable[Database], settings: ServiceSettings) -> None:
        self.settings = settings
        self.databases = ServedDatabases(databases)
        self.metrics = Metrics()
        self.solvers = Solvers(self.metrics.nodes.inc)
        self.searches = Searches(self.solvers, settings, self.metrics)
        self.n_held_bytes = 0
        self.idle_connections: dict[Any, None] = {}

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
