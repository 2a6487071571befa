"""Manhattan distance of each tile on each cell."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, BoardSize
from solver.board_arrays import cell_distances


class ManhattanTables(NamedTuple):
    """Manhattan distances, for kernels.

    distances  uint8[n_cells * n_cells]  rows and columns from cell c to the goal cell of tile t, at t * n_cells + c; 0
               for the blank
    """

    distances: npt.NDArray[np.uint8]


def manhattan_tables(size: BoardSize, goal: Board) -> ManhattanTables:
    """Return the tables of a goal."""
    distances = cell_distances(size)[np.argsort(goal)].astype(np.uint8)
    distances[BLANK] = 0
    return ManhattanTables(distances.reshape(-1))
