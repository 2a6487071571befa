"""Kernels that several kinds of rounds share: take nodes off the stack, list their children, push what all have.

A *round* expands up to 64 nodes of the stack. Its kinds differ in the tables and boards that they are made for.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import load_byte, load_word, popcount, prefetch
from pdb_core.jit import inlined_kernel, kernel
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.vectors import vector_kernels as v

# Boards of up to 26 cells, whose cells are bytes of a node's columns from `board_column` on.
CELL_MASK = 31
# A record of a cell set in tables in bits, 16 bytes for up to 26 cells:
#
#     byte 0 to 2      3                   4                         15
#        | first block | regions of cells 0 and 1 | cells 2 and 3 | ... |
#
# A region is that of the blank on the cell, four bits, the cell with the even number lowest.
SET_BYTES, FIRST_REGION, FIRST_BLOCK_MASK, MAX_REGIONS = 16, 3, (1 << 24) - 1, 16
# Above the move, a child of some rounds has its position in the other columns, or in the list before some were dropped,
# and in its uppermost byte the tile that moves.
INDEX_SHIFT, INDEX_MASK = 8, mem.MAX_CHILDREN - 1
TILE_SHIFT = 24
# Vector rounds keep the Lehmer digits of an arrangement, three bits each. With k tiles, position 0 begins at bit
# 3 * (8 - k). Above the digits is the distance, as (distance + 1) modulo 4:
#
#     26         24              21                         0
#     | distance | last position  | ... | position 0 | ...  |
DIGIT_BITS, MAX_DIGITS, VALUE_SHIFT = 3, 8, 24
# The largest address of a bit in a table: lanes have 32 bits.
LAST_ADDRESS = (1 << 32) - 1
# Of a table of 32 words, by tile.
TILES_BYTES = 4 * 32


@inlined_kernel
def new_counter() -> Any:
    """Return 0, which is not a constant: numba would compile kernels once more for one."""
    return np.int64(0)


@inlined_kernel
def on_stack(at: StackMemory, column: int, node: int) -> int:
    """Return the address of a column of a node of the stack."""
    return at.stack + column * at.stack_column + 4 * node


@inlined_kernel
def in_batch(at: StackMemory, column: int, node: int) -> int:
    """Return the address of a column of a node of the batch."""
    return at.batch + column * mem.BATCH_COLUMN + 4 * node


@inlined_kernel
def in_list(children: int, column: int, child: int) -> int:
    """Return the address of a column of a child of a list."""
    return children + column * mem.LIST_COLUMN + 4 * child


@inlined_kernel
def take_nodes(tables: EngineTables, at: StackMemory, n: int, top: int) -> None:
    """Copy `n` nodes from `top` on into the batch."""
    for i in range(0, n, v.LANES):
        for column in range(tables.n_columns):
            node = v.load(on_stack(at, column, top + i))
            v.store(in_batch(at, column, i), node)


@inlined_kernel
def of_parents(at: StackMemory, column: int, parent: Any) -> Any:
    """Return a column of nodes of the batch."""
    return v.take(64, at.batch + column * mem.BATCH_COLUMN, parent)


@inlined_kernel
def legal_moves(tables: EngineTables, state: Any, is_node: Any) -> Any:
    """Return the masks of the moves that the board and the operator pruning FSM allow, by the STATE of nodes."""
    legal = v.take(64, tables.legal, (state >> mem.BLANK_SHIFT) & mem.BLANK_MASK)
    return v.where(is_node, (state >> mem.ALLOWED_SHIFT) & legal, 0)


@inlined_kernel
def moves_of_node(tables: EngineTables, state: int) -> tuple[int, int]:
    """Return the blank's cell of a node, and what `legal_moves` returns, by its STATE."""
    blank = (state >> mem.BLANK_SHIFT) & mem.BLANK_MASK
    return blank, (state >> mem.ALLOWED_SHIFT) & load_word(tables.legal + 4 * blank)


@inlined_kernel
def list_move(tables: EngineTables, at: StackMemory, n: int, move: int, to: int, n_children: int) -> int:
    """Append the children of the batch by one move to a list of `n_children`. Returns its new length."""
    for i in range(0, n, v.LANES):
        is_there = ((v.load(at.lists + mem.RISEN * at.list_bytes + 4 * i) >> move) & 1) != 0
        child = (v.iota() + i) | (move << mem.MOVE_SHIFT)
        v.store(to + 4 * n_children, v.compress(child, is_there, tables.permutations))
        n_children += popcount(v.bits_of(is_there))
    return n_children


