"""Tables of moves that Manhattan distance does not count: linear conflicts, corner tiles and last moves.

Korf and Taylor 1996, Finding optimal solutions to the twenty-four puzzle, AAAI-96.

Linear conflicts. Of two tiles in their goal row, in the wrong order, one has to leave the row and come back: two
vertical moves. The tiles that stay must be in the order of the goal, so at least (tiles - longest increasing
subsequence) leave. Rows need vertical moves, columns horizontal ones, so the moves of all lines add up. A move changes
the sum with Manhattan distance by 1. Hansson, Mayer and Yung 1992, Criticizing solutions to relaxed models yields
powerful admissible heuristics, Information Sciences 63.

Corner tiles. Let a corner hold a tile that does not belong there, and let tile a be on its goal cell beside that
corner. If a never moved, the blank could enter the corner only from the other cell beside it, moving the corner's tile
to that cell, and could only move it back. So a makes two moves more. A tile between two corners counts once. The goal
cell of the blank is left out, and a corner that holds the blank, since its own tile may come next.

Last moves. The last move takes a tile x, which belongs beside the goal's blank, from the blank's goal cell to its own:
two moves more than its Manhattan distance, unless x is already on the blank's side of its goal cell. The move before
takes a tile y, which belongs beside x, from the goal cell of x to its own. Any optimal solution of two moves or more
ends in such a pair of moves, an *ending*. The additional moves of x and y add up; the ending that adds least is taken.
The value is the Manhattan distance to the nearest board two moves before the goal, plus two, so it is consistent.
"""

import itertools
from functools import cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles, cell_distances
from pdb_core.types import BLANK, Bytes, Int64s
from solver.heuristics.korf_taylor_kernels import COLUMNS, ROWS, LastMoveTables, LinearConflictTables


def linear_conflict_tables(size: BoardSize, goal: Tiles) -> LinearConflictTables:
    """Return the tables of a goal."""
    lines = np.array(np.divmod(np.arange(size.n_cells), size.width))
    goal_lines = np.take(lines, np.argsort(goal), axis=1)
    goal_lines[:, BLANK] = -1
    parts = np.zeros((2, size.n_cells, size.n_cells), dtype=np.int32)
    for kind, across, length in ((ROWS, COLUMNS, size.width), (COLUMNS, ROWS, size.height)):
        in_line = goal_lines[kind][:, None] == lines[kind]
        parts[kind] = in_line * (goal_lines[across] + 1)[:, None] * (length + 1) ** lines[across]
    row_costs, column_costs = line_costs(size.width), line_costs(size.height)
    return LinearConflictTables(
        parts=parts.reshape(2, -1),
        lines=lines,
        goal_lines=goal_lines,
        costs=np.concatenate([row_costs, column_costs]),
        in_conflict=np.concatenate([line_conflicts(size.width), line_conflicts(size.height)]),
        starts=np.array([0, len(row_costs)], dtype=np.int64),
        width=size.width,
        height=size.height,
    )


def _code_digits(length: int) -> Int64s:
    """Return the digits of each code of a line, shape (codes, length), that of the line's first cell first."""
    codes = np.arange((length + 1) ** length)
    return codes[:, None] // (length + 1) ** np.arange(length) % (length + 1)


@cache
def line_costs(length: int) -> Bytes:
    """Return twice the fewest tiles that must leave a line of that length (2 to 6 cells), by its code."""
    digits = _code_digits(length)
    # The longest increasing subsequence that ends in each cell, for all codes at once.
    longest = np.zeros(digits.shape, dtype=np.int64)
    for last in range(length):
        for before in range(last):
            fits = (digits[:, before] > 0) & (digits[:, before] < digits[:, last])
            longest[:, last] = np.maximum(longest[:, last], np.where(fits, longest[:, before], 0))
        longest[:, last] += digits[:, last] > 0
    costs: Bytes = (2 * ((digits > 0).sum(axis=1) - longest.max(axis=1))).astype(np.uint8)
    return costs


@cache
def line_conflicts(length: int) -> Bytes:
    """Return the cells of a line whose tiles are in a linear conflict, as bits, by the line's code."""
    digits = _code_digits(length)
    cells = np.zeros(len(digits), dtype=np.uint8)
    for first, last in itertools.combinations(range(length), 2):
        conflict = (digits[:, last] > 0) & (digits[:, first] > digits[:, last])
        cells[conflict] |= 1 << first | 1 << last
    return cells


def corner_pairs(size: BoardSize, goal: Tiles) -> Int64s:
    """Return the pairs of a corner and a cell beside it, at most 8, without the blank's goal cell, int64[m, 4].

    The columns are the corner, the tile whose goal cell it is, the cell beside it, and the tile of that cell.
    """
    pairs = [
        (corner, goal[corner], beside, goal[beside])
        for corner in range(size.n_cells)
        if len(size.neighbours[corner]) == 2
        for beside in size.neighbours[corner]
        if BLANK not in (goal[corner], goal[beside])
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 4)


def endings(size: BoardSize, goal: Tiles) -> list[tuple[int, int]]:
    """Return the pairs x, y of tiles whose moves, y's first, can end a solution."""
    blank = goal.index(BLANK)
    return [
        (goal[x_cell], goal[y_cell])
        for x_cell in size.neighbours[blank]
        for y_cell in size.neighbours[x_cell]
        if y_cell != blank
    ]


def last_move_tables(size: BoardSize, goal: Tiles) -> LastMoveTables:
    """Return the tables of a goal."""
    n_cells = size.n_cells
    detours = np.zeros((2, n_cells, n_cells), dtype=np.uint16)
    leaves = np.zeros((2, 2, n_cells), dtype=np.uint16)
    pairs, distances = endings(size, goal), cell_distances(size)
    for ending, (x, y) in enumerate(pairs):
        for i, (tile, through) in enumerate([(x, goal.index(BLANK)), (y, goal.index(x))]):
            own = goal.index(tile)
            detours[i, tile, distances[:, through] + 1 > distances[:, own]] |= 1 << ending
            leaves[i, COLUMNS if abs(own - through) == 1 else ROWS, tile] |= 1 << ending
    return LastMoveTables(detours.reshape(2, -1), leaves, (1 << len(pairs)) - 1)
