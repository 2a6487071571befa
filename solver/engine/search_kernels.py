"""The search of a threshold, round by round, and the links to parents that belong to its stack.

Depth-first search in batches: a round takes up to 64 nodes off the top of the stack and puts their children there. A
threshold that is searched to its end has the same nodes whatever the batch. The stack never holds more than 3 * 64
nodes for each move of the threshold: the nodes that one round leaves there are deeper than those of the round before.
"""

from typing import Any

from pdb_core.bit_kernels import load_word, popcount, store_word
from pdb_core.jit import chosen_by_type, inlined_kernel
from pdb_core.types import Int64s
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.catalogue_kernels import CatalogueTables, catalogue_round
from solver.engine.rounds.scalar_kernels import BYTE, UnitTables, scalar_round
from solver.engine.rounds.shared_kernels import moves_of_node, on_stack
from solver.engine.rounds.vector_kernels import (
    RowTables,
    VectorTables,
    WideTables,
    row_round,
    vector_round,
    wide_round,
)
from solver.vectors import vector_kernels as v

# The kernel that expands `n` nodes of the stack from `top` on, by the type of `round_tables`. Its parameters are
# (round_tables, tables, at, n, top, first_link). It returns the nodes generated, the new top, and whether a node has no
# moves left. Wings add their own.
ROUNDS: dict[type, Any] = {
    VectorTables: vector_round,
    RowTables: row_round,
    WideTables: wide_round,
    CatalogueTables: catalogue_round,
    UnitTables: scalar_round,
}
round_of = chosen_by_type(ROUNDS)
# Room for the children of a round.
ROUND_ROOM = 5 * mem.BATCH


@inlined_kernel
def with_new_index(at: StackMemory, link: int) -> int:
    """Return a link to the same parent after the links have moved."""
    return (load_word(at.new_indices + 4 * (link >> 2)) << 2) | (link & 3)


@inlined_kernel
def keep_links(at: StackMemory, top: int, n_links: int) -> int:
    """Keep the links that lead to nodes of the stack, in their order: each after its parent's. Returns their number."""
    # Step 1. Mark them.
    for i in range(n_links):
        store_word(at.new_indices + 4 * i, 0)
    for node in range(top):
        index = load_word(on_stack(at, mem.LINK, node)) >> 2
        while index != 0 and load_word(at.new_indices + 4 * index) == 0:
            store_word(at.new_indices + 4 * index, 1)
            index = load_word(at.links + 4 * index) >> 2
    # Step 2. Close the gaps. The parent of a link has moved before it.
    n_kept = 1
    for i in range(1, n_links):
        if load_word(at.new_indices + 4 * i) != 0:
            store_word(at.new_indices + 4 * i, n_kept)
            store_word(at.links + 4 * n_kept, with_new_index(at, load_word(at.links + 4 * i)))
            n_kept += 1
    for node in range(top):
        to_node = on_stack(at, mem.LINK, node)
        store_word(to_node, with_new_index(at, load_word(to_node)))
    return n_kept


@inlined_kernel
def is_goal(tables: EngineTables, at: StackMemory, node: int) -> bool:
    """Return whether a node of the stack that holds its board is the goal."""
    for cell in range(tables.n_cells):
        word = load_word(on_stack(at, tables.board_column + (cell >> 2), node))
        if (word >> (8 * (cell & 3))) & BYTE != tables.goal[cell]:
            return False
    return True


@inlined_kernel
def take_ended(tables: EngineTables, at: StackMemory, counters: Int64s, counts_goals: bool) -> bool:
    """Take the nodes that have no moves left off the stack, among the uppermost N_ENDED, and count the goals. Returns
    whether to return to the caller; N_ENDED are then still to be looked at.

    A node that fits the threshold exactly has h = 0 in all sums. That is the goal, unless a sum leaves tiles out; then
    the node counts as expanded, and its children exceed the threshold.
    """
    while counters[mem.N_ENDED] > 0:
        node = counters[mem.TOP] - counters[mem.N_ENDED]
        counters[mem.N_ENDED] -= 1
        if load_word(on_stack(at, mem.MOVES_LEFT, node)) >= mem.ONE_MOVE:
            continue
        is_solution = tables.board_column == 0 or is_goal(tables, at, node)
        link = load_word(on_stack(at, mem.LINK, node))
        state = load_word(on_stack(at, mem.STATE, node))
        # The uppermost node takes its place.
        counters[mem.TOP] -= 1
        for column in range(tables.n_columns):
            base = at.stack + column * at.stack_column
            store_word(base + 4 * node, load_word(base + 4 * counters[mem.TOP]))
        if is_solution:
            counters[mem.SOLUTIONS] += 1
            counters[mem.FOUND_LINK] = link
            if not counts_goals:
                return True
        else:
            _, moves = moves_of_node(tables, state)
            counters[mem.EXPANDED] += 1
            counters[mem.GENERATED] += popcount(moves)
    return False


@inlined_kernel
def search(
    tables: EngineTables,
    round_tables: Any,
    at: StackMemory,
    counters: Int64s,
    pause_at: int,
    max_nodes: int,
    counts_goals: bool,
) -> int:
    """Search for goals among the nodes below those on the stack, until the stack is empty.

    round_tables  the tables of the kind of round, see `round_of`
    at         where the nodes are, which change
    counters   int64[N_COUNTERS], mutated
    pause_at   return PAUSED once GENERATED has reached this; a call that returned PAUSED is continued by the next one
    max_nodes  a limit like `pause_at`, before which rounds become smaller, so that GENERATED exceeds it by less than 4
    counts_goals  whether to count goals in SOLUTIONS and go on; otherwise FOUND is returned at each goal

    Returns FOUND (FOUND_LINK is the goal's), EXHAUSTED, PAUSED (also if the signal is set), or NO_ROOM if the memory is
    too small for the next round.
    """
    if take_ended(tables, at, counters, counts_goals):
        return mem.FOUND
    # A signal that comes at once must not keep the search from getting on.
    n_rounds = 0
    while counters[mem.TOP] > 0:
        top = counters[mem.TOP]
        generated = counters[mem.GENERATED]
        if generated >= pause_at or generated >= max_nodes or (n_rounds > 0 and load_word(at.signal) != 0):
            return mem.PAUSED
        if top + ROUND_ROOM > at.capacity:
            return mem.NO_ROOM
        if counters[mem.N_LINKS] + mem.BATCH + v.LANES > at.link_capacity:
            counters[mem.N_LINKS] = keep_links(at, top, counters[mem.N_LINKS])
            if 4 * counters[mem.N_LINKS] > 3 * at.link_capacity:
                return mem.NO_ROOM
        n = min(top, min(tables.batch, 1 + ((max_nodes - generated) >> 2)))
        top -= n
        n_links = counters[mem.N_LINKS]
        for i in range(0, n, v.LANES):
            v.store(at.links + 4 * (n_links + i), v.load(on_stack(at, mem.LINK, top + i)))
        n_generated, new_top, has_ended = round_of(round_tables)(round_tables, tables, at, n, top, n_links)
        n_rounds += 1
        counters[mem.N_LINKS] = n_links + n
        counters[mem.GENERATED] = generated + n_generated
        counters[mem.EXPANDED] += n
        counters[mem.TOP] = new_top
        if has_ended != 0:
            counters[mem.N_ENDED] = new_top - top
            if take_ended(tables, at, counters, counts_goals):
                return mem.FOUND
    return mem.EXHAUSTED
