"""One round of the search in vectors: expand up to 64 nodes of the stack.

For additive tables in bits. A round has these stages. Each works on all children, 4 to 16 in one instruction, and no
branch depends on a child:

1. list     take nodes off the stack, and list their children by direction: horizontal moves, vertical moves
2. look up  per sum, compute the bit addresses of the units that change, and prefetch them
3. read     read the bits, and drop the children whose h exceeds the threshold; the others close up
4. push     write the children that are left to the stack

Kernels get the layout of nodes and tables as two constants, `is_wide` and `in_rows`:

vector  Boards of up to 16 cells and 4 columns. The cell sets of the units tell which unit a move changes, and are
        indices of a table of blocks. Tables have a row of bits for each block, as in a file
rows    The same with a row for each arrangement: the bit of a near sum is in the row of the parent's
wide    Boards of up to 5 columns. A node has its board, too, so that the tile tells the unit; units of a sum can have
        different frames; cell sets are ranked. All moves are in the first list

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
    CELL_MASK,
    DIGIT_BITS,
    SET_BYTES,
    TILE_SHIFT,
    VALUE_SHIFT,
    append,
    blank_and_cell,
    blocks_of_records,
    in_list,
    jump_index,
    list_children,
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

MAX_VECTOR_CELLS, MAX_VECTOR_WIDTH, MAX_WIDE_WIDTH = 16, 4, 5
# A list has the children, their bit addresses, then for each sum, in the order in which the list looks them up, the
# unit that changes, with its digits after the move and its distance before it. A child has these bits above its move,
# the tile only on wide boards:
#
#            31     28   26    24           8
#     child  |      tile       | sums rose  |
#     unit   | unit |    | distance, digits |
UNITS = 2
ROSE_SHIFT, UNIT_SHIFT = 8, 28
MAX_SUMS, MAX_UNITS = TILE_SHIFT - ROSE_SHIFT, 16
ROSE_MASK = (1 << TILE_SHIFT) - (1 << ROSE_SHIFT)
# The fields of a sum: units; the first columns of cell sets and of digits; the addresses of the tables' memory and of
# the fields of units; on wide boards that of uint32[32], the units by tile; on others those of uint32[16], the map to
# the sum's frame, and the steps of the blank's moves there. Then, for horizontal and for vertical moves: the column of
# a list that has the unit, two fields, and whether the sum is far, two fields.
N_UNITS, CELL_SETS, UNIT_DIGITS, MEMORY, FIELDS, UNIT_OF_TILE, FRAME, STEPS, UNIT_COLUMN = range(
    mem.OWN_FIELDS, mem.OWN_FIELDS + 9
)
IS_FAR, N_SUM_FIELDS = UNIT_COLUMN + 2, UNIT_COLUMN + 4
# The fields of units, rows of uint32[N_UNIT_FIELDS, MAX_UNITS], and where the rows begin: the first bit of the table;
# the bits of one of its rows; the first digit. On wide boards also where the edges of the frame begin, and the ranks
# and the records of cell sets.
N_UNIT_FIELDS, FIELD_BYTES = 6, 4 * MAX_UNITS
TABLE_BIT, ROW_BITS, FIRST_DIGIT, EDGES, RANKS, SETS = range(0, N_UNIT_FIELDS * FIELD_BYTES, FIELD_BYTES)
# The columns of a sum in a node begin at its fields CELL_SETS and UNIT_DIGITS. For three units:
#
#     cell sets of units 1 and 2 | digits of unit 0 | digits of unit 1 | digits of unit 2
#     cell set of unit 0 | cell set of unit 1 | cell set of unit 2 | digits of unit 0 | ...   on wide boards
#
# Boards that are not wide have no cell set of the first unit, which holds all other cells, and the others in pairs:
#
#     31                    16                     0
#     | cell set of unit 2  | cell set of unit 1   |
CELL_SET_BITS = 16
CELL_SET_MASK = (1 << CELL_SET_BITS) - 1
# Of digits with a distance, see `shared_kernels`.
ONE_VALUE = 1 << VALUE_SHIFT
DIGITS_AND_VALUE = (1 << (VALUE_SHIFT + 2)) - 1
# An entry of `VectorTables.sets`, 64 bits. A region is that of the blank on the cell:
#
#     63                  61       22                 19                 16             0
#     | region of cell 15  | ...    | region of cell 1  | region of cell 0  | first block |
BLOCK_BITS, REGION_BITS = 16, 3
# On wide boards an edge has cells in the frame of a unit, and an address is at first a record, with the blank's cell:
#
#              31     27       10      5       0
#     edge     |               | cell | blank |
#     address  | cell | record                |
CELL_BITS, RECORD_BITS = 5, 27
RECORD_MASK = (1 << RECORD_BITS) - 1
# Lanes behind the last child hold anything, and must not lead outside an array: cells are masked. Shifts are masked
# too, because LLVM does not define shifts by the width of a lane or more.
LAST_CELL = MAX_VECTOR_CELLS - 1
LAST_BIT = 31


class VectorTables(NamedTuple):
    """Tables of a vector round.

    sum_order      int64[2, s]: for horizontal and for vertical moves, the sums in the order in which they are looked up
    all_cells      mask
    between        mask of as many cells as a tile can jump over
    jumps          address of uint16: by the digits that a jump changes, see `shared_kernels`, the changes to XOR; those
                   of jumps upward begin at `upward`
    sets           address of uint64[1 << 16], by cell set: its blocks; on wide boards of the records of cell sets
    edges          address of uint32[frames, 32 * 4]: by blank << 2 | move, the cells of blank and tile in a frame
    set_ranks      address of uint32: the lower, then the upper parts of the ranks of cell sets, see `UnitTables`
    low_bits, high_bits  of the lower and the upper part of a cell set
    """

    sum_order: Int64s
    all_cells: int
    between: int
    jumps: int
    upward: int
    sets: int
    edges: int
    set_ranks: int
    low_bits: int
    high_bits: int


class RowTables(VectorTables):
    """Those of a round with tables in rows."""

    __slots__ = ()


class WideTables(VectorTables):
    """Those of a round on wide boards."""

    __slots__ = ()


@inlined_kernel
def block_of(round_tables: VectorTables, cells: Any, cell: Any) -> Any:
    """Return the block of a cell set, with the blank on a cell."""
    entry = v.gather(64, round_tables.sets, cells)
    region = v.narrow(entry >> v.widen(cell * REGION_BITS + BLOCK_BITS)) & ((1 << REGION_BITS) - 1)
    return (v.narrow(entry) & ((1 << BLOCK_BITS) - 1)) + region


@inlined_kernel
def record_of(round_tables: VectorTables, fields: int, unit: Any, cells: Any) -> Any:
    """Return the number of the record of a cell set on a wide board."""
    lower, upper = parts_of_set(cells, round_tables.low_bits, round_tables.high_bits)
    ranks = v.take(16, fields + RANKS, unit)
    rank = v.gather(32, round_tables.set_ranks, ranks + lower)
    rank = rank + v.gather(32, round_tables.set_ranks, ranks + upper + (1 << round_tables.low_bits))
    return rank + v.take(16, fields + SETS, unit)


@inlined_kernel
def cells_in_frame(
    round_tables: VectorTables, of_sum: Int64s, blank: Any, move: Any, unit: Any, is_wide: bool
) -> tuple[Any, Any]:
    """Return the cells of the blank and of the tile before moves, in the frame of a sum, or of units on wide boards."""
    if is_wide:
        edge = v.take(16, of_sum[FIELDS] + EDGES, unit) + ((blank << 2) | move)
        edge = v.gather(32, round_tables.edges, edge)
        return edge & CELL_MASK, edge >> CELL_BITS
    blank = v.take(16, of_sum[FRAME], blank)
    return blank, (blank + v.take(16, of_sum[STEPS], move)) & LAST_CELL


@inlined_kernel
def unit_of_tile(at: StackMemory, of_sum: Int64s, parent: Any, tile: Any) -> tuple[Any, Any, Any]:
    """Return the units that moves of tiles change on wide boards, their cell sets and digits before."""
    unit = v.take(32, of_sum[UNIT_OF_TILE], tile)
    cells, digits = of_parents(at, of_sum[CELL_SETS], parent), of_parents(at, of_sum[UNIT_DIGITS], parent)
    for k in range(1, of_sum[N_UNITS]):
        cells = v.where(unit == k, of_parents(at, of_sum[CELL_SETS] + k, parent), cells)
        digits = v.where(unit == k, of_parents(at, of_sum[UNIT_DIGITS] + k, parent), digits)
    return unit, cells, digits


@inlined_kernel
def unit_on_cell(
    round_tables: VectorTables, at: StackMemory, of_sum: Int64s, parent: Any, blank_bit: Any, cell_bit: Any
) -> tuple[Any, Any, Any]:
    """Return the units that moves change, their cell sets and digits before: the first one if it is none of others."""
    unit, cells = v.splat(0), v.splat(0)
    digits = of_parents(at, of_sum[UNIT_DIGITS], parent)
    rest, pair = blank_bit ^ round_tables.all_cells, cells
    for k in range(1, of_sum[N_UNITS]):
        if (k & 1) != 0:
            pair = of_parents(at, of_sum[CELL_SETS] + (k >> 1), parent)
        of_unit = pair & CELL_SET_MASK
        pair = pair >> CELL_SET_BITS
        rest = rest ^ of_unit
        is_unit = (of_unit & cell_bit) != 0
        unit, cells = v.where(is_unit, k, unit), v.where(is_unit, of_unit, cells)
        digits = v.where(is_unit, of_parents(at, of_sum[UNIT_DIGITS] + k, parent), digits)
    return unit, v.where((rest & cell_bit) != 0, rest, cells), digits


@inlined_kernel
def address_in(fields: int, changed: Any, block: Any, in_rows: bool) -> Any:
    """Return the bit addresses of units that change, in a block."""
    unit, rank = changed >> UNIT_SHIFT, rank_of_digits(changed)
    row_bits = v.take(16, fields + ROW_BITS, unit)
    address = block + rank * row_bits if in_rows else block * row_bits + rank
    return address + v.take(16, fields + TABLE_BIT, unit)


@inlined_kernel
def look_up(
    round_tables: VectorTables,
    at: StackMemory,
    of_sum: Int64s,
    children: int,
    to_units: int,
    n: int,
    is_far: bool,
    in_rows: bool,
    is_wide: bool,
) -> None:
    """Compute the units of a list's children in a sum after the move and their bit addresses, and prefetch those."""
    fields = of_sum[FIELDS]
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent, move = child & mem.PARENT_MASK, (child >> mem.MOVE_SHIFT) & 3
        given_blank = (of_parents(at, mem.STATE, parent) >> mem.BLANK_SHIFT) & CELL_MASK
        # Step 1. The unit that the tile belongs to.
        if is_wide:
            unit, cells, digits = unit_of_tile(at, of_sum, parent, child >> TILE_SHIFT)
            blank, cell = cells_in_frame(round_tables, of_sum, given_blank, move, unit, is_wide)
            blank_bit, cell_bit = v.splat(1) << blank, v.splat(1) << cell
        else:
            blank, cell = cells_in_frame(round_tables, of_sum, given_blank, move, given_blank, is_wide)
            blank_bit, cell_bit = v.splat(1) << blank, v.splat(1) << cell
            unit, cells, digits = unit_on_cell(round_tables, at, of_sum, parent, blank_bit, cell_bit)
        # Step 2. The tile jumps over the tiles of its unit between the two cells.
        if is_far:
            is_upward = cell < blank
            low, high_bit = v.where(is_upward, cell, blank), v.where(is_upward, blank_bit, cell_bit)
            place = (tiles_below(cells, low) * DIGIT_BITS + v.take(16, fields + FIRST_DIGIT, unit)) & LAST_BIT
            n_jumped = v.popcounts(((cells & (high_bit - 1)) >> (low + 1)) & round_tables.between)
            index = jump_index(digits, place, n_jumped, is_upward, round_tables.upward)
            digits = digits ^ (v.gather(16, round_tables.jumps, index) << place)
        changed = digits | (unit << UNIT_SHIFT)
        v.store(to_units + 4 * i, changed)
        # Step 3. The address, or on wide boards first the record.
        cells = cells ^ cell_bit ^ blank_bit
        if is_wide:
            # Of lanes behind the last child, the sets may have no record.
            of_set = record_of(round_tables, fields, unit, cells) | (cell << RECORD_BITS)
            address = v.where(v.iota() + i < n, of_set, 0)
        else:
            address = address_in(fields, changed, block_of(round_tables, cells, cell), in_rows)
        v.store(in_list(children, mem.ADDRESS, i), address)
    if is_wide:
        for i in range(n):
            index = load_word(in_list(children, mem.ADDRESS, i)) & RECORD_MASK
            prefetch(round_tables.sets + index * SET_BYTES)
        for i in range(0, n, v.LANES):
            of_set = v.load(in_list(children, mem.ADDRESS, i))
            block = blocks_of_records(round_tables.sets, of_set & RECORD_MASK, of_set >> RECORD_BITS)
            address = address_in(fields, v.load(to_units + 4 * i), block, in_rows)
            v.store(in_list(children, mem.ADDRESS, i), address)
    for i in range(n):
        prefetch(of_sum[MEMORY] + (load_word(in_list(children, mem.ADDRESS, i)) >> 3))


