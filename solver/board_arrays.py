"""Arrays about a board of some size: the moves of the blank by cell, and distances of cells."""

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles, cell_distances
from pdb_core.types import BLANK, DOWN, LEFT, N_MOVES, RIGHT, UP, Bytes, Int64s


def neighbours_by_move(size: BoardSize) -> Int64s:
    """Return the cell that each move takes the blank to, int64[n_cells, N_MOVES]; -1 if the board ends there."""
    cells = np.arange(size.n_cells, dtype=np.int64).reshape(size.height, size.width)
    result = np.full((size.height, size.width, N_MOVES), -1, dtype=np.int64)
    result[1:, :, UP], result[:-1, :, DOWN] = cells[:-1], cells[1:]
    result[:, 1:, LEFT], result[:, :-1, RIGHT] = cells[:, :-1], cells[:, 1:]
    return result.reshape(-1, N_MOVES)


def blank_moves(size: BoardSize) -> tuple[Int64s, Int64s]:
    """Return the cell that each move takes the blank to, int64[n_cells, N_MOVES], 0 if there is none, and the mask of
    legal moves, int64[n_cells].
    """
    cells = neighbours_by_move(size)
    return np.maximum(cells, 0), ((cells >= 0) << np.arange(N_MOVES)).sum(axis=1)


def blank_moved(boards: Bytes, cells: Int64s) -> Bytes:
    """Return boards, uint8[m, n_cells], after the blank of each has moved to the cell in `cells`, int64[m]."""
    rows, blanks, moved = np.arange(len(boards)), boards.argmin(axis=1), boards.copy()
    moved[rows, blanks], moved[rows, cells] = boards[rows, cells], BLANK
    return moved


def manhattan_distances(size: BoardSize, goal: Tiles) -> Bytes:
    """Return the Manhattan distance of each tile on each cell, uint8[n_cells, n_cells]; 0 for the blank."""
    distances = cell_distances(size)[np.argsort(goal)].astype(np.uint8)
    distances[BLANK] = 0
    return distances


def mapped_moves(cell_map: npt.ArrayLike, size: BoardSize) -> Int64s:
    """Return the blank's move on a mapped board for each of its moves on the original one, int64[4]."""
    cells, cell_map = neighbours_by_move(size), np.asarray(cell_map)
    # Symmetries are rigid: any cell that the move is possible from will do.
    before = (cells >= 0).argmax(axis=0)
    after = cell_map[cells[before, np.arange(N_MOVES)]]
    moves: Int64s = (cells[cell_map[before]] == after[:, np.newaxis]).argmax(axis=1)
    return moves
