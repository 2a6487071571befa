"""Inner loop of A* (Hart, Nilsson and Raphael 1968), weighted A* (Pohl 1970) and greedy best-first search.

They differ only in the key of a node: n * g + m * h with small whole numbers n and m, so that the open list is an
array of buckets (Dial 1969). Within a key the node with the least h, which has the largest g, comes first, and of those
the last one added.

A bucket is a linked list through the nodes. A node whose g is lowered while it is open is not looked for in its bucket:
it is marked as closed there, and a copy of it becomes the board's node. A closed node is reopened in place.
"""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import popcount, trailing_zeros
from pdb_core.jit import inlined_kernel, kernel
from pdb_core.types import N_MOVES, Bytes, Int32s, Int64s
from pdb_query.lookup_kernels import find_tiles, move_state, place_unit, state_address
from pdb_query.records import MOVE_FIELDS, RECORD_FIELDS, SOURCE
from solver.engine.rounds.scalar_kernels import UnitTables, read_change
from solver.graph_search.node_table_kernels import (
    EXPANDED,
    FINISHED,
    FOUND,
    GENERATED,
    KEY_MASK,
    LAST_MOVE_SHIFT,
    N_COUNTERS,
    N_NODES,
    N_OPEN,
    NO_BUCKETS,
    NO_ROOM,
    PAUSED,
    PEAK_OPEN,
    REOPENED,
    Nodes,
    Packing,
    add_node,
    find,
    list_children,
)
from solver.heuristics.evaluate_kernels import MANHATTAN, HeuristicTables, evaluate
from solver.heuristics.manhattan_kernels import manhattan_distance

FIRST_BUCKET, LARGEST_KEY = N_COUNTERS - 2, N_COUNTERS - 1
# What `best_node` returns beside the results of a search.
CHOSEN = -1
# Node 0 is the board.
N_ROOTS = 1

# The last word of a row:
#
#     bit  63 .. 32                            28        27 .. 19    18 .. 0
#          next node id of its bucket, plus 1  closed    h           g
#
# `closed` is 1 also for a node that another one has replaced.
G_BITS, H_BITS = 19, 9
H_SHIFT, CLOSED_SHIFT, NEXT_SHIFT = G_BITS, G_BITS + H_BITS, 32
MAX_G, MAX_H = (1 << G_BITS) - 1, (1 << H_BITS) - 1
LOW_HALF = (1 << NEXT_SHIFT) - 1
CLOSED = 1 << CLOSED_SHIFT
# Buckets per word of `filled`.
FILLED_BITS = 32

_index = np.uint64


class Order(NamedTuple):
    """Order of the open list: by key, g_factor * g + h_factor * h in lowest terms, then by h // tie_divisor.

    The h of nodes of one key differ by multiples of g_factor, so that this distinguishes them. The ratio of the factors
    is w, infinite for greedy search, which has one bucket per key.
    """

    g_factor: int
    h_factor: int
    n_ties: int
    tie_divisor: int


class OpenList(NamedTuple):
    """Buckets of open nodes.

    heads   int32[buckets]  the id of the first node plus 1, or 0
    filled  int64[buckets / FILLED_BITS]  a bit for each bucket, 0 if it is empty
    """

    heads: Int32s
    filled: Int64s


class BestFirst(NamedTuple):
    """A best-first search: its tables, and what it changes.

    counters  int64[N_COUNTERS]
    board     uint8[n_cells], scratch; `evaluate` takes longer for an array that a kernel makes
    """

    packing: Packing
    heuristic: HeuristicTables
    databases: UnitTables
    order: Order
    nodes: Nodes
    open_list: OpenList
    counters: Int64s
    board: Bytes


@kernel
def bucket_of(order: Order, g: int, h: int) -> int:
    """Return the bucket of nodes with these g and h."""
    key = order.g_factor * g + order.h_factor * h
    return key * order.n_ties + h // order.tie_divisor