@inlined_kernel
def mark(at: StackMemory, of_sum: Int64s, s: int, children: int, to_units: int, i: int, n: int) -> Any:
    """Mark the children whose distance rose in sum `s`. Returns a mask of those within the threshold."""
    child, is_child = v.load(children + 4 * i), v.iota() + i < n
    # Lanes behind the last child may hold an address in another table.
    address = v.where(is_child, v.load(in_list(children, mem.ADDRESS, i)), 0)
    bit = v.gather(32, of_sum[MEMORY], address >> 5) >> (address & 31)
    # The bit that says that the distance rose is that of (distance + 1).
    expected = v.load(to_units + 4 * i) >> (VALUE_SHIFT + 1)
    rose = ((bit ^ expected) & 1) == 0
    left = of_parents(at, of_sum[mem.SLACK], child & mem.PARENT_MASK)
    exceeds = rose & (((left >> of_sum[mem.SLACK_SHIFT]) & mem.MAX_SLACK) == 0)
    v.store(children + 4 * i, child | v.where(rose, v.splat(1) << (ROSE_SHIFT + s), v.splat(0)))
    return v.without(is_child, exceeds)


@inlined_kernel
def join_lists(tables: EngineTables, at: StackMemory, n_rose: int, n_fell: int) -> None:
    """Put the children that fell behind those that rose: the stack's top is searched first."""
    risen, fallen = at.lists + mem.RISEN * at.list_bytes + 4 * n_rose, at.lists + mem.FALLEN * at.list_bytes
    for i in range(0, n_fell, v.LANES):
        v.store(risen + 4 * i, v.load(fallen + 4 * i))
        for column in range(UNITS, UNITS + tables.n_sums):
            v.store(in_list(risen, column, i), v.load(in_list(fallen, column, i)))


