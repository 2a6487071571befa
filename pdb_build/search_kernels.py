"""Kernels of the backward breadth-first search over blocks.

The arrangements of a block are a row of bits, grouped in words as `word_layout` describes. A step *pulls*: the thread
of a block gathers into its row the rows of all blocks that a move leads from. So no two threads write the same row, and
the result does not depend on their number.

One row per block is enough. A move changes the colour of the cell of a tile, so all states of a cell set have distances
of the same parity: at an odd level only the odd cell sets receive, and only the even ones give. (If every move counts,
the colour of the blank's cell decides the parity of a block.) Because moves can be undone, a neighbour of level d is in
level d-1 or d+1. So a row that holds level d-1 of its block is replaced by level d+1: the states that it receives, less
those that it holds. No other set of visited states is needed.
"""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import popcount, trailing_zeros, transpose_bits
from pdb_core.jit import kernel
from pdb_core.layout_kernels import Transitions
from pdb_core.types import Int64s, UInt32s, UInt64s

_ONE = np.uint64(1)
_at = np.uint64
# For each digit of the bit numbers of a word: the bits with a 0 there. Their partners are `1 << digit` higher.
_LOWER_BITS = (0x5555, 0x3333, 0x0F0F, 0x00FF)
# A row with fewer bits than 1/16 of its words is pushed word by word, skipping zeros: measured to break even there.
_SPARSE = 16


# An entry of `WordJumps.by_digit`, uint64:   | target word, 32 bits | source word, 32 bits |
SOURCE_BITS = 32
# An entry of `WordJumps.by_source`, uint32:  | digit + 1, or 0 if nothing is exchanged, 8 bits | target word, 24 bits |
TARGET_BITS = 24


_SOURCE_MASK = (1 << SOURCE_BITS) - 1
_TARGET_MASK = (1 << TARGET_BITS) - 1


class WordJumps(NamedTuple):
    """Effect of each jump on words, in two orders. Kernels read it.

    by_digit   uint64[n_jumps, n_words]  source and target of each word. Unchanged words come first, then those whose
               bits are exchanged by digit 0 of the bit numbers, by digit 1, ...
    first      int64[n_jumps, 6]         where the unchanged words begin in `by_digit`, those of digit 0, ...
    by_source  uint32[n_jumps, n_words]  digit and target of each source word
    """

    by_digit: UInt64s
    first: Int64s
    by_source: UInt32s


class LevelRows(NamedTuple):
    """Rows of the states of the last levels, one for each block.

    bits      uint64[n_rows, r]        a bit for each arrangement, in words
    words     uint8|uint16[n_rows, w]  the same memory, word by word
    n_active  int32[n_rows]            number of bits in each row
    """

    bits: Any
    words: Any
    n_active: Any


@kernel
def push_dense_row(source_words: Any, by_digit: Any, first: Any, received_words: Any) -> None:
    """Apply a jump to a row, and add the result to `received_words`; both uint8|uint16[n].

    by_digit, first: uint64[n_words] and int64[6], rows of those in `WordJumps`.
    """
    for i in range(first[0], first[1]):
        entry = np.int64(by_digit[_at(i)])
        received_words[_at(entry >> SOURCE_BITS)] |= source_words[_at(entry & _SOURCE_MASK)]
    for digit in range(4):
        mask, shift = _LOWER_BITS[digit], 1 << digit
        for i in range(first[digit + 1], first[digit + 2]):
            entry = np.int64(by_digit[_at(i)])
            word = np.int64(source_words[_at(entry & _SOURCE_MASK)])
            received_words[_at(entry >> SOURCE_BITS)] |= ((word & mask) << shift) | ((word >> shift) & mask)


@kernel
def push_sparse_row(source: Any, source_words: Any, by_source: Any, received_words: Any) -> None:
    """Apply a jump to a row that is mostly 0, given as uint64 and as words; by_source: uint32[n_words]."""
    words_per_64 = 8 // source_words.itemsize
    for i in range(source.shape[0]):
        if source[i] == 0:
            continue
        for w in range(i * words_per_64, (i + 1) * words_per_64):
            word = np.int64(source_words[_at(w)])
            if word == 0:
                continue
            target = np.int64(by_source[_at(w)])
            digit = (target >> TARGET_BITS) - 1
            if digit >= 0:
                mask, shift = _LOWER_BITS[digit], 1 << digit
                word = ((word & mask) << shift) | ((word >> shift) & mask)
            received_words[_at(target & _TARGET_MASK)] |= word


@kernel
def advance_block(
    block: int, transitions: Transitions, word_jumps: WordJumps, level: LevelRows, received: Any, received_words: Any
) -> int:
    """Advance one block by two levels. Return the number of new states.

    level     mutated: the row of this block, and its number of bits
    received  uint64[r]  scratch; received_words: its memory as words
    """
    first, sources, jumps = transitions
    bits, words, n_active = level
    n_received = bits.shape[1]

    # Step 1. If nothing comes in, the row is empty at this level.
    has_source = False
    for t in range(first[block], first[block + 1]):
        if n_active[sources[t]] != 0:
            has_source = True
            break
    if not has_source:
        if n_active[block] != 0:
            n_active[block] = 0
            bits[block, :] = 0
        return 0

    # Step 2. Gather the rows that come in.
    received[:] = 0
    for t in range(first[block], first[block + 1]):
        source = sources[t]
        if n_active[source] == 0:
            continue
        jump = jumps[t]
        if jump < 0:
            for w in range(n_received):
                received[w] |= bits[source, w]
        elif n_active[source] * _SPARSE < word_jumps.by_source.shape[1]:
            push_sparse_row(bits[source], words[source], word_jumps.by_source[jump], received_words)
        else:
            push_dense_row(words[source], word_jumps.by_digit[jump], word_jumps.first[jump], received_words)

    # Step 3. States that come in and are not of the level before last are new.
    n_new = 0
    for w in range(n_received):
        word = received[w] & ~bits[block, w]
        bits[block, w] = word
        n_new += popcount(word)
    n_active[block] = n_new
    return n_new


