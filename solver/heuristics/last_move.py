"""Last moves: the moves that end a solution, with the blank coming to its goal cell.

The last move takes a tile x, which belongs beside the goal's blank, from the blank's goal cell to its own. So x passes
the blank's goal cell, and makes at least (distance to there) + 1 moves. That is two more than its Manhattan distance,
along the axis of its last move, unless x is already on the blank's side of its goal cell. The move before takes a tile
y, which belongs beside x, from the goal cell of x to its own. (It does not come from the blank's goal cell: that would
be x itself, moved to and fro.) So y passes the goal cell of x.

Any optimal solution of two moves or more ends in one such pair of moves, an `ending`. x and y are different tiles, so
their additional moves add up; the ending that adds least is taken. The value is the Manhattan distance to the nearest
board two moves before the goal, plus two, so the heuristic is consistent. It holds for any goal cell of the blank,
which has 2, 3 or 4 neighbours. Korf and Taylor 1996, Finding optimal solutions to the twenty-four puzzle, AAAI-96, the
section on last moves, for a blank in the corner.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, BoardSize
from solver.board_arrays import cell_distances
from solver.heuristics.linear_conflict import COLUMNS, ROWS


class LastMoveTables(NamedTuple):
    """Tables of the possible last moves, for kernels. An ending is a bit, from the lowest; there are 2 (on 2x2) to 12.

    detours_x  uint16[n_cells * n_cells]  where tile t on cell c is x, and makes two moves more, at t * n_cells + c
    detours_y  uint16[n_cells * n_cells]  the same for y
    leaves     uint16[2, 2, n_cells]      where tile t is x (0), or y (1), and those two moves take it out of its row
                                          (0), or its column (1)
    all_endings                           the bits of all endings
    """

    detours_x: npt.NDArray[np.uint16]
    detours_y: npt.NDArray[np.uint16]
    leaves: npt.NDArray[np.uint16]
    all_endings: int


def endings(size: BoardSize, goal: Board) -> list[tuple[int, int]]:
    """Return the pairs x, y of tiles whose moves, y's first, can end a solution."""
    blank = goal.index(BLANK)
    return [
        (goal[x_cell], goal[y_cell])
        for x_cell in size.neighbours[blank]
        for y_cell in size.neighbours[x_cell]
        if y_cell != blank
    ]


def last_move_tables(size: BoardSize, goal: Board) -> LastMoveTables:
    """Return the tables of a goal."""
    n_cells = size.n_cells
    detours = np.zeros((2, n_cells, n_cells), dtype=np.uint16)
    leaves = np.zeros((2, 2, n_cells), dtype=np.uint16)
    pairs, distances = endings(size, goal), cell_distances(size)
    for ending, (x, y) in enumerate(pairs):
        for i, (tile, through) in enumerate([(x, goal.index(BLANK)), (y, goal.index(x))]):
            place = goal.index(tile)
            for cell in range(n_cells):
                if distances[cell, through] + 1 > distances[cell, place]:
                    detours[i, tile, cell] |= 1 << ending
            axis = COLUMNS if abs(place - through) == 1 else ROWS
            leaves[i, axis, tile] |= 1 << ending
    return LastMoveTables(detours[0].reshape(-1), detours[1].reshape(-1), leaves, (1 << len(pairs)) - 1)
