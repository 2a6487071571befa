"""A threshold searched breadth first near the root and depth first below: A*+IDA* (Bu and Korf 2019).

Nodes whose f is at most some smaller threshold are expanded breadth first and kept in memory, without duplicates. The
others are the *frontier*. The engine searches below them, those with the least h first. They are the deepest ones, and
solutions are where f rises late: the last threshold often ends at once.

Why no solution is lost: let W be the lexicographically first optimal solution. No part of W is a duplicate, see
`move_pruning`. Nodes are expanded first in, first out, with moves in lexicographic order. So each board is kept with
the first of its shortest paths through boards that are expanded. For a board on W that is a prefix of W: a path that
is shorter, or as long and earlier, would give a solution that is shorter than W or comes before it. So W leads to the
frontier by paths that are kept. The state of the move-pruning machine there is the one after a prefix of W, and the
machine prunes none of the moves that follow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Self

import numpy as np

from pdb_core.lookup import Int64s
from pdb_core.private_memory import private_memory
from pdb_core.puzzle import Board
from solver.engine.engine import Engine
from solver.engine.frontier_kernels import (
    CHILDREN,
    DIGIT_BITS,
    FRONTIER_EXPANDED,
    FRONTIER_GENERATED,
    N_FRONTIER_COUNTERS,
    NEXT,
    NODES,
    NOT_ON_FRONTIER,
    expand_frontier,
    frontier_h,
)
from solver.engine.layout import EXHAUSTED, EXPANDED, GENERATED, LINK, PAUSED, TOP
from solver.engine.stack import Stack, tiles_moved
from solver.engine.threshold import Part
from solver.progress import Iteration

if TYPE_CHECKING:
    from solver.engine.ida_star import IdaStar

# Nodes of the frontier that are put on a stack at once, and the moves that number them.
_N_DIGITS = 5
_CHUNK = 1 << (DIGIT_BITS * _N_DIGITS)
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
    share           the nodes generated in the threshold before, divided by those near the root: at least this, and
                    as many times more as the engine is faster than with tables
    """

    memory_bytes: int
    previous_nodes: int = 5_000_000
    share: int = 32

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
        smaller = [at.threshold for at in finished if at.threshold < threshold and at.generated <= most]
        return (most, (threshold - smaller[-1]) // 2) if smaller else None


class Frontier:
    """The nodes near the root, and those of them that are still to be searched below; thread-safe once complete.

    nodes  uint32[capacity, n_columns], see `expand_frontier`
    """

    def __init__(self, engine: Engine, root: Stack, most_nodes: int, least_slack: int) -> None:
        """`root` holds the root of a threshold, and is cleared. Nodes with `least_slack` or more are expanded."""
        self._engine, self._least_slack = engine, least_slack
        capacity, n_columns = most_nodes + CHILDREN, engine.tables.n_columns
        words = private_memory(4 * capacity * n_columns, huge=True).view(np.uint32)
        self.nodes = words.reshape(capacity, n_columns)
        self._slots = private_memory(8 << capacity.bit_length(), huge=True).view(np.int32)
        self.nodes[0] = root.columns[:, 0]
        root.counters[:] = 0
        self.counters = np.zeros(N_FRONTIER_COUNTERS, dtype=np.int64)
        self.counters[NODES] = 1
        self._indices = np.empty(0, dtype=np.int64)
        self._n_taken = 0
        self._lock = Lock()
        self.is_complete = False

    def expand(self, stack: Stack, pause_at: int, max_nodes: int) -> None:
        """Expand nodes near the root, until a limit of generated nodes or to the end. The stack is empty."""
        self.is_complete = expand_frontier(
            self._engine.tables, self._engine.stages, stack.memory, self.nodes, self._slots, self.counters,
            self._least_slack, pause_at, max_nodes,
        )  # fmt: skip
        if self.is_complete:
            self._order()

    def take_counts(self) -> tuple[int, int]:
        """Return the nodes generated and expanded since the last call."""
        generated, expanded = self.counters[[FRONTIER_GENERATED, FRONTIER_EXPANDED]].tolist()
        self.counters[[FRONTIER_GENERATED, FRONTIER_EXPANDED]] = 0
        return generated, expanded

    def _order(self) -> None:
        """List the nodes of the frontier, those with the least h first."""
        n_nodes = int(self.counters[NODES])
        h = np.empty(n_nodes, dtype=np.int16)
        frontier_h(self._engine.tables, self.nodes, n_nodes, int(self.counters[NEXT]), self._least_slack, h)
        order = np.argsort(h, kind="stable")
        self._indices = order[np.searchsorted(h[order], NOT_ON_FRONTIER, side="right") :].astype(np.int64)

    @property
    def is_taken(self) -> bool:
        """Return whether no node is left to take."""
        return self.is_complete and self._n_taken == len(self._indices)

    def take(self) -> Int64s:
        """Return the indices of the next nodes to search below."""
        with self._lock:
            taken = self._indices[self._n_taken : self._n_taken + _CHUNK]
            self._n_taken += len(taken)
            return taken

    def moves_to(self, node: int) -> list[int]:
        """Return the blank's moves from the root to a node."""
        moves = []
        while node:
            link = int(self.nodes[node, LINK])
            moves.append(link & 3)
            node = link >> 2
        return moves[::-1]


def frontier_of(
    engine: Engine, limits: FrontierLimits, root: Stack, finished: Sequence[Iteration], threshold: int
) -> Frontier | None:
    """Return the frontier of a threshold whose root is on a stack; None if it is not worthwhile."""
    plan = limits.plan(finished, threshold, engine.tables.n_columns, engine.speed)
    return None if plan is None else Frontier(engine, root, *plan)


class FrontierPart(Part):
    """The nodes near the root; then what one thread searches below the frontier."""

    def __init__(
        self, root: Board, frontier: Frontier, stack: Stack, ida_star: "IdaStar", *, is_lent: bool = False
    ) -> None:
        """The stack is empty. `is_lent`: it goes back to `ida_star` when the part is over."""
        self._root, self._frontier, self._stack = root, frontier, stack
        self._ida_star, self._is_lent = ida_star, is_lent
        self._indices = np.empty(0, dtype=np.int64)
        self.slice_nodes = ida_star.slice_nodes

    @property
    def counters(self) -> Int64s:
        return self._stack.counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        frontier, counters = self._frontier, self._stack.counters
        if not frontier.is_complete:
            frontier.expand(self._stack, max(1, pause_at // _SLOWNESS), max_nodes)
            counters[GENERATED], counters[EXPANDED] = frontier.take_counts()
            return PAUSED
        while True:
            if not counters[TOP]:
                self._indices = frontier.take()
                if not len(self._indices):
                    return EXHAUSTED
                self._stack.load_frontier(frontier.nodes, self._indices, _N_DIGITS)
            status = self._stack.search(pause_at, max_nodes, at_goal)
            if status != EXHAUSTED:
                return status
            if counters[GENERATED] >= min(pause_at, max_nodes):
                return PAUSED

    def split(self) -> Self | None:
        if not self._frontier.is_complete or (self._frontier.is_taken and self._stack.n_nodes < 2):
            return None
        other = type(self)(self._root, self._frontier, self._ida_star.lend_stack(), self._ida_star, is_lent=True)
        if self._frontier.is_taken:
            self._stack.split(other._stack)
            other._indices = self._indices
        return other

    def release(self) -> None:
        if self._is_lent:
            self._ida_star.take_back(self._stack)

    def tiles(self) -> tuple[int, ...]:
        """Raises `Engine.wrong_end` if the moves lead elsewhere than to the goal."""
        moves = self._stack.moves_to_goal()
        digits, below = moves[:_N_DIGITS], moves[_N_DIGITS:]
        i = sum(digit << (DIGIT_BITS * place) for place, digit in enumerate(reversed(digits)))
        engine = self._ida_star.engine
        tiles, end = tiles_moved(self._root, self._frontier.moves_to(int(self._indices[i])) + below, engine.size)
        if end != engine.goal:
            raise engine.wrong_end()
        return tiles

    def pause(self) -> None:
        self._stack.pause()
