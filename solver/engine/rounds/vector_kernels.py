"""One round of the search in vectors: expand up to 64 nodes of the stack.

For boards of up to 16 cells and 4 columns with additive tables in bits. A round has these stages. Each works on all
children, 4 to 16 in one instruction, and no branch depends on a child:

1. list     take nodes off the stack, and list their children by direction: horizontal moves, vertical moves
2. look up  per sum, compute the bit addresses of the units that change, and prefetch them
3. read     read the bits, and drop the children whose h exceeds the threshold; the others close up
4. push     write the children that are left to the stack

The tables have a row of bits for each block, as in a file, or for each arrangement (*in rows*): then the bit of a near
sum is in the row of the parent's.

A sum is *near* for a list if the moves of the list are horizontal in its view: then the arrangement of the tiles stays.
It is looked up first, because it costs less. In a *far* sum the tile jumps over others, and the arrangement changes.
"""

from typing import Any, NamedTuple

from pdb_core.bit_kernels import load_word, prefetch
from pdb_core.jit import inlined_kernel
from pdb_core.types import Int64s
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import (
    DIGIT_BITS,
    VALUE_SHIFT,
    append,
    in_list,
    jump_index,
    list_children,
    new_counter,
    of_parents,
    push_move,
    rank_of_digits,
    sort,
    tiles_below,
)
from solver.vectors import vector_kernels as v

MAX_VECTOR_CELLS, MAX_VECTOR_WIDTH = 16, 4
# A list has the children, their bit addresses, then the digits of each far sum. A child has these bits above its move:
#
#     31         31                               8
#     | expected | sums whose distance rose       |    expected: the bit that says that the distance rose
DIGITS = 2
ROSE_SHIFT, EXPECTED_SHIFT = 8, 31
MAX_VECTOR_SUMS = EXPECTED_SHIFT - ROSE_SHIFT
ROSE_MASK = ((1 << EXPECTED_SHIFT) - 1) & ~((1 << ROSE_SHIFT) - 1)
# The fields of a sum: units; the first columns of cell sets and of digits; the addresses of the tables' memory, of the
# map to the sum's frame, and of the steps of the blank's moves there (uint32[16] each); for horizontal and for vertical
# moves the column of a list that holds digits, or -1 if the sum is near; then the fields of each unit.
N_UNITS, CELL_SETS, UNIT_DIGITS, MEMORY, FRAME, STEPS, FAR_COLUMN = range(mem.OWN_FIELDS, mem.OWN_FIELDS + 7)
FIRST_UNIT, UNIT_FIELDS = FAR_COLUMN + 2, 3
TABLE_BIT, ROW_BITS, FIRST_DIGIT = range(UNIT_FIELDS)
# A node has the cell sets of a sum's units, but the first one's, in pairs:
#
#     31                    16                     0
#     | cell set of unit 2  | cell set of unit 1   |
CELL_SET_BITS = 16
# Of digits with a distance, see `shared_kernels`.
ONE_VALUE = 1 << VALUE_SHIFT
DIGITS_AND_VALUE = (1 << (VALUE_SHIFT + 2)) - 1
# An entry of `VectorTables.sets`, 64 bits. A region is that of the blank on the cell:
#
#     63                  61       22                 19                 16             0
#     | region of cell 15  | ...    | region of cell 1  | region of cell 0  | first block |
BLOCK_BITS, REGION_BITS = 16, 3
JUMPS_UPWARD = 1 << (DIGIT_BITS * MAX_VECTOR_WIDTH + 1)
# Lanes behind the last child hold anything, and must not lead outside an array: cells are masked. Shifts are masked
# too, because LLVM does not define shifts by the width of a lane or more.
LAST_CELL = MAX_VECTOR_CELLS - 1
LAST_BIT = 31
CELL_SET_MASK = (1 << CELL_SET_BITS) - 1


class VectorTables(NamedTuple):
    """Tables of a vector round.

    sum_order      int64[2, s]: for horizontal and for vertical moves, the sums in the order in which they are looked up
    n_far          int64[2, s]: the columns of digits that the list has by then, `n_far_columns` at most
    all_cells      mask
    between        mask of as many cells as a tile can jump over
    sets           address of uint64[1 << 16], by cell set: its blocks
    jumps          address of uint16: by the digits that a jump changes, see `shared_kernels`, the changes to XOR
    """

    sum_order: Int64s
    n_far: Int64s
    n_far_columns: int
    all_cells: int
    between: int
    sets: int
    jumps: int


class RowTables(VectorTables):
    """Those of a round with tables in rows."""

    __slots__ = ()


@inlined_kernel
def block_of(round_tables: VectorTables, cells: Any, cell: Any) -> Any:
    """Return the block of a cell set, with the blank on a cell."""
    entry = v.gather(64, round_tables.sets, cells)
    region = v.narrow(entry >> v.widen(cell * REGION_BITS + BLOCK_BITS)) & ((1 << REGION_BITS) - 1)
    return (v.narrow(entry) & ((1 << BLOCK_BITS) - 1)) + region


