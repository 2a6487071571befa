"""The division of a long threshold: nodes near the root are expanded breadth first, and IDA* searches below them.

Nodes whose f is at most some smaller threshold are expanded and kept in memory, duplicates too. Each of the others is
the root of a subtree of the frontier, those with the least h first: f rises late on a path to a solution, so the last
threshold often ends soon.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.types import N_MOVES, Floats, Int64s, UInt32s
from solver.engine import layout as mem
from solver.engine.engine import Engine
from solver.engine.layout import EngineTables
from solver.engine.stack import Stack
from solver.progress import NO_LIMIT, Iteration

# Of subtrees with the same slack, those with a larger h have more nodes: measured on boards of the 24-puzzle.
_GROWTH_BY_H = 0.05


@dataclass(frozen=True)
class Division:
    """The nodes of a divided threshold whose subtrees are searched one by one, in their order.

    nodes   uint32[m, n_columns]
    links   uint32[n]: they lead from the nodes to the root, see `Stack.load`
    shares  float64[m]: estimated share of the threshold's nodes in each subtree
    digest  identifies the list of subtrees
    """

    nodes: UInt32s
    links: UInt32s
    shares: Floats
    digest: str


def is_long(before: Iteration, engine: Engine) -> bool:
    """Return whether the threshold after another one is long, for an engine of this speed."""
    return before.generated >= engine.tuning.long_nodes * engine.speed


def divide(
    stack: Stack, finished: Sequence[Iteration], threshold: int, max_nodes: int
) -> tuple[Division, tuple[int, int]] | None:
    """Expand the nodes near the root, which is on the stack, until `max_nodes` are generated.

    Returns what is below these nodes, and the generated and expanded nodes. The stack is empty then. Returns None for a
    threshold not worth it.
    """
    engine, tuning = stack.engine, stack.engine.tuning
    most_nodes = min(tuning.most_divided, int(finished[-1].generated / (tuning.least_ratio * engine.speed)))
    # Nodes are expanded whose f is at most the largest threshold that had no more nodes than can be kept.
    smaller = [done.threshold for done in finished if done.threshold < threshold and done.generated <= most_nodes]
    if not smaller:
        return None
    least_slack = (threshold - smaller[-1]) // mem.THRESHOLD_STEP
    # Estimated ratio of the threshold's nodes to those of the one before.
    growth = max(1.0, finished[-1].generated / max(1, finished[-2:][0].generated))
    tables = engine.tables
    # Index 0 refers to no node, 1 to the root.
    nodes = np.zeros((most_nodes + N_MOVES + 1, tables.n_columns), dtype=np.uint32)
    nodes[1] = stack.columns[:, 0]
    is_expanded, (n_nodes, generated, expanded) = _expand_near_root(stack, nodes, least_slack, max_nodes)
    roots = np.flatnonzero(~is_expanded[:n_nodes])[1:]
    moves_left, slacks = _left_and_slacks(tables, nodes[roots])
    # A slack that does not change, of heuristics that are not tracked, says nothing of h.
    h = np.maximum(0, moves_left - mem.THRESHOLD_STEP * slacks)
    # Each threshold above h multiplies the nodes of a subtree as it does those of the whole search.
    steps = (moves_left - h) / mem.THRESHOLD_STEP
    logs = steps * (math.log(growth) + _GROWTH_BY_H * (h - h.max(initial=0)))
    # The largest weight is 1: in damaged tables others would not fit a float.
    weights = np.exp(logs - logs.max(initial=-math.inf))
    order = np.argsort(h, kind="stable")
    roots, links = roots[order].astype(np.uint32), nodes[:n_nodes, mem.LINK].copy()
    digest = hashlib.sha256(links.tobytes() + roots.tobytes()).hexdigest()[:16]
    return Division(nodes[roots], links, weights[order] / weights.sum(), digest), (generated, expanded)


def _expand_near_root(
    stack: Stack, nodes: UInt32s, least_slack: int, max_nodes: int
) -> tuple[npt.NDArray[np.bool_], tuple[int, int, int]]:
    """Expand `nodes`, of which index 1 is the root, breadth first, while they have room for children.

    Nodes with less slack than `least_slack`, which is at least 1, are not expanded: the goal is never generated. Their
    LINK becomes (index of the parent << 2) | move, and 0 for the root.

    Returns which nodes were expanded, and the number of nodes, of generated and of expanded ones.
    """
    tables, counters = stack.engine.tables, stack.counters
    can_expand, is_expanded = np.zeros((2, len(nodes)), dtype=bool)
    first, begin, n_nodes, generated, expanded = 1, 1, 2, 0, 0
    while first < n_nodes and generated < max_nodes:
        moves_left, slacks = _left_and_slacks(tables, nodes[begin:n_nodes])
        can_expand[begin:n_nodes] = (slacks >= least_slack) & (moves_left > 1)
        # Step 1. Put the next nodes on the stack: so few that the limit is not reached before the last one.
        members = first + np.flatnonzero(can_expand[first:n_nodes])
        n_most = min(tables.batch, -((generated - max_nodes) // N_MOVES))
        n = min(n_most, len(members), (len(nodes) - n_nodes) // N_MOVES)
        first = int(members[n]) if n == n_most < len(members) else n_nodes
        if n == 0:
            continue
        members = members[:n]
        stack.columns[:, :n] = nodes[members].T
        counters[:] = 0
        counters[[mem.TOP, mem.N_LINKS]] = n, 1
        # Step 2. Generate their children, in one round, and list them in the order of parents and moves.
        stack.search(1, NO_LIMIT)
        children = stack.columns[:, : stack.n_nodes].T
        children = children[np.argsort(children[:, mem.LINK])]
        children[:, mem.LINK] = (members[(children[:, mem.LINK] >> 2) - 1] << 2) | (children[:, mem.LINK] & 3)
        is_expanded[members] = True
        begin, n_nodes = n_nodes, n_nodes + len(children)
        nodes[begin:n_nodes] = children
        generated += int(counters[mem.GENERATED])
        expanded += n
    counters[:] = 0
    return is_expanded, (n_nodes, generated, expanded)


def _left_and_slacks(tables: EngineTables, nodes: UInt32s) -> tuple[Int64s, Int64s]:
    """Return the moves left of nodes, and the least slack of all sums, int64[m] each."""
    words = nodes.astype(np.int64)
    slacks = np.full(len(nodes), mem.MAX_SLACK)
    for row in tables.sums:
        slacks = np.minimum(slacks, (words[:, row[mem.SLACK]] >> row[mem.SLACK_SHIFT]) & mem.MAX_SLACK)
    return words[:, mem.MOVES_LEFT] >> mem.MOVES_LEFT_SHIFT, slacks
