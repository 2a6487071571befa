"""Labels of boards: exact distances, and the distances after each move. Used by `Solver.label`."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.messages import ShortRepr
from pdb_core.puzzle import BLANK, BoardSize
from pdb_core.symmetry import BoardMapping
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES, neighbours_by_move
from solver.engine.boards_search import BoardsSearch
from solver.engine.ida_star import IdaStar
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
        return optimal_actions(self.first_moves)


def optimal_actions(first_moves: npt.NDArray[np.uint8] | None) -> npt.NDArray[np.bool_] | None:
    """Return the bits of `Labels.first_moves` as bool[m, 4]."""
    return None if first_moves is None else (first_moves[:, None] >> np.arange(N_MOVES) & 1).astype(np.bool_)


def optimal_first_moves(distances: npt.NDArray[np.int16], after: npt.NDArray[np.int16]) -> npt.NDArray[np.uint8]:
    """Return `Labels.first_moves` from the other fields."""
    # -1 is no distance, but it is the distance of the goal less one.
    is_optimal = (after >= 0) & (after == distances[:, None] - 1)
    return np.packbits(is_optimal, axis=1, bitorder="little")[:, 0]


def distances_after(
    ida_star: IdaStar, found: BoardsSearch, report: Report, pool: WorkerPool | None
) -> npt.NDArray[np.int16]:
    """Return the distance after each move of the blank, int16[m, 4], for solved boards; -1 if the board ends there.

    A move changes the distance d by one. So the neighbour on the solution that was found is at d - 1, and any other one
    is too if it has a solution of d - 1 moves. Its solutions through the board have at least d + 1 moves: the search
    does not move back. `report` and `pool` are those of `IdaStar.search_many`.
    """
    boards, lengths = found.roots.boards, found.lengths.astype(np.int64)
    blanks = boards.argmin(axis=1)
    cells = neighbours_by_move(ida_star.engine.size)[blanks]
    rows, moves = np.nonzero(cells >= 0)
    cells = cells[rows, moves]
    # The solution of the goal has no first tile: it is BLANK here, and no neighbour is nearer.
    is_nearer = boards[rows, cells] == found.paths[rows, 0]
    to_search = np.flatnonzero(~is_nearer)
    near, from_row = boards[rows[to_search]], rows[to_search]
    near[np.arange(len(near)), blanks[from_row]] = boards[from_row, cells[to_search]]
    near[np.arange(len(near)), cells[to_search]] = BLANK
    is_nearer[to_search] = ida_star.search_within(near, lengths[from_row] - 1, moves[to_search], report, pool)
    after = np.full((len(boards), N_MOVES), -1, dtype=np.int16)
    after[rows, moves] = lengths[rows] + np.where(is_nearer, -1, 1)
    return after


def mapped_moves(mapping: BoardMapping, size: BoardSize) -> Int64s:
    """Return the blank's move on a mapped board for each of its moves on the original one, int64[4]."""
    cells, cell_map = neighbours_by_move(size), np.array(mapping.cell_map)
    result = np.empty(N_MOVES, dtype=np.int64)
    for move in range(N_MOVES):
        # Symmetries are rigid: any cell that the move is possible from will do.
        cell = np.flatnonzero(cells[:, move] >= 0)[0]
        result[move] = np.flatnonzero(cells[cell_map[cell]] == cell_map[cells[cell, move]])[0]
    return result