@inlined_kernel
def list_children(tables: EngineTables, at: StackMemory, n: int, top: int, vertical: int) -> tuple[int, int]:
    """Copy `n` nodes from `top` on into the batch, and list their children. Returns the lengths of both lists.

    Children of horizontal moves are in the first list, those of vertical moves in the list `vertical`. If that is the
    first list too, they are appended. Children are listed move by move, so that their order does not depend on the
    lanes of a vector.
    """
    take_nodes(tables, at, n, top)
    for i in range(0, n, v.LANES):
        moves = legal_moves(tables, v.load(in_batch(at, mem.STATE, i)), v.iota() + i < n)
        # The list of those that rise is not in use yet: it holds the moves of each node.
        v.store(at.lists + mem.RISEN * at.list_bytes + 4 * i, moves)
    n_horizontal = list_move(tables, at, n, 1, at.lists, new_counter())
    n_horizontal = list_move(tables, at, n, 2, at.lists, n_horizontal)
    n_vertical = list_move(tables, at, n, 0, vertical, n_horizontal if vertical == at.lists else 0)
    n_vertical = list_move(tables, at, n, 3, vertical, n_vertical)
    return n_horizontal, n_vertical


@inlined_kernel
def append(tables: EngineTables, children: int, i: int, to: int, n: int, mask: Any, n_columns: int) -> int:
    """Append the lanes of a mask of vector `i`, all columns but ADDRESS, to a list of `n`. Returns its new length."""
    for column in range(n_columns):
        if column != mem.ADDRESS:
            lanes = v.compress(v.load(in_list(children, column, i)), mask, tables.permutations)
            v.store(in_list(to, column, n), lanes)
    return n + popcount(v.bits_of(mask))


@inlined_kernel
def sort(
    tables: EngineTables,
    at: StackMemory,
    children: int,
    i: int,
    stays: Any,
    n_rises: Any,
    n_rose: int,
    n_fell: int,
    n_columns: int,
) -> Any:
    """Append the lanes of a mask to RISEN, if half of the sums or more rose, or to FALLEN. Returns both lengths."""
    fell = stays & (n_rises * 2 < tables.n_sums)
    risen, fallen = at.lists + mem.RISEN * at.list_bytes, at.lists + mem.FALLEN * at.list_bytes
    n_rose = append(tables, children, i, risen, n_rose, v.without(stays, fell), n_columns)
    return n_rose, append(tables, children, i, fallen, n_fell, fell, n_columns)


@inlined_kernel
def push_move(tables: EngineTables, at: StackMemory, child: Any, to: int, first_link: int) -> Any:
    """Write the blank, the moves allowed next and the parent of children. Returns their MOVES_LEFT, one move less."""
    parent = child & mem.PARENT_MASK
    move = (child >> mem.MOVE_SHIFT) & 3
    state = of_parents(at, mem.STATE, parent)
    cell = ((state >> mem.BLANK_SHIFT) & mem.BLANK_MASK) + v.take(16, tables.steps, move)
    after = v.gather(32, tables.successors, ((state & mem.FSM_STATE_MASK) << 2) | move)
    v.store(to + mem.STATE * at.stack_column, after | (cell << mem.BLANK_SHIFT))
    v.store(to + mem.LINK * at.stack_column, ((parent + first_link) << 2) | move)
    return of_parents(at, mem.MOVES_LEFT, parent) - mem.ONE_MOVE


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
            packed |= smaller << (DIGIT_BITS * (MAX_DIGITS - n_tiles + first))
        digits[i] = packed


@inlined_kernel
def jump_index(digits: Any, place: Any, n_jumped: Any, is_upward: Any, upward: int) -> Any:
    """Return the index of the change of digits, `place` bits up, when tiles jump over `n_jumped` others of their unit.

    Here for a tile that jumps over two others, on boards of 4 columns, where `upward` is bit 13:

        13       13    10  9                6                 3                0
        | upward | ... | 1 | third position | second position | first position |

    The 1 marks the end of the digits. The tile is at the first position if it moves upward, which means to a cell with
    a higher number, and otherwise at the last one.
    """
    marker = v.splat(8) << (n_jumped * DIGIT_BITS)
    return ((digits >> place) & (marker - 1)) | marker | v.where(is_upward, upward, v.splat(0))


