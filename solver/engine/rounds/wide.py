"""Tables of wide rounds, see `wide_kernels`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.layout import pattern_blocks
from pdb_core.puzzle import BoardSize
from pdb_core.ranking import cell_set_ranks
from pdb_core.types import N_MOVES, Int64s
from pdb_query import records
from solver.board_arrays import blank_moves
from solver.engine import layout as mem
from solver.engine.engine import Array, KeptArrays
from solver.engine.rounds import wide_kernels as wide
from solver.engine.rounds.catalogue import cell_set_records
from solver.engine.rounds.scalar import Sum
from solver.engine.rounds.shared_kernels import SET_BYTES, TILES_BYTES
from solver.engine.rounds.vector import first_digit, jumps
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


def suits_wide(size: BoardSize, sums: Sequence[Sum]) -> bool:
    """Return whether wide rounds can search with these tables."""
    return (
        max(size.width, size.height) <= wide.MAX_WIDE_WIDTH
        and len(sums) <= wide.MAX_WIDE_SUMS
        and all(
            tables.n_tiles.max() <= mem.MAX_VECTOR_TILES
            and (8 if tables.is_bits else 1) * len(tables.memory) <= 1 << 32
            and views.view_of_unit.shape[1] <= wide.MAX_UNITS
            for (tables, views), _, _ in sums
        )
    )


def wide_tables(
    size: BoardSize, sums: Sequence[Sum], rows: Int64s, column: int, arrays: KeptArrays
) -> tuple[wide.WideTables, dict[str, int]]:
    """Return the tables of wide rounds, whose columns of a node begin at `column`, and fields of `EngineTables`; fill
    the rows of the sums.
    """
    fields = np.zeros((len(sums), wide.N_WIDE_FIELDS, wide.MAX_UNITS), dtype=np.uint32)
    unit_of_tile = np.zeros((len(sums), TILES_BYTES // 4), dtype=np.uint32)
    edges, set_ranks = _Joined(np.empty(0, dtype=np.uint32)), _Joined(np.empty(0, dtype=np.int32))
    sets = _Joined(np.empty((0, SET_BYTES), dtype=np.uint8))
    for s, ((tables, views), view, patterns) in enumerate(sums):
        shift = 0 if tables.is_bits else 3
        rows[s, mem.MEMORY], rows[s, mem.IS_BITS] = address_of(tables.memory), tables.is_bits
        rows[s, mem.HAS_SETS] = tables.is_bits and not tables.counts_every_move
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
            if rows[s, mem.HAS_SETS]:
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
    n_list_columns = wide.SLACKS + column - mem.LEFT + 2 * len(sums)
    return round_tables, {**columns_of_units(size, sums, rows, column, n_each=2), "list_columns": n_list_columns}


def _edges(size: BoardSize, cell_map: Int64s) -> npt.NDArray[np.uint32]:
    """Return the edges of a view, see `WideTables`."""
    edge_cells, _ = blank_moves(size)
    edges = np.zeros(_N_EDGES, dtype=np.uint32)
    edges[: edge_cells.size] = (cell_map[:, np.newaxis] | cell_map[edge_cells] << wide.CELL_BITS).reshape(-1)
    return edges


def columns_of_units(size: BoardSize, sums: Sequence[Sum], rows: Int64s, column: int, *, n_each: int) -> dict[str, int]:
    """Give the board columns from `column` on, and then each unit `n_each` columns. Return fields of `EngineTables`;
    fill the rows of the sums.
    """
    first = column
    column += -(-size.n_cells // 4)
    for row, (_, _, patterns) in zip(rows, sums, strict=True):
        row[mem.N_UNITS], row[mem.UNIT_DIGITS] = len(patterns), column
        column += n_each * len(patterns)
    return {"board_column": first, "n_columns": column}
