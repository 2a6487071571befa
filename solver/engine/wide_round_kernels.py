"""One round of the search in vectors, for boards of up to 28 cells and 5 columns, and all kinds of tables.

The stages are those of `vector_round_kernels`, which is faster and does less. A node holds its board, one byte for each
cell, and for each unit its cell set and its digits. So the unit of the tile that moves is one lookup, and patterns that
share a table have units with different frames. Moves are in one list; each sum is looked up for all of them in turn.
"""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import popcount, prefetch
from pdb_core.jit import inlined_kernel
from solver.engine.layout import (
    ADDRESS,
    BATCH_COLUMN,
    BLANK_SHIFT,
    FALLEN,
    IS_BITS,
    LEFT,
    LIST_COLUMN,
    MAX_SLACK,
    MEMORY,
    MOVE_SHIFT,
    N_UNITS,
    ONE_MOVE,
    PARENT_MASK,
    RISEN,
    SLACK,
    SLACK_SHIFT,
    STATE,
    UNIT_DIGITS,
    VALUE_SHIFT,
)
from solver.engine.round_kernels import (
    CELL_MASK,
    TILE_SHIFT,
    TILES_BYTES,
    blank_and_cell,
    list_with_tiles,
    push_board,
    push_move,
    rank_of_digits,
    take_of_32,
)
from solver.vectors.vector_kernels import (
    LANES,
    bits_of,
    compress,
    gather_halves,
    gather_words,
    iota,
    load,
    load_word,
    popcounts,
    splat,
    store,
    take_of_16,
    take_of_64,
    where,
    without,
)

MAX_WIDE_CELLS, MAX_WIDE_WIDTH = 28, 5
CELL_BITS = 5
BYTE = 255
# The columns of a list: children, addresses, the slacks from `SLACKS` on, then the cell set and the digits of the unit
# that changes in each sum. The unit is above the cells. A child has the cell
# of its tile in the frame of the unit that is looked up, counts the sums whose distance rose, and has its tile.
SLACKS = 2
UNIT_SHIFT, MAX_UNITS = MAX_WIDE_CELLS, 16
CELLS_MASK = (1 << UNIT_SHIFT) - 1
CELL_SHIFT, ROSE_COUNT_SHIFT = 8, 16
NO_CELL = 0xFFFFFFFF & ~(CELL_MASK << CELL_SHIFT)
DIGITS_MASK = (1 << VALUE_SHIFT) - 1
# An entry of `WideStages.unit_of_tile`, if every move counts and the tile is of no pattern: only the blank moves.
STANDS = MAX_UNITS
# The fields of a unit: where its table begins, and the entries of a block, in bits or bytes; the first digit; where its
# edges begin; where the parts of the ranks of its cell sets begin; where the records of its cell sets begin.
N_WIDE_FIELDS = 7
FIELD_BYTES, SUM_BYTES = 4 * MAX_UNITS, 4 * MAX_UNITS * N_WIDE_FIELDS
TABLE, BLOCK, FIRST_DIGIT, EDGES, LOW, HIGH, SETS = range(N_WIDE_FIELDS)
# A record of a cell set, in bytes: the number of its first block, 32 bits, then the blank's region by cell.
SET_BYTES, FIRST_REGION = 32, 4
# `WideStages.jumps`: as `EngineTables.jumps`, for wider boards.
WIDE_JUMPS_UPWARD = 1 << (3 * MAX_WIDE_WIDTH + 1)
# Keeps differences of distances positive.
OFFSET = 512


class WideStages(NamedTuple):
    """Addresses of the tables of a wide round.

    fields        uint32[s, N_WIDE_FIELDS, MAX_UNITS]
    unit_of_tile  uint32[s, 32]: the unit of each tile, or STANDS + the unit
    edges         uint32[frames, 32 * 4]: by blank << 2 | move, the cell of the blank in the frame, and above it that of
                  the tile
    set_ranks     uint32: the lower and the upper parts of the ranks of cell sets, see `UnitTables`
    sets          records of cell sets
    jumps         uint16
    """

    fields: int
    unit_of_tile: int
    edges: int
    set_ranks: int
    low_bits: int
    high_bits: int
    sets: int
    jumps: int