@kernel
def push(nodes: Nodes, order: Order, open_list: OpenList, counters: Int64s, node: int, g: int, h: int) -> None:
    """Put a node on top of its bucket, open."""
    bucket = bucket_of(order, g, h)
    info = (node + 1) * nodes.row_size - 1
    below = np.int64(open_list.heads[_index(bucket)])
    nodes.rows[_index(info)] = (below << NEXT_SHIFT) | (h << H_SHIFT) | g
    open_list.heads[_index(bucket)] = node + 1
    open_list.filled[_index(bucket // FILLED_BITS)] |= 1 << (bucket % FILLED_BITS)
    counters[FIRST_BUCKET] = min(counters[FIRST_BUCKET], bucket)
    counters[N_OPEN] += 1
    counters[PEAK_OPEN] = max(counters[PEAK_OPEN], counters[N_OPEN])


@kernel
def pop(nodes: Nodes, open_list: OpenList, counters: Int64s) -> int:
    """Take the first open node from the first bucket and close it. Returns its id, or -1 if none is open."""
    word = counters[FIRST_BUCKET] // FILLED_BITS
    while word < len(open_list.filled):
        mask = open_list.filled[_index(word)]
        if mask == 0:
            word += 1
            continue
        bucket = word * FILLED_BITS + trailing_zeros(mask)
        node = np.int64(open_list.heads[_index(bucket)]) - 1
        if node < 0:
            open_list.filled[_index(word)] = mask & (mask - 1)
            continue
        info = nodes.rows[_index((node + 1) * nodes.row_size - 1)]
        open_list.heads[_index(bucket)] = info >> NEXT_SHIFT
        if info & CLOSED == 0:
            nodes.rows[_index((node + 1) * nodes.row_size - 1)] = (info & LOW_HALF) | CLOSED
            counters[FIRST_BUCKET] = bucket
            counters[N_OPEN] -= 1
            return node  # type: ignore[return-value]
    return -1


@kernel
def value_child(
    databases: UnitTables, nodes: Nodes, parent: int, child: int, cells: Int64s, edge: int, tile: int
) -> int:
    """Write the distances of a child's units beside the node: those of its parent but for the units that hold `tile`.

    cells  int64[n_cells], of the parent's tiles, see `find_tiles`

    Returns the largest sum.
    """
    source, target = parent * databases.n_units, child * databases.n_units
    for unit in range(databases.n_units):
        nodes.values[_index(target + unit)] = nodes.values[_index(source + unit)]
    largest = 0
    for s in range(databases.n_sums):
        moved = databases.unit_of_tile[_index(s * databases.n_cells + tile)]
        unit = moved ^ (moved >> 63)
        move = databases.moves_of_tile[_index(s * databases.n_cells + tile)] + edge * MOVE_FIELDS
        unit_map = unit * 2 * databases.n_cells
        word, _ = place_unit(cells, databases.unit_maps, unit_map, databases, unit * RECORD_FIELDS)
        if moved >= 0:  # else every move counts, and this is a tile of no pattern
            word = move_state(databases, unit * RECORD_FIELDS, move, word)
        address = state_address(databases, unit * RECORD_FIELDS, word, databases.moves[_index(move + SOURCE)])
        before = np.int64(nodes.values[_index(source + unit)])
        nodes.values[_index(target + unit)] = before + read_change(databases.sum_is_bits[_index(s)], address, before)  # type: ignore[arg-type]
    for s in range(databases.n_sums):
        total = 0
        for unit in range(databases.first_units[_index(s)], databases.first_units[_index(s + 1)]):
            total += np.int64(nodes.values[_index(target + unit)])  # type: ignore[assignment]
        largest = max(largest, total)
    return largest


@inlined_kernel
def best_node(search: BestFirst, capacity: int) -> tuple[int, int]:
    """Take the best open node off its bucket. Returns its id and a status.

    CHOSEN means that it is to be expanded, FOUND that it is the goal, and FINISHED that no node is open. With NO_ROOM
    or NO_BUCKETS, nodes or buckets must grow before the next call.
    """
    packing, nodes, counters = search.packing, search.nodes, search.counters
    # A node has up to four children, and each may lie in any bucket of its g.
    if counters[N_NODES] + N_MOVES > capacity:
        return -1, NO_ROOM
    node = pop(nodes, search.open_list, counters)
    if node < 0:
        return node, FINISHED
    info = nodes.rows[_index((node + 1) * nodes.row_size - 1)]
    g = info & MAX_G
    counters[LARGEST_KEY] = max(counters[LARGEST_KEY], counters[FIRST_BUCKET] // search.order.n_ties)
    is_goal = True
    for i in range(packing.n_words):
        is_goal &= nodes.rows[_index(node * nodes.row_size + i)] & KEY_MASK == packing.goal[_index(i)]
    if is_goal:
        return node, FOUND
    if g + 1 > MAX_G or bucket_of(search.order, g + 1, MAX_H) >= len(search.open_list.heads):
        # Open again, as if it had not been touched.
        push(nodes, search.order, search.open_list, counters, node, g, (info >> H_SHIFT) & MAX_H)
        return node, NO_BUCKETS
    return node, CHOSEN


@inlined_kernel
def value_board(search: BestFirst, blank: int, cell: int, only_manhattan: bool) -> int:
    """Return h of the board after the tile on `cell` has moved."""
    board = search.board
    tile = board[_index(cell)]
    board[_index(blank)], board[_index(cell)] = tile, 0
    h = manhattan_distance(search.heuristic.manhattan, board) if only_manhattan else evaluate(search.heuristic, board)
    board[_index(cell)], board[_index(blank)] = tile, 0
    return h


@inlined_kernel
def reach_again(search: BestFirst, children: Int64s, move: int, slot: int, g: int) -> None:
    """Open a known board, the child by `move`, if `g` is less than that of its node."""
    nodes, counters = search.nodes, search.counters
    known: Any = np.int64(nodes.slots[_index(slot)]) - 1
    node = known
    old = nodes.rows[_index((known + 1) * nodes.row_size - 1)]
    if g >= (old & MAX_G) or search.order.g_factor == 0:
        return
    if old & CLOSED != 0:
        counters[REOPENED] += 1
        first_word = nodes.rows[_index(node * nodes.row_size)] & KEY_MASK
        nodes.rows[_index(node * nodes.row_size)] = first_word | move << LAST_MOVE_SHIFT
    else:
        counters[N_OPEN] -= 1
        nodes.rows[_index((known + 1) * nodes.row_size - 1)] = old | CLOSED
        node = add_node(search.packing, nodes, counters, children, move * search.packing.n_words, move, slot)
        for unit in range(search.databases.n_units):
            value = nodes.values[_index(known * search.databases.n_units + unit)]
            nodes.values[_index(node * search.databases.n_units + unit)] = value
    push(nodes, search.order, search.open_list, counters, node, g, (old >> H_SHIFT) & MAX_H)


@kernel
def expand_best(search: BestFirst, n_expansions: int, n_generated: int) -> int:
    """Expand the best open nodes, up to `n_expansions` of them. The heuristic need not be consistent.

    n_generated  return PAUSED once the counter GENERATED has reached this

    Returns FOUND (the goal was the best open node), NO_ROOM or NO_BUCKETS (nodes or buckets must grow before
    the next call), FINISHED (no node is open) or PAUSED.
    """
    packing, databases, nodes, counters = search.packing, search.databases, search.nodes, search.counters
    children = np.empty(N_MOVES * packing.n_words, dtype=np.int64)
    slots = np.empty(N_MOVES, dtype=np.int64)
    cells = np.empty(databases.n_cells, dtype=np.int64)
    capacity = len(nodes.rows) // nodes.row_size
    # A call that is handed the tables of all heuristics costs more than Manhattan distance itself.
    only_manhattan = len(search.heuristic.codes) == 1 and search.heuristic.codes[0] == MANHATTAN
    for _ in range(n_expansions):
        if counters[GENERATED] >= n_generated:
            return PAUSED
        # Step 1. The best open node, and its children, all but the one that undoes the move which led to it.
        parent, status = best_node(search, capacity)
        if status != CHOSEN:
            return status
        g = (nodes.rows[_index((parent + 1) * nodes.row_size - 1)] & MAX_G) + 1
        counters[EXPANDED] += 1
        blank, untried = list_children(packing, nodes, parent, N_ROOTS, search.board, children, slots)
        counters[GENERATED] += popcount(untried)
        if databases.n_units != 0:
            find_tiles(search.board, 0, cells)
        # Step 2. Boards that are new become nodes; known ones may have been reached on a shorter path.
        while untried != 0:
            move = trailing_zeros(untried)
            untried &= untried - 1
            child = move * packing.n_words
            slot = find(packing, nodes, children, child, slots[_index(move)])
            if slot >= 0:
                reach_again(search, children, move, slot, g)
                continue
            edge = blank * N_MOVES + move
            cell = packing.edge_cells[_index(edge)]
            tile = np.int64(search.board[_index(cell)])
            h = value_board(search, blank, cell, only_manhattan)
            node = add_node(packing, nodes, counters, children, child, move, -1 - slot)
            if databases.n_units != 0:
                h = max(h, value_child(databases, nodes, parent, node, cells, edge, tile))  # type: ignore[arg-type]
            # What exceeds the largest h that a node holds may be lowered: it remains a lower bound.
            push(nodes, search.order, search.open_list, counters, node, g, min(h, MAX_H))
    return PAUSED
