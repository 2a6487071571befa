"""One round of the search in vectors: expand up to 64 nodes of the stack.

For boards of up to 16 cells and 4 columns with additive tables in bits. A round has these stages. Each works on all
children, 4 to 16 in one instruction, and no branch depends on a child:

1. list     take nodes off the stack, and list their children by direction: horizontal moves, vertical moves
2. look up  per sum, compute the bit addresses of the units that change, and prefetch them
3. read     read the bits, and drop the children whose h exceeds the threshold; the others close up
4. push     write the children that are left to the stack

A sum is *near* for a list if the moves of the list are horizontal in its view: then the arrangement of the tiles stays.
It is looked up first, because it costs less. In a *far* sum the tile jumps over others, and the arrangement changes.
"""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import prefetch
from pdb_core.jit import inlined_kernel, kernel
from pdb_core.types import Int64s
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import (
    append,
    in_list,
    list_children,
    of_parents,
    push_move,
    rank_of_digits,
    sort,
)
from solver.vectors import vector_kernels as v

# Lanes behind the last child hold anything, and must not lead outside an array: cells are masked. Shifts are masked
# too, because LLVM does not define shifts by the width of a lane or more.
LAST_CELL = mem.MAX_VECTOR_CELLS - 1
LAST_BIT = 31
CELL_SET_MASK = (1 << mem.CELL_SET_BITS) - 1


class VectorTables(NamedTuple):
    """Tables of a vector round.

    sum_order      int64[2, s]: for horizontal and for vertical moves, the sums in the order in which they are looked up
    n_far          int64[2, s]: the columns of digits that the list has by then, `n_far_columns` at most
    all_cells      mask
    between        mask of as many cells as a tile can jump over
    sets           address of uint64[1 << 16], by cell set: its blocks, see `search_memory`
    jumps          address of uint16: by the digits that a jump changes, see `search_memory`, the changes to XOR
    """

    sum_order: Int64s
    n_far: Int64s
    n_far_columns: int
    all_cells: int
    between: int
    sets: int
    jumps: int


@kernel
def lehmer_digits(labels: Any, n_tiles: int, label_bits: int, digits: Any) -> None:
    """Write the Lehmer digits of packed labels, int64[m] each. A digit counts the smaller labels behind its own."""
    mask = (1 << label_bits) - 1
    for i in range(len(labels)):
        packed = 0
        for first in range(n_tiles):
            label = (labels[i] >> (label_bits * first)) & mask
            smaller = 0
            for behind in range(first + 1, n_tiles):
                smaller += ((labels[i] >> (label_bits * behind)) & mask) < label
            packed |= smaller << (mem.DIGIT_BITS * (mem.MAX_VECTOR_TILES - n_tiles + first))
        digits[i] = packed


@inlined_kernel
def block_bit(round_tables: VectorTables, cells: Any, cell: Any, table_bit: Any, row_bits: Any) -> Any:
    """Return the bit address of the block of a cell set, with the blank on a cell."""
    entry = v.gather_longs(round_tables.sets, cells)
    region = v.narrow(entry >> v.widen(cell * mem.REGION_BITS + mem.BLOCK_BITS)) & ((1 << mem.REGION_BITS) - 1)
    return table_bit + ((v.narrow(entry) & ((1 << mem.BLOCK_BITS) - 1)) + region) * row_bits


