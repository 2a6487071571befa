"""One round of the search in vectors: expand up to 64 nodes of the stack.

For boards of up to 16 cells and 4 columns with additive tables in bits. A round has these stages. Each works on all
children, 4 to 16 in one instruction, and no branch depends on a child:

1. list    take nodes off the stack, and list their children by direction: horizontal moves, vertical moves
2. ask     per sum, compute the bit addresses of the units that change, and prefetch them
3. read    read the bits, and drop the children whose h exceeds the threshold; the others close up
4. push    write the children that are left to the stack

A sum is *near* for a list if the moves of the list are horizontal in its view: then the arrangement of the tiles stays.
It is looked up first, because it costs less. In a *far* sum the tile jumps over others, and the arrangement changes.
"""

from typing import Any

from pdb_core.bit_kernels import popcount, prefetch
from pdb_core.jit import borrowing_kernel
from pdb_core.vector_kernels import (
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
    permute,
    popcounts,
    splat,
    store,
    take_of_16,
    take_of_64,
    where,
    widen,
    without,
)
from solver.engine.layout import (
    ADDRESS,
    ALLOWED_SHIFT,
    BATCH_COLUMN,
    BLANK_MASK,
    BLANK_SHIFT,
    BLOCK_BITS,
    CELL_SETS,
    DIGITS,
    DIGITS_AND_VALUE,
    EXPECTED_SHIFT,
    FAR_COLUMN,
    FIRST_DIGIT,
    FIRST_SLACKS,
    FRAME,
    JUMPS_UPWARD,
    LEFT,
    LINK,
    LIST_COLUMN,
    MACHINE_MASK,
    MAX_SLACK,
    MEMORY,
    MORE_SLACKS,
    MOVE_SHIFT,
    N_UNITS,
    ONE_MOVE,
    ONE_VALUE,
    PARENT_MASK,
    REGION_BITS,
    ROSE_MASK,
    ROSE_SHIFT,
    ROW_BITS,
    SECOND_MOVE,
    SLACK,
    SLACK_BITS,
    SLACK_SHIFT,
    SPARE,
    STATE,
    STEPS,
    SUM_FIELDS,
    TABLE_BIT,
    UNIT_DIGITS,
    UNIT_FIELDS,
    VALUE_SHIFT,
)

CELL_SET_BITS = 16
CELL_SET_MASK = (1 << CELL_SET_BITS) - 1


@borrowing_kernel
def list_children(tables: Any, at: Any, n: int, top: int) -> int:
    """Copy `n` nodes from `top` on into the batch, and list their children. Returns the number of horizontal moves, and
    in the upper half that of vertical ones.
    """
    n_horizontal, n_vertical = 0, 0
    for i in range(0, n, LANES):
        for column in range(tables.n_columns):
            node = load(at.stack + column * at.stack_column + 4 * (top + i))
            store(at.batch + column * BATCH_COLUMN + 4 * i, node)
        lane = iota() + i
        state = load(at.batch + STATE * BATCH_COLUMN + 4 * i)
        legal = take_of_64(tables.legal, (state >> BLANK_SHIFT) & BLANK_MASK)
        moves = where(lane < n, (state >> ALLOWED_SHIFT) & legal, 0)
        is_there = (moves & 2) != 0
        store(at.lists + 4 * n_horizontal, compress(lane | (1 << MOVE_SHIFT), is_there, tables.permutations))
        n_horizontal += popcount(bits_of(is_there))
        is_there = (moves & 4) != 0
        store(at.lists + 4 * n_horizontal, compress(lane | (2 << MOVE_SHIFT), is_there, tables.permutations))
        n_horizontal += popcount(bits_of(is_there))
        vertical = at.lists + at.list_bytes
        is_there = (moves & 1) != 0
        store(vertical + 4 * n_vertical, compress(lane, is_there, tables.permutations))
        n_vertical += popcount(bits_of(is_there))
        is_there = (moves & 8) != 0
        store(vertical + 4 * n_vertical, compress(lane | (3 << MOVE_SHIFT), is_there, tables.permutations))
        n_vertical += popcount(bits_of(is_there))
    return n_horizontal | (n_vertical << 32)


@borrowing_kernel
def blank_step(tables: Any, at: Any, record: Any, f: int, child: Any, parent: Any) -> Any:
    """Return the blank's cells before and after the move, in the frame of a sum."""
    state = take_of_64(at.batch + STATE * BATCH_COLUMN, parent)
    blank = take_of_16(record[FRAME], (state >> BLANK_SHIFT) & BLANK_MASK)
    first, second = record[STEPS + 1 - f], record[STEPS + 2 + f]
    return blank, blank + where((child & SECOND_MOVE) != 0, second, splat(first))


@borrowing_kernel
def block_bit(tables: Any, cells: Any, cell: Any, table_bit: Any, row_bits: Any) -> Any:
    """Return the bit address of the block of a cell set, with the blank on a cell."""
    entry = gather_longs(tables.sets, cells)
    region = narrow(entry >> widen(cell * REGION_BITS + BLOCK_BITS)) & ((1 << REGION_BITS) - 1)
    return table_bit + ((narrow(entry) & ((1 << BLOCK_BITS) - 1)) + region) * row_bits


