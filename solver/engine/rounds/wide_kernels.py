"""One round of the search in vectors, for boards of up to 28 cells and 5 columns, and all kinds of tables.

The stages are those of `vector_kernels`, which is faster and does less. A node holds its board, one byte for each
cell, and for each unit its cell set and its digits. So the unit of the tile that moves is one lookup, and patterns that
share a table have units with different frames. Moves are in one list; each sum is looked up for all of them in turn.
"""

from typing import Any, NamedTuple

from pdb_core.bit_kernels import load_word, prefetch
from pdb_core.jit import inlined_kernel
from pdb_core.types import Int64s
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import (
    CELL_MASK,
    DIGIT_BITS,
    FIRST_BLOCK_MASK,
    FIRST_REGION,
    MAX_REGIONS,
    SET_BYTES,
    TILE_SHIFT,
    TILES_BYTES,
    VALUE_SHIFT,
    append,
    blank_and_cell,
    in_list,
    jump_index,
    list_with_tiles,
    new_counter,
    of_parents,
    parts_of_set,
    push_board,
    push_move,
    rank_of_digits,
    sort,
    tiles_below,
)
from solver.vectors import vector_kernels as v

MAX_WIDE_WIDTH = 5
CELL_BITS = 5
BYTE = MAX_WIDE_SUMS = 255
# The columns of a list: children, addresses, the slacks from `SLACKS` on, then for each sum two columns of the unit
# that changes: its cell set, with the unit above, and its digits. An edge has the cells in the frame of a unit:
#
#            31     28                10      5       0
#     unit   | unit | mask of the cells of its tiles  |
#     edge   |                         | cell | blank |
SLACKS = 2
UNIT_SHIFT, MAX_UNITS = 28, 16
CELLS_MASK = (1 << UNIT_SHIFT) - 1
# A child has these bits above its move; the cell is the tile's, in the frame of the unit that is looked up:
#
#     31      24           16      8
#     | tile  | sums rose  | cell  |
CELL_SHIFT, ROSE_COUNT_SHIFT = 8, 16
NO_CELL = 0xFFFFFFFF & ~(CELL_MASK << CELL_SHIFT)
DIGITS_MASK = (1 << VALUE_SHIFT) - 1
# An entry of `WideTables.unit_of_tile`, if every move counts and the tile is of no pattern: only the blank moves.
STANDS = MAX_UNITS
# The fields of a sum: units; the first column of units, which have a cell set and digits each; the address of the
# tables' memory; whether the tables are bits, and whether the blank's regions are in records of cell sets.
N_UNITS, FIRST_UNIT, MEMORY, IS_BITS, HAS_SETS = range(mem.OWN_FIELDS, mem.OWN_FIELDS + 5)
# The fields of a unit: where its table begins, and the entries of a block, in bits or bytes; the first digit; where its
# edges begin; where the parts of the ranks of its cell sets begin; where the records of its cell sets begin, or the
# number of free cells, if every move counts.
N_WIDE_FIELDS = 7
FIELD_BYTES, SUM_BYTES = 4 * MAX_UNITS, 4 * MAX_UNITS * N_WIDE_FIELDS
TABLE, BLOCK, FIRST_DIGIT, EDGES, LOW, HIGH, SETS = range(N_WIDE_FIELDS)
# The bit of an index of `WideTables.jumps` for tiles that move upward. The index is that of `VectorTables.jumps`.
WIDE_JUMPS_UPWARD = 1 << (DIGIT_BITS * MAX_WIDE_WIDTH + 1)
# Keeps differences of distances positive.
OFFSET = 512


