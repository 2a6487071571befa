"""Linear conflicts, corner tiles and last moves together, no move counted twice (Korf and Taylor 1996).

Each of them counts moves that certain tiles make beyond their Manhattan distances: along one axis for linear conflicts
(a tile leaves a row along its column) and last moves, along either axis for a corner tile. They add up if the tiles or
the axes differ. If both are the same, one of them is left out:

- A corner tile counts only if it is in no linear conflict. Then other tiles make the moves of the conflicts, whichever
  tiles leave the lines.
- The last moves of a tile along an axis are left out if it is in a linear conflict whose moves are along that axis,
  since it may be the tile that leaves the line, and if it counts as a corner tile.
- The remaining last moves are counted for each ending, and the ending that adds least is taken.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import borrowing_kernel
from solver.heuristics.corner_tiles_kernels import cells_that_make_way
from solver.heuristics.last_move_kernels import cheapest_ending
from solver.heuristics.linear_conflict import COLUMNS, ROWS
from solver.heuristics.linear_conflict_kernels import line_code
from solver.heuristics.manhattan_kernels import manhattan

_at = np.uint64


@borrowing_kernel
def korf_taylor(
    manhattan_tables: Any, conflict_tables: Any, last_move_tables: Any, corner_tables: Any, board: Any
) -> int:
    """Return h of a board (uint8[n_cells]); tables: `ManhattanTables`, `LinearConflictTables`, `LastMoveTables`,
    `CornerTables`.
    """
    # Step 1. Nothing to add to one move or none; see `last_move`.
    h = manhattan(manhattan_tables, board)
    if h <= 1:
        return h
    n_cells, width = len(board), conflict_tables.width

    # Step 2. Linear conflicts, and the cells whose tiles are in one in their row, or in their column.
    in_row_conflict = in_column_conflict = 0
    for row in range(conflict_tables.height):
        code = line_code(conflict_tables, board, ROWS, row)
        cost = np.int64(conflict_tables.costs[_at(code)])
        if cost > 0:
            h += cost  # type: ignore[assignment]
            places = np.int64(conflict_tables.in_conflict[_at(code)])
            in_row_conflict |= np.int64(conflict_tables.cells[ROWS, _at(places)]) << np.int64(row * width)  # type: ignore[assignment]
    for column in range(width):
        code = line_code(conflict_tables, board, COLUMNS, column)
        cost = np.int64(conflict_tables.costs[_at(code)])
        if cost > 0:
            h += cost  # type: ignore[assignment]
            places = np.int64(conflict_tables.in_conflict[_at(code)])
            in_column_conflict |= np.int64(conflict_tables.cells[COLUMNS, _at(places)]) << np.int64(column)  # type: ignore[assignment]

    # Step 3. Corner tiles.
    make_way = cells_that_make_way(corner_tables, board) & ~(in_row_conflict | in_column_conflict)
    h += 2 * popcount(make_way)

    # Step 4. Last moves.
    x_bits = y_bits = 0
    for cell in range(n_cells):
        tile = np.int64(board[_at(cell)])
        x = np.int64(last_move_tables.detours_x[_at(tile * n_cells + cell)])
        y = np.int64(last_move_tables.detours_y[_at(tile * n_cells + cell)])
        if (x | y) == 0 or (make_way >> cell) & 1 == 1:
            continue
        if (in_row_conflict >> cell) & 1 == 1:
            x &= ~np.int64(last_move_tables.leaves[0, ROWS, _at(tile)])
            y &= ~np.int64(last_move_tables.leaves[1, ROWS, _at(tile)])
        if (in_column_conflict >> cell) & 1 == 1:
            x &= ~np.int64(last_move_tables.leaves[0, COLUMNS, _at(tile)])
            y &= ~np.int64(last_move_tables.leaves[1, COLUMNS, _at(tile)])
        x_bits |= x  # type: ignore[assignment]
        y_bits |= y  # type: ignore[assignment]
    return h + cheapest_ending(x_bits, y_bits, last_move_tables.all_endings)
