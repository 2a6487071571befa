"""Inner loop of breadth-first search, from one end or from both.

Nodes are generated in the order of their depth, so the table of nodes is the queue: a layer is a range of node ids. A
node of the 15-puzzle takes eight bytes, and its slot.
"""

import numpy as np

from pdb_core.bit_kernels import trailing_zeros
from pdb_core.jit import kernel
from pdb_core.types import N_MOVES, Int64s
from solver.graph_search.node_table_kernels import (
    END_SHIFT,
    EXPANDED,
    FINISHED,
    FOUND,
    GENERATED,
    KEY_BITS,
    N_COUNTERS,
    N_NODES,
    N_OPEN,
    NO_ROOM,
    PAUSED,
    PEAK_OPEN,
    Nodes,
    Packing,
    add_node,
    find,
    list_children,
)

NEXT_NODE, MEETING_NODE = N_COUNTERS - 2, N_COUNTERS - 1
# Nodes 0 and 1 are the board and the goal.
N_ROOTS = 2

_index = np.uint64


@kernel
def expand_layer(
    packing: Packing, nodes: Nodes, counters: Int64s, end: int, last: int, n_expansions: int, n_generated: int
) -> int:
    """Expand the nodes of a layer from NEXT_NODE to `last` - 1, up to `n_expansions` of them.

    nodes        mutated
    counters     int64[N_COUNTERS], mutated
    end          0 from the board, 1 from the goal; new nodes are marked with it
    n_generated  return PAUSED once the counter GENERATED has reached this

    Returns FOUND (node NEXT_NODE is next to MEETING_NODE, which was reached from the other end), NO_ROOM, FINISHED
    (with the layer) or PAUSED.
    """
    board = np.empty(packing.n_cells, dtype=np.uint8)
    children = np.empty(N_MOVES * packing.n_words, dtype=np.int64)
    slots = np.empty(N_MOVES, dtype=np.int64)
    capacity = len(nodes.rows) // nodes.row_size
    for _ in range(n_expansions):
        parent = counters[NEXT_NODE]
        if parent >= last:
            return FINISHED
        if counters[GENERATED] >= n_generated:
            return PAUSED
        if counters[N_NODES] + N_MOVES > capacity:
            return NO_ROOM
        _blank, moves = list_children(packing, nodes, parent, N_ROOTS, board, children, slots)
        counters[EXPANDED] += 1
        counters[N_OPEN] -= 1

        # Enter the children that are new. The first that was reached from the other end closes an optimal path: had
        # there been a shorter one, its ends would have met before.
        while moves != 0:
            move = trailing_zeros(moves)
            moves &= moves - 1
            counters[GENERATED] += 1
            child = move * packing.n_words
            slot = find(packing, nodes, children, child, slots[_index(move)])
            if slot >= 0:
                known = np.int64(nodes.slots[_index(slot)]) - 1
                if nodes.rows[_index(known * nodes.row_size)] >> END_SHIFT != end:
                    counters[MEETING_NODE] = known
                    return FOUND
                continue
            add_node(packing, nodes, counters, children, child, move | end << (END_SHIFT - KEY_BITS), -1 - slot)
            counters[N_OPEN] += 1
        counters[PEAK_OPEN] = max(counters[PEAK_OPEN], counters[N_OPEN])
        counters[NEXT_NODE] = parent + 1
    return PAUSED
