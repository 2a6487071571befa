"""Kernels of the complete breadth-first search with one bit per board.

`complete_search` explains boards, orders, words and links. The kernels process a slab of words, `start` to `stop` - 1,
and may run at once on disjoint slabs.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import kernel

LINK_BITS = 24
_at = np.uint64
_LINK_MASK = (1 << LINK_BITS) - 1
# A swap within no pair, or pair 0, 1, 2 or 3, moves these bits of a word up by these places, and the others down.
_SWAPPED_BITS = np.array([0xFFFF, 0x5555, 0x3333, 0x0F0F, 0x00FF], dtype=np.int64)
_SWAP_PLACES = np.array([0, 1, 2, 4, 8], dtype=np.int64)


@kernel
def gather_words(row: Any, links: Any, start: int, stop: int, received: Any) -> None:
    """Add the boards that a vertical move brings to words `start` to `stop` - 1 of a row to `received` (uint16)."""
    for i in range(stop - start):
        link = np.int64(links[_at(start + i)])
        word = np.int64(row[_at(link & _LINK_MASK)])
        swapped = link >> LINK_BITS
        bits, places = _SWAPPED_BITS[_at(swapped)], _SWAP_PLACES[_at(swapped)]
        received[_at(i)] |= ((word & bits) << places) | ((word >> places) & bits)


@kernel
def advance_words(
    start: int, stop: int, cell: int, left: int, right: int, above: int, below: int, rows: Any,
    wide_rows: Any, from_above: Any, from_below: Any, received: Any, wide_received: Any,
) -> int:  # fmt: skip
    """Advance the boards with the blank on `cell` by two levels; return how many are new.

    start, stop    multiples of 4
    left, right, above, below    the neighbours of the cell, else -1
    rows           uint16[n_cells, n]  mutated: the words `start` to `stop` - 1 of row `cell`
    received       uint16[m]           scratch, m a multiple of 4
    wide_...       the same memory, as uint64
    from_above, from_below    uint32[j, n_words]  for each cell with a cell below, the links of a blank that arrives
                              on the lower cell, and of one that arrives on the cell itself
    """
    n_new = 0
    for first in range(start, stop, received.shape[0]):
        last = min(stop, first + received.shape[0])
        first_wide, n_wide = first // 4, (last - first) // 4

        # Step 1. Sideways moves keep the order of the tiles.
        for i in range(n_wide):
            wide_received[i] = 0
        if left >= 0:
            for i in range(n_wide):
                wide_received[i] |= wide_rows[left, first_wide + i]
        if right >= 0:
            for i in range(n_wide):
                wide_received[i] |= wide_rows[right, first_wide + i]

        # Step 2. Vertical moves map words to words.
        n_words = from_above.shape[1]
        if above >= 0:
            gather_words(rows[above], from_above[above], first, min(last, n_words), received)
        if below >= 0:
            gather_words(rows[below], from_below[cell], first, min(last, n_words), received)

        # Step 3. Boards that are not in the level before last are new.
        for i in range(n_wide):
            new = wide_received[i] & ~wide_rows[cell, first_wide + i]
            wide_rows[cell, first_wide + i] = new
            n_new += popcount(new)
    return n_new
