"""The search of a threshold: rounds until the stack is empty."""

from typing import Any

from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.vector_kernels import LANES, load, load_word, store, store_word
from solver.engine.vector_round_kernels import BATCH, BATCH_COLUMN, LEFT, LINK, ONE_MOVE, vector_round

EXHAUSTED, FOUND, PAUSED, NO_ROOM = range(4)
STOP_AT_GOAL, COUNT_GOALS, LIST_GOALS = range(3)
TOP, N_LINKS, GENERATED, EXPANDED, SOLUTIONS, FOUND_LINK = range(6)


@borrowing_kernel
def drop_links(at: Any, tables: Any, top: int, n_links: int) -> int:
    """Keep the links of nodes on the stack only. Returns the number of links."""
    # at.new_numbers uint32[capacity] cleared; at.kept: uint32[capacity]; at.chain
    for i in range(n_links):
        store_word(at.new_numbers + 4 * i, 0)
    n_kept = 1
    for node in range(top):
        word = load_word(at.stack + LINK * at.stack_column + 4 * node)
        # Step 1. Collect ancestors that are not kept yet.
        n_chain = 0
        slot = word >> 2
        while slot != 0 and load_word(at.new_numbers + 4 * slot) == 0:
            store_word(at.chain + 4 * n_chain, slot)
            n_chain += 1
            slot = load_word(at.links + 4 * slot) >> 2
        # Step 2. Keep them, the one nearest to the root first.
        while n_chain > 0:
            n_chain -= 1
            slot = load_word(at.chain + 4 * n_chain)
            link = load_word(at.links + 4 * slot)
            store_word(at.kept + 4 * n_kept, (load_word(at.new_numbers + 4 * (link >> 2)) << 2) | (link & 3))
            store_word(at.new_numbers + 4 * slot, n_kept)
            n_kept += 1
        number = load_word(at.new_numbers + 4 * (word >> 2))
        store_word(at.stack + LINK * at.stack_column + 4 * node, (number << 2) | (word & 3))
    for i in range(0, n_kept, LANES):
        store(at.links + 4 * i, load(at.kept + 4 * i))
    return n_kept


@kernel
def search(tables: Any, at: Any, state: Any, n_nodes: int, at_goal: int) -> int:
    """Search until the stack is empty or `n_nodes` are generated."""
    top = state[TOP]
    n_links = state[N_LINKS]
    generated = state[GENERATED]
    expanded = state[EXPANDED]
    status = EXHAUSTED
    while top > 0:
        if generated >= n_nodes:
            status = PAUSED
            break
        n = min(top, BATCH)
        if top + 2 * BATCH > at.capacity:
            status = NO_ROOM
            break
        if n_links + BATCH > at.link_capacity:
            n_links = drop_links(at, tables, top, n_links)
            if n_links + (at.link_capacity >> 2) > at.link_capacity:
                status = NO_ROOM
                break
        top -= n
        for i in range(0, n, LANES):
            store(at.links + 4 * (n_links + i), load(at.stack + LINK * at.stack_column + 4 * (top + i)))
        n_generated, new_top, has_ended = vector_round(tables, at, n, top, n_links)
        n_links += n
        generated += n_generated
        expanded += n
        if has_ended:
            node = top
            while node < new_top:
                if load_word(at.stack + LEFT * at.stack_column + 4 * node) >= ONE_MOVE:
                    node += 1
                    continue
                state[SOLUTIONS] += 1
                state[FOUND_LINK] = load_word(at.stack + LINK * at.stack_column + 4 * node)
                new_top -= 1
                for column in range(tables.n_columns):
                    base = at.stack + column * at.stack_column
                    store_word(base + 4 * node, load_word(base + 4 * new_top))
                status = FOUND
            if at_goal != COUNT_GOALS:
                top = new_top
                break
            status = EXHAUSTED
        top = new_top
    state[TOP] = top
    state[N_LINKS] = n_links
    state[GENERATED] = generated
    state[EXPANDED] = expanded
    return status
