"""Asking the heuristics that were chosen."""

from typing import Any

from pdb_core.jit import kernel
from solver.heuristics.heuristic import LINEAR_CONFLICT, MANHATTAN, MISPLACED
from solver.heuristics.linear_conflict_kernels import conflicts
from solver.heuristics.manhattan_kernels import manhattan, misplaced


@kernel
def evaluate_one(tables: Any, code: int, board: Any) -> int:
    """h of a board (uint8[n_cells]) by the heuristic of that code; tables: `HeuristicTables`."""
    if code == MISPLACED:
        return misplaced(tables.goal_cells, board)
    if code == MANHATTAN:
        return manhattan(tables.manhattan, board)
    if code == LINEAR_CONFLICT:
        return manhattan(tables.manhattan, board) + conflicts(tables.linear_conflict, board)
    return 0


@kernel
def evaluate(tables: Any, board: Any) -> int:
    """The largest h of a board by the chosen heuristics."""
    h = 0
    for i in range(len(tables.codes)):
        h = max(h, evaluate_one(tables, tables.codes[i], board))
    return h


@kernel
def evaluate_many(tables: Any, boards: Any, values: Any) -> None:
    """Fill `values` (uint16[m, codes]) with h of each board (uint8[m, n_cells]) by each chosen heuristic."""
    for row in range(len(boards)):
        for i in range(len(tables.codes)):
            values[row, i] = evaluate_one(tables, tables.codes[i], boards[row])