class WideTables(NamedTuple):
    """Addresses of the tables of a wide round.

    fields        uint32[s, N_WIDE_FIELDS, MAX_UNITS]
    unit_of_tile  uint32[s, 32]: the unit of each tile, or STANDS + the unit
    edges         uint32[frames, 32 * 4]: by blank << 2 | move, the cells of the blank and of the tile in a frame
    set_ranks     uint32: the lower and the upper parts of the ranks of cell sets, see `UnitTables`
    sets          records of cell sets
    jumps         uint16: by the digits that a jump changes, the changes to XOR, as `VectorTables.jumps`
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
    return (v.gather(32, base, index >> 2) >> ((index & 3) << 3)) & BYTE


@inlined_kernel
def units_of_children(
    round_tables: WideTables, at: StackMemory, record: Int64s, s: int, child: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Return the units that the moves of children change in sum `s`, with STANDS if only the blank moves.

    Also their cell sets and digits before the moves, and the cells of the blank and of the tile in their frames.
    """
    parent, move = child & mem.PARENT_MASK, (child >> mem.MOVE_SHIFT) & 3
    first = at.batch + record[FIRST_UNIT] * mem.BATCH_COLUMN
    unit = v.take(32, round_tables.unit_of_tile + s * TILES_BYTES, child >> TILE_SHIFT)
    number = unit & (MAX_UNITS - 1)
    cells, digits = v.take(64, first, parent), v.take(64, first + mem.BATCH_COLUMN, parent)
    for k in range(1, record[N_UNITS]):
        is_unit = number == k
        cells = v.where(is_unit, v.take(64, first + 2 * k * mem.BATCH_COLUMN, parent), cells)
        digits = v.where(is_unit, v.take(64, first + (2 * k + 1) * mem.BATCH_COLUMN, parent), digits)
    blank = (of_parents(at, mem.STATE, parent) >> mem.BLANK_SHIFT) & CELL_MASK
    of_frame = v.take(16, round_tables.fields + s * SUM_BYTES + EDGES * FIELD_BYTES, number)
    edge = v.gather(32, round_tables.edges, of_frame + ((blank << 2) | move))
    return unit, cells, digits, edge & CELL_MASK, edge >> CELL_BITS


@inlined_kernel
def move_tiles(
    round_tables: WideTables, fields: int, unit: Any, cells: Any, digits: Any, blank: Any, cell: Any, is_child: Any
) -> tuple[Any, Any]:
    """Return the cell sets and digits of units after their tiles have moved from `cell` to `blank`."""
    moves, number = unit < STANDS, unit & (MAX_UNITS - 1)
    # The tile jumps over the tiles of its unit between the two cells.
    is_upward = cell < blank
    low, high = v.where(is_upward, cell, blank), v.where(is_upward, blank, cell)
    place = tiles_below(cells, low) * DIGIT_BITS + v.take(16, fields + FIRST_DIGIT * FIELD_BYTES, number)
    n_jumped = v.popcounts((cells & ((v.splat(1) << high) - 1)) >> (low + 1))
    index = jump_index(digits, place, n_jumped, is_upward, WIDE_JUMPS_UPWARD)
    # Lanes behind the last child hold anything. They must not lead outside an array, here and below.
    change = v.gather(16, round_tables.jumps, v.where(is_child, index, v.splat(0))) << place
    after = cells ^ (v.splat(1) << cell) ^ (v.splat(1) << blank)
    return v.where(moves, after, cells), v.where(moves, digits ^ change, digits)


@inlined_kernel
def rank_sets(round_tables: WideTables, record: Int64s, fields: int, number: Any, cells: Any, cell: Any) -> Any:
    """Return where the records of cell sets are; if a sum has none, the number of a block, with the blank on `cell`."""
    lower, upper = parts_of_set(cells, round_tables.low_bits, round_tables.high_bits)
    rank = v.gather(32, round_tables.set_ranks, v.take(16, fields + LOW * FIELD_BYTES, number) + lower)
    rank = rank + v.gather(32, round_tables.set_ranks, v.take(16, fields + HIGH * FIELD_BYTES, number) + upper)
    if record[HAS_SETS] != 0:
        rank = rank + v.take(16, fields + SETS * FIELD_BYTES, number)
    elif record[IS_BITS] != 0:
        # Every move counts, so each free cell is a region.
        rank = rank * v.take(16, fields + SETS * FIELD_BYTES, number) + (cell - tiles_below(cells, cell))
    return rank


@inlined_kernel
def block_of_record(round_tables: WideTables, record: Any, cell: Any) -> Any:
    """Return the number of a block, by the record of its cell set and the cell of the blank."""
    start = record * SET_BYTES
    regions = byte_at(round_tables.sets, start + FIRST_REGION + (cell >> 1)) >> ((cell & 1) << 2)
    return (v.gather(32, round_tables.sets, start >> 2) & FIRST_BLOCK_MASK) + (regions & (MAX_REGIONS - 1))


