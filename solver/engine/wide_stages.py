"""Tables of wide rounds, see `wide_round_kernels`, and of the changes of Lehmer digits, which vector rounds use too."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BoardSize
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES, blank_moves
from solver.engine import unit_tables
from solver.engine.catalogue_stages import Sum
from solver.engine.engine import UNUSED, Array
from solver.engine.layout import DIGIT_BITS, IS_BITS, MAX_VECTOR_TILES, MEMORY
from solver.engine.round_kernels import TILES_BYTES
from solver.engine.unit_tables import BLOCKS, DatabaseSums, UnitTables
from solver.engine.wide_round_kernels import (
    BLOCK,
    CELL_BITS,
    EDGES,
    FIRST_DIGIT,
    FIRST_REGION,
    HIGH,
    LOW,
    MAX_UNITS,
    MAX_WIDE_CELLS,
    MAX_WIDE_WIDTH,
    N_WIDE_FIELDS,
    SET_BYTES,
    SETS,
    STANDS,
    TABLE,
    WideStages,
)
from solver.vectors.vectors import address_of


def suits_wide(size: BoardSize, heuristics: Sequence[DatabaseSums]) -> bool:
    """Return whether wide rounds can search with these tables."""
    return (
        size.n_cells <= MAX_WIDE_CELLS
        and max(size.width, size.height) <= MAX_WIDE_WIDTH
        and all(
            int(tables.n_orders.max()) <= math.factorial(MAX_VECTOR_TILES)
            and (8 if tables.is_bits else 1) * len(tables.memory) <= 1 << 32
            and views.view_of_unit.shape[1] <= MAX_UNITS
            for tables, views in heuristics
        )
    )


def wide_stages(
    size: BoardSize,
    sums: Sequence[Sum],
    rows: Int64s,
    units: UnitTables,
    address: Callable[[Array], int],
) -> WideStages:
    """Return the tables of wide rounds, and fill in what they need of the sums' rows."""
    edge_cells, _ = blank_moves(size)
    unit_rows = units.units.reshape(-1, unit_tables.UNIT_FIELDS)
    fields = np.zeros((len(sums), N_WIDE_FIELDS, MAX_UNITS), dtype=np.uint32)
    unit_of_tile = np.zeros((len(sums), TILES_BYTES // 4), dtype=np.uint32)
    frames: dict[tuple[int, ...], Array] = {}
    records: dict[int, Array] = {}
    first_unit = 0
    for s, (heuristic, view, patterns) in enumerate(sums):
        tables, views = heuristic
        rows[s, MEMORY], rows[s, IS_BITS] = address_of(tables.memory), tables.is_bits
        of_tile = units.unit_of_tile[s * size.n_cells : (s + 1) * size.n_cells]
        unit_of_tile[s, : size.n_cells] = np.where(of_tile < 0, ~of_tile + STANDS, of_tile) - first_unit
        for u, pattern in enumerate(patterns):
            row = unit_rows[first_unit + u]
            cell_map = views.cell_maps[views.view_of_unit[view, pattern]]
            frame = tuple(cell_map.tolist())
            n_orders = int(tables.n_orders[pattern])
            n_tiles = n_tiles_of(n_orders)
            if frame not in frames:
                frames[frame] = np.zeros(N_MOVES << CELL_BITS, dtype=np.uint32)
                edges = cell_map[:, np.newaxis] | cell_map[edge_cells] << CELL_BITS
                frames[frame][: edges.size] = edges.reshape(-1)
            if tables.is_bits and row[BLOCKS] not in records:
                records[row[BLOCKS]] = _cell_set_records(size, units, row, math.comb(size.n_cells, n_tiles))
            fields[s, TABLE, u] = int(tables.table_start[pattern]) * (8 if tables.is_bits else 1)
            fields[s, BLOCK, u] = (n_orders + 7) // 8 * 8 if tables.is_bits else n_orders
            fields[s, FIRST_DIGIT, u] = DIGIT_BITS * (MAX_VECTOR_TILES - n_tiles)
            fields[s, EDGES, u] = list(frames).index(frame) << (CELL_BITS + 2)
            fields[s, LOW, u], fields[s, HIGH, u] = row[unit_tables.LOW], row[unit_tables.HIGH]
            if tables.is_bits:
                before = list(records).index(row[BLOCKS])
                fields[s, SETS, u] = sum(len(of_size) for of_size in list(records.values())[:before])
        first_unit += len(patterns)
    return WideStages(
        fields=address(fields),
        unit_of_tile=address(unit_of_tile),
        edges=address(np.concatenate(list(frames.values()))),
        set_ranks=address(units.set_ranks),
        low_bits=units.low_bits,
        high_bits=units.high_bits,
        sets=address(np.concatenate(list(records.values())) if records else UNUSED),
        jumps=address(jumps(MAX_WIDE_WIDTH)),
    )


def _cell_set_records(size: BoardSize, units: UnitTables, row: Int64s, n_sets: int) -> npt.NDArray[np.uint8]:
    """Return the records of the cell sets of a pattern, by the row of its unit: uint8[n_sets, SET_BYTES]."""
    blocks, regions = row[BLOCKS], row[unit_tables.REGIONS]
    records = np.zeros((n_sets, SET_BYTES), dtype=np.uint8)
    first_block = units.first_block[blocks : blocks + n_sets].astype(np.uint32)
    records[:, :FIRST_REGION] = first_block.view(np.uint8).reshape(n_sets, -1)
    numbers = units.region_numbers[regions : regions + n_sets * size.n_cells]
    records[:, FIRST_REGION : FIRST_REGION + size.n_cells] = numbers.reshape(n_sets, -1)
    return records


def n_tiles_of(n_orders: int) -> int:
    """Return the number of tiles that have `n_orders` arrangements."""
    return next(n for n in range(1, MAX_VECTOR_TILES + 1) if math.factorial(n) == n_orders)


def jumps(width: int) -> npt.NDArray[np.uint16]:
    """Return the changes of Lehmer digits when a tile jumps over less than `width` others: digits before XOR digits
    after.

    A tile at position a that passes the next one leaves digits p, r: r, p - 1 if p > r, else r + 1, p.
    """
    upward_half = 1 << (DIGIT_BITS * width + 1)
    jumps = np.zeros(2 * upward_half, dtype=np.uint16)
    for n in range(width):
        before = np.arange(1 << DIGIT_BITS * (n + 1))
        marker = 1 << DIGIT_BITS * (n + 1)
        for upward in range(2):
            digits = [(before >> DIGIT_BITS * i) & 7 for i in range(n + 1)]
            for a in range(n) if upward else range(n - 1, -1, -1):
                p, r = digits[a], digits[a + 1]
                digits[a], digits[a + 1] = np.where(p > r, r, r + 1), np.where(p > r, p - 1, p)
            after = sum((digit & 7) << DIGIT_BITS * i for i, digit in enumerate(digits))
            jumps[upward * upward_half + marker + before] = before ^ after
    return jumps
