"""Words: the bits of up to 16 arrangements of a block, which a jump moves together. Used by the search kernels.

Swapping two labels commutes with jumps. Take all arrangements that differ only by swaps within the pairs of labels
(0,1), (2,3), (4,5), (6,7): 2, 4, 8 or 16 of them. A jump takes them to arrangements that again differ only by such
swaps. These arrangements are one *word*, with a bit for each choice of swaps: bit number h has binary digit q set if
label 2q+1 comes before label 2q.

A jump of one label over others reverses the order of at most one pair, the pair of that label. So a jump moves whole
words. Within a word it changes nothing, or it exchanges the bits whose numbers differ in one binary digit, by two
shifts. So up to 16 bits move at once instead of one.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pdb_build.search_kernels import SOURCE_BITS, TARGET_BITS, WordJumps
from pdb_core.layout import jump_permutation, jump_positions
from pdb_core.ranking import lexicographic_arrangements
from pdb_core.types import UInt32s

MAX_PAIRS = 4


@dataclass(frozen=True, eq=False)
class WordLayout:
    """Words of k labels, and the effect of each jump on them.

    dtype         of a word: uint8 or uint16
    slot_of_rank  uint32[k!]  slot of each arrangement: word * bits of a word + bit
    rank_of_slot  uint32      the inverse, for all bits of all words; 0 for unused bits
    """

    dtype: type[np.uint8] | type[np.uint16]
    slot_of_rank: UInt32s
    rank_of_slot: UInt32s
    jumps: WordJumps


def row_bytes(n_tiles: int) -> int:
    """Return the bytes of the row of words of a block, rounded up to 64-bit integers."""
    n_pairs = min(n_tiles // 2, MAX_PAIRS)
    n_words = math.factorial(n_tiles) >> n_pairs
    return -(-n_words * (2 if n_pairs == MAX_PAIRS else 1) // 8) * 8


@lru_cache(maxsize=4)
def word_layout(n_tiles: int, width: int) -> WordLayout:
    """Return the words of `n_tiles` labels for the jumps on a board of that width."""
    n_pairs = min(n_tiles // 2, MAX_PAIRS)
    dtype = np.uint16 if n_pairs == MAX_PAIRS else np.uint8
    bits = 8 * np.dtype(dtype).itemsize
    n_words = math.factorial(n_tiles) >> n_pairs

    # The positions of each pair, in either order, identify the word.
    places = np.argsort(lexicographic_arrangements(n_tiles), axis=1, kind="stable")
    key = np.zeros(len(places), dtype=np.int64)
    bit = np.zeros(len(places), dtype=np.int64)
    for pair in range(n_pairs):
        first, second = places[:, 2 * pair], places[:, 2 * pair + 1]
        bit |= (second < first).astype(np.int64) << pair
        key = (key * n_tiles + np.minimum(first, second)) * n_tiles + np.maximum(first, second)
    for label in range(2 * n_pairs, n_tiles):
        key = key * n_tiles + places[:, label]
    word = np.unique(key, return_inverse=True)[1].reshape(-1)
    slot_of_rank = (word * bits + bit).astype(np.uint32)
    rank_of_slot = np.zeros(n_words * bits, dtype=np.uint32)
    rank_of_slot[slot_of_rank] = np.arange(len(slot_of_rank), dtype=np.uint32)

    # A word goes where the arrangement of its bit 0 goes. The bit it arrives at gives the digit that is exchanged.
    digit_of_bit = np.zeros(bits, dtype=np.uint32)
    digit_of_bit[[1 << pair for pair in range(n_pairs)]] = np.arange(1, n_pairs + 1)
    representatives = rank_of_slot[np.arange(n_words) * bits]
    positions = jump_positions(n_tiles, width)
    jumps = WordJumps(
        np.empty((len(positions), n_words), dtype=np.uint64),
        np.zeros((len(positions), MAX_PAIRS + 2), dtype=np.int64),
        np.empty((len(positions), n_words), dtype=np.uint32),
    )
    for jump, (before, after) in enumerate(positions):
        arrived = slot_of_rank[jump_permutation(n_tiles, before, after)[representatives]]
        target, digit = arrived // bits, digit_of_bit[arrived % bits]
        order = np.argsort(digit, kind="stable").astype(np.uint64)
        jumps.by_source[jump] = target | (digit << TARGET_BITS)
        jumps.by_digit[jump] = order | (target[order].astype(np.uint64) << np.uint64(SOURCE_BITS))
        jumps.first[jump, 1:] = np.cumsum(np.bincount(digit, minlength=MAX_PAIRS + 1))
    return WordLayout(dtype, slot_of_rank, rank_of_slot, jumps)