@inlined_kernel
def look_up_wide(round_tables: WideTables, tables: EngineTables, at: StackMemory, s: int, n: int) -> None:
    """Compute the addresses of the children in sum `s`, bits or bytes, and prefetch them."""
    children, record = at.lists, tables.sums[s]
    fields = round_tables.fields + s * SUM_BYTES
    own = children + (SLACKS + tables.first_sum_column - mem.MOVES_LEFT + 2 * s) * mem.LIST_COLUMN
    # Step 1. Move the tiles in their units, and rank the cell sets.
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        is_child = v.iota() + i < n
        unit, cells, digits, blank, cell = units_of_children(round_tables, at, record, s, child)
        cells, digits = move_tiles(round_tables, fields, unit, cells, digits, blank, cell, is_child)
        cells, number = v.where(is_child, cells, v.splat(0)), unit & (MAX_UNITS - 1)
        rank = rank_sets(round_tables, record, fields, number, cells, cell)
        v.store(in_list(children, mem.ADDRESS, i), v.where(is_child, rank, v.splat(0)))
        v.store(children + 4 * i, (child & NO_CELL) | (cell << CELL_SHIFT))
        v.store(own + 4 * i, cells | (number << UNIT_SHIFT))
        v.store(own + mem.LIST_COLUMN + 4 * i, digits)
    if record[HAS_SETS] != 0:
        for i in range(n):
            prefetch(round_tables.sets + load_word(in_list(children, mem.ADDRESS, i)) * SET_BYTES)
    # Step 2. The addresses: a block, and the rank of the arrangement in it.
    for i in range(0, n, v.LANES):
        block = v.load(in_list(children, mem.ADDRESS, i))
        if record[HAS_SETS] != 0:
            block = block_of_record(round_tables, block, (v.load(children + 4 * i) >> CELL_SHIFT) & CELL_MASK)
        number = v.load(own + 4 * i) >> UNIT_SHIFT
        address = v.take(16, fields + TABLE * FIELD_BYTES, number)
        address = address + block * v.take(16, fields + BLOCK * FIELD_BYTES, number)
        address = address + rank_of_digits(v.load(own + mem.LIST_COLUMN + 4 * i))
        v.store(in_list(children, mem.ADDRESS, i), v.where(v.iota() + i < n, address, v.splat(0)))
    shift = 3 if record[IS_BITS] != 0 else 0
    for i in range(n):
        prefetch(record[MEMORY] + (load_word(in_list(children, mem.ADDRESS, i)) >> shift))


@inlined_kernel
def read_wide(tables: EngineTables, at: StackMemory, s: int, i: int, n: int) -> Any:
    """Read the distances of children in sum `s`. Returns a mask of those within the threshold."""
    children = at.lists
    record = tables.sums[s]
    own = in_list(children, SLACKS + tables.first_sum_column - mem.MOVES_LEFT + 2 * s + 1, i)
    address = v.load(in_list(children, mem.ADDRESS, i))
    digits = v.load(own)
    value = digits >> VALUE_SHIFT
    if record[IS_BITS] != 0:
        # The distance is one more or one less; bit 1 decides which.
        bit = v.gather(32, record[MEMORY], address >> 5) >> (address & 31)
        after = value + (((bit ^ ((value + 1) >> 1)) & 1) ^ 1) * 2 - 1
    else:
        after = byte_at(record[MEMORY], address)
    loss = ((after - value + (2 * OFFSET + 1)) >> 1) & (2 * OFFSET - 1)
    v.store(own, (digits & DIGITS_MASK) | ((after & BYTE) << VALUE_SHIFT))
    # The slack must keep within its bits, whatever a table says.
    to_slacks = in_list(children, SLACKS + record[mem.SLACK] - mem.MOVES_LEFT, i)
    slacks = v.load(to_slacks)
    before = (slacks >> record[mem.SLACK_SHIFT]) & mem.MAX_SLACK
    slack = before + 2 * OFFSET - loss
    stays = (v.iota() + i < n) & (slack >= OFFSET)
    slack = slack - OFFSET
    slack = v.where(slack < mem.MAX_SLACK, slack, mem.MAX_SLACK)
    v.store(to_slacks, slacks ^ ((before ^ slack) << record[mem.SLACK_SHIFT]))
    child = v.load(children + 4 * i)
    v.store(children + 4 * i, child + v.where(loss >= OFFSET + 1, v.splat(1) << ROSE_COUNT_SHIFT, v.splat(0)))
    return stays


