"""Inner loop of breadth-first search, from one end or from both.

Nodes are met in the order of their depth, so the table of nodes is the queue: a layer is a range of numbers. Beside the
60 bits of the board, the first word of a row holds the move that led there and the end it was reached from: a node of
the 15-puzzle takes eight bytes, and its slot.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import prefetch, trailing_zeros
from pdb_core.jit import kernel
from solver.board_arrays import N_MOVES
from solver.graph_search.node_table_kernels import KEY_BITS, find, first_slot, move_packed, unpack

# What `expand_layer` returns.
PAUSED, MET, NO_ROOM, FINISHED = range(4)
N_COUNTERS = 7
(GENERATED, EXPANDED, N_NODES, NEXT_NODE, MEETING_NODE, N_OPEN, PEAK_OPEN) = range(N_COUNTERS)

MOVE_SHIFT, END_SHIFT = KEY_BITS, KEY_BITS + 2
MOVE_MASK = 3

_at = np.uint64


@kernel
def expand_layer(
    packing: Any,
    rows: Any,
    slots: Any,
    counters: Any,
    scratch: Any,
    end: int,
    last: int,
    n_roots: int,
    n_expansions: int,
    n_generated: int,
) -> int:
    """Expand the nodes of a layer from NEXT_NODE to `last` - 1, up to `n_expansions` of them.

    packing      `Packing`
    rows, slots  those of a `NodeTable`; mutated
    counters     int64[N_COUNTERS], mutated
    scratch      `LayerScratch`, mutated
    end          0 from the board, 1 from the goal; new nodes are marked with it
    n_roots      nodes below this were not led to by a move
    n_generated  return PAUSED once the counter GENERATED has reached this

    Returns MET (node NEXT_NODE is next to MEETING_NODE, which was reached from the other end), NO_ROOM,
    FINISHED (with the layer) or PAUSED.
    """
    slot_base, row_base = slots.ctypes.data, rows.ctypes.data
    row_size = packing.n_words
    capacity = len(rows) // row_size
    for _ in range(n_expansions):
        parent = counters[NEXT_NODE]
        if parent >= last:
            return FINISHED
        if counters[GENERATED] >= n_generated:
            return PAUSED
        if counters[N_NODES] + N_MOVES > capacity:
            return NO_ROOM
        row = parent * row_size
        blank = unpack(packing, rows, row, scratch.board)
        moves = packing.cell_moves[_at(blank)]
        if parent >= n_roots:
            moves &= ~(1 << (N_MOVES - 1 - ((rows[_at(row)] >> MOVE_SHIFT) & MOVE_MASK)))
        counters[EXPANDED] += 1
        counters[N_OPEN] -= 1

        # Step 1. The children; ask for their slots, then for the nodes in them.
        untried = moves
        while untried != 0:
            move = trailing_zeros(untried)
            untried &= untried - 1
            cell = packing.edge_cells[_at(blank * N_MOVES + move)]
            child = move * row_size
            move_packed(packing, rows, row, scratch.children, child, np.int64(scratch.board[_at(cell)]), blank, cell)
            slot = first_slot(packing, scratch.children, child, len(slots))
            scratch.slots[_at(move)] = slot
            prefetch(slot_base + 4 * slot)
        untried = moves
        while untried != 0:
            move = trailing_zeros(untried)
            untried &= untried - 1
            node = np.int64(slots[_at(scratch.slots[_at(move)])]) - 1
            prefetch(row_base + 8 * row_size * max(node, 0))

        # Step 2. Enter those that are new. The first that was reached from the other end closes a shortest way: had
        # there been a shorter one, its ends would have met before.
        untried = moves
        while untried != 0:
            move = trailing_zeros(untried)
            untried &= untried - 1
            counters[GENERATED] += 1
            child = move * row_size
            slot = find(packing, rows, row_size, slots, scratch.children, child, scratch.slots[_at(move)])
            if slot >= 0:
                known = np.int64(slots[_at(slot)]) - 1
                if rows[_at(known * row_size)] >> END_SHIFT != end:
                    counters[MEETING_NODE] = known
                    return MET
                continue
            new = counters[N_NODES]
            for i in range(row_size):
                rows[_at(new * row_size + i)] = scratch.children[_at(child + i)]
            rows[_at(new * row_size)] |= (move << MOVE_SHIFT) | (end << END_SHIFT)
            slots[_at(-1 - slot)] = new + 1
            counters[N_NODES] = new + 1
            counters[N_OPEN] += 1
        counters[PEAK_OPEN] = max(counters[PEAK_OPEN], counters[N_OPEN])
        counters[NEXT_NODE] = parent + 1
    return PAUSED
