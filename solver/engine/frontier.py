"""A threshold searched breadth first near the root and depth first below.

Nodes whose f is at most some smaller threshold are expanded breadth first and kept in memory. The others are the
*frontier*. The engine searches below them, those with the least h first. They are the deepest ones. On a path to a
solution f rises late, so the last threshold often ends at once.

A search with a checkpoint is divided so: the subtrees below the frontier are finished one by one. With memory for a
large frontier, boards that were reached before are dropped: A*+IDA* (Bu and Korf 2019).

Why no solution is lost: let W be the lexicographically first optimal solution. No part of W is a duplicate, see
`move_pruning`. Nodes are expanded first in, first out, with moves in lexicographic order. So each board is kept with
the first of its shortest paths through boards that are expanded. For a board on W that is a prefix of W: a path that
is shorter, or as long and earlier, would give a solution that is shorter than W or comes before it. So W leads to the
frontier by paths that are kept. The state of the operator pruning FSM there is the one after a prefix of W, and the
FSM prunes none of the moves that follow.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pdb_core.puzzle import Tiles
from pdb_query.lookup import Int64s
from pdb_query.private_memory import private_memory
from solver.checkpoint import Checkpoint, Subtrees
from solver.engine import search_memory as mem
from solver.engine.engine import Engine
from solver.engine.frontier_kernels import (
    CHILDREN,
    FRONTIER_EXPANDED,
    FRONTIER_GENERATED,
    N_FRONTIER_COUNTERS,
    NEXT,
    NODES,
    NOT_ON_FRONTIER,
    expand_frontier,
    frontier_h,
)
from solver.engine.stack import Stack, StackPool
from solver.engine.subtree_list import SubtreeList, SubtreeWork, shares_of
from solver.progress import Iteration

# Nodes of the frontier that are put on a stack at once.
_CHUNK = 1024
# A node is expanded some 20 times as fast depth first.
_SLOWNESS = 16
# Nodes have 30-bit indices.
_MOST_NODES = 1 << 30
# Of the hash table for each node, at most.
_SLOT_BYTES = 16


@dataclass(frozen=True)
class FrontierLimits:
    """Limits of the nodes near the root.

    memory_bytes    of the nodes and their hash table
    previous_nodes  nodes generated in the threshold before, from which on a frontier is made
    share           least ratio of the nodes generated in the threshold before to the nodes near the root; larger by
                    the factor by which the engine is faster than with tables
    """

    memory_bytes: int
    previous_nodes: int = 5_000_000
    share: int = 256

    def plan(
        self, finished: Sequence[Iteration], threshold: int, n_columns: int, speed: float = 1.0
    ) -> tuple[int, int] | None:
        """Return the most nodes to keep, and the least slack of nodes to expand; None for a threshold not worth it.

        Nodes are expanded whose f is at most the largest threshold that had no more nodes than can be kept.
        """
        if not finished or finished[-1].generated < self.previous_nodes:
            return None
        affordable = self.memory_bytes // (4 * n_columns + _SLOT_BYTES)
        most = min(affordable, int(finished[-1].generated / (self.share * max(1.0, speed))), _MOST_NODES - CHILDREN)
        smaller = [done.threshold for done in finished if done.threshold < threshold and done.generated <= most]
        return (most, (threshold - smaller[-1]) // 2) if smaller else None


# The limits of a frontier that divides a threshold for a checkpoint: few nodes, which keep their duplicates.
DIVISION = FrontierLimits(memory_bytes=16_000_000, previous_nodes=0, share=30_000)


class Frontier:
    """Nodes near the root, and the frontier among them; thread-safe once complete.

    nodes  uint32[capacity, n_columns], see `expand_frontier`: the first is not used, the second is the root
    """

    def __init__(
        self, engine: Engine, root: Stack, most_nodes: int, least_slack: int, *, keeps_duplicates: bool = False
    ) -> None:
        """`root` holds the root of a threshold, and is cleared. Nodes with `least_slack` or more are expanded."""
        self._engine, self._least_slack = engine, least_slack
        self._group_size = 1 if keeps_duplicates else _CHUNK
        capacity, n_columns = most_nodes + CHILDREN + 1, engine.tables.n_columns
        words = private_memory(4 * capacity * n_columns, huge=True).view(np.uint32)
        self.nodes = words.reshape(capacity, n_columns)
        n_slots = 1 if keeps_duplicates else 2 << capacity.bit_length()
        self._slots = private_memory(4 * n_slots, huge=True).view(np.int32)
        self.nodes[1] = root.columns[:, 0]
        root.counters[:] = 0
        self.counters = np.zeros(N_FRONTIER_COUNTERS, dtype=np.int64)
        self.counters[[NEXT, NODES]] = 1, 2
        self.is_complete = False

    def expand(self, stack: Stack, pause_at: int, max_nodes: int) -> None:
        """Expand nodes near the root, until a limit of generated nodes or to the end. The stack is empty."""
        self.is_complete = expand_frontier(
            self._engine.tables, self._engine.round_tables, stack.memory, self.nodes, self._slots, self.counters,
            self._least_slack, pause_at, max_nodes,
        )  # fmt: skip

    def take_counts(self) -> tuple[int, int]:
        """Return the nodes generated and expanded since the last call."""
        generated, expanded = self.counters[[FRONTIER_GENERATED, FRONTIER_EXPANDED]].tolist()
        self.counters[[FRONTIER_GENERATED, FRONTIER_EXPANDED]] = 0
        return generated, expanded

    def ordered(self) -> tuple[Int64s, Int64s]:
        """Return the indices of the nodes to search below, and their h, the least first: int64[m] each."""
        n_nodes = int(self.counters[NODES])
        h = np.empty(n_nodes, dtype=np.int16)
        frontier_h(self._engine.tables, self.nodes, n_nodes, int(self.counters[NEXT]), self._least_slack, h)
        h[0] = NOT_ON_FRONTIER
        indices = np.flatnonzero(h != NOT_ON_FRONTIER)
        indices = indices[np.argsort(h[indices], kind="stable")]
        return indices, h[indices].astype(np.int64)

    def subtrees(self, stacks: StackPool, threshold: int, growth: float, checkpoint: Checkpoint) -> SubtreeList:
        """Return the subtrees below the complete frontier, in groups that are put on a stack at once; `growth` is the
        ratio of a threshold's nodes to the nodes of the threshold before.
        """
        indices, h = self.ordered()
        digest = hashlib.sha256(np.ascontiguousarray(self.nodes[: int(self.counters[NODES]), mem.LINK]).tobytes())
        digest.update(indices.tobytes())
        moves_left = (self.nodes[:, mem.LEFT][indices] >> mem.MOVES_LEFT_SHIFT).astype(np.int64)
        return SubtreeList(
            stacks,
            threshold,
            checkpoint,
            nodes=self.nodes,
            links=self.nodes[:, mem.LINK],
            roots=indices,
            group_size=self._group_size,
            shares=shares_of(moves_left, h, growth),
            digest=digest.hexdigest()[:16],
        )


class FrontierWork(SubtreeWork):
    """Expansion of the nodes near the root; then one thread's work below the frontier."""

    def __init__(
        self,
        stacks: StackPool,
        stack: Stack,
        root: Tiles,
        frontier: Frontier,
        make_subtrees: Callable[[], SubtreeList],
        resume: Callable[[Subtrees], None],
    ) -> None:
        """The stack is empty. When the frontier is complete, `make_subtrees` is called, then `resume` with the subtrees
        that the checkpoint has.
        """
        super().__init__(stacks, stack, root, None)
        self._frontier, self._make_subtrees, self._resume = frontier, make_subtrees, resume

    def search(self, pause_at: int, max_nodes: int, *, counts_goals: bool) -> int:
        if self._subtrees is not None:
            return super().search(pause_at, max_nodes, counts_goals=counts_goals)
        n = int(self._counters[mem.GENERATED])
        self._frontier.expand(self._stack, max(1, (pause_at - n) // _SLOWNESS), max_nodes - n)
        self._counters[[mem.GENERATED, mem.EXPANDED]] += self._frontier.take_counts()
        if self._frontier.is_complete:
            self._subtrees = self._make_subtrees()
            self._resume(self._subtrees.known)
        return mem.PAUSED
