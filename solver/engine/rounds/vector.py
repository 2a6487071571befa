"""Vector rounds, see `vector_kernels`, with tables as in a file or in rows."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.layout import pattern_blocks
from pdb_core.types import N_MOVES, Bytes, Int64s, UInt32s, UInt64s
from pdb_query.arrangement_rows import BitRows, block_rows
from solver.board_arrays import mapped_moves
from solver.engine.engine import KeptArrays, slack_rows
from solver.engine.layout import EngineTables
from solver.engine.rounds import vector_kernels as kernels
from solver.engine.rounds.round import (
    Arranged,
    Probe,
    Round,
    Width,
    block_widths,
    cells_and_digits,
    databases_of,
    first_digit,
    jumps,
    units_of,
)
from solver.engine.rounds.shared_kernels import LAST_ADDRESS, MAX_DIGITS, VALUE_SHIFT
from solver.engine.sums import DatabaseSums, Sum
from solver.moves import blank_steps


def _widths(size: BoardSize, sums: Sequence[Sum], *, in_rows: bool) -> Iterator[Width]:
    yield Width("cells", size.n_cells, kernels.MAX_VECTOR_CELLS)
    yield Width("side", max(size.width, size.height), kernels.MAX_VECTOR_WIDTH)
    yield Width("sums", len(sums), kernels.MAX_VECTOR_SUMS)
    for heuristic in databases_of(sums):
        tables, views, rows = heuristic
        yield Width("tables not in rows", int(in_rows and rows is None), 0)
        yield Width("tables in bytes, or of every move", int(not tables.is_bits or tables.counts_every_move), 0)
        yield Width("views that units do not share", len(views.cell_maps) - views.n_sums, 0)
        yield Width("tiles", int(tables.n_tiles.max()), MAX_DIGITS)
        yield from block_widths(size, tables, (1 << kernels.BLOCK_BITS) - 1, 1 << kernels.REGION_BITS)
        yield Width("address", _rows_of(size, heuristic, in_rows=in_rows).last_bit, LAST_ADDRESS)


def _rows_of(size: BoardSize, heuristic: DatabaseSums, *, in_rows: bool) -> BitRows:
    return heuristic.rows() if in_rows and heuristic.rows is not None else block_rows(size, heuristic.tables)


def _arrange(size: BoardSize, sums: Sequence[Sum], arrays: KeptArrays, *, in_rows: bool) -> Arranged:
    """Return the tables of vector rounds."""
    most_units = max(len(patterns) for _, _, patterns in sums)
    rows, column = slack_rows(len(sums), kernels.FIRST_UNIT + most_units * kernels.UNIT_FIELDS)
    for row, one in zip(rows, sums, strict=True):
        _fill_sum(row, one, size, column, arrays, _rows_of(size, one[0], in_rows=in_rows))
        column = row[kernels.UNIT_DIGITS] + row[kernels.N_UNITS]
    # The order of the sums, and the far columns: the list has those of the sums that were looked up.
    order, n_far = np.zeros((2, len(sums)), dtype=np.int64), np.zeros((2, len(sums)), dtype=np.int64)
    for f in range(2):
        is_far = rows[:, kernels.FAR_COLUMN + f] != 0
        order[f] = np.argsort(is_far, kind="stable")
        n_far[f] = np.cumsum(is_far[order[f]])
        rows[order[f], kernels.FAR_COLUMN + f] = np.where(is_far[order[f]], kernels.DIGITS - 1 + n_far[f], -1)
    sizes = {n_tiles for (tables, *_), _, _ in sums for n_tiles in tables.n_tiles.tolist()}
    round_tables = (kernels.RowTables if in_rows else kernels.VectorTables)(
        sum_order=order,
        n_far=n_far,
        n_far_columns=int(n_far.max()),
        all_cells=(1 << size.n_cells) - 1,
        between=(1 << (size.width - 1)) - 1,
        sets=arrays.address(_cell_set_entries(size, sizes)),
        jumps=arrays.address(jumps(kernels.MAX_VECTOR_WIDTH)),
    )
    return Arranged(round_tables, rows, int(column), kernels.DIGITS + len(sums))


def _fill_sum(row: Int64s, of_sum: Sum, size: BoardSize, column: int, arrays: KeptArrays, rows: BitRows) -> None:
    """Fill the fields of a sum, its columns from `column` on."""
    (tables, views, _), view, patterns = of_sum
    cell_map = views.cell_maps[view]
    row[kernels.N_UNITS], row[kernels.CELL_SETS] = len(patterns), column
    row[kernels.UNIT_DIGITS] = column + len(patterns) // 2
    row[kernels.MEMORY] = arrays.address(rows.memory())
    frame = np.zeros(16, dtype=np.uint32)
    frame[: size.n_cells] = cell_map
    row[kernels.FRAME] = arrays.address(frame)
    steps = np.zeros(16, dtype=np.int64)
    steps[:N_MOVES] = np.array(blank_steps(size))[mapped_moves(cell_map, size)]
    row[kernels.STEPS] = arrays.address(steps.astype(np.uint32))
    # Whether the sum is far for horizontal and for vertical moves; `_arrange` replaces it by the column.
    row[kernels.FAR_COLUMN : kernels.FAR_COLUMN + 2] = np.abs(steps[1::-1]) != 1
    for unit, pattern in enumerate(patterns):
        fields = row[kernels.FIRST_UNIT + unit * kernels.UNIT_FIELDS :]
        fields[kernels.TABLE_BIT], fields[kernels.ROW_BITS] = rows.first_bits[pattern], rows.row_bits[pattern]
        fields[kernels.FIRST_DIGIT] = first_digit(int(tables.n_tiles[pattern]))


def _cell_set_entries(size: BoardSize, sizes: Iterable[int]) -> UInt64s:
    """Return the entries of all cell sets of patterns of some sizes, by mask: uint64[1 << MAX_VECTOR_CELLS]."""
    sets = np.zeros(1 << kernels.MAX_VECTOR_CELLS, dtype=np.uint64)
    shifts = kernels.BLOCK_BITS + kernels.REGION_BITS * np.arange(size.n_cells, dtype=np.uint64)
    for n_tiles in sizes:
        blocks = pattern_blocks(size, n_tiles)
        numbers = blocks.region_numbers & ((1 << kernels.REGION_BITS) - 1)
        regions = np.bitwise_or.reduce(numbers.astype(np.uint64) << shifts, axis=1)
        sets[blocks.cell_sets] = regions | blocks.first_block[:-1].astype(np.uint64)
    return sets


def _fill(
    tables: EngineTables, _round_tables: Any, sums: Sequence[Sum], _boards: Bytes, probe: Probe, nodes: UInt32s
) -> None:
    for row, lookup_tables, unit, pattern, states, values in units_of(tables, sums, probe):
        cells, digits = cells_and_digits(lookup_tables, pattern, states, tables.n_cells)
        nodes[:, row[kernels.UNIT_DIGITS] + unit] = digits | (values + 1 & 3) << VALUE_SHIFT
        if unit > 0:
            pair, upper = divmod(unit - 1, 2)
            nodes[:, row[kernels.CELL_SETS] + pair] |= (cells << (kernels.CELL_SET_BITS * upper)).astype(np.uint32)


VECTOR = Round("vector", partial(_widths, in_rows=False), partial(_arrange, in_rows=False), _fill)
ROWS = Round("rows", partial(_widths, in_rows=True), partial(_arrange, in_rows=True), _fill)
