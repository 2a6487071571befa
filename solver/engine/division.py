"""A threshold of one board divided into subtrees, which threads search in their order.

The list of subtrees depends on the board, the tables and the nodes of the thresholds before, not on the threads. So a
search that was stopped continues with the subtrees that its checkpoint does not have.
"""

import hashlib
import time
from collections import deque
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from pdb_core.lookup import Int64s
from pdb_core.puzzle import Board
from solver.checkpoint import Checkpoint, Subtrees
from solver.engine.layout import EXHAUSTED, EXPANDED, GENERATED, N_COUNTERS, PAUSED, SOLUTIONS, STOP_AT_GOAL
from solver.engine.prefixes import Prefixes, prefixes_of
from solver.engine.stack import Stack, tiles_moved
from solver.engine.subtrees import after
from solver.engine.threshold import Part

if TYPE_CHECKING:
    from solver.engine.ida_star import IdaStar

# The upper part of a divided threshold is the tree of the largest earlier one within two limits: so many expected nodes
# of the threshold for each node of the upper part, and so many nodes of the upper part.
_NODES_PER_UPPER, _MOST_UPPER = 200_000, 200_000
# Nodes of a threshold to those of the one before, as a guess.
_GROWTH = 6
# Of subtrees with the same slack, those with a larger h have more nodes: measured on boards of the 24-puzzle.
_GROWTH_BY_H = 0.05
_COUNTED = [GENERATED, EXPANDED, SOLUTIONS]


class Division:
    """The subtrees of a threshold: those that are left, those under way, those that are finished. Thread-safe.

    known  the nodes and the seconds of the upper part of the tree and of the finished subtrees, when the search began
    """

    def __init__(
        self,
        ida_star: "IdaStar",
        board: Board,
        threshold: int,
        prefixes: Prefixes,
        growth: float,
        checkpoint: Checkpoint,
    ) -> None:
        """`growth` are the nodes of a threshold to those of the one before."""
        self.ida_star, self.board, self.paths = ida_star, board, prefixes.paths
        self._threshold, self._checkpoint = threshold, checkpoint
        self._started = time.perf_counter()
        self._digest = hashlib.sha256(b"/".join(self.paths)).hexdigest()[:16]
        finished = checkpoint.subtrees(threshold, self._digest)
        if max(finished.numbers, default=0) >= len(self.paths):
            finished = Subtrees()  # only a forged log has such numbers
        self.known = replace(
            finished,
            generated=finished.generated + prefixes.generated,
            expanded=finished.expanded + prefixes.expanded,
        )
        width = ida_star.size.width
        ends = [after(ida_star.machine, board, path, width) for path in self.paths]
        self.roots = ida_star.engine.roots([end for end, _ in ends], [state for _, state in ends])
        self._moves_left = threshold - np.array([len(path) for path in self.paths])
        # Two more moves above h multiply the nodes of a subtree as they do those of a threshold.
        slack = (self._moves_left - self.roots.h) / 2
        weights = growth**slack * np.exp(_GROWTH_BY_H * slack * (self.roots.h - self.roots.h.max()))
        self._shares = weights / weights.sum()
        checkpoint.share = float(self._shares[list(finished.numbers)].sum())
        self._left = deque(number for number in range(len(self.paths)) if number not in finished.numbers)
        # The parts that search each subtree, and its nodes so far.
        self._n_parts: dict[int, int] = {}
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
            self._n_parts[number] = 1
            self._nodes[number] = np.zeros(2, dtype=np.int64)
        self.ida_star.begin(stack, self.roots, number, int(self._moves_left[number]))
        return number

    def join(self, number: int) -> None:
        """Count one more part that searches a subtree."""
        with self._lock:
            self._n_parts[number] += 1

    def count(self, number: int, nodes: npt.NDArray[np.int64], *, is_over: bool) -> None:
        """Count generated and expanded nodes of a part of a subtree, int64[2]. The last part finishes it."""
        with self._lock:
            self._nodes[number] += nodes
            self._n_parts[number] -= is_over
            if self._n_parts[number]:
                return
            del self._n_parts[number]
            generated, expanded = self._nodes.pop(number).tolist()
            self._checkpoint.share = min(1.0, (self._checkpoint.share or 0.0) + float(self._shares[number]))
            seconds = self.known.seconds + time.perf_counter() - self._started
            subtree = Subtrees({number}, generated, expanded, seconds)
            self._checkpoint.finish_subtrees(self._threshold, self._digest, subtree)