@inlined_kernel
def byte_at(base: int, index: Any) -> Any:
    """Return the bytes at base + index."""
    return (gather_words(base, index >> 2) >> ((index & 3) << 3)) & BYTE


@inlined_kernel
def look_up_wide(stages: Any, tables: Any, at: Any, s: int, n: int) -> None:
    """Compute the addresses of the children in sum `s`, bits or bytes, and prefetch them."""
    children = at.lists
    record = tables.sums[s]
    units = at.batch + record[UNIT_DIGITS] * BATCH_COLUMN
    fields = stages.fields + s * SUM_BYTES
    own = children + (SLACKS + tables.first_sum_column - LEFT + 2 * s) * LIST_COLUMN
    low_mask = (1 << stages.low_bits) - 1
    for i in range(0, n, LANES):
        child = load(children + 4 * i)
        is_child = iota() + i < n
        parent, move = child & PARENT_MASK, (child >> MOVE_SHIFT) & 3
        # Step 1. The unit that the tile belongs to, and the move in its frame.
        board_blank = (take_of_64(at.batch + STATE * BATCH_COLUMN, parent) >> BLANK_SHIFT) & CELL_MASK
        unit = take_of_32(stages.unit_of_tile + s * TILES_BYTES, child >> TILE_SHIFT)
        moves = unit < STANDS
        unit = unit & (MAX_UNITS - 1)
        cells, digits = take_of_64(units, parent), take_of_64(units + BATCH_COLUMN, parent)
        for k in range(1, record[N_UNITS]):
            is_unit = unit == k
            cells = where(is_unit, take_of_64(units + 2 * k * BATCH_COLUMN, parent), cells)
            digits = where(is_unit, take_of_64(units + (2 * k + 1) * BATCH_COLUMN, parent), digits)
        edge = gather_words(stages.edges, take_of_16(fields + EDGES * FIELD_BYTES, unit) + ((board_blank << 2) | move))
        blank, cell = edge & CELL_MASK, edge >> CELL_BITS
        # Step 2. The tile jumps over the tiles of its unit between the two cells.
        is_upward = cell < blank
        low, high = where(is_upward, cell, blank), where(is_upward, blank, cell)
        place = popcounts(cells & ((splat(1) << low) - 1)) * 3 + take_of_16(fields + FIRST_DIGIT * FIELD_BYTES, unit)
        jumped = popcounts((cells >> (low + 1)) & ((splat(1) << (high - low - 1)) - 1))
        marker = splat(8) << (jumped * 3)
        jump = ((digits >> place) & (marker - 1)) | marker | where(is_upward, WIDE_JUMPS_UPWARD, splat(0))
        # Lanes behind the last child hold anything. They must not lead outside an array, here and below.
        change = (gather_halves(stages.jumps, where(is_child, jump, splat(0))) & 0xFFFF) << place
        digits = where(moves, digits ^ change, digits)
        cells = where(moves, cells ^ (splat(1) << cell) ^ (splat(1) << blank), cells)
        # Step 3. The rank of the cell set.
        cells = where(is_child, cells, splat(0))
        lower = cells & low_mask
        upper = (popcounts(lower) << stages.high_bits) + (cells >> stages.low_bits)
        rank = gather_words(stages.set_ranks, take_of_16(fields + LOW * FIELD_BYTES, unit) + lower)
        rank = rank + gather_words(stages.set_ranks, take_of_16(fields + HIGH * FIELD_BYTES, unit) + upper)
        rank = where(is_child, rank + take_of_16(fields + SETS * FIELD_BYTES, unit), splat(0))
        store(children + ADDRESS * LIST_COLUMN + 4 * i, rank)
        store(children + 4 * i, (child & NO_CELL) | (cell << CELL_SHIFT))
        store(own + 4 * i, cells | (unit << UNIT_SHIFT))
        store(own + LIST_COLUMN + 4 * i, digits)
    # Step 4. The block, by the record of the cell set: in bytes the cell set is the block.
    if record[IS_BITS] != 0:
        for i in range(n):
            prefetch(stages.sets + load_word(children + ADDRESS * LIST_COLUMN + 4 * i) * SET_BYTES)
    for i in range(0, n, LANES):
        cell = (load(children + 4 * i) >> CELL_SHIFT) & CELL_MASK
        block = load(children + ADDRESS * LIST_COLUMN + 4 * i)
        if record[IS_BITS] != 0:
            block = block * SET_BYTES
            block = gather_words(stages.sets, block >> 2) + byte_at(stages.sets, block + FIRST_REGION + cell)
        unit = load(own + 4 * i) >> UNIT_SHIFT
        address = take_of_16(fields + TABLE * FIELD_BYTES, unit) + rank_of_digits(load(own + LIST_COLUMN + 4 * i))
        address = address + block * take_of_16(fields + BLOCK * FIELD_BYTES, unit)
        store(children + ADDRESS * LIST_COLUMN + 4 * i, where(iota() + i < n, address, splat(0)))
    shift = 3 if record[IS_BITS] != 0 else 0
    for i in range(n):
        prefetch(record[MEMORY] + (load_word(children + ADDRESS * LIST_COLUMN + 4 * i) >> shift))


