"""The division of a long threshold: nodes near the root are expanded breadth first, and IDA* searches below them.

Nodes whose f is at most some smaller threshold are expanded and kept in memory, duplicates too. The subtrees below the
others are the items of the frontier, those with the least h at the root first: f rises late on a path to a solution, so
the last threshold often ends soon.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdb_core.jit import NotCompiledError, compiling_until
from pdb_core.types import N_MOVES, Floats, Int64s, UInt32s
from solver.engine import layout as mem
from solver.engine.division_kernels import WAS_EXPANDED, expand_near_root
from solver.engine.stack import Stack
from solver.progress import Iteration

# Nodes of a threshold, at a pace of 1, after which the next one is long: half a second of one core.
LONG_NODES = 5_000_000
# Nodes near the root, at most, and the least ratio of the nodes of the threshold before to them, at a pace of 1.
MOST_NODES, LEAST_RATIO = 100_000, 10_000
# Of subtrees with the same slack, those with a larger h have more nodes: measured on boards of the 24-puzzle.
_GROWTH_BY_H = 0.05


@dataclass(frozen=True)
class Items:
    """The nodes of a divided threshold whose subtrees are searched one by one, in their order.

    nodes   uint32[m, n_columns]
    links   uint32[n]: they lead from the nodes to the root, see `Stack.load`
    shares  float64[m]: estimated share of the threshold's nodes in each subtree
    digest  identifies the list
    """

    nodes: UInt32s
    links: UInt32s
    shares: Floats
    digest: str


def is_long(before: Iteration, pace: float) -> bool:
    """Return whether the threshold after another one is long, for an engine of this pace."""
    return before.generated >= LONG_NODES * pace


class Plan(NamedTuple):
    """How to divide a threshold.

    most_nodes   nodes to keep near the root, at most
    least_slack  nodes with less slack are not expanded
    growth       estimated ratio of its nodes to those of the threshold before
    """

    most_nodes: int
    least_slack: int
    growth: float


def plan_division(finished: Sequence[Iteration], threshold: int, pace: float) -> Plan | None:
    """Return the plan of a division; None for a threshold not worth it.

    Nodes are expanded whose f is at most the largest threshold that had no more nodes than can be kept.
    """
    most = min(MOST_NODES, int(finished[-1].generated / (LEAST_RATIO * pace)))
    smaller = [done.threshold for done in finished if done.threshold < threshold and done.generated <= most]
    growth = finished[-1].generated / max(1, finished[-2:][0].generated)
    return Plan(most, (threshold - smaller[-1]) // 2, max(1.0, growth)) if smaller else None


def loads_division(stack: Stack, end: float) -> bool:
    """Load the kernel of divisions, or compile it if there is time before `end`. Returns whether it is there."""
    tables = stack.engine.tables
    nodes, h = np.zeros((2, tables.n_columns), dtype=np.uint32), np.zeros(2, dtype=np.int16)
    try:
        with compiling_until(end):
            # The only node has no moves left: it is not expanded.
            expand_near_root(tables, stack.engine.round_tables, stack.memory, nodes, h, 1, 0)
    except NotCompiledError:
        return False
    return True


def divide(stack: Stack, plan: Plan, max_nodes: int) -> tuple[Items, tuple[int, int]]:
    """Expand the nodes near the root, which is on the stack, until `max_nodes` are generated.

    Returns what is below these nodes, and the generated and expanded nodes. The stack is empty then.
    """
    engine = stack.engine
    nodes = np.empty((plan.most_nodes + N_MOVES + 1, engine.tables.n_columns), dtype=np.uint32)
    h = np.empty(len(nodes), dtype=np.int16)
    nodes[0], nodes[1] = 0, stack.columns[:, 0]
    stack.counters[:] = 0
    n_nodes, generated, expanded = expand_near_root(
        engine.tables, engine.round_tables, stack.memory, nodes, h, plan.least_slack, max_nodes
    )
    roots = 1 + np.flatnonzero(h[1:n_nodes] != WAS_EXPANDED)
    roots = roots[np.argsort(h[roots], kind="stable")].astype(np.uint32)
    links = nodes[:n_nodes, mem.LINK]
    moves_left = (nodes[roots, mem.MOVES_LEFT] >> mem.MOVES_LEFT_SHIFT).astype(np.int64)
    weights = _log_shares(moves_left, h[roots].astype(np.int64), plan.growth)
    # The largest weight is 1: in damaged tables others would not fit a float.
    weights = np.exp(weights - weights.max(initial=-math.inf))
    digest = hashlib.sha256(links.tobytes() + roots.tobytes()).hexdigest()[:16]
    return Items(nodes[roots], links.copy(), weights / weights.sum(), digest), (generated, expanded)


def _log_shares(moves_left: Int64s, h: Int64s, growth: float) -> Floats:
    """Estimate the logarithms of the numbers of nodes below some nodes, but for a constant."""
    # Two more moves above h multiply the nodes of a subtree as they do those of a threshold.
    slack = (moves_left - h) / 2
    return slack * (math.log(growth) + _GROWTH_BY_H * (h - int(h.max(initial=0))))
