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
from pdb_core.jit import inlined_kernel
from pdb_query.lookup import Int64s
from solver.engine import layout as lay
from solver.engine.round_kernels import append, in_list, list_children, of_parents, push_move, rank_of_digits, sort
from solver.vectors import vector_kernels as v

# Lanes behind the last child hold anything, and must not lead outside an array: cells are masked.
LAST_CELL = lay.MAX_VECTOR_CELLS - 1
CELL_SET_BITS = 16
CELL_SET_MASK = (1 << CELL_SET_BITS) - 1


class VectorStages(NamedTuple):
    """Tables of a vector round.

    order, n_far   int64[2, s]: for horizontal and for vertical moves the order in which the sums are looked up, and how
                   many columns of digits the list has by then, `n_far_columns` at most
    all_cells      mask
    between        mask of as many cells as a tile can jump over
    sets           address of uint64, by cell set, see `layout`
    jumps          address of uint16, see `layout`
    """

    order: Int64s
    n_far: Int64s
    n_far_columns: int
    all_cells: int
    between: int
    sets: int
    jumps: int


@inlined_kernel
def block_bit(stages: Any, cells: Any, cell: Any, table_bit: Any, row_bits: Any) -> Any:
    """Return the bit address of the block of a cell set, with the blank on a cell."""
    entry = v.gather_longs(stages.sets, cells)
    region = v.narrow(entry >> v.widen(cell * lay.REGION_BITS + lay.BLOCK_BITS)) & ((1 << lay.REGION_BITS) - 1)
    return table_bit + ((v.narrow(entry) & ((1 << lay.BLOCK_BITS) - 1)) + region) * row_bits


@inlined_kernel
def look_up(stages: Any, at: Any, record: Any, f: int, n: int, is_far: bool) -> None:
    """Compute the bit addresses of a list's children in a sum, and prefetch them."""
    children = at.lists + f * at.list_bytes
    n_units = record[lay.N_UNITS]
    digits_column = children + record[lay.FAR_COLUMN + f] * lay.LIST_COLUMN
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent = child & lay.PARENT_MASK
        state = of_parents(at, lay.STATE, parent)
        blank = v.take_of_16(record[lay.FRAME], (state >> lay.BLANK_SHIFT) & LAST_CELL)
        cell = (blank + v.take_of_16(record[lay.STEPS], (child >> lay.MOVE_SHIFT) & 3)) & LAST_CELL
        blank_bit, cell_bit = v.splat(1) << blank, v.splat(1) << cell
        # Step 1. The unit that the tile belongs to: the first one if it is none of the others.
        digits = of_parents(at, record[lay.UNIT_DIGITS], parent)
        table_bit = v.splat(record[lay.SUM_FIELDS + lay.TABLE_BIT])
        row_bits = v.splat(record[lay.SUM_FIELDS + lay.ROW_BITS])
        first_digit = v.splat(record[lay.SUM_FIELDS + lay.FIRST_DIGIT])
        rest = blank_bit ^ stages.all_cells
        cells = v.splat(0)
        pair = cells
        for unit in range(1, n_units):
            if (unit & 1) != 0:
                pair = of_parents(at, record[lay.CELL_SETS] + (unit >> 1), parent)
            mask = pair & CELL_SET_MASK
            pair = pair >> CELL_SET_BITS
            rest = rest ^ mask
            is_of_unit = (mask & cell_bit) != 0
            cells = v.where(is_of_unit, mask, cells)
            of_unit = of_parents(at, record[lay.UNIT_DIGITS] + unit, parent)
            digits = v.where(is_of_unit, of_unit, digits)
            field = lay.SUM_FIELDS + unit * lay.UNIT_FIELDS
            table_bit = v.where(is_of_unit, record[field + lay.TABLE_BIT], table_bit)
            row_bits = v.where(is_of_unit, record[field + lay.ROW_BITS], row_bits)
            first_digit = v.where(is_of_unit, record[field + lay.FIRST_DIGIT], first_digit)
        cells = v.where((rest & cell_bit) != 0, rest, cells)
        # Step 2. The tile jumps over the tiles of its unit between the two cells.
        if is_far:
            is_upward = cell < blank
            low = v.where(is_upward, cell, blank)
            place = (v.popcounts(cells & ((v.splat(1) << low) - 1)) * 3) + first_digit
            jumped = v.popcounts((cells >> (low + 1)) & stages.between)
            marker = v.splat(8) << (jumped * 3)
            index = ((digits >> place) & (marker - 1)) | marker | v.where(is_upward, lay.JUMPS_UPWARD, v.splat(0))
            digits = digits ^ ((v.gather_halves(stages.jumps, index) & 0xFFFF) << place)
            v.store(digits_column + 4 * i, digits)
        # Step 3. The address.
        address = block_bit(stages, cells ^ cell_bit ^ blank_bit, cell, table_bit, row_bits) + rank_of_digits(digits)
        v.store(in_list(children, lay.ADDRESS, i), address)
        # The bit that says that the distance rose is that of (distance + 1).
        expected = (digits >> (lay.VALUE_SHIFT + 1)) << lay.EXPECTED_SHIFT
        v.store(children + 4 * i, (child & ((1 << lay.EXPECTED_SHIFT) - 1)) | expected)
    for i in range(n):
        prefetch(record[lay.MEMORY] + (v.load_word(in_list(children, lay.ADDRESS, i)) >> 3))


