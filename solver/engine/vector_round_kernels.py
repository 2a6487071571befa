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

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount, prefetch
from pdb_core.jit import inlined_kernel
from solver.engine.layout import (
    ADDRESS,
    BATCH_COLUMN,
    BLANK_SHIFT,
    BLOCK_BITS,
    CELL_SETS,
    DIGITS,
    DIGITS_AND_VALUE,
    EXPECTED_SHIFT,
    FALLEN,
    FAR_COLUMN,
    FIRST_DIGIT,
    FIRST_SLACKS,
    FRAME,
    JUMPS_UPWARD,
    LEFT,
    LIST_COLUMN,
    MAX_SLACK,
    MAX_VECTOR_CELLS,
    MEMORY,
    MORE_SLACKS,
    MOVE_SHIFT,
    N_UNITS,
    ONE_MOVE,
    ONE_VALUE,
    PARENT_MASK,
    REGION_BITS,
    RISEN,
    ROSE_MASK,
    ROSE_SHIFT,
    ROW_BITS,
    SLACK,
    SLACK_BITS,
    SLACK_SHIFT,
    STATE,
    STEPS,
    SUM_FIELDS,
    TABLE_BIT,
    UNIT_DIGITS,
    UNIT_FIELDS,
    VALUE_SHIFT,
)
from solver.engine.round_kernels import list_children, push_move, rank_of_digits
from solver.vectors.vector_kernels import (
    LANES,
    bits_of,
    compress,
    gather_halves,
    gather_longs,
    gather_words,
    iota,
    load,
    load_word,
    narrow,
    popcounts,
    splat,
    store,
    take_of_16,
    take_of_64,
    where,
    widen,
    without,
)

# Lanes behind the last child hold anything, and must not lead outside an array: cells are masked.
LAST_CELL = MAX_VECTOR_CELLS - 1
CELL_SET_BITS = 16
CELL_SET_MASK = (1 << CELL_SET_BITS) - 1


@inlined_kernel
def block_bit(tables: Any, cells: Any, cell: Any, table_bit: Any, row_bits: Any) -> Any:
    """Return the bit address of the block of a cell set, with the blank on a cell."""
    entry = gather_longs(tables.sets, cells)
    region = narrow(entry >> widen(cell * REGION_BITS + BLOCK_BITS)) & ((1 << REGION_BITS) - 1)
    return table_bit + ((narrow(entry) & ((1 << BLOCK_BITS) - 1)) + region) * row_bits


