"""Inner loop of breadth-first search, from one end or from both.

Nodes are met in the order of their depth, so the table of nodes is the queue: a layer is a range of numbers. Beside the
60 bits of the board, the first word of a row holds the move that led there and the end it was reached from: a node of
the 15-puzzle takes eight bytes, and its slot.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import trailing_zeros
from pdb_core.jit import kernel
from solver.board_arrays import N_MOVES
from solver.graph_search.node_table_kernels import KEY_BITS, find, list_children

# What `expand_layer` returns.
PAUSED, MET, NO_ROOM, FINISHED = range(4)
N_COUNTERS = 7
(GENERATED, EXPANDED, N_NODES, NEXT_NODE, MEETING_NODE, N_OPEN, PEAK_OPEN) = range(N_COUNTERS)

MOVE_SHIFT, END_SHIFT = KEY_BITS, KEY_BITS + 2
MOVE_MASK = 3

_at = np.uint64


@kernel
def expand_layer(
    packing: Any, nodes: Any, counters: Any, scratch: Any, end: int, last: int, n_roots: int, n_expansions: int,
    n_generated: int,
) -> int:  # fmt: skip
    """Expand the nodes of a layer from NEXT_NODE to `last` - 1, up to `n_expansions` of them.

    packing, nodes, scratch  `Packing`, `Nodes`, `Scratch`; all but the packing mutated
    counters     int64[N_COUNTERS], mutated
    end          0 from the board, 1 from the goal; new nodes are marked with it
    n_roots      nodes below this were not led to by a move
    n_generated  return PAUSED once the counter GENERATED has reached this

    Returns MET (node NEXT_NODE is next to MEETING_NODE, which was reached from the other end), NO_ROOM,
    FINISHED (with the layer) or PAUSED.
    """
    row_size = nodes.row_size
    capacity = len(nodes.rows) // row_size
    for _ in range(n_expansions):
        parent = counters[NEXT_NODE]
        if parent >= last:
            return FINISHED
        if counters[GENERATED] >= n_generated:
            return PAUSED
        if counters[N_NODES] + N_MOVES > capacity:
            return NO_ROOM
        last_move = (nodes.rows[_at(parent * row_size)] >> MOVE_SHIFT) & MOVE_MASK if parent >= n_roots else -1
        _blank, moves = list_children(packing, nodes, scratch, parent, last_move)
        counters[EXPANDED] += 1
        counters[N_OPEN] -= 1

        # Enter the children that are new. The first that was reached from the other end closes an optimal path: had
        # there been a shorter one, its ends would have met before.
        while moves != 0:
            move = trailing_zeros(moves)
            moves &= moves - 1
            counters[GENERATED] += 1
            child = move * row_size
            slot = find(packing, nodes, scratch.children, child, scratch.slots[_at(move)])
            if slot >= 0:
                known = np.int64(nodes.slots[_at(slot)]) - 1
                if nodes.rows[_at(known * row_size)] >> END_SHIFT != end:
                    counters[MEETING_NODE] = known
                    return MET
                continue
            new = counters[N_NODES]
            for i in range(row_size):
                nodes.rows[_at(new * row_size + i)] = scratch.children[_at(child + i)]
            nodes.rows[_at(new * row_size)] |= (move << MOVE_SHIFT) | (end << END_SHIFT)
            nodes.slots[_at(-1 - slot)] = new + 1
            counters[N_NODES] = new + 1
            counters[N_OPEN] += 1
        counters[PEAK_OPEN] = max(counters[PEAK_OPEN], counters[N_OPEN])
        counters[NEXT_NODE] = parent + 1
    return PAUSED
