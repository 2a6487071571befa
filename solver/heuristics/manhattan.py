"""The Manhattan distance of each tile on each cell."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, BoardSize


class ManhattanTables(NamedTuple):
    """distances  uint8[n_cells * n_cells]  rows and columns of tile t on cell c to its place, at t * n_cells + c; 0 for
    the blank
    """

    distances: npt.NDArray[np.uint8]


def manhattan_tables(size: BoardSize, goal: Board) -> ManhattanTables:
    """The tables of a goal."""
    distances = np.zeros((size.n_cells, size.n_cells), dtype=np.uint8)
    for tile in range(size.n_cells):
        if tile == BLANK:
            continue
        goal_row, goal_column = size.row_and_column(goal.index(tile))
        for cell in range(size.n_cells):
            row, column = size.row_and_column(cell)
            distances[tile, cell] = abs(row - goal_row) + abs(column - goal_column)
    return ManhattanTables(distances.reshape(-1))
