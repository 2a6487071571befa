"""Kernels of the deep check: a plain breadth-first search over bytes, the proof of its result, and the comparison.

They share no code with the search that builds tables. All of them work on a slab: the blocks or cell sets
`start` to `stop` - 1. Several may run at once on disjoint slabs, each with its own scratch arrays.

A row of `distances` is a block: its first k! bytes are the arrangements, the rest is padding, always 255, up to a
multiple of 64.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import trailing_zeros
from pdb_core.jit import kernel

UNREACHED = 255

# A word of eight bytes, each of them 1, 3 or 15.
_EACH_1 = 0x0101010101010101
_EACH_3 = 0x0303030303030303
_EACH_15 = 0x0F0F0F0F0F0F0F0F


@kernel
def find_value(words: Any, value: int, found: Any) -> int:
    """List in `found` (uint16 or uint32[at least k!]) the bytes of a row that equal `value`, and return their number.

    `value` is not 255, which is also padding. `words` is the row, read as int64[row length / 8], little-endian; their
    number is a multiple of 8. The list is not ascending. Eight words are compared together: byte j of word i gives bit
    8 j + i of `hits`.
    """
    wanted = value * _EACH_1
    n_found = 0
    for first in range(0, words.shape[0], 8):
        hits = 0
        for i in range(8):
            # Fold each byte of the difference onto its lowest bit: 0 where the byte is `value`.
            different = int(words[first + i]) ^ wanted
            different = (different | (different >> 4)) & _EACH_15
            different = (different | (different >> 2)) & _EACH_3
            different = (different | (different >> 1)) & _EACH_1
            hits |= (different ^ _EACH_1) << i
        while hits != 0:
            bit = trailing_zeros(hits)
            hits &= hits - 1
            found[n_found] = 8 * (first + (bit & 7)) + (bit >> 3)
            n_found += 1
    return n_found


@kernel
def expand_level(
    start: int, stop: int, level: int, distances: Any, words: Any, first_transition: Any, targets: Any, jumps: Any,
    permutations: Any, active: Any, next_active: Any, n_open: Any, found: Any,
) -> int:  # fmt: skip
    """Give every neighbour of the states at `level` the value `level` + 1 if it has no smaller one.

    distances         uint8[n_blocks, row length]  mutated, in any block
    words             int64[n_blocks, row length / 8], the same memory
    first_transition  int64[n_blocks + 1]; targets int32, jumps int16 (-1: none) [n_transitions]
    permutations      uint16 or uint32[n_jumps, k!]
    active            uint8[n_blocks]  1 if a block may hold `level`; cleared for the slab
    next_active       uint8[n_blocks]  the same for the next level; mutated, in any block
    n_open            int64[n_blocks]  states of a block without a level; mutated for the slab
    found             scratch, of the dtype of `permutations`, [k!]

    Return the number of states at `level` in the slab. Slabs may run at the same time: a byte only changes from 255 to
    `level` + 1, and every write is of a single byte, so the order does not matter. (A write of a whole vector of bytes
    would undo those of another thread.)
    """
    value = level + 1
    n_states = 0
    for block in range(start, stop):
        if active[block] == 0:
            continue
        active[block] = 0
        n_found = find_value(words[block], level, found)
        if n_found == 0:
            continue
        n_states += n_found
        n_open[block] -= n_found
        for transition in range(first_transition[block], first_transition[block + 1]):
            target = targets[transition]
            if n_open[target] == 0:
                continue
            next_active[target] = 1
            row = distances[target]
            # No branch on the old value: half of the predictions would be wrong.
            if jumps[transition] < 0:
                for i in range(n_found):
                    order = found[i]
                    row[order] = min(row[order], value)
            else:
                permutation = permutations[jumps[transition]]
                for i in range(n_found):
                    order = permutation[found[i]]
                    row[order] = min(row[order], value)
    return n_states


@kernel
def compare_neighbours(here: Any, there: Any, has_lower: Any, n_orders: int) -> int:
    """Compare the values of states with those of one neighbour each; return 0 if and only if every pair is right.

    A pair is right if both values are 255, or neither is and they differ by exactly 1. `here` and `there` are uint8
    rows; `has_lower` (uint8[k!]) is set to 1 where the neighbour's value is the lower one.
    """
    wrong = 0
    for order in range(n_orders):
        x: Any = np.int64(here[order])
        y: Any = np.int64(there[order])
        # Both reached: x - y + 1 must be 0 or 2. The mask has eight bits, so that bytes suffice. Only 0 against 255
        # would wrap round to 0 or 2, and then one is unreached.
        mismatch = (x ^ y) if max(x, y) == UNREACHED else (x - y + 1) & 0xFD
        wrong |= mismatch
        has_lower[order] |= y < x
    return wrong


@kernel
def prove_blocks(
    start: int, stop: int, n_orders: int, distances: Any, first_transition: Any, targets: Any, jumps: Any,
    permutations: Any, has_lower: Any, gathered: Any, counts: Any,
) -> int:  # fmt: skip
    """Check the conditions of the proof (see `deep_check`) for a slab. Return the first block that fails, or -1.

    The arrays are those of `expand_level`, `distances` only read; `has_lower` and `gathered` are scratch, uint8[k!].
    `counts` (int64[3]) is mutated: the states with value 0 and the reached ones are added, the largest value is raised.
    """
    for block in range(start, stop):
        here = distances[block]
        for order in range(n_orders):
            has_lower[order] = 0

        # Step 1. Every transition between reached states changes the value by 1; none leads from reached to unreached.
        wrong = 0
        for transition in range(first_transition[block], first_transition[block + 1]):
            there = distances[targets[transition]]
            if jumps[transition] < 0:
                wrong |= compare_neighbours(here, there, has_lower, n_orders)
            else:
                permutation = permutations[jumps[transition]]
                for order in range(n_orders):
                    gathered[order] = there[permutation[order]]
                wrong |= compare_neighbours(here, gathered, has_lower, n_orders)

        # Step 2. Every reached state but the goal has a lower neighbour. Zeros are counted: only the goal may be one.
        n_zeros = 0
        n_unreached = 0
        largest = 0
        n_stuck = 0
        for order in range(n_orders):
            x: Any = np.int64(here[order])
            n_zeros += x == 0
            n_unreached += x == UNREACHED
            largest = max(largest, 0 if x == UNREACHED else x)
            n_stuck += (has_lower[order] == 0) & (x != 0) & (x != UNREACHED)
        counts[0] += n_zeros
        counts[1] += n_orders - n_unreached
        counts[2] = max(counts[2], largest)
        if wrong != 0 or n_stuck != 0:
            return block
    return -1


@kernel
def compare_with_table(
    start: int, stop: int, n_orders: int, first_block: Any, distances: Any, table: Any, smallest: Any
) -> int:
    """Compare the minimum over the blocks of each cell set with the table. Return the first wrong entry, or -1.

    `first_block` is int64[n_sets + 1], `distances` uint8[n_blocks, row length], `table` uint8[n_sets * k!], all only
    read; `smallest` is scratch, uint8[k!].
    """
    for cell_set in range(start, stop):
        for order in range(n_orders):
            smallest[order] = UNREACHED
        for block in range(first_block[cell_set], first_block[cell_set + 1]):
            row = distances[block]
            for order in range(n_orders):
                smallest[order] = min(smallest[order], row[order])
        entries = table[cell_set * n_orders : (cell_set + 1) * n_orders]
        n_different = 0
        for order in range(n_orders):
            n_different += entries[order] != smallest[order]
        if n_different != 0:
            for order in range(n_orders):
                if entries[order] != smallest[order]:
                    return cell_set * n_orders + order
    return -1


@kernel
def compare_with_bits(start: int, stop: int, n_orders: int, distances: Any, table: Any, row_bytes: int) -> int:
    """Compare bit 1 of the distances of blocks with a table of bits. Return the first wrong bit of the table, or -1.

    `distances` is uint8[n_blocks, row length], `table` uint8[n_blocks * row_bytes], both only read. Bits of unreached
    states and padding must be 0.
    """
    for block in range(start, stop):
        row = distances[block]
        bits = table[block * row_bytes : (block + 1) * row_bytes]
        for i in range(8 * row_bytes):
            distance = np.int64(row[i]) if i < n_orders else UNREACHED
            expected = (distance >> 1) & 1 if distance != UNREACHED else 0
            if (np.int64(bits[i >> 3]) >> (i & 7)) & 1 != expected:
                return 8 * row_bytes * block + i
    return -1