@inlined_kernel
def look_up(
    round_tables: VectorTables, at: StackMemory, record: Int64s, f: int, n: int, is_far: bool, in_rows: bool
) -> None:
    """Compute the bit addresses of a list's children in a sum, and prefetch them."""
    children = at.lists + f * at.list_bytes
    n_units = record[N_UNITS]
    digits_column = children + record[FAR_COLUMN + f] * mem.LIST_COLUMN
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent = child & mem.PARENT_MASK
        state = of_parents(at, mem.STATE, parent)
        blank = v.take(16, record[FRAME], (state >> mem.BLANK_SHIFT) & LAST_CELL)
        cell = (blank + v.take(16, record[STEPS], (child >> mem.MOVE_SHIFT) & 3)) & LAST_CELL
        blank_bit, cell_bit = v.splat(1) << blank, v.splat(1) << cell
        # Step 1. The unit that the tile belongs to: the first one if it is none of the others.
        digits = of_parents(at, record[UNIT_DIGITS], parent)
        table_bit = v.splat(record[FIRST_UNIT + TABLE_BIT])
        row_bits = v.splat(record[FIRST_UNIT + ROW_BITS])
        first_digit = v.splat(record[FIRST_UNIT + FIRST_DIGIT])
        rest = blank_bit ^ round_tables.all_cells
        cells = v.splat(0)
        pair = cells
        for unit in range(1, n_units):
            if (unit & 1) != 0:
                pair = of_parents(at, record[CELL_SETS] + (unit >> 1), parent)
            mask = pair & CELL_SET_MASK
            pair = pair >> CELL_SET_BITS
            rest = rest ^ mask
            is_of_unit = (mask & cell_bit) != 0
            cells = v.where(is_of_unit, mask, cells)
            of_unit = of_parents(at, record[UNIT_DIGITS] + unit, parent)
            digits = v.where(is_of_unit, of_unit, digits)
            field = FIRST_UNIT + unit * UNIT_FIELDS
            table_bit = v.where(is_of_unit, record[field + TABLE_BIT], table_bit)
            row_bits = v.where(is_of_unit, record[field + ROW_BITS], row_bits)
            first_digit = v.where(is_of_unit, record[field + FIRST_DIGIT], first_digit)
        cells = v.where((rest & cell_bit) != 0, rest, cells)
        # Step 2. The tile jumps over the tiles of its unit between the two cells.
        if is_far:
            is_upward = cell < blank
            low = v.where(is_upward, cell, blank)
            place = (tiles_below(cells, low) * DIGIT_BITS + first_digit) & LAST_BIT
            n_jumped = v.popcounts((cells >> (low + 1)) & round_tables.between)
            index = jump_index(digits, place, n_jumped, is_upward, JUMPS_UPWARD)
            digits = digits ^ (v.gather(16, round_tables.jumps, index) << place)
            v.store(digits_column + 4 * i, digits)
        # Step 3. The address.
        block, rank = block_of(round_tables, cells ^ cell_bit ^ blank_bit, cell), rank_of_digits(digits)
        address = block + rank * row_bits if in_rows else block * row_bits + rank
        v.store(in_list(children, mem.ADDRESS, i), table_bit + address)
        # The bit that says that the distance rose is that of (distance + 1).
        expected = (digits >> (VALUE_SHIFT + 1)) << EXPECTED_SHIFT
        v.store(children + 4 * i, (child & ((1 << EXPECTED_SHIFT) - 1)) | expected)
    for i in range(n):
        prefetch(record[MEMORY] + (load_word(in_list(children, mem.ADDRESS, i)) >> 3))


@inlined_kernel
def mark(at: StackMemory, record: Int64s, s: int, children: int, i: int, n: int) -> Any:
    """Mark the children whose distance rose in sum `s`. Returns a mask of those within the threshold."""
    child = v.load(children + 4 * i)
    is_child = v.iota() + i < n
    # Lanes behind the last child may hold an address in another table.
    address = v.where(is_child, v.load(in_list(children, mem.ADDRESS, i)), 0)
    bit = v.gather(32, record[MEMORY], address >> 5) >> (address & 31)
    rose = ((bit ^ (child >> EXPECTED_SHIFT)) & 1) == 0
    left = of_parents(at, record[mem.SLACK], child & mem.PARENT_MASK)
    exceeds = rose & (((left >> record[mem.SLACK_SHIFT]) & mem.MAX_SLACK) == 0)
    v.store(children + 4 * i, child | v.where(rose, v.splat(1) << (ROSE_SHIFT + s), v.splat(0)))
    return v.without(is_child, exceeds)


@inlined_kernel
def join_lists(round_tables: VectorTables, at: StackMemory, n_rose: int, n_fell: int) -> None:
    """Put the children that fell behind those that rose: the stack's top is searched first."""
    risen, fallen = at.lists + mem.RISEN * at.list_bytes + 4 * n_rose, at.lists + mem.FALLEN * at.list_bytes
    for i in range(0, n_fell, v.LANES):
        v.store(risen + 4 * i, v.load(fallen + 4 * i))
        for column in range(DIGITS, DIGITS + round_tables.n_far_columns):
            v.store(in_list(risen, column, i), v.load(in_list(fallen, column, i)))