@inlined_kernel
def mark(at: Any, record: Any, s: int, children: int, i: int, n: int) -> Any:
    """Mark the children whose distance rose in sum `s`. Returns a mask of those within the threshold."""
    child = v.load(children + 4 * i)
    is_child = v.iota() + i < n
    # Lanes behind the last child may hold an address in another table.
    address = v.where(is_child, v.load(in_list(children, lay.ADDRESS, i)), 0)
    bit = v.gather_words(record[lay.MEMORY], address >> 5) >> (address & 31)
    rose = ((bit ^ (child >> lay.EXPECTED_SHIFT)) & 1) == 0
    left = of_parents(at, record[lay.SLACK], child & lay.PARENT_MASK)
    exceeds = rose & (((left >> record[lay.SLACK_SHIFT]) & lay.MAX_SLACK) == 0)
    v.store(children + 4 * i, child | v.where(rose, v.splat(1) << (lay.ROSE_SHIFT + s), v.splat(0)))
    return v.without(is_child, exceeds)


@inlined_kernel
def join_lists(stages: Any, at: Any, n_rose: int, n_fell: int) -> None:
    """Put the children that fell behind those that rose: the stack's top is searched first."""
    risen, fallen = at.lists + lay.RISEN * at.list_bytes + 4 * n_rose, at.lists + lay.FALLEN * at.list_bytes
    for i in range(0, n_fell, v.LANES):
        v.store(risen + 4 * i, v.load(fallen + 4 * i))
        for column in range(lay.DIGITS, lay.DIGITS + stages.n_far_columns):
            v.store(in_list(risen, column, i), v.load(in_list(fallen, column, i)))


@inlined_kernel
def moved_digits(record: Any, children: int, i: int, digits: Any, is_vertical: Any) -> Any:
    """Return the digits of a vector of children after their moves, from the lists where a sum is far."""
    for f in range(2):
        column = record[lay.FAR_COLUMN + f]
        if column >= 0:
            after = v.load(in_list(children, column, i))
            digits = v.where(is_vertical, after, digits) if f else v.where(is_vertical, digits, after)
    return digits