@inlined_kernel
def look_up(tables: Any, at: Any, record: Any, f: int, n: int, is_far: bool) -> None:
    """Compute the bit addresses of a list's children in a sum, and prefetch them."""
    children = at.lists + f * at.list_bytes
    n_units = record[N_UNITS]
    digits_column = children + record[FAR_COLUMN + f] * LIST_COLUMN
    for i in range(0, n, LANES):
        child = load(children + 4 * i)
        parent = child & PARENT_MASK
        state = take_of_64(at.batch + STATE * BATCH_COLUMN, parent)
        blank = take_of_16(record[FRAME], (state >> BLANK_SHIFT) & LAST_CELL)
        cell = (blank + take_of_16(record[STEPS], (child >> MOVE_SHIFT) & 3)) & LAST_CELL
        blank_bit, cell_bit = splat(1) << blank, splat(1) << cell
        # Step 1. The unit that the tile belongs to: the first one if it is none of the others.
        digits = take_of_64(at.batch + record[UNIT_DIGITS] * BATCH_COLUMN, parent)
        table_bit, row_bits = splat(record[SUM_FIELDS + TABLE_BIT]), splat(record[SUM_FIELDS + ROW_BITS])
        first_digit = splat(record[SUM_FIELDS + FIRST_DIGIT])
        rest = blank_bit ^ tables.all_cells
        cells = splat(0)
        pair = cells
        for unit in range(1, n_units):
            if (unit & 1) != 0:
                pair = take_of_64(at.batch + (record[CELL_SETS] + (unit >> 1)) * BATCH_COLUMN, parent)
            mask = pair & CELL_SET_MASK
            pair = pair >> CELL_SET_BITS
            rest = rest ^ mask
            is_of_unit = (mask & cell_bit) != 0
            cells = where(is_of_unit, mask, cells)
            of_unit = take_of_64(at.batch + (record[UNIT_DIGITS] + unit) * BATCH_COLUMN, parent)
            digits = where(is_of_unit, of_unit, digits)
            field = SUM_FIELDS + unit * UNIT_FIELDS
            table_bit = where(is_of_unit, record[field + TABLE_BIT], table_bit)
            row_bits = where(is_of_unit, record[field + ROW_BITS], row_bits)
            first_digit = where(is_of_unit, record[field + FIRST_DIGIT], first_digit)
        cells = where((rest & cell_bit) != 0, rest, cells)
        # Step 2. The tile jumps over the tiles of its unit between the two cells.
        if is_far:
            is_upward = cell < blank
            low = where(is_upward, cell, blank)
            place = (popcounts(cells & ((splat(1) << low) - 1)) * 3) + first_digit
            jumped = popcounts((cells >> (low + 1)) & tables.between)
            marker = splat(8) << (jumped * 3)
            index = ((digits >> place) & (marker - 1)) | marker | where(is_upward, JUMPS_UPWARD, splat(0))
            digits = digits ^ ((gather_halves(tables.jumps, index) & 0xFFFF) << place)
            store(digits_column + 4 * i, digits)
        # Step 3. The address.
        address = block_bit(tables, cells ^ cell_bit ^ blank_bit, cell, table_bit, row_bits) + rank_of_digits(digits)
        store(children + ADDRESS * LIST_COLUMN + 4 * i, address)
        # The bit that says that the distance rose is that of (distance + 1).
        expected = (digits >> (VALUE_SHIFT + 1)) << EXPECTED_SHIFT
        store(children + 4 * i, (child & ((1 << EXPECTED_SHIFT) - 1)) | expected)
    for i in range(n):
        prefetch(record[MEMORY] + (load_word(children + ADDRESS * LIST_COLUMN + 4 * i) >> 3))


@inlined_kernel
def look_up_stage(tables: Any, at: Any, f: int, k: int, n: int) -> None:
    """Look up a list's children in the sum of stage `k`."""
    record = tables.sums[tables.order[f, k]]
    if record[FAR_COLUMN + f] >= 0:
        look_up(tables, at, record, f, n, True)
    else:
        look_up(tables, at, record, f, n, False)


@inlined_kernel
def marked(at: Any, record: Any, s: int, children: int, i: int, n: int) -> Any:
    """Return a vector of children, marked if their distance rose in sum `s`, and which are within the threshold."""
    child = load(children + 4 * i)
    is_child = iota() + i < n
    # Lanes behind the last child may hold an address in another table.
    address = where(is_child, load(children + ADDRESS * LIST_COLUMN + 4 * i), 0)
    bit = gather_words(record[MEMORY], address >> 5) >> (address & 31)
    rose = ((bit ^ (child >> EXPECTED_SHIFT)) & 1) == 0
    left = take_of_64(at.batch + record[SLACK] * BATCH_COLUMN, child & PARENT_MASK)
    exceeds = rose & (((left >> record[SLACK_SHIFT]) & MAX_SLACK) == 0)
    stays = without(is_child, exceeds)
    return child | where(rose, splat(1) << (ROSE_SHIFT + s), splat(0)), stays


