"""A threshold in numbered pieces, which threads search in their order; a checkpoint keeps which are finished."""

import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pdb_query.lookup import Int64s
from solver.checkpoint import Checkpoint, Subtrees
from solver.engine.layout import EXHAUSTED, EXPANDED, GENERATED, N_COUNTERS, PAUSED, SOLUTIONS, STOP_AT_GOAL
from solver.engine.stack import Stack
from solver.engine.threshold import Part

if TYPE_CHECKING:
    from solver.engine.ida_star import IdaStar

_COUNTED = [GENERATED, EXPANDED, SOLUTIONS]


class Pieces(ABC):
    """The pieces of a threshold: those that are left, those under way, those that are finished. Thread-safe.

    known  the nodes and the seconds of what was searched before: the part above the pieces, and finished pieces
    """

    def __init__(
        self,
        ida_star: "IdaStar",
        threshold: int,
        digest: str,
        shares: npt.NDArray[np.float64],
        checkpoint: Checkpoint,
        *,
        generated: int = 0,
        expanded: int = 0,
    ) -> None:
        """`digest` identifies the list of pieces; `shares` estimate the share of nodes in each; `generated` and
        `expanded` nodes are above the pieces.
        """
        self.ida_star = ida_star
        self._threshold, self._checkpoint = threshold, checkpoint
        self._started = time.perf_counter()
        self._digest, self._shares = digest, shares
        finished = checkpoint.subtrees(threshold, digest)
        if max(finished.numbers, default=0) >= len(shares):
            finished = Subtrees()  # only a forged log has such numbers
        self.known = replace(finished, generated=finished.generated + generated, expanded=finished.expanded + expanded)
        checkpoint.share = float(shares[list(finished.numbers)].sum())
        self._left = deque(number for number in range(len(shares)) if number not in finished.numbers)
        # The parts that search each piece, and its nodes so far.
        self._n_parts: dict[int, int] = {}
        self._nodes: dict[int, Int64s] = {}
        self._lock = Lock()

    @abstractmethod
    def load(self, stack: Stack, number: int) -> None:
        """Put the roots of a piece on an empty stack."""

    @abstractmethod
    def tiles(self, stack: Stack, number: int) -> tuple[int, ...]:
        """Return the tiles moved on the way to the goal that was found in a piece.

        Raises `Engine.wrong_end` if the moves lead elsewhere than to the goal.
        """

    @property
    def has_more(self) -> bool:
        """Return whether there are pieces that are not begun."""
        return bool(self._left)

    def begin(self, stack: Stack) -> int | None:
        """Put the roots of the next piece on an empty stack. Returns its number; None if all are begun."""
        with self._lock:
            if not self._left:
                return None
            number = self._left.popleft()
            self._n_parts[number] = 1
            self._nodes[number] = np.zeros(2, dtype=np.int64)
        self.load(stack, number)
        return number

    def join(self, number: int) -> None:
        """Count one more part that searches a piece."""
        with self._lock:
            self._n_parts[number] += 1

    def count(self, number: int, nodes: npt.NDArray[np.int64], *, is_over: bool) -> None:
        """Count generated and expanded nodes of a part of a piece, int64[2]. The last part finishes it."""
        with self._lock:
            self._nodes[number] += nodes
            self._n_parts[number] -= is_over
            if self._n_parts[number]:
                return
            del self._n_parts[number]
            generated, expanded = self._nodes.pop(number).tolist()
            self._checkpoint.share = min(1.0, (self._checkpoint.share or 0.0) + float(self._shares[number]))
            seconds = self.known.seconds + time.perf_counter() - self._started
            self._checkpoint.finish_subtrees(
                self._threshold, self._digest, Subtrees({number}, generated, expanded, seconds)
            )


class PiecesPart(Part):
    """A part of a threshold in pieces: one piece after another."""

    def __init__(
        self,
        ida_star: "IdaStar",
        stack: Stack,
        pieces: Pieces | None,
        *,
        number: int | None = None,
        is_lent: bool = False,
    ) -> None:
        """`pieces` may be set later. `number` is that of the piece on the stack; `is_lent`: the stack goes back when
        the part is over.
        """
        self._ida_star, self._stack, self._pieces = ida_star, stack, pieces
        self._number, self._is_lent = number, is_lent
        self._counters = np.zeros(N_COUNTERS, dtype=np.int64)
        self.slice_nodes = ida_star.slice_nodes

    @property
    def counters(self) -> Int64s:
        return self._counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        assert at_goal == STOP_AT_GOAL
        assert self._pieces is not None
        while self._counters[GENERATED] < min(pause_at, max_nodes):
            if self._number is None:
                self._number = self._pieces.begin(self._stack)
                if self._number is None:
                    return EXHAUSTED
            n = int(self._counters[GENERATED])
            status = self._stack.search(pause_at - n, max_nodes - n, at_goal)
            counted = self._stack.counters[_COUNTED]
            self._stack.counters[_COUNTED] = 0
            self._counters[_COUNTED] += counted
            self._pieces.count(self._number, counted[:2], is_over=status == EXHAUSTED)
            if status != EXHAUSTED:
                return status
            self._number = None
        return PAUSED

    def split(self) -> Part | None:
        pieces = self._pieces
        if pieces is None or not (pieces.has_more or (self._number is not None and self._stack.n_nodes > 1)):
            return None
        stack, number = self._ida_star.lend_stack(), None
        if not pieces.has_more and self._number is not None:
            self._stack.split(stack)
            number = self._number
            pieces.join(number)
        return PiecesPart(self._ida_star, stack, pieces, number=number, is_lent=True)

    def release(self) -> None:
        if self._is_lent:
            self._ida_star.take_back(self._stack)

    def tiles(self) -> tuple[int, ...]:
        """Raises `Engine.wrong_end` if the moves lead elsewhere than to the goal."""
        assert self._pieces is not None
        assert self._number is not None
        return self._pieces.tiles(self._stack, self._number)

    def pause(self) -> None:
        self._stack.pause()
