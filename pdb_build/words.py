"""How a search keeps the arrangements of a block: as words of bits that move as a whole.

Renaming tiles commutes with moving them: it does not matter whether two tiles swap names before or after a third one
jumps over them. So take the arrangements that differ only by swapping names within the pairs of labels (0,1), (2,3),
(4,5), (6,7). They are 2, 4, 8 or 16, and a jump takes them to arrangements that again differ only so. Such a group is
one *word*, with a bit for each choice of swaps: bit number h has bit q set where label 2q+1 comes before label 2q.

The jump of one label past a few others turns round the order of at most one pair, that of the label itself. So a jump
moves whole words, and within a word does nothing, or exchanges the bits whose numbers differ in one binary digit, which
takes two shifts. Instead of one bit at a time, up to 16 move at once.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pdb_core.layout import jump_permutation, jump_positions
from pdb_core.ranking import lexicographic_arrangements

MAX_PAIRS = 4
# In `WordLayout.jumps` the target stands above the source; in `WordLayout.targets` the digit above the target.
SOURCE_BITS = 32
TARGET_BITS = 24


@dataclass(frozen=True, eq=False)
class WordLayout:
    """The words of k labels.

    dtype         of a word: uint8 or uint16
    n_words       words that hold the k! arrangements of a block
    slot_of_rank  uint32[k!]              word * bits of a word + bit, of each arrangement
    rank_of_slot  uint32[n_words * bits]  the inverse; 0 for bits that stand for nothing
    jumps         uint64[n_jumps, n_words]  source word | target word << 32 of every word a jump moves; those that it
                  does not change first, then those in which it exchanges digit 0 of the bit numbers, and so on
    first_jumps   int64[n_jumps, 6]       where the words that are not changed start, where those of digit 0, ...
    targets       uint32[n_jumps, n_words]  the same by source: target | (digit + 1) << 24, nothing there for no digit
    """

    n_tiles: int
    dtype: type[np.uint8] | type[np.uint16]
    n_words: int
    slot_of_rank: npt.NDArray[np.uint32]
    rank_of_slot: npt.NDArray[np.uint32]
    jumps: npt.NDArray[np.uint64]
    first_jumps: npt.NDArray[np.int64]
    targets: npt.NDArray[np.uint32]

    @property
    def bits(self) -> int:
        """Bits of a word."""
        return 8 * np.dtype(self.dtype).itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of a block's row of words, filled up to whole 64-bit integers."""
        return row_bytes(self.n_tiles)


def row_bytes(n_tiles: int) -> int:
    """Bytes of a block's row of words, filled up to whole 64-bit integers."""
    n_pairs = min(n_tiles // 2, MAX_PAIRS)
    n_words = math.factorial(n_tiles) >> n_pairs
    return -(-n_words * (2 if n_pairs == MAX_PAIRS else 1) // 8) * 8


@lru_cache(maxsize=4)
def word_layout(n_tiles: int, width: int) -> WordLayout:
    """The words of k labels, and what the jumps on a board of that width do to them."""
    n_pairs = min(n_tiles // 2, MAX_PAIRS)
    dtype = np.uint16 if n_pairs == MAX_PAIRS else np.uint8
    bits = 8 * np.dtype(dtype).itemsize
    n_words = math.factorial(n_tiles) >> n_pairs

    # The word is told by the places of each pair, whichever of its labels stands on which.
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

    # Where the arrangement of bit 0 goes, its word goes; the bit it arrives at is the digit that is exchanged.
    digit_of_bit = np.zeros(bits, dtype=np.uint32)
    digit_of_bit[[1 << pair for pair in range(n_pairs)]] = np.arange(1, n_pairs + 1)
    representatives = rank_of_slot[np.arange(n_words) * bits]
    positions = jump_positions(n_tiles, width)
    jumps = np.empty((len(positions), n_words), dtype=np.uint64)
    first_jumps = np.zeros((len(positions), MAX_PAIRS + 2), dtype=np.int64)
    targets = np.empty((len(positions), n_words), dtype=np.uint32)
    for jump, (before, after) in enumerate(positions):
        arrived = slot_of_rank[jump_permutation(n_tiles, before, after)[representatives]]
        target, digit = arrived // bits, digit_of_bit[arrived % bits]
        order = np.argsort(digit, kind="stable").astype(np.uint64)
        targets[jump] = target | (digit << TARGET_BITS)
        jumps[jump] = order | (target[order].astype(np.uint64) << np.uint64(SOURCE_BITS))
        first_jumps[jump, 1:] = np.cumsum(np.bincount(digit, minlength=MAX_PAIRS + 1))
    return WordLayout(n_tiles, dtype, n_words, slot_of_rank, rank_of_slot, jumps, first_jumps, targets)
