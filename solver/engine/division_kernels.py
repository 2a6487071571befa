"""The kernel of divisions: nodes near the root, expanded breadth first."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import inlined_kernel, kernel
from pdb_core.types import N_MOVES
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import on_stack
from solver.engine.search_kernels import round_of
from solver.vectors import vector_kernels as v

# The h of an expanded node.
WAS_EXPANDED = -1
_EVERY_MOVE = (1 << N_MOVES) - 1


@inlined_kernel
def least_slack_of(tables: EngineTables, node: Any) -> int:
    """Return the least slack of all sums."""
    least = mem.MAX_SLACK
    for s in range(tables.n_sums):
        word = np.int64(node[tables.sums[s, mem.SLACK]])
        least = min(least, (word >> tables.sums[s, mem.SLACK_SHIFT]) & mem.MAX_SLACK)
    return least


@inlined_kernel
def n_children_of(tables: EngineTables, node: Any) -> int:
    """Return how many moves are legal and not pruned."""
    state: Any = np.int64(node[mem.STATE])
    legal: Any = v.load_word(tables.legal + 4 * ((state >> mem.BLANK_SHIFT) & mem.BLANK_MASK))
    return popcount((state >> mem.ALLOWED_SHIFT) & legal & _EVERY_MOVE)


@kernel
def expand_near_root(
    tables: EngineTables,
    round_tables: Any,
    at: StackMemory,
    nodes: Any,
    h: Any,
    least_slack: int,
    max_nodes: int,
) -> tuple[int, int, int]:
    """Expand nodes breadth first, as long as `nodes` has room and fewer than `max_nodes` are generated.

    tables, round_tables, at  the tables and the stack, see `search_kernels.search`; the stack is empty
    nodes        uint32[capacity, n_columns], mutated; LINK of a node is (index of its parent << 2) | move, and 0 for
                 the root, which is node 1
    h            int16[capacity], mutated: that of each node, or WAS_EXPANDED
    least_slack  nodes with a smaller slack are not expanded, at least 1

    Returns the number of nodes, of generated and of expanded nodes. The first node is not used.
    """
    members = np.empty(mem.BATCH, dtype=np.int64)
    child_places = np.empty(mem.MAX_CHILDREN, dtype=np.int64)
    node, n_nodes, generated, expanded = 1, 2, 0, 0
    while node < n_nodes:
        # Step 1. Put the next nodes on the stack.
        n, end, room = 0, n_nodes, nodes.shape[0] - n_nodes
        while n < tables.batch and node < end:
            slack, moves_left = (
                least_slack_of(tables, nodes[node]),
                np.int64(nodes[node, mem.MOVES_LEFT]) >> mem.MOVES_LEFT_SHIFT,
            )
            # A slack that does not change, of heuristics that are not tracked, says nothing of h.
            h[node] = max(0, moves_left - 2 * slack)
            # The goal is never generated: its parent has no slack.
            if slack >= least_slack and moves_left > 1 and room >= N_MOVES and generated < max_nodes:
                for column in range(tables.n_columns):
                    v.store_word(on_stack(at, column, n), nodes[node, column])
                h[node], members[n] = WAS_EXPANDED, node
                generated += n_children_of(tables, nodes[node])
                room -= N_MOVES
                n += 1
            node += 1
        expanded += n
        # Step 2. Generate their children, and list them in the order of parents and moves.
        _, top, _ = round_of(round_tables)(round_tables, tables, at, n, 0, 0)
        child_places[:] = -1
        for place in range(top):
            child_places[v.load_word(on_stack(at, mem.LINK, place))] = place
        for move in range(N_MOVES * n):
            if child_places[move] >= 0:
                for column in range(tables.n_columns):
                    nodes[n_nodes, column] = v.load_word(on_stack(at, column, child_places[move]))
                nodes[n_nodes, mem.LINK] = (members[move >> 2] << 2) | (move & 3)
                n_nodes += 1
    return n_nodes, generated, expanded