@inlined_kernel
def push(
    round_tables: VectorTables,
    tables: EngineTables,
    at: StackMemory,
    children: int,
    n: int,
    top: int,
    first_link: int,
    is_wide: bool,
) -> int:
    """Write a list of children to the stack from `top` on. Returns whether one of them has no moves left."""
    has_ended = 0
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent, move = child & mem.PARENT_MASK, (child >> mem.MOVE_SHIFT) & 3
        is_vertical = ((move ^ (move >> 1)) & 1) == 0
        to = at.stack + 4 * (top + i)
        # Step 1. The move, the slacks and the board.
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
        given_blank, given_cell = blank_and_cell(tables, at, parent, move)
        if is_wide:
            push_board(tables, at, parent, (child >> TILE_SHIFT) & CELL_MASK, given_blank, given_cell, to)
        # Step 2. In each sum one unit has changed.
        for s in range(tables.n_sums):
            of_sum = tables.sums[s]
            horizontal = v.load(in_list(children, of_sum[UNIT_COLUMN], i))
            vertical = v.load(in_list(children, of_sum[UNIT_COLUMN + 1], i))
            changed = v.where(is_vertical, vertical, horizontal)
            unit = changed >> UNIT_SHIFT
            blank, cell = cells_in_frame(round_tables, of_sum, given_blank, move, unit, is_wide)
            both, none = (v.splat(1) << cell) | (v.splat(1) << blank), v.splat(0)
            for k in range(0 if is_wide else 1, of_sum[N_UNITS], 1 if is_wide else 2):
                change = v.where(unit == k, both, none)
                column = of_sum[CELL_SETS] + k
                if not is_wide:
                    change = change | (v.where(unit == k + 1, both, none) << CELL_SET_BITS)
                    column = of_sum[CELL_SETS] + (k >> 1)
                v.store(to + column * at.stack_column, of_parents(at, column, parent) ^ change)
            rose = ((child >> (ROSE_SHIFT + s)) & 1) != 0
            after = (changed + v.where(rose, ONE_VALUE, v.splat(-ONE_VALUE))) & DIGITS_AND_VALUE
            for k in range(of_sum[N_UNITS]):
                column = of_sum[UNIT_DIGITS] + k
                v.store(to + column * at.stack_column, v.where(unit == k, after, of_parents(at, column, parent)))
    return has_ended


