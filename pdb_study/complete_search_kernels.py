"""Kernels of the complete breadth-first search with one bit per board.

`complete_search` explains boards, orders and words. The *classes* of a word are the pairs of the labels at its
positions. All kernels process a slab of words, `start` to `stop` - 1, and may run at once on disjoint slabs.
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
def class_word(word: int, n_completions: Any, n_skipped: Any, classes: Any) -> None:
    """Write the classes of a word into `classes` (int64[k]); the other arrays are those of `link_words`."""
    left = n_completions.shape[0] - 1
    n_classes = n_skipped.shape[1]
    for position in range(classes.shape[0]):
        # The last class whose first word is not after this one.
        chosen, weight, chosen_weight = -1, 1, 1
        for pair in range(n_classes):
            if (left // weight) % 3 != 0 and n_skipped[left, pair] <= word:
                chosen, chosen_weight = pair, weight
            weight *= 3
        word -= n_skipped[left, chosen]
        left -= chosen_weight
        classes[position] = chosen


@kernel
def link_words(
    start: int, stop: int, width: int, n_pairs: int, n_completions: Any, n_skipped: Any, classes: Any, lefts: Any,
    ranks: Any, from_above: Any, from_below: Any,
) -> None:  # fmt: skip
    """Find the word, and the swap within it, from which each vertical move of the blank leads to a word.

    n_completions  int64[s]     the number of words of the remaining tiles, whose index has a base-3 digit per class
    n_skipped      int64[s, n]  the number of words before those that continue with a class
    classes, lefts, ranks       scratch, int64[k], int64[k + 1], int64[k + 1]
    from_above     uint32[j, n_words]  mutated: for a blank now `width` cells after cell j, the word it had on cell j,
                                       with the number of the pair swapped, plus one, in the upper 8 bits
    from_below     uint32[j, n_words]  mutated: for a blank now on cell j, the word it had `width` cells after
    """
    n_tiles = classes.shape[0]
    n_jumps = from_above.shape[0]
    for word in range(start, stop):
        class_word(word, n_completions, n_skipped, classes)
        lefts[0], ranks[0] = n_completions.shape[0] - 1, 0
        for position in range(n_tiles):
            weight = 3 ** classes[position]
            lefts[position + 1] = lefts[position] - weight
            ranks[position + 1] = ranks[position] + n_skipped[lefts[position], classes[position]]
        for first in range(n_jumps):
            last = first + width - 1
            # Positions before and after the moved and the passed tiles keep their part of the rank.
            rest = word - (ranks[last + 1] - ranks[first])

            moved, passes_partner = classes[last], False
            left = lefts[first] - 3**moved
            rank = rest + n_skipped[lefts[first], moved]
            for position in range(first, last):
                rank += n_skipped[left, classes[position]]
                left -= 3 ** classes[position]
                passes_partner |= classes[position] == moved
            swapped = moved + 1 if passes_partner and moved < n_pairs - 1 else 0
            from_below[first, word] = rank | (swapped << LINK_BITS)

            moved, passes_partner = classes[first], False
            left, rank = lefts[first], rest
            for position in range(first + 1, last + 1):
                rank += n_skipped[left, classes[position]]
                left -= 3 ** classes[position]
                passes_partner |= classes[position] == moved
            rank += n_skipped[left, moved]
            swapped = moved + 1 if passes_partner and moved < n_pairs - 1 else 0
            from_above[first, word] = rank | (swapped << LINK_BITS)


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
    left, right, above, below    the neighbours of the cell with boards on the level before, else -1
    rows           uint16[n_cells, n]  mutated: the words `start` to `stop` - 1 of row `cell`
    received       uint16[m]           scratch, m a multiple of 4
    wide_...       the same memory, as uint64
    from_above, from_below    as in `link_words`
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
