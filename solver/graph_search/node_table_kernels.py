"""Packed boards, the hash table of nodes, and the children of a node."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import prefetch, trailing_zeros
from pdb_core.jit import inlined_kernel, kernel
from solver.board_arrays import N_MOVES

# Bits of a word that hold the board: the same number for tiles of 4, 5 and 6 bits.
KEY_BITS = 60
KEY_MASK = (1 << KEY_BITS) - 1

_HALF_BITS = 30
_HALF_MASK = (1 << _HALF_BITS) - 1
_WORD32 = (1 << 32) - 1
# Odd numbers without structure below 2^30, so that no product below leaves 63 bits: the fractional parts of the square
# roots of 2, 3 and 5.
_LOWER, _UPPER, _MIX = 444_758_425, 786_033_569, 253_476_061

_at = np.uint64


@kernel
def unpack(packing: Any, words: Any, start: int, board: Any) -> int:
    """Write the board packed at words[start] (int64) to `board` (uint8[n_cells]). Returns the blank's cell."""
    n_cells = packing.n_cells
    left = n_cells * (n_cells - 1) // 2
    blank = n_cells - 1
    tile_mask = (1 << packing.tile_bits) - 1
    for cell in range(n_cells - 1):
        word = words[_at(start + packing.places[_at(cell)])]
        tile = (word >> packing.shifts[_at(cell)]) & tile_mask
        board[_at(cell)] = tile
        left -= tile
        blank = cell if tile == 0 else blank
    board[_at(n_cells - 1)] = left
    return blank  # type: ignore[no-any-return]


@kernel
def move_packed(
    packing: Any, words: Any, start: int, children: Any, child: int, tile: Any, blank: int, cell: int
) -> None:
    """Write to children[child] (int64) the board packed at words[start], with `tile` moved from `cell` to `blank`."""
    for i in range(packing.n_words):
        children[_at(child + i)] = words[_at(start + i)] & KEY_MASK
    if packing.places[_at(cell)] >= 0:
        children[_at(child + packing.places[_at(cell)])] ^= tile << packing.shifts[_at(cell)]
    if packing.places[_at(blank)] >= 0:
        children[_at(child + packing.places[_at(blank)])] ^= tile << packing.shifts[_at(blank)]


@kernel
def first_slot(packing: Any, words: Any, start: int, n_slots: int) -> int:
    """Return the first slot to try for the board packed at words[start]; n_slots is a power of 2.

    No product overflows, so that it is the same with the JIT off.
    """
    state = 0
    for i in range(packing.n_words):
        word = words[_at(start + i)] & KEY_MASK
        product = (word & _HALF_MASK) * _LOWER + (word >> _HALF_BITS) * _UPPER
        state = ((state * _MIX) >> 11) ^ product ^ (product >> 31)
        state &= _WORD32
    return ((state * _MIX) >> 20) & (n_slots - 1)


@kernel
def find(packing: Any, nodes: Any, children: Any, child: int, slot: int) -> int:
    """Look for the board packed at children[child] from its first slot on; nodes: `Nodes`.

    Returns its slot, or -1 - (the empty slot for it).
    """
    while True:
        node = np.int64(nodes.slots[_at(slot)]) - 1
        if node < 0:
            return -1 - slot
        row = node * nodes.row_size
        is_same = True
        for i in range(packing.n_words):
            is_same &= (nodes.rows[_at(row + i)] & KEY_MASK) == children[_at(child + i)]
        if is_same:
            return slot
        slot = (slot + 1) & (len(nodes.slots) - 1)


@kernel
def rehash(packing: Any, nodes: Any, first: int, last: int) -> None:
    """Enter nodes `first` to `last` - 1 into slots that are new. Of two nodes of one board the later counts."""
    child = np.empty(packing.n_words, dtype=np.int64)
    for node in range(first, last):
        row = node * nodes.row_size
        for i in range(packing.n_words):
            child[i] = nodes.rows[row + i] & KEY_MASK
        slot = find(packing, nodes, child, 0, first_slot(packing, nodes.rows, row, len(nodes.slots)))
        nodes.slots[_at(slot if slot >= 0 else -1 - slot)] = node + 1


@inlined_kernel
def list_children(packing: Any, nodes: Any, scratch: Any, parent: int, last_move: int) -> tuple[int, int]:
    """Write the board of a node, its packed children and their first slots to `scratch`, and prefetch their nodes.

    last_move  the move that led to the node, which is not undone; -1 for a root
    Returns the blank's cell and the mask of the moves to the children.
    """
    slot_base, row_base = nodes.slots.ctypes.data, nodes.rows.ctypes.data
    row = parent * nodes.row_size
    blank = unpack(packing, nodes.rows, row, scratch.board)
    moves = packing.cell_moves[_at(blank)]
    if last_move >= 0:
        moves &= ~(1 << (N_MOVES - 1 - last_move))
    untried = moves
    while untried != 0:
        move = trailing_zeros(untried)
        untried &= untried - 1
        cell = packing.edge_cells[_at(blank * N_MOVES + move)]
        child = move * packing.n_words
        tile = np.int64(scratch.board[_at(cell)])
        move_packed(packing, nodes.rows, row, scratch.children, child, tile, blank, cell)
        slot = first_slot(packing, scratch.children, child, len(nodes.slots))
        scratch.slots[_at(move)] = slot
        prefetch(slot_base + 4 * slot)
    untried = moves
    while untried != 0:
        move = trailing_zeros(untried)
        untried &= untried - 1
        node = np.int64(nodes.slots[_at(scratch.slots[_at(move)])]) - 1
        prefetch(row_base + 8 * nodes.row_size * max(node, 0))
    return blank, moves
