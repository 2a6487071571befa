"""Corner tiles: a tile in its place beside a corner that holds a wrong tile has to make way.

Let a corner hold a tile that does not belong there, and let tile a stand in its place on one of the two cells beside
that corner. Were a never to move, the corner could be entered and left through the other cell beside it alone: the
blank gets into the corner by taking its tile to that cell, and can but take it back. The corner would hold that tile
for ever. So a moves, and comes back: two moves where its Manhattan distance counts none. That is so for each such tile,
and moves of different tiles add up; a tile between two corners counts once. Korf and Taylor 1996, Finding optimal
solutions to the twenty-four puzzle, AAAI-96, the section on corner tiles. A corner that is the place of
the blank is left out, for in the goal it holds no tile; so is one that holds the blank, for its own tile may come next.
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