@inlined_kernel
def expand(
    round_tables: VectorTables,
    tables: EngineTables,
    at: StackMemory,
    n: int,
    top: int,
    first_link: int,
    in_rows: bool,
    is_wide: bool,
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`."""
    if is_wide:
        n_h, n_v = list_with_tiles(tables, at, n, top), new_counter()
    else:
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
                to_units = in_list(children, UNITS + k - 1, 0)
                n_left = new_counter()
                for i in range(0, n_list, v.LANES):
                    stays = mark(at, tables.sums[s], s, children, to_units, i, n_list)
                    if k < tables.n_sums:
                        n_left = append(tables, children, i, children, n_left, stays, UNITS + k)
                    else:
                        n_rises = v.popcounts(v.load(children + 4 * i) & ROSE_MASK)
                        n_rose, n_fell = sort(tables, at, children, i, stays, n_rises, n_rose, n_fell, UNITS + k)
                n_list = n_left
            if k < tables.n_sums:
                of_sum = tables.sums[round_tables.sum_order[f, k]]
                to_units = in_list(children, UNITS + k, 0)
                if is_wide or of_sum[IS_FAR + f] != 0:
                    look_up(round_tables, at, of_sum, children, to_units, n_list, True, in_rows, is_wide)
                else:
                    look_up(round_tables, at, of_sum, children, to_units, n_list, False, in_rows, is_wide)
            n_h, n_v = (n_h, n_list) if f != 0 else (n_list, n_v)
    join_lists(tables, at, n_rose, n_fell)
    n_left = n_rose + n_fell
    risen = at.lists + mem.RISEN * at.list_bytes
    has_ended = push(round_tables, tables, at, risen, n_left, top, first_link, is_wide)
    return generated, top + n_left, has_ended


def round_in(*, in_rows: bool, is_wide: bool) -> Any:
    """Return the round for a layout of nodes and tables, see `expand`."""

    @inlined_kernel
    def expand_in_layout(
        round_tables: VectorTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
    ) -> tuple[int, int, int]:
        return expand(round_tables, tables, at, n, top, first_link, in_rows, is_wide)

    return expand_in_layout


vector_round = round_in(in_rows=False, is_wide=False)
row_round = round_in(in_rows=True, is_wide=False)
wide_round = round_in(in_rows=False, is_wide=True)
