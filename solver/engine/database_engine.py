"""Tables of a search with databases, arranged for the kernels of the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.encoding import UNREACHED
from pdb_core.errors import InputError, TableFileDamagedError
from pdb_core.puzzle import Tiles
from pdb_core.symmetry import BoardMapping
from pdb_core.types import Bytes, Int64s, UInt32s
from pdb_query.database import as_databases
from pdb_query.lookup import probe_boards
from solver.engine import layout as mem
from solver.engine.engine import BoundHeuristic, Engine, KeptArrays, engine_tables
from solver.engine.rounds.catalogue import CATALOGUE
from solver.engine.rounds.round import Round
from solver.engine.rounds.scalar import SCALAR
from solver.engine.rounds.vector import ROWS, VECTOR, WIDE
from solver.engine.sums import DatabaseSums, Sum, sums_of
from solver.engine.tuning import TUNING, Tuning
from solver.pruning.fsm import PruningFsm


@dataclass(frozen=True)
class DatabaseEngine(Engine):
    """Tables of a search with databases. `round_tables` is `VectorTables`, `CatalogueTables`, `WideTables`, or, for
    scalar rounds, `UnitTables`.

    sums    those of the search, in their order
    source  names the tables' files in messages
    """

    kind: Round
    heuristics: tuple[DatabaseSums, ...]
    sums: tuple[Sum, ...]
    source: str

    def _evaluated(self, rows: Bytes, nodes: UInt32s) -> tuple[Int64s, Int64s, Int64s]:
        # The states and distances of each database's units.
        found = {id(each): probe_boards(rows, each.tables, each.views) for each in self.heuristics}
        if any((values == UNREACHED).any() for _, values in found.values()):
            raise self.wrong_end()

        def probe(heuristic: DatabaseSums, view: int, patterns: Sequence[int]) -> tuple[Int64s, Int64s]:
            states, values = (array[:, view, list(patterns)].astype(np.int64) for array in found[id(heuristic)])
            return states, values

        self.kind.fill(self.tables, self.round_tables, self.sums, rows, probe, nodes)
        sums = np.stack([probe(*of_sum)[1].sum(axis=1) for of_sum in self.sums], axis=1)
        h = sums.max(axis=1, initial=0)
        # All sums have the parity of the solutions.
        return sums, h, h

    def wrong_end(self) -> TableFileDamagedError:
        """Return the error of a search that only damaged tables can lead to."""
        return TableFileDamagedError(
            f"{self.source} is damaged: a distance in it contradicts another one; run pdb verify, and build it again"
        )


class Databases(BoundHeuristic):
    """Largest of all sums of one or more databases, for the goal of the first."""

    def __init__(self, databases: Sequence[Any], *, reflects: bool) -> None:
        """Raises the errors of `Solver`."""
        if not databases:
            raise InputError("no database is given; name one or more, or use HeuristicSolver")
        self.databases, self._reflects = as_databases(databases), reflects
        self.size, self.goal = self.databases[0].size, self.databases[0].goal
        for other in self.databases[1:]:
            other.check_size(self.size)
        self.identity = [database.header.digest() for database in self.databases], reflects

    def __repr__(self) -> str:
        return ", ".join(map(repr, self.databases))

    def engine(self, fsm: PruningFsm, tuning: Tuning) -> DatabaseEngine:
        heuristics = [
            DatabaseSums(
                database.lookup_tables,
                database.views(self.goal, reflects=self._reflects),
                database.arrangement_rows if database.load == "huge" else None,
            )
            for database in self.databases
        ]
        source = " or ".join(str(database.path) for database in self.databases)
        return database_engine(self.size, heuristics, fsm, source=source, tuning=tuning)

    def mapping(self, goal: Tiles) -> BoardMapping:
        return self.databases[0].mappings(goal)[0]


def database_engine(
    size: BoardSize,
    heuristics: Sequence[DatabaseSums],
    fsm: PruningFsm,
    *,
    source: str = "the table",
    tuning: Tuning = TUNING,
) -> DatabaseEngine:
    """Arrange the tables of databases, the views of a goal and the operator pruning FSM for the kernels.

    The goal is that of the first heuristic's tables. `source` names the tables' files in messages.

    Raises `InputError` if no kind suits them.
    """
    sums = sums_of(heuristics)
    # Catalogue rounds look up a table once for all sums. With two sums, wide rounds are faster.
    fastest = (ROWS, VECTOR, *((WIDE, CATALOGUE) if len(sums) <= 2 else (CATALOGUE, WIDE)), SCALAR)
    kind = next((kind for kind in tuning.rounds or fastest if kind.suits(size, sums)), None)
    if kind is None:
        raise InputError(f"{source} has too many partitions: its {len(sums)} sums are more than a search can look up")
    arrays = KeptArrays()
    round_tables, rows, *columns = kind.arrange(size, sums, arrays)
    tables = engine_tables(
        size, heuristics[0].tables.goal, fsm, arrays, rows, *columns, batch=tuning.batch or mem.BATCH
    )
    speed = 1.0 if size.n_cells <= 16 else 0.1
    return DatabaseEngine(
        size, fsm, tables, round_tables, speed, tuning, arrays, kind, tuple(heuristics), tuple(sums), source
    )
