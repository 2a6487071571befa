"""Scalar rounds, and their tables: how a move changes the state of a unit, and where its distance is.

Best-first search uses the tables, too. `lookup_kernels` moves the states of units and finds their distances.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.types import N_MOVES, Bytes, Int64s, UInt32s
from pdb_query.move_records import move_numbers, move_records
from pdb_query.records import MOVE_FIELDS, RECORD_FIELDS, TABLE_BIT
from solver.board_arrays import blank_moves
from solver.engine.engine import KeptArrays, slack_rows
from solver.engine.layout import EngineTables
from solver.engine.rounds.round import Arranged, Probe, Round, Width, units_of
from solver.engine.rounds.scalar_kernels import BYTE, FIRST_UNIT, UNIT_COLUMNS, UNITS, UnitTables
from solver.engine.sums import Sum


def unit_tables(size: BoardSize, sums: Sequence[Sum]) -> UnitTables:
    """Arrange the tables of databases and the views of a goal for kernels.

    The tables must outlive the result. A search without databases gets empty arrays.
    """
    none = np.empty(0, dtype=np.int64)
    records, unit_maps, unit_of_tile, cell_maps = [none], [none], [none], [none.reshape(0, size.n_cells)]
    first_units = [0]
    for (tables, views, _), view, patterns in sums:
        chosen, first = list(patterns), first_units[-1]
        rows = tables.records.reshape(-1, RECORD_FIELDS)[chosen]
        rows[:, TABLE_BIT] += 8 * tables.memory.ctypes.data
        unit = np.full(size.n_cells, ~first if tables.counts_every_move else first)
        for number, pattern in enumerate(patterns, start=first):
            unit[list(views.tiles(view, pattern))] = number
        records.append(rows.reshape(-1))
        unit_maps.append(views.unit_maps.reshape(*views.view_of_unit.shape, -1)[view, chosen].reshape(-1))
        unit_of_tile.append(unit)
        cell_maps.append(views.cell_maps[views.view_of_unit[view, chosen]])
        first_units.append(first + len(chosen))
    # Units with the same cell map share the moves: few rows stay in the processor's caches.
    different, map_of_unit = np.unique(np.concatenate(cell_maps), axis=0, return_inverse=True)
    unit_of = np.concatenate(unit_of_tile)
    edge_cells, _ = blank_moves(size)
    return UnitTables(
        records=np.concatenate(records),
        unit_maps=np.concatenate(unit_maps),
        moves=_moves_in_views(size, different, edge_cells),
        edge_cells=edge_cells.reshape(-1),
        unit_of_tile=unit_of,
        moves_of_tile=map_of_unit.reshape(-1)[unit_of ^ (unit_of >> 63)] * (edge_cells.size * MOVE_FIELDS),
        first_units=np.array(first_units, dtype=np.int64),
        sum_is_bits=np.array([heuristic.tables.is_bits for heuristic, _, _ in sums], dtype=np.int64),
        n_cells=size.n_cells,
        low_bits=sums[0][0].tables.low_bits if sums else 0,
        high_bits=sums[0][0].tables.high_bits if sums else 0,
        n_sums=len(sums),
        n_units=first_units[-1],
    )


def _moves_in_views(size: BoardSize, cell_maps: Int64s, edge_cells: Int64s) -> Int64s:
    """Return `UnitTables.moves` for `cell_maps`, int64[c, n_cells]."""
    numbers = np.zeros((size.n_cells, size.n_cells), dtype=np.int64)
    for (source, target), number in move_numbers(size).items():
        numbers[source, target] = number
    sources, targets = cell_maps[:, edge_cells.reshape(-1)], np.repeat(cell_maps, N_MOVES, axis=1)
    return move_records(size, "additive")[numbers[sources, targets]].reshape(-1)


def _arrange(size: BoardSize, sums: Sequence[Sum], _arrays: KeptArrays) -> Arranged:
    """Return the tables of scalar rounds."""
    rows, column = slack_rows(len(sums), FIRST_UNIT + 1)
    n_columns = [UNIT_COLUMNS * len(patterns) for _, _, patterns in sums]
    *rows[:, FIRST_UNIT], end = np.cumsum([column + -(-size.n_cells // 4), *n_columns])
    return Arranged(unit_tables(size, sums), rows, int(end), UNITS + UNIT_COLUMNS * len(sums), column)


def _fill(
    tables: EngineTables, _round_tables: Any, sums: Sequence[Sum], _boards: Bytes, probe: Probe, nodes: UInt32s
) -> None:
    for row, _, unit, _, states, values in units_of(tables, sums, probe):
        column = row[FIRST_UNIT] + UNIT_COLUMNS * unit
        nodes[:, column : column + 2] = np.ascontiguousarray(states).view(np.uint32).reshape(-1, 2)
        nodes[:, column + 2] = values


def _widths(_size: BoardSize, sums: Sequence[Sum]) -> Iterator[Width]:
    yield Width("sums", len(sums), BYTE)


SCALAR = Round("scalar", _widths, _arrange, _fill)