@inlined_kernel
def moved_digits(record: Int64s, children: int, i: int, digits: Any, is_vertical: Any) -> Any:
    """Return the digits of a vector of children after their moves, from the lists where a sum is far."""
    for f in range(2):
        column = record[FAR_COLUMN + f]
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
        left = left - ((child >> ROSE_SHIFT) & 1) - (((child >> (ROSE_SHIFT + 1)) & 1) << mem.SLACK_BITS)
        v.store(to + mem.MOVES_LEFT * at.stack_column, left)
        has_ended |= v.bits_of((v.iota() + i < n) & (left < mem.ONE_MOVE))
        for column in range(mem.MOVES_LEFT + 1, tables.first_sum_column):
            shift = ROSE_SHIFT + mem.FIRST_SLACKS + mem.MORE_SLACKS * (column - mem.MOVES_LEFT - 1)
            slacks = of_parents(at, column, parent)
            for k in range(mem.MORE_SLACKS):
                slacks = slacks - (((child >> (shift + k)) & 1) << (mem.SLACK_BITS * k))
            v.store(to + column * at.stack_column, slacks)
        # Step 2. The units.
        blank = (of_parents(at, mem.STATE, parent) >> mem.BLANK_SHIFT) & LAST_CELL
        for s in range(tables.n_sums):
            record = tables.sums[s]
            n_units = record[N_UNITS]
            before = v.take(16, record[FRAME], blank)
            cell_bit = v.splat(1) << ((before + v.take(16, record[STEPS], move)) & LAST_CELL)
            both = cell_bit | (v.splat(1) << before)
            rose = ((child >> (ROSE_SHIFT + s)) & 1) != 0
            change = v.where(rose, ONE_VALUE, v.splat(-ONE_VALUE))
            is_of_first = cell_bit == cell_bit
            pair = cell_bit
            for unit in range(1, n_units):
                column = record[CELL_SETS] + ((unit - 1) >> 1)
                if (unit & 1) != 0:
                    pair = of_parents(at, column, parent)
                shift = CELL_SET_BITS * (1 - (unit & 1))
                is_of_unit = ((pair >> shift) & cell_bit) != 0
                is_of_first = v.without(is_of_first, is_of_unit)
                pair = pair ^ (v.where(is_of_unit, both, v.splat(0)) << shift)
                if (unit & 1) == 0 or unit == n_units - 1:
                    v.store(to + column * at.stack_column, pair)
                column = record[UNIT_DIGITS] + unit
                digits = of_parents(at, column, parent)
                after = moved_digits(record, children, i, digits, is_vertical) + change
                v.store(to + column * at.stack_column, v.where(is_of_unit, after & DIGITS_AND_VALUE, digits))
            column = record[UNIT_DIGITS]
            digits = of_parents(at, column, parent)
            after = moved_digits(record, children, i, digits, is_vertical) + change
            v.store(to + column * at.stack_column, v.where(is_of_first, after & DIGITS_AND_VALUE, digits))
    return has_ended


@inlined_kernel
def expand(
    round_tables: VectorTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int, in_rows: bool
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`."""
    n_h, n_v = list_children(tables, at, n, top, at.lists + at.list_bytes)
    generated = n_h + n_v
    n_rose, n_fell = new_counter(), new_counter()
    # While the children of one list wait for their distances, those of the other are worked on.
    for k in range(tables.n_sums + 1):
        for f in range(2):
            children = at.lists + f * at.list_bytes
            n_list: Any = n_v if f != 0 else n_h
            if k > 0:
                s = round_tables.sum_order[f, k - 1]
                n_columns = DIGITS + round_tables.n_far[f, k - 1]
                n_left = new_counter()
                for i in range(0, n_list, v.LANES):
                    stays = mark(at, tables.sums[s], s, children, i, n_list)
                    if k < tables.n_sums:
                        n_left = append(tables, children, i, children, n_left, stays, n_columns)
                    else:
                        n_rises = v.popcounts(v.load(children + 4 * i) & ROSE_MASK)
                        n_rose, n_fell = sort(tables, at, children, i, stays, n_rises, n_rose, n_fell, n_columns)
                n_list = n_left
            if k < tables.n_sums:
                record = tables.sums[round_tables.sum_order[f, k]]
                if record[FAR_COLUMN + f] >= 0:
                    look_up(round_tables, at, record, f, n_list, True, in_rows)
                else:
                    look_up(round_tables, at, record, f, n_list, False, in_rows)
            n_h, n_v = (n_h, n_list) if f != 0 else (n_list, n_v)
    join_lists(round_tables, at, n_rose, n_fell)
    n_left = n_rose + n_fell
    has_ended = push(tables, at, at.lists + mem.RISEN * at.list_bytes, n_left, top, first_link)
    return generated, top + n_left, has_ended


@inlined_kernel
def vector_round(
    round_tables: VectorTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand nodes with tables as in a file, see `expand`."""
    return expand(round_tables, tables, at, n, top, first_link, False)


@inlined_kernel
def row_round(
    round_tables: RowTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand nodes with tables in rows, see `expand`."""
    return expand(round_tables, tables, at, n, top, first_link, True)
