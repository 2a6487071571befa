"""Tables of wide rounds, see `wide_round_kernels`."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BoardSize
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES, blank_moves
from solver.engine import layout as lay, unit_tables as per_unit, wide_round_kernels as wide
from solver.engine.engine import KeptArrays
from solver.engine.round_kernels import TILES_BYTES
from solver.engine.unit_tables import Sum, UnitTables, unit_tables
from solver.engine.vector_stages import first_digit, jumps, n_tiles_of
from solver.vectors.vectors import address_of

_N_EDGES = N_MOVES << wide.CELL_BITS


def suits_wide(size: BoardSize, sums: Sequence[Sum]) -> bool:
    """Return whether wide rounds can search with these tables."""
    return (
        size.n_cells <= wide.MAX_WIDE_CELLS
        and max(size.width, size.height) <= wide.MAX_WIDE_WIDTH
        and len(sums) <= wide.MAX_WIDE_SUMS
        and all(
            int(tables.n_orders.max()) <= math.factorial(lay.MAX_VECTOR_TILES)
            and (8 if tables.is_bits else 1) * len(tables.memory) <= 1 << 32
            and views.view_of_unit.shape[1] <= wide.MAX_UNITS
            for (tables, views), _, _ in sums
        )
    )


def wide_stages(
    size: BoardSize, sums: Sequence[Sum], rows: Int64s, column: int, arrays: KeptArrays
) -> tuple[wide.WideStages, dict[str, int]]:
    """Return the tables of wide rounds, whose columns of a node begin at `column`, and fields of `EngineTables`; fill
    the rows of the sums.
    """
    units = unit_tables(size, sums)
    unit_rows = units.units.reshape(-1, per_unit.UNIT_FIELDS)
    fields = np.zeros((len(sums), wide.N_WIDE_FIELDS, wide.MAX_UNITS), dtype=np.uint32)
    unit_of_tile = np.zeros((len(sums), TILES_BYTES // 4), dtype=np.uint32)
    # Where the edges of a frame and the records of a pattern's cell sets begin among those of all.
    frames: dict[tuple[int, ...], int] = {}
    edges: list[npt.NDArray[np.uint32]] = []
    first_records: dict[int, int] = {}
    records = [np.empty((0, wide.SET_BYTES), dtype=np.uint8)]
    first_unit = 0
    for s, ((tables, views), view, patterns) in enumerate(sums):
        rows[s, lay.MEMORY], rows[s, lay.IS_BITS] = address_of(tables.memory), tables.is_bits
        of_tile = units.unit_of_tile[s * size.n_cells : (s + 1) * size.n_cells]
        unit_of_tile[s, : size.n_cells] = np.where(of_tile < 0, ~of_tile + wide.STANDS, of_tile) - first_unit
        for u, pattern in enumerate(patterns):
            row = unit_rows[first_unit + u]
            cell_map = views.cell_maps[views.view_of_unit[view, pattern]]
            frame = tuple(cell_map.tolist())
            n_orders = int(tables.n_orders[pattern])
            n_tiles = n_tiles_of(n_orders)
            if frame not in frames:
                frames[frame] = len(edges) * _N_EDGES
                edges.append(_edges(size, cell_map))
            fields[s, wide.TABLE, u] = int(tables.table_start[pattern]) * (8 if tables.is_bits else 1)
            fields[s, wide.BLOCK, u] = (n_orders + 7) // 8 * 8 if tables.is_bits else n_orders
            fields[s, wide.FIRST_DIGIT, u] = first_digit(n_tiles)
            fields[s, wide.EDGES, u] = frames[frame]
            fields[s, wide.LOW, u], fields[s, wide.HIGH, u] = row[per_unit.LOW], row[per_unit.HIGH]
            if tables.is_bits:
                blocks = int(row[per_unit.BLOCKS])
                if blocks not in first_records:
                    first_records[blocks] = sum(map(len, records))
                    records.append(_cell_set_records(size, units, row, math.comb(size.n_cells, n_tiles)))
                fields[s, wide.SETS, u] = first_records[blocks]
        first_unit += len(patterns)
    stages = wide.WideStages(
        fields=arrays.address(fields),
        unit_of_tile=arrays.address(unit_of_tile),
        edges=arrays.address(np.concatenate(edges)),
        set_ranks=arrays.address(units.set_ranks),
        low_bits=units.low_bits,
        high_bits=units.high_bits,
        sets=arrays.address(np.concatenate(records)),
        jumps=arrays.address(jumps(wide.MAX_WIDE_WIDTH)),
    )
    n_list_columns = wide.SLACKS + column - lay.LEFT + 2 * len(sums)
    return stages, {**columns_of_units(size, sums, rows, column, n_each=2), "list_columns": n_list_columns}


def _edges(size: BoardSize, cell_map: Int64s) -> npt.NDArray[np.uint32]:
    """Return the edges of a frame, see `WideStages`."""
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
        row[lay.N_UNITS], row[lay.UNIT_DIGITS] = len(patterns), column
        column += n_each * len(patterns)
    return {"board_column": first, "n_columns": column}


def _cell_set_records(size: BoardSize, units: UnitTables, row: Int64s, n_sets: int) -> npt.NDArray[np.uint8]:
    """Return the records of the cell sets of a pattern, by the row of its unit: uint8[n_sets, SET_BYTES]."""
    blocks, regions = row[per_unit.BLOCKS], row[per_unit.REGIONS]
    records = np.zeros((n_sets, wide.SET_BYTES), dtype=np.uint8)
    first_block = units.first_block[blocks : blocks + n_sets].astype(np.uint32)
    records[:, : wide.FIRST_REGION] = first_block.view(np.uint8).reshape(n_sets, -1)
    numbers = units.region_numbers[regions : regions + n_sets * size.n_cells]
    records[:, wide.FIRST_REGION : wide.FIRST_REGION + size.n_cells] = numbers.reshape(n_sets, -1)
    return records
