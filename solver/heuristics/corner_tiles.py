"""Corner tiles: a tile on its goal cell beside a corner with a wrong tile has to move.

Let a corner hold a tile that does not belong there, and let tile a be on its goal cell beside that corner. If a never
moved, the corner could be entered and left only through the other cell beside it. The blank enters the corner by
moving its tile to that cell, and then it can only move it back, so the corner would never change. So a moves away and
comes back: two moves that its Manhattan distance does not count. Moves of different tiles add up; a tile between two
corners counts once. Two kinds of corners are left out: the goal cell of the blank, which holds no tile in the goal, and
a corner that holds the blank, since its own tile may come next. Korf and Taylor 1996, Finding optimal solutions to the
twenty-four puzzle, AAAI-96, the section on corner tiles.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, BoardSize


class CornerTables(NamedTuple):
    """Pairs of a corner and a cell beside it, at most 8, for kernels.

    corner_cells, corner_tiles  int64[m]  the corner, and the tile whose place it is
    beside_cells, beside_tiles  int64[m]  the cell beside it, and the tile whose place that is
    """

    corner_cells: npt.NDArray[np.int64]
    corner_tiles: npt.NDArray[np.int64]
    beside_cells: npt.NDArray[np.int64]
    beside_tiles: npt.NDArray[np.int64]


def corner_tables(size: BoardSize, goal: Board) -> CornerTables:
    """Return the tables of a goal."""
    pairs = [
        (corner, beside)
        for corner in range(size.n_cells)
        if len(size.neighbours[corner]) == 2
        for beside in size.neighbours[corner]
        if BLANK not in (goal[corner], goal[beside])
    ]
    corners = np.array([corner for corner, _ in pairs], dtype=np.int64)
    besides = np.array([beside for _, beside in pairs], dtype=np.int64)
    places = np.array(goal, dtype=np.int64)
    return CornerTables(corners, places[corners], besides, places[besides])