@kernel
def advance_minimum(
    cell_sets: Any, depth: int, first_block: Any, transitions: Transitions, word_jumps: WordJumps, rank_of_slot: Any,
    level: LevelRows, seen: Any, table: Any, counts: Any,
) -> None:  # fmt: skip
    """Advance the blocks of some cell sets, all of the parity of `depth`, from depth-2 to `depth`; write bytes.

    cell_sets     int64[m]                  indices of cell sets; no other thread may have one of them
    first_block   as in `Blocks`, or 0, 1, 2, ... so that each block counts as a cell set
    rank_of_slot  as in `WordLayout`; the others as in `advance_block`
    seen          uint64[n_sets, r]         mutated: arrangements reached in some region of the cell set
    table         uint8[n_sets, k!]         mutated: `depth` for each new arrangement
    counts        int64[2]                  mutated: + states reached, + entries of the table written
    """
    received = np.empty(level.bits.shape[1], dtype=np.uint64)
    received_words = received.view(level.words.dtype)
    for i in range(cell_sets.shape[0]):
        cell_set = cell_sets[i]
        first, last = first_block[cell_set], first_block[cell_set + 1]
        n_reached = 0
        for block in range(first, last):
            n_reached += advance_block(block, transitions, word_jumps, level, received, received_words)

        # The additive minimum: the first level that reaches an arrangement in some region is its distance.
        if n_reached == 0:
            continue
        counts[0] += n_reached
        n_written = 0
        for w in range(level.bits.shape[1]):
            word = np.uint64(0)
            for block in range(first, last):
                word |= level.bits[block, w]
            word &= ~seen[cell_set, w]
            seen[cell_set, w] |= word
            n_written += popcount(word)
            while word != 0:
                table[cell_set, rank_of_slot[_at((w << 6) + trailing_zeros(word))]] = depth
                word &= word - _ONE
        counts[1] += n_written


@kernel
def advance_blocks(blocks: Any, transitions: Transitions, word_jumps: WordJumps, level: LevelRows) -> int:
    """Advance `blocks` (int64[m]) by two levels, see `advance_block`. Return the number of new states.

    All blocks have one parity, and no other thread may have one of them.
    """
    n_reached = 0
    received = np.empty(level.bits.shape[1], dtype=np.uint64)
    received_words = received.view(level.words.dtype)
    for i in range(blocks.shape[0]):
        n_reached += advance_block(blocks[i], transitions, word_jumps, level, received, received_words)
    return n_reached


@kernel
def add_bits(blocks: Any, level: LevelRows, bits: Any) -> None:
    """Set the bits of all states that a level has reached in `blocks`, in their rows `bits` (uint64[m, r])."""
    for i in range(blocks.shape[0]):
        block = blocks[i]
        if level.n_active[block] != 0:
            for w in range(bits.shape[1]):
                bits[i, w] |= level.bits[block, w]


@kernel
def sort_bits(blocks: Any, bits: Any, slot_of_rank: Any, table: Any) -> None:
    """Reorder the bits of blocks, from slots of words to ranks of arrangements.

    Up to 64 rows are sorted together: transposed, so that the bits of one slot are one integer, and transposed back.

    blocks        int64[m]
    bits          uint64[m, r]              their rows, as `add_bits` filled them
    slot_of_rank  uint32[k!]                as in `WordLayout`
    table         uint8[n_blocks, (k! + 7) // 8]  mutated: rank r is bit r % 8 of byte r // 8 of the row of its block
    """
    n_orders = slot_of_rank.shape[0]
    columns = np.empty(bits.shape[1] * 64, dtype=np.uint64)
    square = np.empty(64, dtype=np.uint64)
    for first in range(0, blocks.shape[0], 64):
        n_rows = min(64, blocks.shape[0] - first)
        square[:] = 0
        for w in range(bits.shape[1]):
            for i in range(n_rows):
                square[i] = bits[first + i, w]
            square[n_rows:] = 0
            transpose_bits(square)
            # A loop: numba compiles the assignment of an array for two seconds.
            for i in range(64):
                columns[_at(w * 64 + i)] = square[_at(i)]
        for first_rank in range(0, n_orders, 64):
            n_ranks = min(64, n_orders - first_rank)
            square[n_ranks:] = 0
            for j in range(n_ranks):
                square[j] = columns[_at(slot_of_rank[_at(first_rank + j)])]
            transpose_bits(square)
            first_byte = first_rank >> 3
            n_bytes = (n_ranks + 7) >> 3
            for i in range(n_rows):
                block = blocks[first + i]
                word = square[i]
                for byte in range(n_bytes):
                    table[block, first_byte + byte] = np.uint8((word >> np.uint64(8 * byte)) & np.uint64(255))
