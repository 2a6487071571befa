"""Manhattan distance and what the last two moves add."""

from typing import Any

import numpy as np

from pdb_core.jit import borrowing_kernel
from solver.heuristics.manhattan_kernels import manhattan

_at = np.uint64


@borrowing_kernel
def cheapest_ending(x_bits: int, y_bits: int, all_endings: int) -> int:
    """Return the moves of the ending that adds least. Each of `x_bits` and `y_bits` adds two moves to its endings."""
    if (x_bits | y_bits) != all_endings:
        return 0
    return 2 if (x_bits & y_bits) != all_endings else 4


@borrowing_kernel
def last_move(manhattan_tables: Any, tables: Any, board: Any) -> int:
    """Return h of a board (uint8[n_cells]); tables: `ManhattanTables`, `LastMoveTables`."""
    h = manhattan(manhattan_tables, board)
    # One move or none: there is no move before the last. (All tiles but one in place, and that one beside its own.)
    if h <= 1:
        return h
    n_cells = len(board)
    x_bits = y_bits = 0
    for cell in range(n_cells):
        entry = np.int64(board[_at(cell)]) * n_cells + cell
        x_bits |= np.int64(tables.detours_x[_at(entry)])  # type: ignore[assignment]
        y_bits |= np.int64(tables.detours_y[_at(entry)])  # type: ignore[assignment]
    return h + cheapest_ending(x_bits, y_bits, tables.all_endings)