@inlined_kernel
def read_wide(tables: Any, at: Any, s: int, i: int, n: int) -> Any:
    """Read the distances of a vector of children in sum `s`, and write them to the list. Returns the children that are
    within the threshold, as a mask.
    """
    children = at.lists
    record = tables.sums[s]
    own = children + (SLACKS + tables.first_sum_column - LEFT + 2 * s + 1) * LIST_COLUMN + 4 * i
    address = load(children + ADDRESS * LIST_COLUMN + 4 * i)
    digits = load(own)
    value = digits >> VALUE_SHIFT
    if record[IS_BITS] != 0:
        # The distance is one more or one less; bit 1 decides which.
        bit = gather_words(record[MEMORY], address >> 5) >> (address & 31)
        after = value + (((bit ^ ((value + 1) >> 1)) & 1) ^ 1) * 2 - 1
    else:
        after = byte_at(record[MEMORY], address)
    loss = ((after - value + (2 * OFFSET + 1)) >> 1) & (2 * OFFSET - 1)
    store(own, (digits & DIGITS_MASK) | ((after & BYTE) << VALUE_SHIFT))
    # The slack must keep within its bits, whatever a table says.
    to_slacks = children + (SLACKS + record[SLACK] - LEFT) * LIST_COLUMN + 4 * i
    slacks = load(to_slacks)
    before = (slacks >> record[SLACK_SHIFT]) & MAX_SLACK
    slack = before + 2 * OFFSET - loss
    stays = (iota() + i < n) & (slack >= OFFSET)
    slack = slack - OFFSET
    slack = where(slack < MAX_SLACK, slack, MAX_SLACK)
    store(to_slacks, slacks ^ ((before ^ slack) << record[SLACK_SHIFT]))
    child = load(children + 4 * i)
    store(children + 4 * i, child + where(loss >= OFFSET + 1, splat(1) << ROSE_COUNT_SHIFT, splat(0)))
    return stays


@inlined_kernel
def move_lanes(tables: Any, from_list: int, i: int, to_list: int, n: int, mask: Any, n_columns: int) -> int:
    """Append the lanes of a mask to a list of `n` children. Returns its new length."""
    for column in range(n_columns):
        if column != ADDRESS:
            lanes = compress(load(from_list + column * LIST_COLUMN + 4 * i), mask, tables.permutations)
            store(to_list + column * LIST_COLUMN + 4 * n, lanes)
    return n + popcount(bits_of(mask))