@inlined_kernel
def push_wide(tables: EngineTables, at: StackMemory, children: int, n: int, top: int, first_link: int) -> int:
    """Write a list of children to the stack from `top` on. Returns whether one of them has no moves left."""
    has_ended = 0
    first_unit = SLACKS + tables.first_sum_column - mem.MOVES_LEFT
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent, move = child & mem.PARENT_MASK, (child >> mem.MOVE_SHIFT) & 3
        to = at.stack + 4 * (top + i)
        # Step 1. The move and the slacks.
        push_move(tables, at, child, to, first_link)
        left = v.load(in_list(children, SLACKS, i)) - mem.ONE_MOVE
        has_ended |= v.bits_of((v.iota() + i < n) & (left < mem.ONE_MOVE))
        v.store(to + mem.MOVES_LEFT * at.stack_column, left)
        for column in range(mem.MOVES_LEFT + 1, tables.first_sum_column):
            v.store(to + column * at.stack_column, v.load(in_list(children, SLACKS + column - mem.MOVES_LEFT, i)))
        # Step 2. The tile and the blank change places.
        blank, cell = blank_and_cell(tables, at, parent, move)
        push_board(tables, at, parent, child >> TILE_SHIFT, blank, cell, to)
        # Step 3. In each sum one unit has changed.
        for s in range(tables.n_sums):
            own = in_list(children, first_unit + 2 * s, i)
            changed, digits = v.load(own), v.load(own + mem.LIST_COLUMN)
            unit, cells = changed >> UNIT_SHIFT, changed & CELLS_MASK
            for k in range(tables.sums[s, N_UNITS]):
                column = tables.sums[s, FIRST_UNIT] + 2 * k
                before = of_parents(at, column, parent)
                v.store(to + column * at.stack_column, v.where(unit == k, cells, before))
                before = of_parents(at, column + 1, parent)
                v.store(to + (column + 1) * at.stack_column, v.where(unit == k, digits, before))
    return has_ended


@inlined_kernel
def wide_round(
    round_tables: WideTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`."""
    first_unit = SLACKS + tables.first_sum_column - mem.MOVES_LEFT
    # Step 1. List the children with their slacks.
    n_children: Any = list_with_tiles(tables, at, n, top)
    generated = n_children
    for i in range(0, n_children, v.LANES):
        parent = v.load(at.lists + 4 * i) & mem.PARENT_MASK
        for column in range(mem.MOVES_LEFT, tables.first_sum_column):
            slacks = of_parents(at, column, parent)
            v.store(in_list(at.lists, SLACKS + column - mem.MOVES_LEFT, i), slacks)
    # Step 2. Drop the children that exceed the threshold, sum by sum.
    n_rose, n_fell = new_counter(), new_counter()
    for s in range(tables.n_sums):
        look_up_wide(round_tables, tables, at, s, n_children)
        n_left = new_counter()
        n_columns = first_unit + 2 * (s + 1)
        for i in range(0, n_children, v.LANES):
            stays = read_wide(tables, at, s, i, n_children)
            if s < tables.n_sums - 1:
                n_left = append(tables, at.lists, i, at.lists, n_left, stays, n_columns)
            else:
                n_rises = (v.load(at.lists + 4 * i) >> ROSE_COUNT_SHIFT) & BYTE
                n_rose, n_fell = sort(tables, at, at.lists, i, stays, n_rises, n_rose, n_fell, n_columns)
        n_children = n_left
    # Step 3. Vectors are written whole, so those that rose are finished before the others, which are expanded first.
    has_ended = 0
    for f in range(mem.RISEN, mem.FALLEN + 1):
        n_list = n_rose if f == mem.RISEN else n_fell
        has_ended |= push_wide(tables, at, at.lists + f * at.list_bytes, n_list, top, first_link)
        top += n_list
    return generated, top, has_ended
