"""The search of a threshold, round by round, and what belongs to its stack: links to parents, splits among threads.

Depth-first search in batches: a round takes up to 64 nodes off the top of the stack and puts their children there. A
threshold that is searched to its end has the same nodes whatever the batch. The stack never holds more than 3 * 64
nodes for each move of the threshold: the nodes that one round leaves there are deeper than those of the round before.
"""

from typing import Any

from pdb_core.bit_kernels import popcount
from pdb_core.jit import chosen_by_type, inlined_kernel, kernel
from solver.engine import layout as lay
from solver.engine.catalogue_round_kernels import CatalogueStages, catalogue_round
from solver.engine.round_kernels import on_stack
from solver.engine.scalar_round_kernels import BYTE, scalar_round
from solver.engine.unit_tables import UnitTables
from solver.engine.vector_round_kernels import VectorStages, vector_round
from solver.engine.wide_round_kernels import WideStages, wide_round
from solver.heuristics.heuristic_round_kernels import HeuristicStages, heuristic_round
from solver.heuristics.packed_round_kernels import PackedStages, packed_round
from solver.vectors import vector_kernels as v

# The kernel that expands `n` nodes of the stack from `top` on, by the type of its `stages`. Its parameters are (stages,
# tables, at, n, top, first_link). It returns the nodes generated, the new top, and whether a node has no moves left.
round_of = chosen_by_type(
    {
        VectorStages: vector_round,
        WideStages: wide_round,
        CatalogueStages: catalogue_round,
        UnitTables: scalar_round,
        PackedStages: packed_round,
        HeuristicStages: heuristic_round,
    }
)
# Room for the children of a round.
ROUND_ROOM = 5 * lay.BATCH


@inlined_kernel
def keep_links(at: Any, top: int, n_links: int) -> int:
    """Keep the links that lead to nodes of the stack, each after its parent's. Returns their number."""
    for i in range(n_links):
        v.store_word(at.new_indices + 4 * i, 0)
    n_kept = 1
    for node in range(top):
        to_node = on_stack(at, lay.LINK, node)
        word = v.load_word(to_node)
        # Step 1. Collect the ancestors that are not kept yet.
        n_chain = 0
        index = word >> 2
        while index != 0 and v.load_word(at.new_indices + 4 * index) == 0:
            v.store_word(at.chain + 4 * n_chain, index)
            n_chain += 1
            index = v.load_word(at.links + 4 * index) >> 2
        # Step 2. Keep them, the one nearest to the root first.
        while n_chain > 0:
            n_chain -= 1
            index = v.load_word(at.chain + 4 * n_chain)
            link = v.load_word(at.links + 4 * index)
            parent = v.load_word(at.new_indices + 4 * (link >> 2))
            v.store_word(at.kept + 4 * n_kept, (parent << 2) | (link & 3))
            v.store_word(at.new_indices + 4 * index, n_kept)
            n_kept += 1
        v.store_word(to_node, (v.load_word(at.new_indices + 4 * (word >> 2)) << 2) | (word & 3))
    for i in range(1, n_kept):
        v.store_word(at.links + 4 * i, v.load_word(at.kept + 4 * i))
    return n_kept


@inlined_kernel
def is_goal(tables: Any, at: Any, node: int) -> bool:
    """Return whether a node of the stack that holds its board is the goal."""
    for cell in range(tables.n_cells):
        word = v.load_word(on_stack(at, tables.board_column + (cell >> 2), node))
        if (word >> (8 * (cell & 3))) & BYTE != tables.goal[cell]:
            return False
    return True


