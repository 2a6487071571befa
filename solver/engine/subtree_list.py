"""A threshold divided into numbered subtrees, which threads search in order; a checkpoint keeps the finished ones.

The list of subtrees depends on the board, the tables and the nodes of the thresholds before, not on the threads.
"""

import math
import time
from collections import deque
from threading import Lock

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import Tiles
from pdb_core.types import Int64s
from solver.checkpoint import Checkpoint, Subtrees
from solver.engine import search_memory as mem
from solver.engine.stack import Stack, StackPool
from solver.engine.work import Work

_COUNTED = [mem.GENERATED, mem.EXPANDED, mem.SOLUTIONS]
# Of subtrees with the same slack, those with a larger h have more nodes: measured on boards of the 24-puzzle.
_GROWTH_BY_H = 0.05


class SubtreeList:
    """Numbered subtrees of a threshold: not begun, under way, finished. Thread-safe.

    known  the subtrees that were finished before, with their nodes and seconds
    """

    def __init__(
        self,
        stacks: StackPool,
        threshold: int,
        checkpoint: Checkpoint,
        *,
        nodes: npt.NDArray[np.uint32],
        links: npt.NDArray[np.uint32],
        shares: npt.NDArray[np.float64],
        digest: str,
    ) -> None:
        """Subtrees below `nodes`, uint32[m, n_columns]. `links` lead to them, see `Stack.load`.

        `shares` estimate the share of the threshold's nodes in each subtree. `digest` identifies the list.
        """
        self._stacks, self._threshold, self._checkpoint = stacks, threshold, checkpoint
        self._roots, self._links, self._shares, self._digest = nodes, links, shares, digest
        self._started = time.perf_counter()
        self.known = checkpoint.subtrees(threshold, digest)
        if max(self.known.numbers, default=0) >= len(self._shares):
            self.known = Subtrees()  # only a forged log has such numbers
        checkpoint.share = float(self._shares[list(self.known.numbers)].sum())
        self._left = deque(number for number in range(len(self._shares)) if number not in self.known.numbers)
        # The threads that search each subtree, and its nodes so far.
        self._n_threads: dict[int, int] = {}
        self._nodes: dict[int, Int64s] = {}
        self._lock = Lock()

    @property
    def has_more(self) -> bool:
        """Return whether there are subtrees that are not begun."""
        return bool(self._left)

    def begin(self, stack: Stack) -> int | None:
        """Put the root of the next subtree on an empty stack. Returns its number; None if all are begun."""
        with self._lock:
            if not self._left:
                return None
            number = self._left.popleft()
            self._n_threads[number] = 1
            self._nodes[number] = np.zeros(2, dtype=np.int64)
        stack.load(self._roots[number : number + 1], self._links)
        return number

    def join(self, number: int) -> None:
        """Count one more thread that searches a subtree."""
        with self._lock:
            self._n_threads[number] += 1

    def count(self, number: int, nodes: npt.NDArray[np.int64], *, is_over: bool) -> None:
        """Count generated and expanded nodes, int64[2], of a subtree. The last thread that is over finishes it."""
        with self._lock:
            self._nodes[number] += nodes
            self._n_threads[number] -= is_over
            if self._n_threads[number]:
                return
            del self._n_threads[number]
            generated, expanded = self._nodes.pop(number).tolist()
            self._checkpoint.share = min(1.0, (self._checkpoint.share or 0.0) + float(self._shares[number]))
            seconds = self.known.seconds + time.perf_counter() - self._started
            self._checkpoint.finish_subtrees(
                self._threshold, self._digest, Subtrees({number}, generated, expanded, seconds)
            )


class SubtreeWork(Work):
    """Work of one thread on the subtrees of a list, one after another."""

    def __init__(
        self,
        stacks: StackPool,
        stack: Stack,
        root: Tiles,
        subtrees: SubtreeList | None,
        *,
        number: int | None = None,
        is_lent: bool = False,
    ) -> None:
        """`subtrees` may be set later. `number` is that of the subtree on the stack; for `is_lent` see `Work`."""
        super().__init__(stacks, stack, root, is_lent=is_lent)
        self._subtrees, self._number = subtrees, number
        self._counters = np.zeros(mem.N_COUNTERS, dtype=np.int64)

    @property
    def counters(self) -> Int64s:
        return self._counters

    def search(self, pause_at: int, max_nodes: int, *, counts_goals: bool) -> int:
        assert self._subtrees is not None
        while self._counters[mem.GENERATED] < min(pause_at, max_nodes):
            if self._number is None:
                self._number = self._subtrees.begin(self._stack)
                if self._number is None:
                    return mem.EXHAUSTED
            n = int(self._counters[mem.GENERATED])
            status = self._stack.search(pause_at - n, max_nodes - n, counts_goals=counts_goals)
            counted = self._stack.counters[_COUNTED]
            self._stack.counters[_COUNTED] = 0
            self._counters[_COUNTED] += counted
            self._subtrees.count(self._number, counted[:2], is_over=status == mem.EXHAUSTED)
            if status != mem.EXHAUSTED:
                return status
            self._number = None
        return mem.PAUSED

    def split(self) -> Work | None:
        subtrees = self._subtrees
        if subtrees is None or not (subtrees.has_more or (self._number is not None and self._stack.n_nodes > 1)):
            return None
        stack, number = self._stacks.take_for_share(self._stack), None
        if stack is None:
            return None
        if not subtrees.has_more and self._number is not None:
            self._stack.split(stack)
            number = self._number
            subtrees.join(number)
        return SubtreeWork(self._stacks, stack, self._root, subtrees, number=number, is_lent=True)


def log_shares(moves_left: Int64s, h: Int64s, growth: float) -> npt.NDArray[np.float64]:
    """Estimate the logarithms of the numbers of nodes below some nodes, but for a constant.

    `growth` is the ratio of a threshold's nodes to the nodes of the threshold before.
    """
    # Two more moves above h multiply the nodes of a subtree as they do those of a threshold.
    slack = (moves_left - h) / 2
    return slack * (math.log(growth) + _GROWTH_BY_H * (h - int(h.max(initial=0))))