@borrowing_kernel
def rank_of_digits(digits: Any) -> Any:
    """Return the rank of Lehmer digits, three bits each, the last position at bit 21. Two digits a multiplication."""
    pair = ((digits & 7) | ((digits << 13) & 0x70000)) * ((5040 << 16) | 720)
    pair = pair + (((digits >> 6) & 7) | ((digits << 7) & 0x70000)) * ((120 << 16) | 24)
    pair = pair + (((digits >> 12) & 7) | ((digits << 1) & 0x70000)) * ((6 << 16) | 2)
    return (pair >> 16) + ((digits >> 18) & 7)


@borrowing_kernel
def look_up(tables: Any, at: Any, record: Any, f: int, n: int, is_far: bool) -> None:
    """Compute the bit addresses of a list's children in a sum, and prefetch them."""
    children = at.lists + f * at.list_bytes
    n_units = record[N_UNITS]
    digits_column = children + record[FAR_COLUMN + f] * LIST_COLUMN
    for i in range(0, n, LANES):
        child = load(children + 4 * i)
        parent = child & PARENT_MASK
        blank, cell = blank_step(tables, at, record, f, child, parent)
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


@borrowing_kernel
def judged(tables: Any, at: Any, record: Any, s: int, children: int, i: int, n: int) -> Any:
    """Return the children of a vector, whether each rose in a sum, and whether each is within the threshold."""
    child = load(children + 4 * i)
    address = load(children + ADDRESS * LIST_COLUMN + 4 * i)
    bit = gather_words(record[MEMORY], address >> 5) >> (address & 31)
    rose = ((bit ^ (child >> EXPECTED_SHIFT)) & 1) == 0
    left = take_of_64(at.batch + record[SLACK] * BATCH_COLUMN, child & PARENT_MASK)
    exceeds = rose & (((left >> record[SLACK_SHIFT]) & MAX_SLACK) == 0)
    stays = without(iota() + i < n, exceeds)
    return child | where(rose, splat(1) << (ROSE_SHIFT + s), splat(0)), rose, stays


@borrowing_kernel
def read_first(tables: Any, at: Any, record: Any, s: int, f: int, n: int) -> int:
    """Drop the children that exceed the threshold in the first sum; those that rose come first. Returns how many are
    left.
    """
    children = at.lists + f * at.list_bytes
    n_rose, n_fell = 0, 0
    for i in range(0, n, LANES):
        child, rose, stays = judged(tables, at, record, s, children, i, n)
        stays_and_rose = stays & rose
        stays_and_fell = without(stays, rose)
        store(children + 4 * n_rose, compress(child, stays_and_rose, tables.permutations))
        store(children + SPARE * LIST_COLUMN + 4 * n_fell, compress(child, stays_and_fell, tables.permutations))
        n_rose += popcount(bits_of(stays_and_rose))
        n_fell += popcount(bits_of(stays_and_fell))
    for i in range(0, n_fell, LANES):
        store(children + 4 * (n_rose + i), load(children + SPARE * LIST_COLUMN + 4 * i))
    return n_rose + n_fell


@borrowing_kernel
def read_later(tables: Any, at: Any, record: Any, s: int, f: int, n: int, n_far: int) -> int:
    """Drop the children that exceed the threshold in another sum; in each vector those that rose in any come first.
    Returns how many are left. `n_far` columns of digits close up, too.
    """
    children = at.lists + f * at.list_bytes
    n_left = 0
    for i in range(0, n, LANES):
        child, _rose, stays = judged(tables, at, record, s, children, i, n)
        rose_in_any = (child & ROSE_MASK) != 0
        first, second = stays & rose_in_any, without(stays, rose_in_any)
        n_first = popcount(bits_of(first))
        lane = iota()
        later = permute(compress(lane, second, tables.permutations) & (LANES - 1), (lane - n_first) & (LANES - 1))
        order = where(lane < n_first, compress(lane, first, tables.permutations), later) & (LANES - 1)
        store(children + 4 * n_left, permute(child, order))
        for column in range(DIGITS, DIGITS + n_far):
            digits = load(children + column * LIST_COLUMN + 4 * i)
            store(children + column * LIST_COLUMN + 4 * n_left, permute(digits, order))
        n_left += n_first + popcount(bits_of(second))
    return n_left


