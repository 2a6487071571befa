"""Tiles beside corners that have to make way."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import borrowing_kernel
from solver.heuristics.manhattan_kernels import manhattan

_at = np.uint64


@borrowing_kernel
def cells_that_make_way(tables: Any, board: Any) -> int:
    """Return the cells, as bits, whose tile is on its goal cell and has to move.

    tables: `CornerTables`; board: uint8[n_cells].
    """
    cells = 0
    for i in range(len(tables.corner_cells)):
        in_corner = np.int64(board[_at(tables.corner_cells[i])])
        beside = tables.beside_cells[i]
        if (
            np.int64(board[_at(beside)]) == tables.beside_tiles[i]
            and in_corner != 0
            and in_corner != tables.corner_tiles[i]
        ):
            cells |= np.int64(1) << np.int64(beside)  # type: ignore[assignment]
    return cells


@borrowing_kernel
def corner_tiles(manhattan_tables: Any, tables: Any, board: Any) -> int:
    """Return h of a board (uint8[n_cells]); tables: `ManhattanTables`, `CornerTables`."""
    return manhattan(manhattan_tables, board) + 2 * popcount(cells_that_make_way(tables, board))
