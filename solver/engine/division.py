"""A threshold of one board divided into subtrees.

The list of subtrees depends on the board, the tables and the nodes of the thresholds before, not on the threads. So a
search that was stopped continues with the subtrees that its checkpoint does not have.
"""

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import Board
from pdb_query.lookup import Int64s
from solver.checkpoint import Checkpoint
from solver.engine.pieces import Pieces
from solver.engine.prefixes import Prefixes, prefixes_of
from solver.engine.stack import Stack, tiles_moved
from solver.engine.subtrees import after

if TYPE_CHECKING:
    from solver.engine.ida_star import IdaStar

# The upper part of a divided threshold is the tree of the largest earlier one within two limits: so many expected nodes
# of the threshold for each node of the upper part, and so many nodes of the upper part.
_NODES_PER_UPPER, _MOST_UPPER = 200_000, 200_000
# Nodes of a threshold to those of the one before, as a guess.
_GROWTH = 6
# Of subtrees with the same slack, those with a larger h have more nodes: measured on boards of the 24-puzzle.
_GROWTH_BY_H = 0.05


class Division(Pieces):
    """The subtrees of a threshold."""

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
        self.board, self.paths = board, prefixes.paths
        ends = [after(ida_star.machine, board, path, ida_star.size.width) for path in self.paths]
        self.roots = ida_star.engine.roots([end for end, _ in ends], [state for _, state in ends])
        self._moves_left = threshold - np.array([len(path) for path in self.paths])
        super().__init__(
            ida_star,
            threshold,
            hashlib.sha256(b"/".join(self.paths)).hexdigest()[:16],
            shares_of(self._moves_left, self.roots.h, growth),
            checkpoint,
            generated=prefixes.generated,
            expanded=prefixes.expanded,
        )

    def load(self, stack: Stack, number: int) -> None:
        self.ida_star.begin(stack, self.roots, number, int(self._moves_left[number]))

    def tiles(self, stack: Stack, number: int) -> tuple[int, ...]:
        engine = self.ida_star.engine
        path = self.paths[number]
        root, _ = after(engine.machine, self.board, path, engine.size.width)
        tiles, end = tiles_moved(root, stack.moves_to_goal(), engine.size)
        if end != engine.goal:
            raise engine.wrong_end()
        return (*path, *tiles)


def shares_of(moves_left: Int64s, h: Int64s, growth: float) -> npt.NDArray[np.float64]:
    """Estimate the share of a threshold's nodes in each of its subtrees; `growth` are the nodes of a threshold to those
    of the one before.
    """
    # Two more moves above h multiply the nodes of a subtree as they do those of a threshold.
    slack = (moves_left - h) / 2
    logarithms = slack * (math.log(growth) + _GROWTH_BY_H * (h - h.max(initial=0)))
    # The largest weight is 1: in damaged tables others would not fit a float.
    weights = np.exp(logarithms - logarithms.max(initial=0.0 if len(h) == 0 else -np.inf))
    return weights / weights.sum()  # type: ignore[no-any-return]


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

    n_chosen = 0

    def is_upper(depth: int, h: Int64s) -> npt.NDArray[np.bool_]:
        # The tree was counted before. In damaged tables it may have more nodes now.
        nonlocal n_chosen
        chosen = h + depth <= inner
        n_chosen += int(np.count_nonzero(chosen))
        return chosen & (n_chosen <= _MOST_UPPER)

    engine = ida_star.engine
    prefixes = prefixes_of(board, engine.goal, engine.size, threshold, engine.machine, lower_bounds, is_upper)
    if prefixes.tiles is not None or not prefixes.paths:
        return None
    return Division(ida_star, board, threshold, prefixes, last / max(1, before), checkpoint)
