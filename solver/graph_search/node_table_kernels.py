"""Packed boards and the hash table of nodes."""

from typing import Any

import numpy as np

from pdb_core.jit import kernel

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
    """Write to children[child] (int64) the board packed at words[start] after `tile` has gone from `cell` to the
    blank.
    """
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
def find(packing: Any, rows: Any, row_size: int, slots: Any, children: Any, child: int, slot: int) -> int:
    """Look for the board packed at children[child] from its first slot on. Returns its slot, or -1 - (the empty slot
    for it).
    """
    while True:
        node = np.int64(slots[_at(slot)]) - 1
        if node < 0:
            return -1 - slot
        row = node * row_size
        is_same = True
        for i in range(packing.n_words):
            is_same &= (rows[_at(row + i)] & KEY_MASK) == children[_at(child + i)]
        if is_same:
            return slot
        slot = (slot + 1) & (len(slots) - 1)


@kernel
def rehash(packing: Any, rows: Any, row_size: int, slots: Any, first: int, last: int) -> None:
    """Enter nodes `first` to `last` - 1 into slots that are new. Of two nodes of one board the later counts."""
    child = np.empty(packing.n_words, dtype=np.int64)
    for node in range(first, last):
        row = node * row_size
        for i in range(packing.n_words):
            child[i] = rows[row + i] & KEY_MASK
        slot = find(packing, rows, row_size, slots, child, 0, first_slot(packing, rows, row, len(slots)))
        slots[_at(slot if slot >= 0 else -1 - slot)] = node + 1
