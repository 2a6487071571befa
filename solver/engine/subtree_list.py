"""A threshold divided into numbered subtrees, which threads search in order; a checkpoint keeps the finished ones.

The list of subtrees depends on the board, the tables and the nodes of the thresholds before, not on the threads.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from threading import Lock

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Tiles
from pdb_query.lookup import Int64s
from solver.checkpoint import Checkpoint, Subtrees
from solver.engine import layout as lay
from solver.engine.stack import Stack, StackPool, board_before, tiles_to_goal
from solver.engine.subtrees import board_after
from solver.engine.work import Work

_COUNTED = [lay.GENERATED, lay.EXPANDED, lay.SOLUTIONS]
# Of subtrees with the same slack, those with a larger h have more nodes: measured on boards of the 24-puzzle.
_GROWTH_BY_H = 0.05


class SubtreeList:
    """Numbered groups of subtrees of a threshold: not begun, under way, finished. Thread-safe.

    known  the subtrees that were finished before, with their nodes and seconds
    """

    def __init__(
        self,
        stacks: StackPool,
        threshold: int,
        checkpoint: Checkpoint,
        *,
        nodes: npt.NDArray[np.uint32],
        roots: Int64s,
        group_size: int,
        shares: npt.NDArray[np.float64],
        path_to: Callable[[int], tuple[Tiles, tuple[int, ...]]],
        digest: str,
    ) -> None:
        """Subtrees below the rows `roots` of `nodes`, uint32[m, n_columns]; `group_size` of them have one number.

        `shares` estimate the share of the nodes below each root. `path_to` returns the board of a row, and the tiles
        moved from the board that is searched to it. `digest` identifies the list.
        """
        self._stacks, self._threshold, self._checkpoint = stacks, threshold, checkpoint
        self._nodes_above, self._path_to, self._digest = nodes, path_to, digest
        self._roots, self._group_size = roots, group_size
        self._shares = np.add.reduceat(shares, np.arange(0, len(roots), group_size)) if len(roots) else shares
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
        """Put the roots of the next subtrees on an empty stack. Returns their number; None if all are begun."""
        with self._lock:
            if not self._left:
                return None
            number = self._left.popleft()
            self._n_threads[number] = 1
            self._nodes[number] = np.zeros(2, dtype=np.int64)
        stack.load(self._nodes_above[self._group(number)])
        return number

    def join(self, number: int) -> None:
        """Count one more thread that searches subtrees."""
        with self._lock:
            self._n_threads[number] += 1

    def count(self, number: int, nodes: npt.NDArray[np.int64], *, is_over: bool) -> None:
        """Count generated and expanded nodes, int64[2], of subtrees. The last thread that is over finishes them."""
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

    def tiles(self, stack: Stack, number: int) -> tuple[int, ...]:
        """Return the tiles moved to the goal found below a root. Raises `Engine.wrong_end` if there is no such root."""
        engine, moves = self._stacks.engine, stack.moves_to_goal()
        # With damaged tables the moves may end at another board, and those back from the goal may leave the board.
        start = board_before(engine.goal, moves, engine.size)
        for row in self._group(number).tolist():
            board, tiles = self._path_to(row)
            if board == start:
                return (*tiles, *tiles_to_goal(engine, board, moves))
        raise engine.wrong_end()

    def _group(self, number: int) -> Int64s:
        return self._roots[number * self._group_size : (number + 1) * self._group_size]


class SubtreeWork(Work):
    """Work of one thread on the subtrees of a list, one after another."""

    def __init__(
        self,
        stacks: StackPool,
        stack: Stack,
        subtrees: SubtreeList | None,
        *,
        number: int | None = None,
        is_lent: bool = False,
    ) -> None:
        """`subtrees` may be set later. `number` is that of the subtrees on the stack; for `is_lent` see `Work`."""
        super().__init__(stacks, stack, stacks.engine.goal, is_lent=is_lent)
        self._subtrees, self._number = subtrees, number
        self._counters = np.zeros(lay.N_COUNTERS, dtype=np.int64)

    @property
    def counters(self) -> Int64s:
        return self._counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        assert self._subtrees is not None
        while self._counters[lay.GENERATED] < min(pause_at, max_nodes):
            if self._number is None:
                self._number = self._subtrees.begin(self._stack)
                if self._number is None:
                    return lay.EXHAUSTED
            n = int(self._counters[lay.GENERATED])
            status = self._stack.search(pause_at - n, max_nodes - n, at_goal)
            counted = self._stack.counters[_COUNTED]
            self._stack.counters[_COUNTED] = 0
            self._counters[_COUNTED] += counted
            self._subtrees.count(self._number, counted[:2], is_over=status == lay.EXHAUSTED)
            if status != lay.EXHAUSTED:
                return status
            self._number = None
        return lay.PAUSED

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
        return SubtreeWork(self._stacks, stack, subtrees, number=number, is_lent=True)

    def tiles(self) -> tuple[int, ...]:
        assert self._subtrees is not None
        assert self._number is not None
        return self._subtrees.tiles(self._stack, self._number)


def shares_of(moves_left: Int64s, h: Int64s, growth: float) -> npt.NDArray[np.float64]:
    """Estimate each subtree's share of a threshold's nodes; `growth` is the ratio to those of the threshold before."""
    # Two more moves above h multiply the nodes of a subtree as they do those of a threshold.
    slack = (moves_left - h) / 2
    logarithms = slack * (math.log(growth) + _GROWTH_BY_H * (h - h.max(initial=0)))
    # The largest weight is 1: in damaged tables others would not fit a float.
    weights = np.exp(logarithms - logarithms.max(initial=0.0 if len(h) == 0 else -np.inf))
    return weights / weights.sum()  # type: ignore[no-any-return]


def subtrees_before(stacks: StackPool, board: Tiles, path: bytes, threshold: int) -> tuple[SubtreeList, int]:
    """Return the subtrees of a threshold that the textbook (Korf 1985) searches before it comes to the goal at the end
    of `path`, and the nodes that it generates on the path. The blank moves up, left, right, down.
    """
    engine, generated = stacks.engine, 0
    paths: list[bytes] = []
    for depth, tile in enumerate(path):
        cells, _ = board_after(engine.fsm, board, path[:depth], engine.size.width)
        for cell in engine.size.neighbours[cells.index(BLANK)]:
            below = path[:depth] + bytes([cells[cell]])
            if board_after(engine.fsm, board, below, engine.size.width)[1] < 0:
                continue
            generated += 1
            if cells[cell] == tile:
                break
            paths.append(below)
    ends = [board_after(engine.fsm, board, below, engine.size.width) for below in paths]
    roots = engine.roots([end for end, _ in ends], [state for _, state in ends])
    moves_left = threshold - np.array([len(below) for below in paths], dtype=np.int64)
    rows = np.flatnonzero(roots.thresholds <= moves_left)
    subtrees = SubtreeList(
        stacks,
        threshold,
        Checkpoint(),
        nodes=engine.with_slacks(roots.nodes[rows], roots.sums[rows], moves_left[rows]),
        roots=np.arange(len(rows)),
        group_size=max(1, len(rows)),
        shares=np.ones(len(rows)),
        path_to=lambda row: (ends[rows[row]][0], tuple(paths[rows[row]])),
        digest="",
    )
    return subtrees, generated