@inlined_kernel
def look_up(round_tables: VectorTables, at: StackMemory, record: Int64s, f: int, n: int, is_far: bool) -> None:
    """Compute the bit addresses of a list's children in a sum, and prefetch them."""
    children = at.lists + f * at.list_bytes
    n_units = record[mem.N_UNITS]
    digits_column = children + record[mem.FAR_COLUMN + f] * mem.LIST_COLUMN
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent = child & mem.PARENT_MASK
        state = of_parents(at, mem.STATE, parent)
        blank = v.take_of_16(record[mem.FRAME], (state >> mem.BLANK_SHIFT) & LAST_CELL)
        cell = (blank + v.take_of_16(record[mem.STEPS], (child >> mem.MOVE_SHIFT) & 3)) & LAST_CELL
        blank_bit, cell_bit = v.splat(1) << blank, v.splat(1) << cell
        # Step 1. The unit that the tile belongs to: the first one if it is none of the others.
        digits = of_parents(at, record[mem.UNIT_DIGITS], parent)
        table_bit = v.splat(record[mem.SUM_FIELDS + mem.TABLE_BIT])
        row_bits = v.splat(record[mem.SUM_FIELDS + mem.ROW_BITS])
        first_digit = v.splat(record[mem.SUM_FIELDS + mem.FIRST_DIGIT])
        rest = blank_bit ^ round_tables.all_cells
        cells = v.splat(0)
        pair = cells
        for unit in range(1, n_units):
            if (unit & 1) != 0:
                pair = of_parents(at, record[mem.CELL_SETS] + (unit >> 1), parent)
            mask = pair & CELL_SET_MASK
            pair = pair >> mem.CELL_SET_BITS
            rest = rest ^ mask
            is_of_unit = (mask & cell_bit) != 0
            cells = v.where(is_of_unit, mask, cells)
            of_unit = of_parents(at, record[mem.UNIT_DIGITS] + unit, parent)
            digits = v.where(is_of_unit, of_unit, digits)
            field = mem.SUM_FIELDS + unit * mem.UNIT_FIELDS
            table_bit = v.where(is_of_unit, record[field + mem.TABLE_BIT], table_bit)
            row_bits = v.where(is_of_unit, record[field + mem.ROW_BITS], row_bits)
            first_digit = v.where(is_of_unit, record[field + mem.FIRST_DIGIT], first_digit)
        cells = v.where((rest & cell_bit) != 0, rest, cells)
        # Step 2. The tile jumps over the tiles of its unit between the two cells.
        if is_far:
            is_upward = cell < blank
            low = v.where(is_upward, cell, blank)
            place = (v.popcounts(cells & ((v.splat(1) << low) - 1)) * 3 + first_digit) & LAST_BIT
            jumped = v.popcounts((cells >> (low + 1)) & round_tables.between)
            marker = v.splat(8) << (jumped * 3)
            index = ((digits >> place) & (marker - 1)) | marker | v.where(is_upward, mem.JUMPS_UPWARD, v.splat(0))
            digits = digits ^ ((v.gather_halves(round_tables.jumps, index) & 0xFFFF) << place)
            v.store(digits_column + 4 * i, digits)
        # Step 3. The address.
        address = block_bit(round_tables, cells ^ cell_bit ^ blank_bit, cell, table_bit, row_bits) + rank_of_digits(
            digits
        )
        v.store(in_list(children, mem.ADDRESS, i), address)
        # The bit that says that the distance rose is that of (distance + 1).
        expected = (digits >> (mem.VALUE_SHIFT + 1)) << mem.EXPECTED_SHIFT
        v.store(children + 4 * i, (child & ((1 << mem.EXPECTED_SHIFT) - 1)) | expected)
    for i in range(n):
        prefetch(record[mem.MEMORY] + (v.load_word(in_list(children, mem.ADDRESS, i)) >> 3))


@inlined_kernel
def mark(at: StackMemory, record: Int64s, s: int, children: int, i: int, n: int) -> Any:
    """Mark the children whose distance rose in sum `s`. Returns a mask of those within the threshold."""
    child = v.load(children + 4 * i)
    is_child = v.iota() + i < n
    # Lanes behind the last child may hold an address in another table.
    address = v.where(is_child, v.load(in_list(children, mem.ADDRESS, i)), 0)
    bit = v.gather_words(record[mem.MEMORY], address >> 5) >> (address & 31)
    rose = ((bit ^ (child >> mem.EXPECTED_SHIFT)) & 1) == 0
    left = of_parents(at, record[mem.SLACK], child & mem.PARENT_MASK)
    exceeds = rose & (((left >> record[mem.SLACK_SHIFT]) & mem.MAX_SLACK) == 0)
    v.store(children + 4 * i, child | v.where(rose, v.splat(1) << (mem.ROSE_SHIFT + s), v.splat(0)))
    return v.without(is_child, exceeds)


@inlined_kernel
def join_lists(round_tables: VectorTables, at: StackMemory, n_rose: int, n_fell: int) -> None:
    """Put the children that fell behind those that rose: the stack's top is searched first."""
    risen, fallen = at.lists + mem.RISEN * at.list_bytes + 4 * n_rose, at.lists + mem.FALLEN * at.list_bytes
    for i in range(0, n_fell, v.LANES):
        v.store(risen + 4 * i, v.load(fallen + 4 * i))
        for column in range(mem.DIGITS, mem.DIGITS + round_tables.n_far_columns):
            v.store(in_list(risen, column, i), v.load(in_list(fallen, column, i)))


@inlined_kernel
def moved_digits(record: Int64s, children: int, i: int, digits: Any, is_vertical: Any) -> Any:
    """Return the digits of a vector of children after their moves, from the lists where a sum is far."""
    for f in range(2):
        column = record[mem.FAR_COLUMN + f]
        if column >= 0:
            after = v.load(in_list(children, column, i))
            digits = v.where(is_vertical, after, digits) if f else v.where(is_vertical, digits, after)
    return digits


