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

from typing import Any

import numpy as np

from pdb_build.word_layout import SOURCE_BITS, TARGET_BITS
from pdb_core.bit_kernels import popcount, trailing_zeros
from pdb_core.jit import kernel

_ONE = np.uint64(1)
_at = np.uint64
_SOURCE_MASK = (1 << SOURCE_BITS) - 1
_TARGET_MASK = (1 << TARGET_BITS) - 1
# For each digit of the bit numbers of a word: the bits with a 0 there. Their partners are `1 << digit` higher.
_LOWER_BITS = (0x5555, 0x3333, 0x0F0F, 0x00FF)
# A row with fewer bits than 1/16 of its words is pushed word by word, skipping zeros: measured to break even there.
_SPARSE = 16


@kernel
def push_dense_row(source_words: Any, jump: Any, first_jumps: Any, received_words: Any) -> None:
    """Apply a jump to a row, and add the result to `received_words`; both uint8|uint16[n].

    jump, first_jumps: uint64[n_words] and int64[6], rows of those in `WordLayout`.
    """
    for i in range(first_jumps[0], first_jumps[1]):
        entry = np.int64(jump[_at(i)])
        received_words[_at(entry >> SOURCE_BITS)] |= source_words[_at(entry & _SOURCE_MASK)]
    for digit in range(4):
        mask, shift = _LOWER_BITS[digit], 1 << digit
        for i in range(first_jumps[digit + 1], first_jumps[digit + 2]):
            entry = np.int64(jump[_at(i)])
            word = np.int64(source_words[_at(entry & _SOURCE_MASK)])
            received_words[_at(entry >> SOURCE_BITS)] |= ((word & mask) << shift) | ((word >> shift) & mask)


@kernel
def push_sparse_row(source: Any, source_words: Any, targets: Any, received_words: Any) -> None:
    """Do the same for a row that is mostly 0, given as uint64 and as words; targets: uint32[n_words]."""
    words_per_64 = 8 // source_words.itemsize
    for i in range(source.shape[0]):
        if source[i] == 0:
            continue
        for w in range(i * words_per_64, (i + 1) * words_per_64):
            word = np.int64(source_words[_at(w)])
            if word == 0:
                continue
            target = np.int64(targets[_at(w)])
            digit = (target >> TARGET_BITS) - 1
            if digit >= 0:
                mask, shift = _LOWER_BITS[digit], 1 << digit
                word = ((word & mask) << shift) | ((word >> shift) & mask)
            received_words[_at(target & _TARGET_MASK)] |= word


@kernel
def advance_block(
    block: int, first_transition: Any, sources: Any, jumps: Any, word_jumps: Any, first_jumps: Any, targets: Any,
    frontier: Any, frontier_words: Any, n_active: Any, received: Any, received_words: Any,
) -> int:  # fmt: skip
    """Advance one block by two levels. Return the number of new states.

    first_transition, sources, jumps   as in `PatternLayout`
    word_jumps, first_jumps, targets   as in `WordLayout`, there `jumps`
    frontier      uint64[n_blocks, r]       mutated: the row of this block; frontier_words: the same as words
    n_active      int32[n_blocks]           mutated: bits in the row
    received      uint64[r]                 scratch, one for each thread; received_words: the same as words
    """
    n_received = frontier.shape[1]
    transitions = range(first_transition[block], first_transition[block + 1])

    # Step 1. If nothing comes in, the row is empty at this level.
    has_source = False
    for t in transitions:
        if n_active[sources[t]] != 0:
            has_source = True
            break
    if not has_source:
        if n_active[block] != 0:
            n_active[block] = 0
            frontier[block, :] = 0
        return 0

    # Step 2. Gather the rows that come in.
    received[:] = 0
    for t in transitions:
        source = sources[t]
        if n_active[source] == 0:
            continue
        if jumps[t] < 0:
            for w in range(n_received):
                received[w] |= frontier[source, w]
        elif n_active[source] * _SPARSE < targets.shape[1]:
            push_sparse_row(frontier[source], frontier_words[source], targets[jumps[t]], received_words)
        else:
            jump = jumps[t]
            push_dense_row(frontier_words[source], word_jumps[jump], first_jumps[jump], received_words)

    # Step 3. States that come in and are not of the level before last are new.
    n_new = 0
    for w in range(n_received):
        word = received[w] & ~frontier[block, w]
        frontier[block, w] = word
        n_new += popcount(word)
    n_active[block] = n_new
    return n_new


