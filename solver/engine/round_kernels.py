"""Kernels that several kinds of rounds share: take nodes off the stack, list their children, push what all have.

A *round* expands up to 64 nodes of the stack. Its kinds differ in the tables and boards that they are made for.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount, prefetch
from pdb_core.jit import inlined_kernel
from solver.engine.layout import (
    ALLOWED_SHIFT,
    BATCH_COLUMN,
    BLANK_MASK,
    BLANK_SHIFT,
    FSM_STATE_MASK,
    LEFT,
    LINK,
    MOVE_SHIFT,
    ONE_MOVE,
    PARENT_MASK,
    RISEN,
    STATE,
)
from solver.vectors.vector_kernels import (
    LANES,
    bits_of,
    compress,
    gather_words,
    iota,
    load,
    load_word,
    splat,
    store,
    take_of_16,
    take_of_64,
    where,
)

# Boards of up to 28 cells, whose cells are bytes of a node's columns from `board_column` on.
CELL_MASK = 31
# A child has the tile that moves in its uppermost byte.
TILE_SHIFT = 24
# Of a table of 32 words, by tile.
TILES_BYTES = 4 * 32


@inlined_kernel
def take_nodes(tables: Any, at: Any, n: int, top: int) -> None:
    """Copy `n` nodes from `top` on into the batch."""
    for i in range(0, n, LANES):
        for column in range(tables.n_columns):
            node = load(at.stack + column * at.stack_column + 4 * (top + i))
            store(at.batch + column * BATCH_COLUMN + 4 * i, node)


@inlined_kernel
def legal_moves(tables: Any, state: Any, is_node: Any) -> Any:
    """Return the masks of the moves that the board and the operator pruning FSM allow, by the STATE of nodes."""
    legal = take_of_64(tables.legal, (state >> BLANK_SHIFT) & BLANK_MASK)
    return where(is_node, (state >> ALLOWED_SHIFT) & legal, 0)


@inlined_kernel
def list_move(tables: Any, at: Any, n: int, move: int, to: int, n_children: int) -> int:
    """Append the children of the batch by one move to a list of `n_children`. Returns its new length."""
    for i in range(0, n, LANES):
        moves = load(at.lists + RISEN * at.list_bytes + 4 * i)
        is_there = ((moves >> move) & 1) != 0
        child = (iota() + i) | (move << MOVE_SHIFT)
        store(to + 4 * n_children, compress(child, is_there, tables.permutations))
        n_children += popcount(bits_of(is_there))
    return n_children


@inlined_kernel
def list_children(tables: Any, at: Any, n: int, top: int) -> tuple[int, int]:
    """Copy `n` nodes from `top` on into the batch, and list their children. Returns how many moves are horizontal, and
    how many vertical.

    Children are listed move by move, so that their order does not depend on the lanes of a vector.
    """
    take_nodes(tables, at, n, top)
    for i in range(0, n, LANES):
        moves = legal_moves(tables, load(at.batch + STATE * BATCH_COLUMN + 4 * i), iota() + i < n)
        # The list of those that rise is not in use yet: it holds the moves of each node.
        store(at.lists + RISEN * at.list_bytes + 4 * i, moves)
    n_horizontal, n_vertical = 0, 0
    # Left, right, up, down.
    for k in range(4):
        move = (1, 2, 0, 3)[k]
        if k < 2:
            n_horizontal = list_move(tables, at, n, move, at.lists, n_horizontal)
        else:
            n_vertical = list_move(tables, at, n, move, at.lists + at.list_bytes, n_vertical)
    return n_horizontal, n_vertical


@inlined_kernel
def prefetch_successors(tables: Any, at: Any, n: int) -> None:
    """Prefetch the states after the moves of the batch: 16 bytes side by side, read when children are pushed."""
    for i in range(n):
        state = load_word(at.batch + STATE * BATCH_COLUMN + 4 * i) & FSM_STATE_MASK
        prefetch(tables.successors + (state << 4))


@inlined_kernel
def push_move(tables: Any, at: Any, child: Any, to: int, first_link: int) -> Any:
    """Write a vector of children to the stack: the blank, the moves allowed next, the parent. Returns their LEFT, with
    one move less.
    """
    parent = child & PARENT_MASK
    move = (child >> MOVE_SHIFT) & 3
    state = take_of_64(at.batch + STATE * BATCH_COLUMN, parent)
    cell = ((state >> BLANK_SHIFT) & BLANK_MASK) + take_of_16(tables.steps, move)
    after = gather_words(tables.successors, ((state & FSM_STATE_MASK) << 2) | move)
    store(to + STATE * at.stack_column, after | (cell << BLANK_SHIFT))
    store(to + LINK * at.stack_column, ((parent + first_link) << 2) | move)
    return take_of_64(at.batch + LEFT * BATCH_COLUMN, parent) - ONE_MOVE


@inlined_kernel
def rank_of_digits(digits: Any) -> Any:
    """Return the rank of Lehmer digits, three bits each, the last position at bit 21. Two digits a multiplication."""
    pair = ((digits & 7) | ((digits << 13) & 0x70000)) * ((5040 << 16) | 720)
    pair = pair + (((digits >> 6) & 7) | ((digits << 7) & 0x70000)) * ((120 << 16) | 24)
    pair = pair + (((digits >> 12) & 7) | ((digits << 1) & 0x70000)) * ((6 << 16) | 2)
    return (pair >> 16) + ((digits >> 18) & 7)


@inlined_kernel
def take_of_32(base: int, index: Any) -> Any:
    """Return the 32-bit words at base + 4 * index; index: below 32."""
    return where(index < 16, take_of_16(base, index & 15), take_of_16(base + 64, index & 15))


@inlined_kernel
def tile_on(tables: Any, at: Any, parent: Any, cell: Any) -> Any:
    """Return the tiles on a cell of nodes of the batch."""
    column = at.batch + tables.board_column * BATCH_COLUMN
    word = gather_words(column, ((cell >> 2) * (BATCH_COLUMN // 4)) + parent)
    return (word >> ((cell & 3) << 3)) & CELL_MASK


@inlined_kernel
def list_with_tiles(tables: Any, at: Any, n: int, top: int) -> int:
    """Copy `n` nodes from `top` on into the batch, and list their children with the tiles that move. Returns the number
    of children.

    Children are listed move by move: left, right, up, down, as in vector rounds, so that node counts are the same.
    """
    take_nodes(tables, at, n, top)
    # The list of those that rise is not in use yet: it holds the moves of each node.
    for i in range(0, n, LANES):
        moves = legal_moves(tables, load(at.batch + STATE * BATCH_COLUMN + 4 * i), iota() + i < n)
        store(at.lists + RISEN * at.list_bytes + 4 * i, moves)
    prefetch_successors(tables, at, n)
    n_children: Any = np.int64(0)
    for k in range(4):
        n_children = list_move(tables, at, n, (1, 2, 0, 3)[k], at.lists, n_children)
    for i in range(0, n_children, LANES):
        child = load(at.lists + 4 * i)
        parent = child & PARENT_MASK
        _, cell = blank_and_cell(tables, at, parent, (child >> MOVE_SHIFT) & 3)
        store(at.lists + 4 * i, child | (tile_on(tables, at, parent, cell) << TILE_SHIFT))
    return n_children  # type: ignore[no-any-return]


@inlined_kernel
def blank_and_cell(tables: Any, at: Any, parent: Any, move: Any) -> Any:
    """Return the blank's cells of nodes of the batch before and after moves."""
    blank = (take_of_64(at.batch + STATE * BATCH_COLUMN, parent) >> BLANK_SHIFT) & CELL_MASK
    return blank, (blank + take_of_16(tables.steps, move)) & CELL_MASK


@inlined_kernel
def push_board(tables: Any, at: Any, parent: Any, tile: Any, blank: Any, cell: Any, to: int) -> None:
    """Write boards to the stack in which tiles on a cell and the blank change places."""
    tile_before, tile_after = tile << ((cell & 3) << 3), tile << ((blank & 3) << 3)
    for k in range((tables.n_cells + 3) >> 2):
        column = tables.board_column + k
        word = take_of_64(at.batch + column * BATCH_COLUMN, parent)
        word = word ^ where((cell >> 2) == k, tile_before, splat(0)) ^ where((blank >> 2) == k, tile_after, splat(0))
        store(to + column * at.stack_column, word)
