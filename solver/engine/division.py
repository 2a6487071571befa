"""The division of a long threshold: nodes near the root are expanded breadth first, and IDA* searches below them.

Nodes whose f is at most some smaller threshold are expanded and kept in memory, duplicates too. The subtrees below the
others are searched one by one, those with the least h at the root first: f rises late on a path to a solution, so the
last threshold often ends soon. A checkpoint keeps which subtrees are finished.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pdb_core.jit import NotCompiledError, compiling_until
from pdb_core.puzzle import Tiles
from pdb_core.types import N_MOVES
from solver.checkpoint import Checkpoint, Subtrees
from solver.engine import search_memory as mem
from solver.engine.division_kernels import EXPANDED, expand_near_root
from solver.engine.engine import Engine
from solver.engine.stack import Stack, StackPool
from solver.engine.subtree_list import SubtreeList, SubtreeWork, log_shares
from solver.progress import Iteration


@dataclass(frozen=True)
class Division:
    """Size of a division.

    most_nodes  nodes near the root, at most
    ratio       least ratio of the nodes generated in the threshold before to the nodes near the root, at a pace of 1
    """

    most_nodes: int
    ratio: float

    def plan(self, finished: Sequence[Iteration], threshold: int, pace: float = 1.0) -> tuple[int, int] | None:
        """Return the most nodes to keep, and the least slack of nodes to expand; None for a threshold not worth it.

        Nodes are expanded whose f is at most the largest threshold that had no more nodes than can be kept.
        """
        most = min(self.most_nodes, int(finished[-1].generated / (self.ratio * pace)))
        smaller = [done.threshold for done in finished if done.threshold < threshold and done.generated <= most]
        return (most, (threshold - smaller[-1]) // 2) if smaller else None


DIVISION = Division(most_nodes=100_000, ratio=10_000)


def loads_division(engine: Engine, stack: Stack, end: float) -> bool:
    """Load the kernel of divisions, or compile it if there is time before `end`. Returns whether it is there."""
    nodes, h = np.zeros((2, engine.tables.n_columns), dtype=np.uint32), np.zeros(2, dtype=np.int16)
    try:
        with compiling_until(end):
            # The only node has no moves left: it is not expanded.
            expand_near_root(engine.tables, engine.round_tables, stack.memory, nodes, h, 1, 0)
    except NotCompiledError:
        return False
    return True


class DividedWork(SubtreeWork):
    """Work of the thread that divides a threshold, and then searches the subtrees."""

    def __init__(
        self,
        stacks: StackPool,
        stack: Stack,
        root: Tiles,
        plan: tuple[int, int],
        threshold: int,
        growth: float,
        checkpoint: Checkpoint,
        resume: Callable[[Subtrees], None],
    ) -> None:
        """The stack holds the root. `growth` is the ratio of a threshold's nodes to the nodes of the threshold before.
        `resume` is called with the subtrees that the checkpoint has.
        """
        super().__init__(stacks, stack, root, None)
        self._plan, self._threshold, self._growth = plan, threshold, growth
        self._checkpoint, self._resume = checkpoint, resume

    def search(self, pause_at: int, max_nodes: int, *, counts_goals: bool) -> int:
        if self._subtrees is None:
            self._divide(max_nodes)
            return mem.PAUSED
        return super().search(pause_at, max_nodes, counts_goals=counts_goals)

    def _divide(self, max_nodes: int) -> None:
        """Expand the nodes near the root, and list the subtrees unless `max_nodes` are reached before: the search is
        over then.
        """
        most_nodes, least_slack = self._plan
        engine, stack = self._stacks.engine, self._stack
        nodes = np.empty((most_nodes + N_MOVES + 1, engine.tables.n_columns), dtype=np.uint32)
        h = np.empty(len(nodes), dtype=np.int16)
        nodes[1] = stack.columns[:, 0]
        stack.counters[:] = 0
        n_nodes, generated, expanded = expand_near_root(
            engine.tables, engine.round_tables, stack.memory, nodes, h, least_slack, max_nodes
        )
        self._counters[[mem.GENERATED, mem.EXPANDED]] += generated, expanded
        if generated >= max_nodes:
            return
        roots = 1 + np.flatnonzero(h[1:n_nodes] != EXPANDED)
        roots = roots[np.argsort(h[roots], kind="stable")].astype(np.uint32)
        links = nodes[:n_nodes, mem.LINK]
        moves_left = (nodes[roots, mem.LEFT] >> mem.MOVES_LEFT_SHIFT).astype(np.int64)
        weights = log_shares(moves_left, h[roots].astype(np.int64), self._growth)
        # The largest weight is 1: in damaged tables others would not fit a float.
        weights = np.exp(weights - weights.max(initial=-math.inf))
        self._subtrees = SubtreeList(
            self._stacks,
            self._threshold,
            self._checkpoint,
            nodes=nodes[roots],
            links=links.copy(),
            shares=weights / weights.sum(),
            digest=hashlib.sha256(links.tobytes() + roots.tobytes()).hexdigest()[:16],
        )
        self._resume(self._subtrees.known)