@inlined_kernel
def push(tables: EngineTables, at: StackMemory, children: int, n: int, top: int, first_link: int) -> int:
    """Write a list of children to the stack from `top` on. Returns whether one of them has no moves left."""
    has_ended = 0
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent = child & mem.PARENT_MASK
        move = (child >> mem.MOVE_SHIFT) & 3
        is_vertical = ((move ^ (move >> 1)) & 1) == 0
        to = at.stack + 4 * (top + i)
        # Step 1. The move and the slacks.
        left = push_move(tables, at, child, to, first_link)
        left = left - ((child >> mem.ROSE_SHIFT) & 1) - (((child >> (mem.ROSE_SHIFT + 1)) & 1) << mem.SLACK_BITS)
        v.store(to + mem.LEFT * at.stack_column, left)
        has_ended |= v.bits_of((v.iota() + i < n) & (left < mem.ONE_MOVE))
        for column in range(mem.LEFT + 1, tables.first_sum_column):
            shift = mem.ROSE_SHIFT + mem.FIRST_SLACKS + mem.MORE_SLACKS * (column - mem.LEFT - 1)
            slacks = of_parents(at, column, parent)
            for k in range(mem.MORE_SLACKS):
                slacks = slacks - (((child >> (shift + k)) & 1) << (mem.SLACK_BITS * k))
            v.store(to + column * at.stack_column, slacks)
        # Step 2. The units.
        blank = (of_parents(at, mem.STATE, parent) >> mem.BLANK_SHIFT) & LAST_CELL
        for s in range(tables.n_sums):
            record = tables.sums[s]
            n_units = record[mem.N_UNITS]
            before = v.take_of_16(record[mem.FRAME], blank)
            cell_bit = v.splat(1) << ((before + v.take_of_16(record[mem.STEPS], move)) & LAST_CELL)
            both = cell_bit | (v.splat(1) << before)
            rose = ((child >> (mem.ROSE_SHIFT + s)) & 1) != 0
            change = v.where(rose, mem.ONE_VALUE, v.splat(-mem.ONE_VALUE))
            is_of_first = cell_bit == cell_bit
            pair = cell_bit
            for unit in range(1, n_units):
                column = record[mem.CELL_SETS] + ((unit - 1) >> 1)
                if (unit & 1) != 0:
                    pair = of_parents(at, column, parent)
                shift = mem.CELL_SET_BITS * (1 - (unit & 1))
                is_of_unit = ((pair >> shift) & cell_bit) != 0
                is_of_first = v.without(is_of_first, is_of_unit)
                pair = pair ^ (v.where(is_of_unit, both, v.splat(0)) << shift)
                if (unit & 1) == 0 or unit == n_units - 1:
                    v.store(to + column * at.stack_column, pair)
                column = record[mem.UNIT_DIGITS] + unit
                digits = of_parents(at, column, parent)
                after = moved_digits(record, children, i, digits, is_vertical) + change
                v.store(to + column * at.stack_column, v.where(is_of_unit, after & mem.DIGITS_AND_VALUE, digits))
            column = record[mem.UNIT_DIGITS]
            digits = of_parents(at, column, parent)
            after = moved_digits(record, children, i, digits, is_vertical) + change
            v.store(to + column * at.stack_column, v.where(is_of_first, after & mem.DIGITS_AND_VALUE, digits))
    return has_ended


@inlined_kernel
def vector_round(
    round_tables: VectorTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`."""
    n_h, n_v = list_children(tables, at, n, top, at.lists + at.list_bytes)
    generated = n_h + n_v
    # Not constants: numba would compile kernels once more for them.
    n_rose: Any = np.int64(0)
    n_fell: Any = np.int64(0)
    # While the children of one list wait for their distances, those of the other are worked on.
    for k in range(tables.n_sums + 1):
        for f in range(2):
            children = at.lists + f * at.list_bytes
            n_list: Any = n_v if f != 0 else n_h
            if k > 0:
                s = round_tables.sum_order[f, k - 1]
                n_columns = mem.DIGITS + round_tables.n_far[f, k - 1]
                n_left: Any = np.int64(0)
                for i in range(0, n_list, v.LANES):
                    stays = mark(at, tables.sums[s], s, children, i, n_list)
                    if k < tables.n_sums:
                        n_left = append(tables, children, i, children, n_left, stays, n_columns)
                    else:
                        n_rises = v.popcounts(v.load(children + 4 * i) & mem.ROSE_MASK)
                        n_rose, n_fell = sort(tables, at, children, i, stays, n_rises, n_rose, n_fell, n_columns)
                n_list = n_left
            if k < tables.n_sums:
                record = tables.sums[round_tables.sum_order[f, k]]
                if record[mem.FAR_COLUMN + f] >= 0:
                    look_up(round_tables, at, record, f, n_list, True)
                else:
                    look_up(round_tables, at, record, f, n_list, False)
            n_h, n_v = (n_h, n_list) if f != 0 else (n_list, n_v)
    join_lists(round_tables, at, n_rose, n_fell)
    n_left = n_rose + n_fell
    has_ended = push(tables, at, at.lists + mem.RISEN * at.list_bytes, n_left, top, first_link)
    return generated, top + n_left, has_ended
