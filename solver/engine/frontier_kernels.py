"""The frontier of a threshold: nodes near the root, expanded breadth first, with or without duplicates."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount, prefetch
from pdb_core.jit import inlined_kernel, kernel
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES
from solver.engine import search_memory as mem
from solver.engine.round_kernels import on_stack
from solver.engine.search_kernels import RoundTables, round_of
from solver.engine.search_memory import EngineTables, StackMemory
from solver.vectors import vector_kernels as v

# The counters of `add_children`: the node to expand next, all nodes, and generated and expanded nodes since they were
# cleared last.
N_FRONTIER_COUNTERS = 4
NEXT, NODES, FRONTIER_GENERATED, FRONTIER_EXPANDED = range(N_FRONTIER_COUNTERS)
# Most children of a round.
CHILDREN = N_MOVES * mem.BATCH
_EVERY_MOVE = (1 << N_MOVES) - 1
# Children whose slots, and then nodes, are prefetched together.
_FETCHED = 64
# The h of an expanded node.
NOT_ON_FRONTIER = -1

# An odd number of 30 bits without structure: no product below leaves 62 bits, also with the JIT off.
_FACTOR, _MIX_SHIFT, _SLOT_SHIFT, _WORD = 786_033_569, 29, 20, (1 << 32) - 1


@inlined_kernel
def blank_of(node: Any) -> int:
    """Return the blank's cell of a node (uint32[n_columns])."""
    return (np.int64(node[mem.STATE]) >> mem.BLANK_SHIFT) & mem.BLANK_MASK  # type: ignore[return-value]


@inlined_kernel
def moves_left_of(node: Any) -> int:
    """Return the moves left to the threshold."""
    return np.int64(node[mem.LEFT]) >> mem.MOVES_LEFT_SHIFT  # type: ignore[return-value]


@inlined_kernel
def least_slack_of(tables: EngineTables, node: Any) -> int:
    """Return the least slack of all sums."""
    least = mem.MAX_SLACK
    for s in range(tables.n_sums):
        word = np.int64(node[tables.sums[s, mem.SLACK]])
        least = min(least, (word >> tables.sums[s, mem.SLACK_SHIFT]) & mem.MAX_SLACK)
    return least


@inlined_kernel
def is_expanded(tables: EngineTables, node: Any, least_slack: int) -> bool:
    """Return whether a node is expanded. The goal is never generated: its parent has no slack."""
    return least_slack_of(tables, node) >= least_slack and moves_left_of(node) > 1


@inlined_kernel
def key_columns(tables: EngineTables) -> tuple[int, int]:
    """Return the first and the last column + 1 of those that, with the blank, identify the board of a node."""
    if tables.board_column != 0:
        return tables.board_column, tables.board_column + ((tables.n_cells + 3) >> 2)
    return tables.first_sum_column, tables.n_columns


@inlined_kernel
def first_slot(tables: EngineTables, node: Any, n_slots: int) -> int:
    """Return the slot at which the search for a node's board begins; n_slots is a power of 2."""
    first, last = key_columns(tables)
    state: Any = blank_of(node)
    for column in range(first, last):
        state = (state ^ np.int64(node[column])) * _FACTOR
        state = (state ^ (state >> _MIX_SHIFT)) & _WORD
    return ((state * _FACTOR) >> _SLOT_SHIFT) & (n_slots - 1)  # type: ignore[no-any-return]


@inlined_kernel
def find_node(tables: EngineTables, nodes: Any, slots: Any, node: Any, slot: int) -> int:
    """Return the slot of a node's board, or -1 - (the empty slot for it), from its first slot on."""
    first, last = key_columns(tables)
    blank = blank_of(node)
    while True:
        known = np.int64(slots[slot]) - 1
        if known < 0:
            return -1 - slot
        is_same = blank_of(nodes[known]) == blank
        for column in range(first, last):
            is_same &= nodes[known, column] == node[column]
        if is_same:
            return slot
        slot = (slot + 1) & (slots.shape[0] - 1)


