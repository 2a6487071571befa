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
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from threading import Condition, Lock, RLock

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import Tiles
from pdb_query.lookup import Int64s
from pdb_query.private_memory import private_memory
from solver.board_arrays import N_MOVES
from solver.checkpoint import Checkpoint, Subtrees
from solver.engine import search_memory as mem
from solver.engine.engine import Engine
from solver.engine.frontier_kernels import (
    FRONTIER_EXPANDED,
    FRONTIER_GENERATED,
    N_FRONTIER_COUNTERS,
    NEXT,
    NODES,
    add_children,
    count_by_h,
    expand_nodes,
    place_by_h,
)
from solver.engine.stack import Stack, StackPool
from solver.engine.subtree_list import SubtreeList, SubtreeWork, log_shares
from solver.engine.work import Work
from solver.progress import Iteration

# Nodes of the frontier that are put on a stack at once.
_CHUNK = 1024
# A node is expanded some 20 times as fast depth first.
_SLOWNESS = 16
# Nodes that a thread expands at a time, before their children are added.
_RANGE = 4096
# Nodes that are ordered at a time, some 20 ms.
_PART = 1 << 20
# Seconds that a thread waits for the work of others.
_WAIT_S = 0.05
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
        most = min(affordable, int(finished[-1].generated / (self.share * max(1.0, speed))), _MOST_NODES - N_MOVES - 1)
        smaller = [done.threshold for done in finished if done.threshold < threshold and done.generated <= most]
        return (most, (threshold - smaller[-1]) // 2) if smaller else None


# The limits of a frontier that divides a threshold for a checkpoint: few nodes, which keep their duplicates.
DIVISION = FrontierLimits(memory_bytes=16_000_000, previous_nodes=0, share=30_000)


@dataclass
class _Children:
    """Children of the nodes before `last`, from some node on: those from `next` to `n` have not been added.

    nodes, first_slots  see `expand_nodes`
    """

    nodes: npt.NDArray[np.uint32]
    first_slots: Int64s
    last: int = 0
    next: int = 0
    n: int = 0


class Frontier:
    """Nodes near the root, and the frontier among them; thread-safe.

    Threads expand different nodes at the same time. One thread at a time adds their children, in the order of the
    parents, so the nodes do not depend on the threads.

    nodes  uint32[capacity, n_columns], see `expand_nodes`: the first is not used, the second is the root
    """

    def __init__(
        self, engine: Engine, root: Stack, most_nodes: int, least_slack: int, *, keeps_duplicates: bool = False
    ) -> None:
        """`root` holds the root of a threshold, and is cleared. Nodes with `least_slack` or more are expanded."""
        self._engine, self._least_slack = engine, least_slack
        self._group_size = 1 if keeps_duplicates else _CHUNK
        capacity, n_columns = most_nodes + N_MOVES + 1, engine.tables.n_columns
        words = private_memory(4 * capacity * n_columns, huge=True).view(np.uint32)
        self.nodes = words.reshape(capacity, n_columns)
        n_slots = 1 if keeps_duplicates else 2 << capacity.bit_length()
        self._slots = private_memory(4 * n_slots, huge=True).view(np.int32)
        self.nodes[1] = root.columns[:, 0]
        root.counters[:] = 0
        self._counters = np.zeros(N_FRONTIER_COUNTERS, dtype=np.int64)
        self._counters[[NEXT, NODES]] = 1, 2
        # Not `with Condition()`: see `ThresholdSearch`.
        self._lock = RLock()
        self._changed = Condition(self._lock)
        # The first node that no thread has taken, and the nodes that are complete.
        self._untaken, self._n_nodes = 1, 2
        self._n_taken_ranges = 0
        # By the first of their parents whose children have not all been added.
        self._ready: dict[int, _Children] = {}
        self._spare: list[_Children] = []
        self._is_adding = False
        self.is_complete = False

    def expand(self, stack: Stack, pause_at: int, max_nodes: int) -> tuple[int, int]:
        """Expand nodes near the root, to the end or to a limit of generated nodes. The stack is empty.

        If other threads have all the work, wait for a short time. Returns the nodes generated and expanded.
        """
        generated = expanded = 0
        while generated < min(pause_at, max_nodes) and not self.is_complete:
            with self._lock:
                if int(self._counters[NEXT]) in self._ready and not self._is_adding:
                    first, last = 0, 0
                elif self._untaken < self._n_nodes:
                    first, last = self._untaken, min(self._untaken + _RANGE, self._n_nodes)
                    self._untaken = last
                    self._n_taken_ranges += 1
                elif self._n_taken_ranges:
                    self._changed.wait(_WAIT_S)
                    break
                else:
                    self.is_complete = True
                    break
            if last:
                children = self._children_of(stack, first, last)
                with self._lock:
                    self._ready[first] = children
            counted = self._add_ready(max_nodes - generated)
            generated, expanded = generated + counted[0], expanded + counted[1]
        return generated, expanded

    def _children_of(self, stack: Stack, first: int, last: int) -> _Children:
        with self._lock:
            children = self._spare.pop() if self._spare else None
        if children is None:
            n_most = N_MOVES * _RANGE
            nodes = np.empty((n_most, self._engine.tables.n_columns), dtype=np.uint32)
            children = _Children(nodes, np.empty(n_most, dtype=np.int64))
        children.n = expand_nodes(
            self._engine.tables, self._engine.round_tables, stack.memory, self.nodes, first, last, self._least_slack,
            len(self._slots), children.nodes, children.first_slots,
        )  # fmt: skip
        children.next, children.last = 0, last
        return children

    def _add_ready(self, max_nodes: int) -> tuple[int, int]:
        """Add the children that are next, unless another thread does. Returns the nodes generated and expanded."""
        counters = self._counters
        with self._lock:
            if self._is_adding:
                return 0, 0
            self._is_adding = True
            counters[[FRONTIER_GENERATED, FRONTIER_EXPANDED]] = 0
        while True:
            with self._lock:
                children = self._ready.pop(int(counters[NEXT]), None)
                if children is None:
                    break
            children.next = add_children(
                self._engine.tables, self.nodes, self._slots, counters, self._least_slack, children.nodes,
                children.first_slots, children.n, children.next, children.last, max_nodes,
            )  # fmt: skip
            with self._lock:
                self._n_nodes = int(counters[NODES])
                if counters[NEXT] < children.last:
                    self._ready[int(counters[NEXT])] = children
                    self.is_complete = bool(counters[FRONTIER_GENERATED] < max_nodes)
                    break
                self._n_taken_ranges -= 1
                self._spare.append(children)
                self._changed.notify_all()
        with self._lock:
            self._is_adding = False
            generated, expanded = counters[[FRONTIER_GENERATED, FRONTIER_EXPANDED]].tolist()
            self._changed.notify_all()
        return generated, expanded

    def ordered(self) -> Generator[None, None, tuple[npt.NDArray[np.uint32], Int64s]]:
        """Return the indices of the nodes to search below, uint32[m], and where those of each h end, int64[h + 1].

        Nodes with the least h come first. The frontier must be complete, and its table of duplicates is dropped. Yields
        every few dozen milliseconds, so that the caller can act on limits and signals.
        """
        self._slots, self._ready, self._spare = self._slots[:0].copy(), {}, []
        n_nodes, n_seen = int(self._counters[NODES]), int(self._counters[NEXT])
        h = np.empty(n_nodes, dtype=np.int16)
        counts = np.zeros(1 + int(self.nodes[1, mem.LEFT] >> mem.MOVES_LEFT_SHIFT), dtype=np.int64)
        for part in _parts(1, n_nodes):
            count_by_h(self._engine.tables, self.nodes, part.start, part.stop, n_seen, self._least_slack, h, counts)
            yield
        ends = np.cumsum(counts)
        roots, places = np.empty(int(ends[-1]), dtype=np.uint32), ends - counts
        for part in _parts(1, n_nodes):
            place_by_h(h, part.start, part.stop, places, roots)
            yield
        return roots, ends

    def subtrees(
        self, stacks: StackPool, threshold: int, growth: float, checkpoint: Checkpoint | None
    ) -> Generator[None, None, SubtreeList]:
        """Return the subtrees below the complete frontier, in groups that are put on a stack at once.

        `growth` is the ratio of a threshold's nodes to the nodes of the threshold before. Yields as `ordered` does.
        """
        roots, ends = yield from self.ordered()
        links, digest = self.nodes[:, mem.LINK], hashlib.sha256()
        if checkpoint is not None:
            for part in _parts(0, int(self._counters[NODES])):
                digest.update(links[part].tobytes())
                yield
            digest.update(roots.data)

        def logarithms(part: slice) -> npt.NDArray[np.float64]:
            moves_left = (self.nodes[roots[part], mem.LEFT] >> mem.MOVES_LEFT_SHIFT).astype(np.int64)
            h = np.searchsorted(ends, np.arange(part.start, part.stop), side="right")
            return log_shares(moves_left, h, growth, int(np.searchsorted(ends, len(roots))))

        # The largest weight is 1: in damaged tables others would not fit a float.
        most = -np.inf
        for part in _parts(0, len(roots)):
            most = max(most, float(logarithms(part).max()))
            yield
        shares = [np.zeros(0)]
        for part in _parts(0, len(roots)):
            weights = np.exp(logarithms(part) - most)
            shares.append(np.add.reduceat(weights, np.arange(0, len(weights), self._group_size)))
            yield
        weights = np.concatenate(shares)
        return SubtreeList(
            stacks,
            threshold,
            Checkpoint() if checkpoint is None else checkpoint,
            nodes=self.nodes,
            links=links,
            roots=roots,
            group_size=self._group_size,
            shares=weights / weights.sum(),
            digest=digest.hexdigest()[:16],
        )


def _parts(first: int, end: int) -> list[slice]:
    return [slice(start, min(start + _PART, end)) for start in range(first, end, _PART)]


class FrontierWork(SubtreeWork):
    """Work of one thread: it expands nodes near the root, and then searches below the frontier."""

    def __init__(
        self,
        stacks: StackPool,
        stack: Stack,
        root: Tiles,
        frontier: Frontier,
        making: "SubtreesMaking",
        *,
        is_lent: bool = False,
    ) -> None:
        """The stack is empty. When the frontier is complete, `making` makes the subtrees."""
        super().__init__(stacks, stack, root, None, is_lent=is_lent)
        self._frontier, self._making = frontier, making

    def search(self, pause_at: int, max_nodes: int, *, counts_goals: bool) -> int:
        self._subtrees = self._making.subtrees
        if self._subtrees is not None:
            return super().search(pause_at, max_nodes, counts_goals=counts_goals)
        if self._frontier.is_complete:
            self._making.go_on()
        else:
            n = int(self._counters[mem.GENERATED])
            pause_at = max(1, (pause_at - n) // _SLOWNESS)
            self._counters[[mem.GENERATED, mem.EXPANDED]] += self._frontier.expand(self._stack, pause_at, max_nodes - n)
        return mem.PAUSED

    def split(self) -> Work | None:
        if self._subtrees is not None:
            return super().split()
        stack = None if self._frontier.is_complete else self._stacks.take_for_share(self._stack)
        if stack is None:
            return None
        return FrontierWork(self._stacks, stack, self._root, self._frontier, self._making, is_lent=True)


class SubtreesMaking:
    """The making of the subtrees below a frontier, by one thread at a time."""

    def __init__(self, slices: Generator[None, None, SubtreeList], resume: Callable[[Subtrees], None]) -> None:
        """`slices` is `Frontier.subtrees`. `resume` is called with the subtrees that the checkpoint has."""
        self._slices, self._resume = slices, resume
        self._lock = Lock()
        self.subtrees: SubtreeList | None = None

    def go_on(self) -> None:
        """Work for some milliseconds, or wait for the thread that does."""
        if not self._lock.acquire(timeout=_WAIT_S):
            return
        try:
            if self.subtrees is None:
                next(self._slices)
        except StopIteration as end:
            self._resume(end.value.known)
            self.subtrees = end.value
        finally:
            self._lock.release()
