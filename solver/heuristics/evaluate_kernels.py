"""Asking the heuristics that were chosen."""

from typing import Any

from pdb_core.jit import borrowing_kernel
from solver.heuristics.corner_tiles_kernels import corner_tiles
from solver.heuristics.heuristic import (
    CORNER_TILES,
    KORF_TAYLOR,
    LAST_MOVE,
    LINEAR_CONFLICT,
    MANHATTAN,
    MISPLACED,
    PAIRS,
    TRIPLES,
    WALKING_DISTANCE,
)
from solver.heuristics.korf_taylor_kernels import korf_taylor
from solver.heuristics.last_move_kernels import last_move
from solver.heuristics.linear_conflict_kernels import conflicts
from solver.heuristics.manhattan_kernels import manhattan, misplaced
from solver.heuristics.mutual_cost_kernels import grouped_distance
from solver.heuristics.walking_distance_kernels import walking_distance


@borrowing_kernel
def evaluate_one(tables: Any, code: int, board: Any) -> int:
    """Return h of a board (uint8[n_cells]) by the heuristic of that code; tables: `HeuristicTables`."""
    if code == MISPLACED:
        return misplaced(tables.goal_cells, board)
    if code == MANHATTAN:
        return manhattan(tables.manhattan, board)
    if code == CORNER_TILES:
        return corner_tiles(tables.manhattan, tables.corner_tiles, board)
    if code == LAST_MOVE:
        return last_move(tables.manhattan, tables.last_move, board)
    if code == LINEAR_CONFLICT:
        return manhattan(tables.manhattan, board) + conflicts(tables.linear_conflict, board)
    if code == KORF_TAYLOR:
        return korf_taylor(tables.manhattan, tables.linear_conflict, tables.last_move, tables.corner_tiles, board)
    if code == WALKING_DISTANCE:
        return walking_distance(tables.walking, board, tables.width, tables.height)
    if code == PAIRS:
        return grouped_distance(tables.manhattan, tables.groups, False, board)
    if code == TRIPLES:
        return grouped_distance(tables.manhattan, tables.groups, True, board)
    return 0


@borrowing_kernel
def evaluate(tables: Any, board: Any) -> int:
    """Return the largest h of a board by the chosen heuristics."""
    h = 0
    for i in range(len(tables.codes)):
        h = max(h, evaluate_one(tables, tables.codes[i], board))
    return h


@borrowing_kernel
def evaluate_many(tables: Any, boards: Any, values: Any) -> None:
    """Fill `values` (uint16[m, codes]) with h of each board (uint8[m, n_cells]) by each chosen heuristic."""
    for row in range(len(boards)):
        for i in range(len(tables.codes)):
            values[row, i] = evaluate_one(tables, tables.codes[i], boards[row])
