"""Linear conflicts: tiles in their goal line that block each other.

Two tiles in their goal row, in the wrong order, cannot both stay in it: one has to leave the row and come back, two
vertical moves that its Manhattan distance does not count. Of all tiles of a row that belong there, those that stay must
be in the order of the goal, so at least (tiles - longest increasing subsequence) of them leave. Rows need vertical
moves, columns horizontal ones, and each tile is in one row and one column. So the moves of all lines add up, and add to
the Manhattan distance. A move changes the sum by 1: a tile that leaves its goal line goes one cell further away and
removes a cost of 2 or 0, and the reverse. Hansson, Mayer and Yung 1992, Criticizing solutions to relaxed models yields
powerful admissible heuristics, Information Sciences 63, the section on the linear conflict heuristic. Of three or more
tiles that conflict, the fewest that must leave are counted, not the pairs.
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, BoardSize

ROWS, COLUMNS = range(2)


class LinearConflictTables(NamedTuple):
    """Tables of linear conflicts, for kernels. Axis 0 holds rows, axis 1 columns.

    A line's code has a digit for each of its cells: 0 for the blank and tiles that belong into other lines, else the
    tile's place along the line, from 1. A board 6 wide has 7 ** 6 = 117,649 codes of rows.

    parts       int32[2, n_cells * n_cells]  what tile t on cell c adds to the code of its line, at t * n_cells + c
    lines       int64[2, n_cells]            the row, and the column, of each cell
    goal_lines  int64[2, n_cells]            the row, and the column, of each tile's place; -1 for the blank
    costs       uint8[codes]                 twice the tiles that must leave: by the codes of rows, then of columns
    in_conflict uint8[codes]                 the cells of the line, as bits, whose tiles are in a conflict
    starts      int64[2]                     where the costs of that axis start
    cells       int64[2, 64]                 the bits of a line as bits of the board's cells: row 0, or column 0
    """

    parts: npt.NDArray[np.int32]
    lines: npt.NDArray[np.int64]
    goal_lines: npt.NDArray[np.int64]
    costs: npt.NDArray[np.uint8]
    in_conflict: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    width: int
    height: int


def linear_conflict_tables(size: BoardSize, goal: Board) -> LinearConflictTables:
    """Return the tables of a goal."""
    n_cells = size.n_cells
    place = [size.row_and_column(goal.index(tile)) for tile in range(n_cells)]
    parts = np.zeros((2, n_cells, n_cells), dtype=np.int32)
    for tile in range(n_cells):
        if tile == BLANK:
            continue
        goal_row, goal_column = place[tile]
        for along in range(size.width):
            parts[ROWS, tile, size.cell(goal_row, along)] = (goal_column + 1) * (size.width + 1) ** along
        for along in range(size.height):
            parts[COLUMNS, tile, size.cell(along, goal_column)] = (goal_row + 1) * (size.height + 1) ** along
    goal_lines = np.array(place, dtype=np.int64).T.copy()
    goal_lines[:, BLANK] = -1
    row_costs, column_costs = line_costs(size.width), line_costs(size.height)
    return LinearConflictTables(
        parts=parts.reshape(2, -1),
        lines=np.array([size.row_and_column(cell) for cell in range(n_cells)], dtype=np.int64).T.copy(),
        goal_lines=goal_lines,
        costs=np.concatenate([row_costs, column_costs]),
        in_conflict=np.concatenate([line_conflicts(size.width), line_conflicts(size.height)]),
        starts=np.array([0, len(row_costs)], dtype=np.int64),
        cells=np.array([_spread_bits(1), _spread_bits(size.width)], dtype=np.int64),
        width=size.width,
        height=size.height,
    )


def _spread_bits(step: int) -> list[int]:
    """Return each number of 6 bits, with its bits `step` apart."""
    return [sum((bits >> i & 1) << i * step for i in range(6)) for bits in range(64)]


def code_digits(length: int) -> npt.NDArray[np.int64]:
    """Return the digits of each code of a line, shape (codes, length), that of the line's first cell first."""
    codes = np.arange((length + 1) ** length)
    return np.stack([codes // (length + 1) ** along % (length + 1) for along in range(length)], axis=1)


@cache
def line_costs(length: int) -> npt.NDArray[np.uint8]:
    """Return twice the fewest tiles that must leave a line of that length (2 to 6 cells), by its code; read-only."""
    digits = code_digits(length)
    # The longest increasing subsequence that ends in each cell, for all codes at once.
    longest = np.zeros(digits.shape, dtype=np.int64)
    for last in range(length):
        for before in range(last):
            fits = (digits[:, before] > 0) & (digits[:, before] < digits[:, last])
            longest[:, last] = np.maximum(longest[:, last], np.where(fits, longest[:, before], 0))
        longest[:, last] += digits[:, last] > 0
    costs: npt.NDArray[np.uint8] = (2 * ((digits > 0).sum(axis=1) - longest.max(axis=1))).astype(np.uint8)
    costs.setflags(write=False)
    return costs


@cache
def line_conflicts(length: int) -> npt.NDArray[np.uint8]:
    """Return the cells of a line whose tiles are in a linear conflict, as bits, by the line's code; read-only."""
    digits = code_digits(length)
    cells = np.zeros(len(digits), dtype=np.uint8)
    for first, last in itertools.combinations(range(length), 2):
        conflict = (digits[:, last] > 0) & (digits[:, first] > digits[:, last])
        cells[conflict] |= 1 << first | 1 << last
    cells.setflags(write=False)
    return cells