@inlined_kernel
def push(tables: Any, at: Any, children: int, n: int, top: int, first_link: int) -> int:
    """Write a list of children to the stack from `top` on. Returns whether one of them has no moves left."""
    has_ended = 0
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent = child & lay.PARENT_MASK
        move = (child >> lay.MOVE_SHIFT) & 3
        is_vertical = ((move ^ (move >> 1)) & 1) == 0
        to = at.stack + 4 * (top + i)
        # Step 1. The move and the slacks.
        left = push_move(tables, at, child, to, first_link)
        left = left - ((child >> lay.ROSE_SHIFT) & 1) - (((child >> (lay.ROSE_SHIFT + 1)) & 1) << lay.SLACK_BITS)
        v.store(to + lay.LEFT * at.stack_column, left)
        has_ended |= v.bits_of((v.iota() + i < n) & (left < lay.ONE_MOVE))
        for column in range(lay.LEFT + 1, tables.first_sum_column):
            shift = lay.ROSE_SHIFT + lay.FIRST_SLACKS + lay.MORE_SLACKS * (column - lay.LEFT - 1)
            slacks = of_parents(at, column, parent)
            for k in range(lay.MORE_SLACKS):
                slacks = slacks - (((child >> (shift + k)) & 1) << (lay.SLACK_BITS * k))
            v.store(to + column * at.stack_column, slacks)
        # Step 2. The units.
        blank = (of_parents(at, lay.STATE, parent) >> lay.BLANK_SHIFT) & LAST_CELL
        for s in range(tables.n_sums):
            record = tables.sums[s]
            n_units = record[lay.N_UNITS]
            before = v.take_of_16(record[lay.FRAME], blank)
            cell_bit = v.splat(1) << (before + v.take_of_16(record[lay.STEPS], move))
            both = cell_bit | (v.splat(1) << before)
            rose = ((child >> (lay.ROSE_SHIFT + s)) & 1) != 0
            change = v.where(rose, lay.ONE_VALUE, v.splat(-lay.ONE_VALUE))
            is_of_first = cell_bit == cell_bit
            pair = cell_bit
            for unit in range(1, n_units):
                column = record[lay.CELL_SETS] + ((unit - 1) >> 1)
                if (unit & 1) != 0:
                    pair = of_parents(at, column, parent)
                shift = CELL_SET_BITS * (1 - (unit & 1))
                is_of_unit = ((pair >> shift) & cell_bit) != 0
                is_of_first = v.without(is_of_first, is_of_unit)
                pair = pair ^ (v.where(is_of_unit, both, v.splat(0)) << shift)
                if (unit & 1) == 0 or unit == n_units - 1:
                    v.store(to + column * at.stack_column, pair)
                column = record[lay.UNIT_DIGITS] + unit
                digits = of_parents(at, column, parent)
                after = moved_digits(record, children, i, digits, is_vertical) + change
                v.store(to + column * at.stack_column, v.where(is_of_unit, after & lay.DIGITS_AND_VALUE, digits))
            column = record[lay.UNIT_DIGITS]
            digits = of_parents(at, column, parent)
            after = moved_digits(record, children, i, digits, is_vertical) + change
            v.store(to + column * at.stack_column, v.where(is_of_first, after & lay.DIGITS_AND_VALUE, digits))
    return has_ended


@inlined_kernel
def vector_round(stages: Any, tables: Any, at: Any, n: int, top: int, first_link: int) -> tuple[int, int, int]:
    """Expand nodes as `search_kernels.round_of` says; stages: `VectorStages`."""
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
                s = stages.order[f, k - 1]
                n_columns = lay.DIGITS + stages.n_far[f, k - 1]
                n_left: Any = np.int64(0)
                for i in range(0, n_list, v.LANES):
                    stays = mark(at, tables.sums[s], s, children, i, n_list)
                    if k < tables.n_sums:
                        n_left = append(tables, children, i, children, n_left, stays, n_columns)
                    else:
                        n_rises = v.popcounts(v.load(children + 4 * i) & lay.ROSE_MASK)
                        n_rose, n_fell = sort(tables, at, children, i, stays, n_rises, n_rose, n_fell, n_columns)
                n_list = n_left
            if k < tables.n_sums:
                record = tables.sums[stages.order[f, k]]
                if record[lay.FAR_COLUMN + f] >= 0:
                    look_up(stages, at, record, f, n_list, True)
                else:
                    look_up(stages, at, record, f, n_list, False)
            n_h, n_v = (n_h, n_list) if f != 0 else (n_list, n_v)
    join_lists(stages, at, n_rose, n_fell)
    n_left = n_rose + n_fell
    has_ended = push(tables, at, at.lists + lay.RISEN * at.list_bytes, n_left, top, first_link)
    return generated, top + n_left, has_ended