@inlined_kernel
def take_ended(tables: Any, at: Any, counters: Any, at_goal: int) -> bool:
    """Take the nodes that have no moves left off the stack, among the uppermost N_ENDED, and count the goals. Returns
    whether to return to the caller; N_ENDED are then still to be looked at.

    A node that fits the threshold exactly has h = 0 in all sums. That is the goal, unless a sum leaves tiles out; then
    the node counts as expanded, and its children exceed the threshold.
    """
    while counters[lay.N_ENDED] > 0:
        node = counters[lay.TOP] - counters[lay.N_ENDED]
        counters[lay.N_ENDED] -= 1
        if v.load_word(on_stack(at, lay.LEFT, node)) >= lay.ONE_MOVE:
            continue
        is_solution = tables.board_column == 0 or is_goal(tables, at, node)
        link = v.load_word(on_stack(at, lay.LINK, node))
        state = v.load_word(on_stack(at, lay.STATE, node))
        # The uppermost node takes its place.
        counters[lay.TOP] -= 1
        for column in range(tables.n_columns):
            base = at.stack + column * at.stack_column
            v.store_word(base + 4 * node, v.load_word(base + 4 * counters[lay.TOP]))
        if is_solution:
            counters[lay.SOLUTIONS] += 1
            counters[lay.FOUND_LINK] = link
            if at_goal != lay.COUNT_GOALS:
                return True
        else:
            legal = v.load_word(tables.legal + 4 * ((state >> lay.BLANK_SHIFT) & lay.BLANK_MASK))
            counters[lay.EXPANDED] += 1
            counters[lay.GENERATED] += popcount((state >> lay.ALLOWED_SHIFT) & legal & 15)
    return False


@inlined_kernel
def search(tables: Any, stages: Any, at: Any, counters: Any, pause_at: int, max_nodes: int, at_goal: int) -> int:
    """Search for goals among the nodes below those on the stack, until the stack is empty.

    tables     `EngineTables`
    stages     the tables of the kind of round, see `round_of`
    at         `StackMemory`; the nodes there change
    counters   int64[N_COUNTERS], mutated
    pause_at   return PAUSED once GENERATED has reached this; a call that returned PAUSED is continued by the next one
    max_nodes  the same, and rounds become smaller so that GENERATED exceeds it by less than 4
    at_goal    STOP_AT_GOAL, COUNT_GOALS or LIST_GOALS; SOLUTIONS counts what was found

    Returns FOUND (FOUND_LINK is the goal's), EXHAUSTED, PAUSED (also if the signal is set), or NO_ROOM if the memory is
    too small for the next round.
    """
    if take_ended(tables, at, counters, at_goal):
        return lay.FOUND
    # A signal that comes at once must not keep the search from getting on.
    n_rounds = 0
    while counters[lay.TOP] > 0:
        top = counters[lay.TOP]
        generated = counters[lay.GENERATED]
        if generated >= pause_at or generated >= max_nodes or (n_rounds > 0 and v.load_word(at.signal) != 0):
            return lay.PAUSED
        if top + ROUND_ROOM > at.capacity:
            return lay.NO_ROOM
        if counters[lay.N_LINKS] + lay.BATCH + v.LANES > at.link_capacity:
            counters[lay.N_LINKS] = keep_links(at, top, counters[lay.N_LINKS])
            if 4 * counters[lay.N_LINKS] > 3 * at.link_capacity:
                return lay.NO_ROOM
        n = min(top, min(tables.batch, 1 + ((max_nodes - generated) >> 2)))
        top -= n
        n_links = counters[lay.N_LINKS]
        for i in range(0, n, v.LANES):
            v.store(at.links + 4 * (n_links + i), v.load(on_stack(at, lay.LINK, top + i)))
        n_generated, new_top, has_ended = round_of(stages)(stages, tables, at, n, top, n_links)
        n_rounds += 1
        counters[lay.N_LINKS] = n_links + n
        counters[lay.GENERATED] = generated + n_generated
        counters[lay.EXPANDED] += n
        counters[lay.TOP] = new_top
        if has_ended != 0:
            counters[lay.N_ENDED] = new_top - top
            if take_ended(tables, at, counters, at_goal):
                return lay.FOUND
    return lay.EXHAUSTED


@kernel
def split(tables: Any, at: Any, counters: Any, other: Any, other_counters: Any) -> None:
    """Move every second node of a stack, shallow and deep ones, to an empty one with the same links and enough room."""
    top = counters[lay.TOP]
    for column in range(tables.n_columns):
        from_nodes, to_nodes = at.stack + column * at.stack_column, other.stack + column * other.stack_column
        for node in range(top):
            to_node = (to_nodes if node & 1 == 0 else from_nodes) + 4 * (node >> 1)
            v.store_word(to_node, v.load_word(from_nodes + 4 * node))
    other_counters[lay.TOP] = (top + 1) >> 1
    counters[lay.TOP] = top >> 1
    other_counters[lay.N_LINKS] = keep_links(other, other_counters[lay.TOP], counters[lay.N_LINKS])