class DividedPart(Part):
    """A part of a divided threshold: one subtree after another."""

    def __init__(self, division: Division, stack: Stack, *, subtree: int | None = None, is_lent: bool = False) -> None:
        """`subtree` is the number of that on the stack; `is_lent`: the stack goes back when the part is over."""
        self._division, self._stack, self._subtree, self._is_lent = division, stack, subtree, is_lent
        self._counters = np.zeros(N_COUNTERS, dtype=np.int64)
        self.slice_nodes = division.ida_star.slice_nodes

    @property
    def counters(self) -> Int64s:
        return self._counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        assert at_goal == STOP_AT_GOAL
        while self._counters[GENERATED] < pause_at:
            if self._subtree is None:
                self._subtree = self._division.begin(self._stack)
                if self._subtree is None:
                    return EXHAUSTED
            n = int(self._counters[GENERATED])
            status = self._stack.search(pause_at - n, max(1, max_nodes - n), at_goal)
            counted = self._stack.counters[_COUNTED]
            self._stack.counters[_COUNTED] = 0
            self._counters[_COUNTED] += counted
            self._division.count(self._subtree, counted[:2], is_over=status == EXHAUSTED)
            if status != EXHAUSTED:
                return status
            self._subtree = None
        return PAUSED

    def split(self) -> Self | None:
        division = self._division
        if division.has_more:
            return type(self)(division, division.ida_star.lend_stack(), is_lent=True)
        if self._subtree is None or self._stack.n_nodes < 2:
            return None
        other = division.ida_star.lend_stack()
        self._stack.split(other)
        division.join(self._subtree)
        return type(self)(division, other, subtree=self._subtree, is_lent=True)

    def release(self) -> None:
        if self._is_lent:
            self._division.ida_star.take_back(self._stack)

    def tiles(self) -> tuple[int, ...]:
        """Raises `Engine.wrong_end` if the moves lead elsewhere than to the goal."""
        division, engine = self._division, self._division.ida_star.engine
        assert self._subtree is not None
        path = division.paths[self._subtree]
        root, _ = after(engine.machine, division.board, path, engine.size.width)
        tiles, end = tiles_moved(root, self._stack.moves_to_goal(), engine.size)
        if end != engine.goal:
            raise engine.wrong_end()
        return (*path, *tiles)

    def pause(self) -> None:
        self._stack.pause()


def divide(ida_star: "IdaStar", board: Board, threshold: int, checkpoint: Checkpoint) -> Division | None:
    """Divide a threshold of `board`, in the terms of the tables. Returns None if that is not worthwhile: the threshold
    before was small, or a solution is in the upper part of the tree.
    """
    if not checkpoint.is_long:
        return None
    before, last = (iteration.generated for iteration in checkpoint.finished[-2:])
    n_upper = min(_MOST_UPPER, _GROWTH * last // _NODES_PER_UPPER)
    inner = max((at.threshold for at in checkpoint.finished if at.generated <= n_upper), default=0)

    def lower_bounds(boards: npt.NDArray[np.uint8]) -> tuple[Int64s, Int64s]:
        roots = ida_star.engine.roots(boards)
        return roots.h, roots.sums.sum(axis=1)

    engine = ida_star.engine
    prefixes = prefixes_of(
        board, engine.goal, engine.size, threshold, engine.machine, lower_bounds, lambda depth, h: h + depth <= inner
    )
    if prefixes.tiles is not None or not prefixes.paths:
        return None
    return Division(ida_star, board, threshold, prefixes, last / max(1, before), checkpoint)
