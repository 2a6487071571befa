"""Misplaced tiles, Manhattan distance, and the evaluation of the chosen heuristics."""

from typing import NamedTuple

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import borrowing_kernel
from pdb_core.types import Bytes, Int64s, UInt16s
from solver.algorithms import HEURISTIC_NAMES
from solver.heuristics.korf_taylor_kernels import (
    LastMoveTables,
    LinearConflictTables,
    all_corrections,
    conflicts,
    corner_tile_cells,
    last_moves,
)
from solver.heuristics.mutual_cost_kernels import GroupTables, group_excess
from solver.heuristics.own_kernels import own_value
from solver.heuristics.walking_distance_kernels import WalkingTables, walking_distance

_at = np.uint64


# Codes of the heuristics, in the order of evaluation. From OWN on, a code is the address of a function, see `own`.
(
    MISPLACED, MANHATTAN, CORNER_TILES, LAST_MOVE, LINEAR_CONFLICT, KORF_TAYLOR, WALKING_DISTANCE, PAIRS, TRIPLES,
) = range(len(HEURISTIC_NAMES))  # fmt: skip
OWN = len(HEURISTIC_NAMES)


class HeuristicTables(NamedTuple):
    """Tables of the chosen heuristics for one board size and goal, for kernels.

    codes         int64[m]          the heuristics chosen, ascending
    goal_cells    int64[n_cells]    the cell of each tile in the goal, and of the blank
    manhattan     uint8[n_cells * n_cells]  Manhattan distance of tile t on cell c at t * n_cells + c; 0 for the blank
    corner_pairs  see `korf_taylor.corner_pairs`
    """

    codes: Int64s
    goal_cells: Int64s
    width: int
    height: int
    manhattan: Bytes
    linear_conflict: LinearConflictTables
    last_move: LastMoveTables
    corner_pairs: Int64s
    walking: WalkingTables
    groups: GroupTables


@borrowing_kernel
def misplaced(distances: Bytes, board: Bytes) -> int:
    """Return the number of tiles that are not on their goal cell.

    distances: `HeuristicTables.manhattan`; board: uint8[n_cells].
    """
    n_cells = len(board)
    n = 0
    for cell in range(n_cells):
        n += distances[_at(np.int64(board[_at(cell)]) * n_cells + cell)] != 0
    return n


@borrowing_kernel
def manhattan(distances: Bytes, board: Bytes) -> int:
    """Return the sum of the tiles' distances from their goal cells, in rows and columns.

    distances: `HeuristicTables.manhattan`; board: uint8[n_cells].
    """
    h = 0
    n_cells = len(board)
    for cell in range(n_cells):
        h += np.int64(distances[_at(np.int64(board[_at(cell)]) * n_cells + cell)])  # type: ignore[assignment]
    return h


@borrowing_kernel
def evaluate_one(tables: HeuristicTables, code: int, board: Bytes) -> int:
    """Return h of `board` by the heuristic with this code."""
    if code >= OWN:
        return int(own_value(code, board))
    if code == MISPLACED:
        return misplaced(tables.manhattan, board)
    if code == WALKING_DISTANCE:
        return walking_distance(tables.walking, board, tables.width, tables.height)
    h = manhattan(tables.manhattan, board)
    if code == LINEAR_CONFLICT:
        return h + conflicts(tables.linear_conflict, board)
    if code == CORNER_TILES:
        return h + 2 * popcount(corner_tile_cells(tables.corner_pairs, board))
    if code in (PAIRS, TRIPLES):
        return h + group_excess(tables.groups, code == TRIPLES, board)
    # With h at most 1, no more than one move is left: all tiles but one in place, and that one beside its own.
    if code == LAST_MOVE and h > 1:
        return h + last_moves(tables.last_move, board)
    if code == KORF_TAYLOR and h > 1:
        return h + all_corrections(tables.linear_conflict, tables.last_move, tables.corner_pairs, board)
    return h


@borrowing_kernel
def evaluate(tables: HeuristicTables, board: Bytes) -> int:
    """Return the largest h of `board` by the chosen heuristics."""
    h = 0
    for i in range(len(tables.codes)):
        h = max(h, evaluate_one(tables, tables.codes[i], board))
    return h


@borrowing_kernel
def evaluate_many(tables: HeuristicTables, boards: Bytes, values: UInt16s) -> None:
    """Fill `values` (uint16[m, codes]) with h of each board (uint8[m, n_cells]) by each chosen heuristic."""
    for row in range(len(boards)):
        for i in range(len(tables.codes)):
            values[row, i] = evaluate_one(tables, tables.codes[i], boards[row])