@kernel
def expand_nodes(
    tables: EngineTables,
    round_tables: RoundTables,
    at: StackMemory,
    nodes: Any,
    first: int,
    last: int,
    least_slack: int,
    n_slots: int,
    children: Any,
    first_slots: Any,
) -> int:
    """Write the children of the nodes from `first` to before `last`, in the order of parents and moves.

    tables, round_tables, at  the tables and the stack, see `search_kernels.search`; the stack is empty
    nodes        uint32[capacity, n_columns]; LINK of a node is (index of its parent << 2) | move, and 0 for the root,
                 which is node 1
    least_slack  nodes with a smaller slack are not expanded, at least 1
    n_slots      length of `slots` in `add_children`
    children     uint32[c, n_columns], mutated; there is room for all children
    first_slots  int64[c], mutated: see `find_node`

    Returns the number of children. Threads may expand different nodes at the same time.
    """
    members = np.empty(mem.BATCH, dtype=np.int64)
    child_places = np.empty(CHILDREN, dtype=np.int64)
    n_children = 0
    node = first
    while node < last:
        # Step 1. Put the next nodes on the stack.
        n = 0
        while n < tables.batch and node < last:
            if is_expanded(tables, nodes[node], least_slack):
                for column in range(tables.n_columns):
                    v.store_word(on_stack(at, column, n), nodes[node, column])
                members[n] = node
                n += 1
            node += 1
        if n == 0:
            break
        # Step 2. Generate their children, and list them in the order of parents and moves.
        _, top, _ = round_of(round_tables)(round_tables, tables, at, n, 0, 0)
        child_places[:] = -1
        for place in range(top):
            child_places[v.load_word(on_stack(at, mem.LINK, place))] = place
        for move in range(N_MOVES * n):
            if child_places[move] < 0:
                continue
            child = children[n_children]
            for column in range(tables.n_columns):
                child[column] = v.load_word(on_stack(at, column, child_places[move]))
            child[mem.LINK] = (members[move >> 2] << 2) | (move & 3)
            first_slots[n_children] = first_slot(tables, child, n_slots)
            n_children += 1
    return n_children


@kernel
def add_children(
    tables: EngineTables,
    nodes: Any,
    slots: Any,
    counters: Int64s,
    least_slack: int,
    children: Any,
    first_slots: Any,
    n_children: int,
    next_child: int,
    last: int,
    max_nodes: int,
) -> int:
    """Add the children of the nodes from NEXT to before `last`, those whose boards are new, and count them.

    It ends before a node whose children may have no room in `nodes`, and when FRONTIER_GENERATED reaches `max_nodes`.

    nodes        mutated, see `expand_nodes`
    slots        int32[2^k], mutated: the index of a node plus 1, or 0; 2^k >= 2 * capacity, or a single slot if nodes
                 with the same board are all kept
    counters     int64[N_FRONTIER_COUNTERS], mutated
    children, first_slots, n_children  of `expand_nodes`
    next_child   the first that has not been added

    Returns the first child that has still not been added.
    """
    nodes_address, slots_address = nodes.ctypes.data - 4 * tables.n_columns, slots.ctypes.data
    fetched = next_child
    while counters[NEXT] < last:
        node = counters[NEXT]
        if is_expanded(tables, nodes[node], least_slack):
            if counters[NODES] + N_MOVES > nodes.shape[0] or counters[FRONTIER_GENERATED] >= max_nodes:
                break
            allowed = np.int64(nodes[node, mem.STATE]) >> mem.ALLOWED_SHIFT
            legal: Any = v.load_word(tables.legal + 4 * blank_of(nodes[node]))
            counters[FRONTIER_EXPANDED] += 1
            counters[FRONTIER_GENERATED] += popcount(allowed & legal & _EVERY_MOVE)
        while next_child < n_children and np.int64(children[next_child, mem.LINK]) >> 2 == node:
            if next_child == fetched:
                # The nodes of these slots, and the slots of the children after them.
                fetched = min(n_children, fetched + _FETCHED)
                for i in range(next_child, fetched):
                    known = np.int64(slots[first_slots[i]])
                    prefetch(nodes_address + 4 * (known * tables.n_columns + tables.first_sum_column))
                for i in range(fetched, min(n_children, fetched + _FETCHED)):
                    prefetch(slots_address + 4 * first_slots[i])
            child = children[next_child]
            slot = -1 if slots.shape[0] == 1 else find_node(tables, nodes, slots, child, first_slots[next_child])
            if slot < 0:
                nodes[counters[NODES]] = child
                counters[NODES] += 1
                slots[-1 - slot] = counters[NODES]
            next_child += 1
        counters[NEXT] += 1
    return next_child


@kernel
def count_by_h(
    tables: EngineTables, nodes: Any, first: int, last: int, n_seen: int, least_slack: int, h: Any, counts: Int64s
) -> None:
    """Write the h of the nodes from `first` to before `last` to `h` (int16), and count those of the frontier by h.

    n_seen  nodes before this one have been expanded, or have too little slack
    h       NOT_ON_FRONTIER for expanded nodes
    counts  int64[largest h + 1], mutated
    """
    for node in range(first, last):
        # A slack that does not change, of heuristics that are not tracked, says nothing of h.
        h[node] = max(0, moves_left_of(nodes[node]) - 2 * least_slack_of(tables, nodes[node]))
        if node < n_seen and is_expanded(tables, nodes[node], least_slack):
            h[node] = NOT_ON_FRONTIER
        else:
            counts[h[node]] += 1


@kernel
def place_by_h(h: Any, first: int, last: int, places: Int64s, roots: Any) -> None:
    """Write the indices of the nodes of the frontier, from `first` to before `last`, to `roots`, the least h first.

    h       see `count_by_h`
    places  int64[largest h + 1], mutated: where the next node with this h goes
    """
    for node in range(first, last):
        if h[node] != NOT_ON_FRONTIER:
            roots[places[h[node]]] = node
            places[h[node]] += 1
