"""Wide rounds, see `wide_kernels`."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.layout import pattern_blocks
from pdb_core.ranking import cell_set_ranks
from pdb_core.types import N_MOVES, Bytes, Int64s, UInt32s
from pdb_query import records
from pdb_query.arrangement_rows import block_rows
from pdb_query.lookup import LookupTables
from solver.board_arrays import blank_moves
from solver.engine import layout as mem
from solver.engine.engine import Array, KeptArrays, slack_rows
from solver.engine.layout import EngineTables
from solver.engine.rounds import wide_kernels as wide
from solver.engine.rounds.round import (
    Arranged,
    Probe,
    Round,
    Width,
    after_board,
    block_widths,
    cell_set_records,
    cells_and_digits,
    databases_of,
    first_digit,
    jumps,
    units_of,
)
from solver.engine.rounds.shared_kernels import LAST_ADDRESS, MAX_DIGITS, SET_BYTES, TILES_BYTES, VALUE_SHIFT
from solver.engine.sums import Sum
from solver.vectors.vectors import address_of

_N_EDGES = N_MOVES << wide.CELL_BITS


class _Joined(dict[Any, int]):
    """Arrays, one behind the other, and where each begins, by its key."""

    def __init__(self, first: Array) -> None:
        super().__init__()
        self.arrays = [first]

    def start(self, key: Any, array: Array) -> int:
        """Add an array, unless it is there already. Returns where it begins."""
        if key not in self:
            self[key] = sum(map(len, self.arrays))
            self.arrays.append(array)
        return self[key]


def _widths(size: BoardSize, sums: Sequence[Sum]) -> Iterator[Width]:
    yield Width("side", max(size.width, size.height), wide.MAX_WIDE_WIDTH)
    yield Width("sums", len(sums), wide.MAX_WIDE_SUMS)
    yield Width("units of a sum", max(len(patterns) for _, _, patterns in sums), wide.MAX_UNITS)
    for tables, _, _ in databases_of(sums):
        yield Width("tiles", int(tables.n_tiles.max()), MAX_DIGITS)
        if _has_sets(tables):
            yield from block_widths(size, tables)
        last_bit = block_rows(size, tables).last_bit
        yield Width("address", last_bit if tables.is_bits else last_bit >> 3, LAST_ADDRESS)


def _has_sets(tables: LookupTables) -> bool:
    return bool(tables.is_bits and not tables.counts_every_move)


def _arrange(size: BoardSize, sums: Sequence[Sum], arrays: KeptArrays) -> Arranged:
    """Return the tables of wide rounds."""
    rows, column = slack_rows(len(sums), wide.HAS_SETS + 1)
    *rows[:, wide.FIRST_UNIT], n_columns = after_board(size, sums, column, 2)
    fields = np.zeros((len(sums), wide.N_WIDE_FIELDS, wide.MAX_UNITS), dtype=np.uint32)
    unit_of_tile = np.zeros((len(sums), TILES_BYTES // 4), dtype=np.uint32)
    edges, set_ranks = _Joined(np.empty(0, dtype=np.uint32)), _Joined(np.empty(0, dtype=np.int32))
    sets = _Joined(np.empty((0, SET_BYTES), dtype=np.uint8))
    for s, ((tables, views, _), view, patterns) in enumerate(sums):
        shift = 0 if tables.is_bits else 3
        rows[s, wide.N_UNITS] = len(patterns)
        rows[s, wide.MEMORY], rows[s, wide.IS_BITS] = address_of(tables.memory), tables.is_bits
        rows[s, wide.HAS_SETS] = _has_sets(tables)
        unit_of_tile[s, : size.n_cells] = wide.STANDS if tables.counts_every_move else 0
        for u, pattern in enumerate(patterns):
            record = tables.records.reshape(-1, records.RECORD_FIELDS)[pattern]
            cell_map, n_tiles = views.cell_maps[views.view_of_unit[view, pattern]], int(tables.n_tiles[pattern])
            ranks = cell_set_ranks(size.n_cells, n_tiles)
            unit_of_tile[s, list(views.tiles(view, pattern))] = u
            fields[s, wide.TABLE, u] = record[records.TABLE_BIT] >> shift
            fields[s, wide.BLOCK, u] = record[records.BLOCK_BITS] >> shift
            fields[s, wide.FIRST_DIGIT, u] = first_digit(n_tiles)
            fields[s, wide.EDGES, u] = edges.start(tuple(cell_map.tolist()), _edges(size, cell_map))
            fields[s, wide.LOW, u] = set_ranks.start((n_tiles, "low"), ranks.low)
            fields[s, wide.HIGH, u] = set_ranks.start((n_tiles, "high"), ranks.high)
            fields[s, wide.SETS, u] = size.n_cells - n_tiles
            if rows[s, wide.HAS_SETS]:
                fields[s, wide.SETS, u] = sets.start(n_tiles, cell_set_records(pattern_blocks(size, n_tiles)))
    round_tables = wide.WideTables(
        fields=arrays.address(fields),
        unit_of_tile=arrays.address(unit_of_tile),
        edges=arrays.address(np.concatenate(edges.arrays)),
        set_ranks=arrays.address(np.concatenate(set_ranks.arrays)),
        low_bits=sums[0][0].tables.low_bits,
        high_bits=sums[0][0].tables.high_bits,
        sets=arrays.address(np.concatenate(sets.arrays)),
        jumps=arrays.address(jumps(wide.MAX_WIDE_WIDTH)),
    )
    n_list_columns = wide.SLACKS + column - mem.MOVES_LEFT + 2 * len(sums)
    return Arranged(round_tables, rows, int(n_columns), n_list_columns, column)


def _edges(size: BoardSize, cell_map: Int64s) -> UInt32s:
    """Return the edges of a view, see `WideTables`."""
    edge_cells, _ = blank_moves(size)
    edges = np.zeros(_N_EDGES, dtype=np.uint32)
    edges[: edge_cells.size] = (cell_map[:, np.newaxis] | cell_map[edge_cells] << wide.CELL_BITS).reshape(-1)
    return edges


def _fill(
    tables: EngineTables, _round_tables: Any, sums: Sequence[Sum], _boards: Bytes, probe: Probe, nodes: UInt32s
) -> None:
    for row, lookup_tables, unit, pattern, states, values in units_of(tables, sums, probe):
        column = row[wide.FIRST_UNIT] + 2 * unit
        nodes[:, column], digits = cells_and_digits(lookup_tables, pattern, states, tables.n_cells)
        nodes[:, column + 1] = digits | values << VALUE_SHIFT


WIDE = Round("wide", _widths, _arrange, _fill)