@inlined_kernel
def push_wide(tables: Any, at: Any, children: int, n: int, top: int, first_link: int) -> int:
    """Write a list of children to the stack from `top` on. Returns whether one of them has no moves left."""
    has_ended = 0
    first_unit = SLACKS + tables.first_sum_column - LEFT
    for i in range(0, n, LANES):
        child = load(children + 4 * i)
        parent, move = child & PARENT_MASK, (child >> MOVE_SHIFT) & 3
        to = at.stack + 4 * (top + i)
        # Step 1. The move and the slacks.
        push_move(tables, at, child, to, first_link)
        left = load(children + SLACKS * LIST_COLUMN + 4 * i) - ONE_MOVE
        has_ended |= bits_of((iota() + i < n) & (left < ONE_MOVE))
        store(to + LEFT * at.stack_column, left)
        for column in range(LEFT + 1, tables.first_sum_column):
            store(to + column * at.stack_column, load(children + (SLACKS + column - LEFT) * LIST_COLUMN + 4 * i))
        # Step 2. The tile and the blank change places.
        blank, cell = blank_and_cell(tables, at, parent, move)
        push_board(tables, at, parent, child >> TILE_SHIFT, blank, cell, to)
        # Step 3. In each sum one unit has changed.
        for s in range(tables.n_sums):
            own = children + (first_unit + 2 * s) * LIST_COLUMN + 4 * i
            changed, digits = load(own), load(own + LIST_COLUMN)
            unit, cells = changed >> UNIT_SHIFT, changed & CELLS_MASK
            for k in range(tables.sums[s, N_UNITS]):
                column = tables.sums[s, UNIT_DIGITS] + 2 * k
                before = take_of_64(at.batch + column * BATCH_COLUMN, parent)
                store(to + column * at.stack_column, where(unit == k, cells, before))
                before = take_of_64(at.batch + (column + 1) * BATCH_COLUMN, parent)
                store(to + (column + 1) * at.stack_column, where(unit == k, digits, before))
    return has_ended


@inlined_kernel
def wide_round(stages: Any, tables: Any, at: Any, n: int, top: int, first_link: int) -> tuple[int, int, int]:
    """Expand nodes as `search_kernels.round_of` says; stages: `WideStages`."""
    first_unit = SLACKS + tables.first_sum_column - LEFT
    # Step 1. List the children with their slacks.
    n_children: Any = list_with_tiles(tables, at, n, top)
    generated = n_children
    for i in range(0, n_children, LANES):
        parent = load(at.lists + 4 * i) & PARENT_MASK
        for column in range(LEFT, tables.first_sum_column):
            slacks = take_of_64(at.batch + column * BATCH_COLUMN, parent)
            store(at.lists + (SLACKS + column - LEFT) * LIST_COLUMN + 4 * i, slacks)
    # Step 2. Drop the children that exceed the threshold, sum by sum. Those that fell go on top of the others.
    risen, fallen = at.lists + RISEN * at.list_bytes, at.lists + FALLEN * at.list_bytes
    # Not constants: numba would compile kernels once more for them.
    n_rose: Any = np.int64(0)
    n_fell: Any = np.int64(0)
    for s in range(tables.n_sums):
        look_up_wide(stages, tables, at, s, n_children)
        n_left: Any = np.int64(0)
        n_columns = first_unit + 2 * (s + 1)
        for i in range(0, n_children, LANES):
            stays = read_wide(tables, at, s, i, n_children)
            if s < tables.n_sums - 1:
                n_left = move_lanes(tables, at.lists, i, at.lists, n_left, stays, n_columns)
            else:
                n_rises = (load(at.lists + 4 * i) >> ROSE_COUNT_SHIFT) & BYTE
                fell = stays & (n_rises * 2 < tables.n_sums)
                n_rose = move_lanes(tables, at.lists, i, risen, n_rose, without(stays, fell), n_columns)
                n_fell = move_lanes(tables, at.lists, i, fallen, n_fell, fell, n_columns)
        n_children = n_left
    # Step 3. Vectors are written whole, so those that rose are finished before the others.
    has_ended = push_wide(tables, at, risen, n_rose, top, first_link)
    top += n_rose
    has_ended |= push_wide(tables, at, fallen, n_fell, top, first_link)
    return generated, top + n_fell, has_ended