@borrowing_kernel
def push_moves(tables: Any, at: Any, children: int, n: int, top: int, first_link: int) -> int:
    """Write what every search has of a list's children to the stack from `top` on: the blank, the moves allowed next,
    the parent, the moves left. Returns whether one of them has no moves left.
    """
    has_ended = 0
    for i in range(0, n, LANES):
        child = load(children + 4 * i)
        parent = child & PARENT_MASK
        move = (child >> MOVE_SHIFT) & 3
        to = at.stack + 4 * (top + i)
        state = take_of_64(at.batch + STATE * BATCH_COLUMN, parent)
        cell = ((state >> BLANK_SHIFT) & BLANK_MASK) + take_of_16(tables.steps, move)
        after = gather_words(tables.successors, ((state & MACHINE_MASK) << 2) | move)
        store(to + STATE * at.stack_column, after | (cell << BLANK_SHIFT))
        store(to + LINK * at.stack_column, ((parent + first_link) << 2) | move)
        left = take_of_64(at.batch + LEFT * BATCH_COLUMN, parent) - ONE_MOVE
        store(to + LEFT * at.stack_column, left)
        has_ended |= bits_of((iota() + i < n) & (left < ONE_MOVE))
    return has_ended


@borrowing_kernel
def push_units(tables: Any, at: Any, f: int, n: int, top: int) -> None:
    """Write the slacks and the units of a list's children to the stack from `top` on."""
    children = at.lists + f * at.list_bytes
    for i in range(0, n, LANES):
        child = load(children + 4 * i)
        parent = child & PARENT_MASK
        to = at.stack + 4 * (top + i)
        # Step 1. The slacks.
        left = load(to + LEFT * at.stack_column)
        left = left - ((child >> ROSE_SHIFT) & 1) - (((child >> (ROSE_SHIFT + 1)) & 1) << SLACK_BITS)
        store(to + LEFT * at.stack_column, left)
        for column in range(LEFT + 1, tables.first_sum_column):
            shift = ROSE_SHIFT + FIRST_SLACKS + MORE_SLACKS * (column - LEFT - 1)
            slacks = take_of_64(at.batch + column * BATCH_COLUMN, parent)
            for k in range(MORE_SLACKS):
                slacks = slacks - (((child >> (shift + k)) & 1) << (SLACK_BITS * k))
            store(to + column * at.stack_column, slacks)
        blank = (take_of_64(at.batch + STATE * BATCH_COLUMN, parent) >> BLANK_SHIFT) & BLANK_MASK
        # Step 2. The units.
        for s in range(tables.n_sums):
            record = tables.sums[s]
            n_units = record[N_UNITS]
            before = take_of_16(record[FRAME], blank)
            moved = before + where((child & SECOND_MOVE) != 0, record[STEPS + 2 + f], splat(record[STEPS + 1 - f]))
            cell_bit, blank_bit = splat(1) << moved, splat(1) << before
            both = cell_bit | blank_bit
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
                digits_moved = digits
                if record[FAR_COLUMN + f] >= 0:
                    digits_moved = load(children + record[FAR_COLUMN + f] * LIST_COLUMN + 4 * i)
                digits = where(is_of_unit, (digits_moved + change) & DIGITS_AND_VALUE, digits)
                store(to + column * at.stack_column, digits)
            column = record[UNIT_DIGITS]
            digits = take_of_64(at.batch + column * BATCH_COLUMN, parent)
            digits_moved = digits
            if record[FAR_COLUMN + f] >= 0:
                digits_moved = load(children + record[FAR_COLUMN + f] * LIST_COLUMN + 4 * i)
            digits = where(is_of_first, (digits_moved + change) & DIGITS_AND_VALUE, digits)
            store(to + column * at.stack_column, digits)


@borrowing_kernel
def vector_round(tables: Any, at: Any, n: int, top: int, first_link: int) -> tuple[int, int, int]:
    """Expand the `n` nodes from `top` on. Returns the nodes generated, the new top, whether a node has no moves left."""
    n_moves = list_children(tables, at, n, top)
    n_h, n_v = n_moves & 0xFFFFFFFF, n_moves >> 32
    generated = n_h + n_v
    n_sums = tables.n_sums
    look_up(tables, at, tables.sums[tables.order[0, 0]], 0, n_h, tables.sums[tables.order[0, 0], FAR_COLUMN] >= 0)
    look_up(tables, at, tables.sums[tables.order[1, 0]], 1, n_v, tables.sums[tables.order[1, 0], FAR_COLUMN + 1] >= 0)
    for k in range(n_sums):
        for f in range(2):
            n_list = n_v if f else n_h
            s = tables.order[f, k]
            record = tables.sums[s]
            if k == 0:
                n_list = read_first(tables, at, record, s, f, n_list)
            else:
                n_list = read_later(tables, at, record, s, f, n_list, tables.n_far[f, k])
            if k + 1 < n_sums:
                next_sum = tables.sums[tables.order[f, k + 1]]
                look_up(tables, at, next_sum, f, n_list, next_sum[FAR_COLUMN + f] >= 0)
            if f:
                n_v = n_list
            else:
                n_h = n_list
    has_ended = push_moves(tables, at, at.lists, n_h, top, first_link)
    push_units(tables, at, 0, n_h, top)
    # Vectors are written whole, so the second list comes after all of the first one.
    has_ended |= push_moves(tables, at, at.lists + at.list_bytes, n_v, top + n_h, first_link)
    push_units(tables, at, 1, n_v, top + n_h)
    return generated, top + n_h + n_v, has_ended