@kernel
def advance_minimum(
    cell_sets: Any, level: int, first_block: Any, first_transition: Any, sources: Any, jumps: Any,
    word_jumps: Any, first_jumps: Any, targets: Any, rank_of_slot: Any, frontier: Any, frontier_words: Any,
    n_active: Any, seen: Any, table: Any,
    received: Any, received_words: Any, counts: Any,
) -> None:  # fmt: skip
    """Advance the blocks of some cell sets, all of the parity of `level`, from level-2 to `level`; write bytes.

    cell_sets     int64[m]                  indices of cell sets; no other thread may have one of them
    first_block   as in `Blocks`; rank_of_slot as in `WordLayout`; the others as in `advance_block`
    seen          uint64[n_sets, r]         mutated: arrangements reached in some region of the cell set
    table         uint8[n_sets, k!]         mutated: `level` for each new arrangement
    counts        int64[2]                  mutated: + states reached, + entries of the table written
    """
    n_received = frontier.shape[1]
    for i in range(cell_sets.shape[0]):
        cell_set = cell_sets[i]
        first, last = first_block[cell_set], first_block[cell_set + 1]
        n_reached = 0
        for block in range(first, last):
            n_reached += advance_block(
                block, first_transition, sources, jumps, word_jumps, first_jumps, targets,
                frontier, frontier_words, n_active, received, received_words,
            )  # fmt: skip

        # The additive minimum: the first level that reaches an arrangement in some region is its distance.
        if n_reached == 0:
            continue
        counts[0] += n_reached
        n_written = 0
        for w in range(n_received):
            word = np.uint64(0)
            for block in range(first, last):
                word |= frontier[block, w]
            word &= ~seen[cell_set, w]
            seen[cell_set, w] |= word
            n_written += popcount(word)
            while word != 0:
                table[cell_set, rank_of_slot[_at((w << 6) + trailing_zeros(word))]] = level
                word &= word - _ONE
        counts[1] += n_written


@kernel
def advance_blocks(
    blocks: Any, first_transition: Any, sources: Any, jumps: Any, word_jumps: Any, first_jumps: Any, targets: Any,
    frontier: Any, frontier_words: Any, n_active: Any, received: Any, received_words: Any,
) -> int:  # fmt: skip
    """Advance blocks by two levels. Return the number of new states.

    blocks        int64[m]                  all of one parity; no other thread may have one of them
    The others as in `advance_block`.
    """
    n_reached = 0
    for i in range(blocks.shape[0]):
        n_reached += advance_block(
            blocks[i], first_transition, sources, jumps, word_jumps, first_jumps, targets,
            frontier, frontier_words, n_active, received, received_words,
        )  # fmt: skip
    return n_reached


@kernel
def add_bits(blocks: Any, n_active: Any, frontier: Any, bits: Any) -> None:
    """Set the bits of all states that a level has reached in `blocks`.

    blocks        int64[m]
    n_active, frontier                      as in `advance_block`, after the level
    bits          uint64[m, r]              mutated: the rows of `blocks`, in the order of words
    """
    for i in range(blocks.shape[0]):
        block = blocks[i]
        if n_active[block] != 0:
            for w in range(bits.shape[1]):
                bits[i, w] |= frontier[block, w]


@kernel
def transpose_bits(square: Any) -> None:
    """Transpose 64x64 bits: exchange bit j of `square[i]` and bit i of `square[j]`; uint64[64], mutated."""
    mask = np.uint64(0x00000000FFFFFFFF)
    shift = 32
    while shift != 0:
        for i in range(64):
            if i & shift == 0:
                lower, upper = square[_at(i)], square[_at(i + shift)]
                change = ((lower >> np.uint64(shift)) ^ upper) & mask
                square[_at(i)] = lower ^ (change << np.uint64(shift))
                square[_at(i + shift)] = upper ^ change
        shift >>= 1
        mask ^= mask << np.uint64(shift)


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


@kernel
def fill_unreached(seen: Any, slot_of_rank: Any, unreached: int, table: Any) -> None:
    """Set the entries of `table` (uint8[n_sets, k!]) to `unreached` whose bit in `seen` (uint64[n_sets, r]) is 0."""
    for cell_set in range(table.shape[0]):
        for rank in range(table.shape[1]):
            slot = np.int64(slot_of_rank[rank])
            if (seen[cell_set, _at(slot >> 6)] >> np.uint64(slot & 63)) & _ONE == 0:
                table[cell_set, rank] = unreached