@inlined_kernel
def read_and_drop(tables: Any, at: Any, record: Any, s: int, f: int, n: int, n_far: int) -> int:
    """Drop the children that exceed the threshold in sum `s`; they and `n_far` columns of digits close up. Returns how
    many are left.
    """
    children = at.lists + f * at.list_bytes
    n_left = 0
    for i in range(0, n, LANES):
        child, stays = marked(at, record, s, children, i, n)
        store(children + 4 * n_left, compress(child, stays, tables.permutations))
        for column in range(DIGITS, DIGITS + n_far):
            digits = load(children + column * LIST_COLUMN + 4 * i)
            store(children + column * LIST_COLUMN + 4 * n_left, compress(digits, stays, tables.permutations))
        n_left += popcount(bits_of(stays))
    return n_left


@inlined_kernel
def read_and_sort(
    tables: Any, at: Any, record: Any, s: int, f: int, n: int, n_far: int, n_rose: int, n_fell: int
) -> Any:
    """Drop the children that exceed the threshold in the last sum, and sort the others into two lists.

    The first list gets those whose distance rose in half of the sums or more. Returns the new lengths of both lists,
    `n_rose` and `n_fell` before.
    """
    children = at.lists + f * at.list_bytes
    risen, fallen = at.lists + RISEN * at.list_bytes, at.lists + FALLEN * at.list_bytes
    for i in range(0, n, LANES):
        child, stays = marked(at, record, s, children, i, n)
        fell = stays & (popcounts(child & ROSE_MASK) * 2 < tables.n_sums)
        rose = without(stays, fell)
        store(risen + 4 * n_rose, compress(child, rose, tables.permutations))
        store(fallen + 4 * n_fell, compress(child, fell, tables.permutations))
        for column in range(DIGITS, DIGITS + n_far):
            digits = load(children + column * LIST_COLUMN + 4 * i)
            store(risen + column * LIST_COLUMN + 4 * n_rose, compress(digits, rose, tables.permutations))
            store(fallen + column * LIST_COLUMN + 4 * n_fell, compress(digits, fell, tables.permutations))
        n_rose += popcount(bits_of(rose))
        n_fell += popcount(bits_of(fell))
    return n_rose, n_fell


@inlined_kernel
def join_lists(tables: Any, at: Any, n_rose: int, n_fell: int) -> None:
    """Put the children that fell behind those that rose: the stack's top is searched first."""
    risen, fallen = at.lists + RISEN * at.list_bytes + 4 * n_rose, at.lists + FALLEN * at.list_bytes
    for i in range(0, n_fell, LANES):
        store(risen + 4 * i, load(fallen + 4 * i))
        for column in range(DIGITS, DIGITS + tables.n_far_columns):
            store(risen + column * LIST_COLUMN + 4 * i, load(fallen + column * LIST_COLUMN + 4 * i))


@inlined_kernel
def moved_digits(record: Any, children: int, i: int, digits: Any, is_vertical: Any) -> Any:
    """Return the digits of a vector of children after their moves, from the lists where a sum is far."""
    for f in range(2):
        column = record[FAR_COLUMN + f]
        if column >= 0:
            after = load(children + column * LIST_COLUMN + 4 * i)
            digits = where(is_vertical, after, digits) if f else where(is_vertical, digits, after)
    return digits


