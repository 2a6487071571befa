"""What the requests of one server share."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from pdb_core.puzzle import Board
from pdb_query.database import Database
from pdb_service.batches import BINARY, JSON, NDJSON, Batches, Wanted
from pdb_service.memory_budget import Room
from pdb_service.metrics import Metrics
from pdb_service.searches import Searches
from pdb_service.served_databases import ServedDatabases
from pdb_service.settings import ServiceSettings
from pdb_service.solving import Solving
from pdb_service.start_up import StartUp

_PAGE_BYTES = 4096


@dataclass(frozen=True)
class Service:
    """The databases, who solves, and what is counted."""

    databases: ServedDatabases
    solving: Solving
    settings: ServiceSettings
    searches: Searches
    metrics: Metrics
    room: Room
    # Kept by connection.Connection.
    idle_connections: dict[Any, None] = field(default_factory=dict)
    start_up: StartUp = field(default_factory=StartUp)

    def warm(self) -> None:
        """Compile kernels and bring the tables into memory: the first requests then wait for nothing."""
        for name, database in self.databases:
            goal = self.databases.default_goal(database)
            database.probe(goal, goal)
            self.solving.warm(database)
            self._warm_batches(name, goal)
            _touch(database)

    def _warm_batches(self, name: str, goal: Board) -> None:
        """A batch in each form: their kernels are others than those of one board."""
        batches, wanted = Batches(self.databases, 2), Wanted(None, name, None)
        board = orjson.dumps(goal)
        batches.answer(JSON, b'{"boards":[' + board + b"]}", wanted)
        batches.answer(NDJSON, board, wanted)
        batches.answer(BINARY, bytes(goal), wanted)


def _touch(database: Database) -> None:
    """Read a byte of every page of the tables, so that the system brings them into memory."""
    for index in database.header.tables:
        np.bitwise_or.reduce(database.table(index)[::_PAGE_BYTES])
