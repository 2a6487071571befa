"""Linear conflicts of a board, and how a move changes them."""

from typing import Any

import numpy as np

from pdb_core.jit import borrowing_kernel, inlined_kernel
from solver.heuristics.linear_conflict import COLUMNS, ROWS

_at = np.uint64


@borrowing_kernel
def line_code(tables: Any, board: Any, axis: int, line: int) -> int:
    """Return the index in `costs` of a row (axis 0) or column (axis 1) of a board."""
    n_cells = len(board)
    code = tables.starts[_at(axis)]
    first = line * tables.width if axis == ROWS else line
    end = first + tables.width if axis == ROWS else n_cells
    for cell in range(first, end, 1 if axis == ROWS else tables.width):
        code += np.int64(tables.parts[_at(axis), _at(np.int64(board[_at(cell)]) * n_cells + cell)])
    return code  # type: ignore[no-any-return]


@borrowing_kernel
def conflicts(tables: Any, board: Any) -> int:
    """Return the moves for linear conflicts of a board (uint8[n_cells]), beyond the Manhattan distance.

    tables: `LinearConflictTables`.
    """
    cost = 0
    for row in range(tables.height):
        cost += np.int64(tables.costs[_at(line_code(tables, board, ROWS, row))])  # type: ignore[assignment]
    for column in range(tables.width):
        cost += np.int64(tables.costs[_at(line_code(tables, board, COLUMNS, column))])  # type: ignore[assignment]
    return cost


@inlined_kernel
def conflicts_after_move(tables: Any, board: Any, from_cell: int, to_cell: int) -> int:
    """Return the change of `conflicts`, -2, 0 or 2, when the tile on `from_cell` slides to the blank on `to_cell`.

    The board (uint8[n_cells]) is that before the move, or that after it; it is not changed.

    A tile that slides along a line passes no other, so that line keeps its conflicts. Across, it leaves one line and
    enters another, and at most one of these is its goal's: only that one is looked at.
    """
    n_cells = len(board)
    # The other of the two cells is the blank, 0.
    tile = np.int64(board[_at(from_cell)]) + np.int64(board[_at(to_cell)])
    is_sideways = abs(to_cell - from_cell) == 1
    axis = COLUMNS if is_sideways else ROWS
    goal_line = tables.goal_lines[_at(axis), _at(tile)]
    if goal_line == tables.lines[_at(axis), _at(from_cell)]:
        own_cell = from_cell
    elif goal_line == tables.lines[_at(axis), _at(to_cell)]:
        own_cell = to_cell
    else:
        return 0
    first = goal_line if is_sideways else goal_line * tables.width
    step = tables.width if is_sideways else 1
    others = tables.starts[_at(axis)]
    for i in range(tables.height if is_sideways else tables.width):
        cell = first + i * step
        if cell != own_cell:
            others += np.int64(tables.parts[_at(axis), _at(np.int64(board[_at(cell)]) * n_cells + cell)])
    all_tiles = others + np.int64(tables.parts[_at(axis), _at(tile * n_cells + own_cell)])
    change = np.int64(tables.costs[_at(all_tiles)]) - np.int64(tables.costs[_at(others)])
    return -change if own_cell == from_cell else change  # type: ignore[return-value]
