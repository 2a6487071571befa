"""Tables of vector rounds, see `vector_kernels`, and of the changes of Lehmer digits, also for wide rounds."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.layout import pattern_blocks
from pdb_core.puzzle import BoardSize
from pdb_core.types import N_MOVES, Int64s
from pdb_query import records
from solver.board_arrays import blank_moves
from solver.engine import layout as mem
from solver.engine.engine import KeptArrays
from solver.engine.rounds.scalar import Sum
from solver.engine.rounds.vector_kernels import VectorTables
from solver.vectors.vectors import address_of


def suits_vectors(size: BoardSize, sums: Sequence[Sum]) -> bool:
    """Return whether vector rounds can search with these tables. Their blocks and regions then fit `BLOCK_BITS` and
    `REGION_BITS`.
    """
    return (
        size.n_cells <= mem.MAX_VECTOR_CELLS
        and max(size.width, size.height) <= mem.MAX_VECTOR_WIDTH
        and len(sums) <= mem.MAX_VECTOR_SUMS
        and all(
            tables.is_bits == 1
            and tables.counts_every_move == 0
            and tables.n_tiles.max() <= mem.MAX_VECTOR_TILES
            and 8 * len(tables.memory) <= 1 << 32
            # All units of a sum have one view.
            and len(views.cell_maps) == views.n_sums
            for (tables, views), _, _ in sums
        )
    )


def vector_tables(
    size: BoardSize, sums: Sequence[Sum], rows: Int64s, column: int, arrays: KeptArrays
) -> tuple[VectorTables, dict[str, int]]:
    """Return the tables of vector rounds, whose columns of a node begin at `column`, and fields of `EngineTables`; fill
    the rows of the sums.
    """
    for row, one in zip(rows, sums, strict=True):
        _fill_sum(row, one, size, column, arrays)
        column = row[mem.UNIT_DIGITS] + row[mem.N_UNITS]
    # The order of the sums, and the far columns: the list has those of the sums that were looked up.
    order, n_far = np.zeros((2, len(sums)), dtype=np.int64), np.zeros((2, len(sums)), dtype=np.int64)
    for f in range(2):
        is_far = rows[:, mem.FAR_COLUMN + f] != 0
        order[f] = np.argsort(is_far, kind="stable")
        n_far[f] = np.cumsum(is_far[order[f]])
        rows[order[f], mem.FAR_COLUMN + f] = np.where(is_far[order[f]], mem.DIGITS - 1 + n_far[f], -1)
    round_tables = VectorTables(
        sum_order=order,
        n_far=n_far,
        n_far_columns=int(n_far.max()),
        all_cells=(1 << size.n_cells) - 1,
        between=(1 << (size.width - 1)) - 1,
        sets=arrays.address(_cell_sets(size, sums)),
        jumps=arrays.address(jumps(mem.MAX_VECTOR_WIDTH)),
    )
    return round_tables, {"n_columns": int(column), "list_columns": mem.DIGITS + len(sums)}


def _fill_sum(row: Int64s, of_sum: Sum, size: BoardSize, column: int, arrays: KeptArrays) -> None:
    """Fill the fields of a sum, its columns from `column` on."""
    (tables, views), view, patterns = of_sum
    cell_map = views.cell_maps[view]
    row[mem.N_UNITS], row[mem.CELL_SETS] = len(patterns), column
    row[mem.UNIT_DIGITS] = column + len(patterns) // 2
    row[mem.MEMORY] = address_of(tables.memory)
    frame = np.zeros(16, dtype=np.uint32)
    frame[: size.n_cells] = cell_map
    row[mem.FRAME] = arrays.address(frame)
    edge_cells, cell_moves = blank_moves(size)
    steps = np.zeros(16, dtype=np.int64)
    for move in range(N_MOVES):
        blank = np.flatnonzero(cell_moves >> move & 1)[0]
        steps[move] = cell_map[edge_cells[blank, move]] - cell_map[blank]
    row[mem.STEPS] = arrays.address(steps.astype(np.uint32))
    # Whether the sum is far for horizontal and for vertical moves; `vector_tables` replaces it by the column.
    row[mem.FAR_COLUMN : mem.FAR_COLUMN + 2] = np.abs(steps[1::-1]) != 1
    for unit, pattern in enumerate(patterns):
        fields = row[mem.SUM_FIELDS + unit * mem.UNIT_FIELDS :]
        record = tables.records.reshape(-1, records.RECORD_FIELDS)[pattern]
        fields[mem.TABLE_BIT], fields[mem.ROW_BITS] = record[records.TABLE_BIT], record[records.BLOCK_BITS]
        fields[mem.FIRST_DIGIT] = first_digit(int(tables.n_tiles[pattern]))


def _cell_sets(size: BoardSize, sums: Sequence[Sum]) -> npt.NDArray[np.uint64]:
    """Return the entries of all cell sets of the patterns' sizes, by mask: uint64[1 << MAX_VECTOR_CELLS]."""
    sets = np.zeros(1 << mem.MAX_VECTOR_CELLS, dtype=np.uint64)
    shifts = mem.BLOCK_BITS + mem.REGION_BITS * np.arange(size.n_cells, dtype=np.uint64)
    for n_tiles in {n_tiles for (tables, _), _, _ in sums for n_tiles in tables.n_tiles.tolist()}:
        blocks = pattern_blocks(size, n_tiles)
        numbers = blocks.region_numbers & ((1 << mem.REGION_BITS) - 1)
        regions = np.bitwise_or.reduce(numbers.astype(np.uint64) << shifts, axis=1)
        sets[blocks.cell_sets] = regions | blocks.first_block[:-1].astype(np.uint64)
    return sets


def first_digit(n_tiles: int) -> int:
    """Return the bit at which the Lehmer digits of a unit begin: the last one is at the same bit in all units."""
    return mem.DIGIT_BITS * (mem.MAX_VECTOR_TILES - n_tiles)


def jumps(width: int) -> npt.NDArray[np.uint16]:
    """Return the changes of Lehmer digits when a tile jumps over less than `width` others: digits before XOR digits
    after.

    A tile at position a that passes the next one leaves digits p, r: r, p - 1 if p > r, else r + 1, p.
    """
    upward_half = 1 << (mem.DIGIT_BITS * width + 1)
    jumps = np.zeros(2 * upward_half, dtype=np.uint16)
    for n in range(width):
        before = np.arange(1 << mem.DIGIT_BITS * (n + 1))
        marker = 1 << mem.DIGIT_BITS * (n + 1)
        for upward in range(2):
            digits = [(before >> mem.DIGIT_BITS * i) & 7 for i in range(n + 1)]
            for a in range(n) if upward else range(n - 1, -1, -1):
                p, r = digits[a], digits[a + 1]
                digits[a], digits[a + 1] = np.where(p > r, r, r + 1), np.where(p > r, p - 1, p)
            after = sum((digit & 7) << mem.DIGIT_BITS * i for i, digit in enumerate(digits))
            jumps[upward * upward_half + marker + before] = before ^ after
    return jumps