@inlined_kernel
def push(tables: Any, at: Any, children: int, n: int, top: int, first_link: int) -> int:
    """Write a list of children to the stack from `top` on. Returns whether one of them has no moves left."""
    has_ended = 0
    for i in range(0, n, LANES):
        child = load(children + 4 * i)
        parent = child & PARENT_MASK
        move = (child >> MOVE_SHIFT) & 3
        is_vertical = ((move ^ (move >> 1)) & 1) == 0
        to = at.stack + 4 * (top + i)
        # Step 1. The move and the slacks.
        left = push_move(tables, at, child, to, first_link)
        left = left - ((child >> ROSE_SHIFT) & 1) - (((child >> (ROSE_SHIFT + 1)) & 1) << SLACK_BITS)
        store(to + LEFT * at.stack_column, left)
        has_ended |= bits_of((iota() + i < n) & (left < ONE_MOVE))
        for column in range(LEFT + 1, tables.first_sum_column):
            shift = ROSE_SHIFT + FIRST_SLACKS + MORE_SLACKS * (column - LEFT - 1)
            slacks = take_of_64(at.batch + column * BATCH_COLUMN, parent)
            for k in range(MORE_SLACKS):
                slacks = slacks - (((child >> (shift + k)) & 1) << (SLACK_BITS * k))
            store(to + column * at.stack_column, slacks)
        # Step 2. The units.
        blank = (take_of_64(at.batch + STATE * BATCH_COLUMN, parent) >> BLANK_SHIFT) & LAST_CELL
        for s in range(tables.n_sums):
            record = tables.sums[s]
            n_units = record[N_UNITS]
            before = take_of_16(record[FRAME], blank)
            cell_bit = splat(1) << (before + take_of_16(record[STEPS], move))
            both = cell_bit | (splat(1) << before)
            rose = ((child >> (ROSE_SHIFT + s)) & 1) != 0
            change = where(rose, ONE_VALUE, splat(-ONE_VALUE))
            is_of_first = cell_bit == cell_bit
            pair = cell_bit
            for unit in range(1, n_units):
                column = record[CELL_SETS] + ((unit - 1) >> 1)
                if (unit & 1) != 0:
                    pair = take_of_64(at.batch + column * BATCH_COLUMN, parent)
                shift = CELL_SET_BITS * (1 - (unit & 1))
                is_of_unit = ((pair >> shift) & cell_bit) != 0
                is_of_first = without(is_of_first, is_of_unit)
                pair = pair ^ (where(is_of_unit, both, splat(0)) << shift)
                if (unit & 1) == 0 or unit == n_units - 1:
                    store(to + column * at.stack_column, pair)
                column = record[UNIT_DIGITS] + unit
                digits = take_of_64(at.batch + column * BATCH_COLUMN, parent)
                after = moved_digits(record, children, i, digits, is_vertical) + change
                store(to + column * at.stack_column, where(is_of_unit, after & DIGITS_AND_VALUE, digits))
            column = record[UNIT_DIGITS]
            digits = take_of_64(at.batch + column * BATCH_COLUMN, parent)
            after = moved_digits(record, children, i, digits, is_vertical) + change
            store(to + column * at.stack_column, where(is_of_first, after & DIGITS_AND_VALUE, digits))
    return has_ended


@inlined_kernel
def vector_round(_stages: None, tables: Any, at: Any, n: int, top: int, first_link: int) -> tuple[int, int, int]:
    """Expand nodes as `search_kernels.round_of` says."""
    n_h, n_v = list_children(tables, at, n, top)
    generated = n_h + n_v
    # While the children of one list wait for their distances, those of the other are worked on.
    for k in range(tables.n_sums):
        for f in range(2):
            n_list = n_v if f != 0 else n_h
            if k > 0:
                s = tables.order[f, k - 1]
                n_list = read_and_drop(tables, at, tables.sums[s], s, f, n_list, tables.n_far[f, k - 1])
            look_up_stage(tables, at, f, k, n_list)
            n_h, n_v = (n_h, n_list) if f != 0 else (n_list, n_v)
    n_rose: Any = np.int64(0)  # not a constant: numba would compile a kernel once more for it
    n_fell: Any = n_rose
    last = tables.n_sums - 1
    for f in range(2):
        s = tables.order[f, last]
        n_list = n_v if f != 0 else n_h
        n_rose, n_fell = read_and_sort(tables, at, tables.sums[s], s, f, n_list, tables.n_far[f, last], n_rose, n_fell)
    join_lists(tables, at, n_rose, n_fell)
    n_left = n_rose + n_fell
    has_ended = push(tables, at, at.lists + RISEN * at.list_bytes, n_left, top, first_link)
    return generated, top + n_left, has_ended
