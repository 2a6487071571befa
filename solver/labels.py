"""Labels of boards: exact distances, and the distances after each move. Used by `Solver.label`."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pdb_core.messages import ShortRepr
from pdb_core.types import N_MOVES, Bytes, Int16s
from solver.board_arrays import blank_moved, neighbours_by_move
from solver.engine.engine import NO_LAST
from solver.engine.layout import THRESHOLD_STEP
from solver.engine.search import IdaStar
from solver.engine.worker_pool import WorkerPool
from solver.progress import Report


@dataclass(frozen=True, repr=False)
class Labels(ShortRepr):
    """Exact distances of m boards and, with `moves`, of their neighbours.

    Attributes
    ----------
    distances
        Optimal lengths, int16[m]; -1 for a board that cannot be solved.
    first_moves
        Optimal moves, uint8[m]: bit k is set if an optimal solution begins with the blank's move k (0 up, 1 left, 2
        right, 3 down). None without `moves`.
    after
        Distance after each move of the blank, int16[m, 4]; -1 if the blank is at that edge, or if the board cannot be
        solved. None without `moves`.
    """

    distances: npt.NDArray[np.int16]
    first_moves: npt.NDArray[np.uint8] | None
    after: npt.NDArray[np.int16] | None

    @property
    def optimal_actions(self) -> npt.NDArray[np.bool_] | None:
        """Whether each move of the blank begins an optimal solution, bool[m, 4]: `first_moves` as a mask for learning.

        None without `moves`.
        """
        masks = self.first_moves
        return None if masks is None else (masks[:, None] >> np.arange(N_MOVES) & 1).astype(np.bool_)


def optimal_first_moves(distances: Int16s, after: Int16s) -> Bytes:
    """Return `Labels.first_moves` from the other fields."""
    # -1 is no distance, but it is the distance of the goal less one.
    is_optimal = (after >= 0) & (after == distances[:, None] - 1)
    return np.packbits(is_optimal, axis=1, bitorder="little")[:, 0]


def distances_with_moves(
    ida_star: IdaStar, boards: Bytes, report: Report, pool: WorkerPool | None
) -> tuple[Int16s, Int16s]:
    """Return the distances of solvable boards, int16[m], and those after each move of the blank, int16[m, 4].

    The distance after a move beyond the edge is -1. `report` is called during hard boards; workers of `pool` help.

    All neighbours of a board are searched with one threshold, then with the next one, until one of them is solved. The
    distance of the board is one more. A move changes it by one, so the neighbours without a solution are farther than
    the board. Their solutions through the board are longer still, so searches do not move back.
    """
    cells = neighbours_by_move(ida_star.engine.size)[boards.argmin(axis=1)]
    rows, moves = np.nonzero(cells >= 0)
    near = blank_moved(boards[rows], cells[rows, moves])
    roots = ida_star.engine.roots(near).after(moves)
    thresholds = np.full(len(boards), NO_LAST, dtype=np.int64)
    np.minimum.at(thresholds, rows, roots.thresholds)
    is_goal = (boards == np.array(ida_star.engine.goal, dtype=np.uint8)).all(axis=1)
    is_nearer = np.zeros(len(rows), dtype=np.bool_)
    is_searched = ~is_goal
    while is_searched.any():
        left = np.flatnonzero(is_searched[rows])
        # One threshold, except for neighbours whose first threshold is higher: they are not searched yet.
        last = thresholds[rows[left]]
        raised = ida_star.engine.raised(roots, left, np.maximum(last, roots.thresholds[left]))
        found = ida_star.search_boards(replace(raised, last=last), report, pool)
        is_nearer[left] = found.lengths >= 0
        is_searched[rows[is_nearer]] = False
        thresholds[is_searched] += THRESHOLD_STEP
    distances = np.where(is_goal, 0, thresholds + 1).astype(np.int16)
    after = np.full((len(boards), N_MOVES), -1, dtype=np.int16)
    after[rows, moves] = distances[rows] + np.where(is_nearer, -1, 1)
    return distances, after
