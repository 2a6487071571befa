"""Misplaced tiles and Manhattan distance."""

from typing import Any

import numpy as np

from pdb_core.jit import borrowing_kernel
from pdb_core.types import Bytes

_index = np.uint64


@borrowing_kernel
def misplaced(tables: Any, board: Bytes) -> int:
    """Return the number of tiles that are not on their goal cell."""
    n_cells = len(board)
    n = 0
    for cell in range(n_cells):
        n += tables.manhattan[_index(np.int64(board[_index(cell)]) * n_cells + cell)] != 0
    return n


@borrowing_kernel
def manhattan(tables: Any, board: Bytes) -> int:
    """Return the sum of the tiles' distances from their goal cells, in rows and columns."""
    return manhattan_distance(tables.manhattan, board)


@borrowing_kernel
def manhattan_distance(distances: Bytes, board: Bytes) -> int:
    """Return `manhattan`; distances: `HeuristicTables.manhattan`. A call that is handed all tables costs more."""
    h = 0
    n_cells = len(board)
    for cell in range(n_cells):
        h += np.int64(distances[_index(np.int64(board[_index(cell)]) * n_cells + cell)])  # type: ignore[assignment]
    return h
