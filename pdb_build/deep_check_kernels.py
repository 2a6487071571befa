"""Kernels of the deep check: the proof of distances, and their minimum over the blank regions.

They share no code with the search that builds tables. All of them work on a slab: the blocks or cell sets
`start` to `stop` - 1. Several may run at once on disjoint slabs, each with its own scratch arrays.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import UNREACHED
from pdb_core.jit import kernel
from pdb_core.types import Int16s, Int32s, Int64s

NO_JUMP = -1


class Moves(NamedTuple):
    """Moves between blocks, as kernels read them.

    first         int64[n_blocks + 1]   the moves out of a block
    targets       int32[n_moves]        the block a move leads to
    jumps         int16[n_moves]        row of `permutations`, or NO_JUMP if arrangements keep their rank
    permutations  uint16 or uint32[n_jumps, k!]  from the rank before to the rank after
    """

    first: Int64s
    targets: Int32s
    jumps: Int16s
    permutations: npt.NDArray[np.unsignedinteger]


@kernel
def compare_neighbours(here: Any, there: Any, has_lower: Any) -> int:
    """Compare the values of states with the value of one neighbour each. Return 0 if and only if every pair is right.

    A pair is right if both values are 255, or neither is and they differ by exactly 1. `here` and `there` are uint8
    rows; `has_lower` (uint8[k!]) is set to 1 where the neighbour's value is the lower one.
    """
    wrong = 0
    for order in range(here.shape[0]):
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
    start: int, stop: int, distances: Any, moves: Moves, has_lower: Any, gathered: Any, counts: Any
) -> int:  # fmt: skip
    """Check the conditions of the proof (see `deep_check`) for a slab. Return the first block that fails, or -1.

    `distances` is uint8[n_blocks, k!]; `has_lower` and `gathered` are scratch, uint8[k!]. `counts` (int64[3]) is
    mutated: the states with value 0 and the reached ones are added, the largest value is raised.
    """
    n_orders = distances.shape[1]
    for block in range(start, stop):
        here = distances[block]
        for order in range(n_orders):
            has_lower[order] = 0

        # Step 1. Every transition between reached states changes the value by 1; none leads from reached to unreached.
        wrong = 0
        for move in range(moves.first[block], moves.first[block + 1]):
            there = distances[moves.targets[move]]
            if moves.jumps[move] < 0:
                wrong |= compare_neighbours(here, there, has_lower)
            else:
                permutation = moves.permutations[moves.jumps[move]]
                for order in range(n_orders):
                    gathered[order] = there[permutation[order]]
                wrong |= compare_neighbours(here, gathered, has_lower)

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
def take_minimum(start: int, stop: int, first_block: Any, distances: Any, minimum: Any) -> None:
    """Lower `minimum` (uint8[stop - start, k!]) to the distances of all blocks of each cell set.

    `first_block` is int64[n_sets + 1], `distances` uint8[n_blocks, k!].
    """
    for cell_set in range(start, stop):
        smallest = minimum[cell_set - start]
        for block in range(first_block[cell_set], first_block[cell_set + 1]):
            row = distances[block]
            for order in range(row.shape[0]):
                smallest[order] = min(smallest[order], row[order])