@inlined_kernel
def tiles_below(cells: Any, cell: Any) -> Any:
    """Return the number of tiles on cells with smaller numbers: the position of a tile among those of its unit."""
    return v.popcounts(cells & ((v.splat(1) << cell) - 1))


@inlined_kernel
def parts_of_set(cells: Any, low_bits: int, high_bits: int) -> Any:
    """Return where the two parts of the ranks of cell sets are in their tables, see `UnitTables`."""
    lower = cells & ((1 << low_bits) - 1)
    return lower, (v.popcounts(lower) << high_bits) + (cells >> low_bits)


@inlined_kernel
def block_of_record(sets: int, record: int, cell: int) -> int:
    """Return the block of a cell set by the number of its record, with the blank on a cell."""
    address = sets + record * SET_BYTES
    region = load_byte(address + FIRST_REGION + (cell >> 1)) >> ((cell & 1) << 2)
    return (load_word(address) & FIRST_BLOCK_MASK) + (region & (MAX_REGIONS - 1))


@inlined_kernel
def blocks_of_records(sets: int, record: Any, cell: Any) -> Any:
    """Return what `block_of_record` does, for vectors."""
    byte = record * SET_BYTES + FIRST_REGION + (cell >> 1)
    region = v.gather(32, sets, byte >> 2) >> (((byte & 3) << 3) + ((cell & 1) << 2))
    return (v.gather(32, sets, record * (SET_BYTES // 4)) & FIRST_BLOCK_MASK) + (region & (MAX_REGIONS - 1))


@inlined_kernel
def rank_of_digits(digits: Any) -> Any:
    """Return the rank of Lehmer digits, three bits each, the last position at bit 21. Two digits a multiplication."""
    pair = ((digits & 7) | ((digits << 13) & 0x70000)) * ((5040 << 16) | 720)
    pair = pair + (((digits >> 6) & 7) | ((digits << 7) & 0x70000)) * ((120 << 16) | 24)
    pair = pair + (((digits >> 12) & 7) | ((digits << 1) & 0x70000)) * ((6 << 16) | 2)
    return (pair >> 16) + ((digits >> 18) & 7)


@inlined_kernel
def list_with_tiles(tables: EngineTables, at: StackMemory, n: int, top: int) -> int:
    """List the children of `n` nodes from `top` on with the tiles that move. Returns the number of children."""
    _, n_children = list_children(tables, at, n, top, at.lists)
    # The states after the moves of a node are 16 bytes side by side. They are read when children are pushed.
    for i in range(n):
        state = load_word(in_batch(at, mem.STATE, i)) & mem.FSM_STATE_MASK
        prefetch(tables.successors + (state << 4))
    for i in range(0, n_children, v.LANES):
        child = v.load(at.lists + 4 * i)
        parent = child & mem.PARENT_MASK
        _, cell = blank_and_cell(tables, at, parent, (child >> mem.MOVE_SHIFT) & 3)
        column = at.batch + tables.board_column * mem.BATCH_COLUMN
        word = v.gather(32, column, ((cell >> 2) * (mem.BATCH_COLUMN // 4)) + parent)
        tile = (word >> ((cell & 3) << 3)) & CELL_MASK
        v.store(at.lists + 4 * i, child | (tile << TILE_SHIFT))
    return n_children


@inlined_kernel
def blank_and_cell(tables: EngineTables, at: StackMemory, parent: Any, move: Any) -> Any:
    """Return the blank's cells of nodes of the batch before and after moves."""
    blank = (of_parents(at, mem.STATE, parent) >> mem.BLANK_SHIFT) & CELL_MASK
    return blank, (blank + v.take(16, tables.steps, move)) & CELL_MASK


@inlined_kernel
def push_board(tables: EngineTables, at: StackMemory, parent: Any, tile: Any, blank: Any, cell: Any, to: int) -> None:
    """Write boards to the stack in which tiles on a cell and the blank change places."""
    tile_before, tile_after = tile << ((cell & 3) << 3), tile << ((blank & 3) << 3)
    for k in range((tables.n_cells + 3) >> 2):
        column = tables.board_column + k
        word = of_parents(at, column, parent)
        word = (
            word
            ^ v.where((cell >> 2) == k, tile_before, v.splat(0))
            ^ v.where((blank >> 2) == k, tile_after, v.splat(0))
        )
        v.store(to + column * at.stack_column, word)
