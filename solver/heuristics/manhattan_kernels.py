"""Misplaced tiles and Manhattan distance."""

from typing import Any

import numpy as np

from pdb_core.jit import borrowing_kernel

_at = np.uint64


@borrowing_kernel
def misplaced(goal_cells: Any, board: Any) -> int:
    """Return the number of tiles that are not on their goal cell; board: uint8[n_cells]."""
    n = 0
    for cell in range(len(board)):
        tile = np.int64(board[_at(cell)])
        n += 1 if tile != 0 and goal_cells[_at(tile)] != cell else 0
    return n


@borrowing_kernel
def manhattan(tables: Any, board: Any) -> int:
    """Return the sum of the tiles' distances from their goal cells, in rows and columns; tables: `ManhattanTables`."""
    h = 0
    n_cells = len(board)
    for cell in range(n_cells):
        h += np.int64(tables.distances[_at(np.int64(board[_at(cell)]) * n_cells + cell)])  # type: ignore[assignment]
    return h
