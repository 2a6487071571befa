"""Tables of a search with databases, arranged for the kernels of the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import UNREACHED
from pdb_core.errors import TableFileDamagedError
from pdb_core.puzzle import BoardSize
from pdb_core.ranking import label_bits_of
from pdb_core.types import Int64s
from pdb_query.lookup import probe_boards
from solver.engine import layout as mem
from solver.engine.engine import (
    NO_LAST,
    Engine,
    KeptArrays,
    Roots,
    engine_tables,
    first_column_after_slacks,
    slack_rows,
)
from solver.engine.rounds.catalogue import catalogue_tables, distinct_units, fill_units, suits_catalogue
from solver.engine.rounds.scalar import DatabaseSums, Sum, sums_of, unit_tables
from solver.engine.rounds.scalar_kernels import UnitTables
from solver.engine.rounds.vector import suits_vectors, vector_tables
from solver.engine.rounds.vector_kernels import lehmer_digits
from solver.engine.rounds.wide import columns_of_units, suits_wide, wide_tables
from solver.pruning.fsm import PruningFsm

# Kinds of rounds.
VECTOR, CATALOGUE, WIDE, SCALAR = "vector", "catalogue", "wide", "scalar"


def _scalar_tables(
    size: BoardSize, sums: Sequence[Sum], rows: Int64s, column: int, _arrays: KeptArrays
) -> tuple[UnitTables, dict[str, int]]:
    """Return the tables of scalar rounds, and fields of `EngineTables`; fill the rows of the sums."""
    fields = columns_of_units(size, sums, rows, column, n_each=mem.SCALAR_COLUMNS)
    return unit_tables(size, sums), {**fields, "list_columns": mem.UNITS + mem.SCALAR_COLUMNS * len(sums)}


# Whether each kind of rounds suits a size and sums, and its tables.
_KINDS: dict[str, tuple[Any, Any]] = {
    VECTOR: (suits_vectors, vector_tables),
    CATALOGUE: (suits_catalogue, catalogue_tables),
    WIDE: (suits_wide, wide_tables),
    SCALAR: (lambda _size, _sums: True, _scalar_tables),
}


@dataclass(frozen=True)
class DatabaseEngine(Engine):
    """Tables of a search with databases. `round_tables` is `VectorTables`, `CatalogueTables`, `WideTables`, or, for
    scalar rounds, `UnitTables`.

    sums    those of the search, in their order
    source  names the tables' files in messages
    """

    kind: str
    heuristics: tuple[DatabaseSums, ...]
    sums: tuple[Sum, ...]
    source: str

    @property
    def pace(self) -> float:
        return 10.0 if self.size.n_cells <= 16 else 1.0

    def _evaluated(self, rows: npt.NDArray[np.uint8], nodes: npt.NDArray[np.uint32]) -> Roots:
        found = {id(heuristic): self._probed(rows, heuristic) for heuristic in self.heuristics}
        sums = np.zeros((len(rows), len(self.sums)), dtype=np.int64)
        for s, (heuristic, view, patterns) in enumerate(self.sums):
            states, values = (array[:, view, list(patterns)].astype(np.int64) for array in found[id(heuristic)])
            sums[:, s] = values.sum(axis=1)
            if self.kind != CATALOGUE:
                self._fill_sum(s, states, values, nodes)
        if self.kind == CATALOGUE:
            distinct = distinct_units(self.sums).values()
            of_units = [found[id(unit.heuristic)][1][:, unit.view, unit.pattern] for unit in distinct]
            fill_units(self.round_tables, rows, np.stack(of_units, axis=1), nodes)
        h = sums.max(axis=1, initial=0)
        # All sums have the parity of the solutions.
        return Roots(rows, nodes, sums, h, h, np.full_like(h, NO_LAST))

    def _fill_sum(self, s: int, states: Int64s, values: Int64s, nodes: npt.NDArray[np.uint32]) -> None:
        """Fill the columns of a sum in nodes, from the states and distances of its units, int64[m, units] each."""
        (tables, _), _, patterns = self.sums[s]
        column = int(self.tables.sums[s, mem.UNIT_DIGITS])
        for unit, pattern in enumerate(patterns):
            state, value = np.ascontiguousarray(states[:, unit]), values[:, unit]
            if self.kind == SCALAR:
                first = column + mem.SCALAR_COLUMNS * unit
                nodes[:, first : first + 2] = state.view(np.uint32).reshape(-1, 2)
                nodes[:, first + 2] = value
                continue
            cells = state & ((1 << self.size.n_cells) - 1)
            n_tiles, digits = int(tables.n_tiles[pattern]), np.empty_like(state)
            lehmer_digits(state >> self.size.n_cells, n_tiles, label_bits_of(n_tiles), digits)
            if self.kind == WIDE:
                nodes[:, column + 2 * unit] = cells
                nodes[:, column + 2 * unit + 1] = digits | value << mem.VALUE_SHIFT
                continue
            nodes[:, column + unit] = digits | (value + 1 & 3) << mem.VALUE_SHIFT
            if unit > 0:
                cell_sets = int(self.tables.sums[s, mem.CELL_SETS]) + (unit - 1) // 2
                nodes[:, cell_sets] |= (cells << (mem.CELL_SET_BITS * ((unit - 1) & 1))).astype(np.uint32)

    def _probed(self, rows: npt.NDArray[np.uint8], heuristic: DatabaseSums) -> tuple[Int64s, npt.NDArray[np.uint8]]:
        """Return the states and distances of a database's units, see `probe_boards`."""
        states, values = probe_boards(rows, heuristic.tables, heuristic.views)
        if (values == UNREACHED).any():
            raise self.wrong_end()
        return states, values

    def wrong_end(self) -> TableFileDamagedError:
        """Return the error of a search that only damaged tables can lead to."""
        return TableFileDamagedError(
            f"{self.source} is damaged: a distance in it contradicts another one; run pdb verify, and build it again"
        )


def database_engine(
    size: BoardSize,
    heuristics: Sequence[DatabaseSums],
    fsm: PruningFsm,
    *,
    source: str = "the table",
    rounds: Sequence[str] | None = None,
    batch: int = mem.BATCH,
) -> DatabaseEngine:
    """Arrange the tables of databases, the views of a goal and the operator pruning FSM for the kernels.

    The goal is that of the first heuristic's tables. Of the kinds of `rounds` the first that suits them is used, by
    default the fastest; SCALAR suits all. `batch` are the nodes of a round, up to BATCH. `source` names the tables'
    files in messages.
    """
    sums = sums_of(heuristics)
    # Catalogue rounds look up a table once for all sums. With two sums, wide rounds are faster.
    fastest = (VECTOR, WIDE, CATALOGUE, SCALAR) if len(sums) <= 2 else (VECTOR, CATALOGUE, WIDE, SCALAR)
    kind = next(kind for kind in rounds or fastest if _KINDS[kind][0](size, sums))
    most_units = max(len(patterns) for _, _, patterns in sums)
    rows = slack_rows(len(sums), mem.SUM_FIELDS + most_units * mem.UNIT_FIELDS)
    arrays = KeptArrays()
    round_tables, fields = _KINDS[kind][1](size, sums, rows, first_column_after_slacks(len(sums)), arrays)
    tables = engine_tables(size, heuristics[0].tables.goal, fsm, arrays, sums=rows, batch=batch, **fields)
    return DatabaseEngine(size, fsm, tables, round_tables, 1.0, arrays, kind, tuple(heuristics), tuple(sums), source)
