"""Lower bound of the optimal length, for boards of any size: the largest of databases and of cheap heuristics."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np

from pdb_core.board_size import MAX_TABLE_SIDE, BoardSize
from pdb_core.puzzle import Board
from pdb_query import Database
from solver.beams.pieces import Pieces, geometry
from solver.heuristics import heuristic_tables
from solver.heuristics.heuristic import values_of

# Heuristics whose tables take less than 0.2 seconds up to 6x6. Together they are never below the others of that kind.
_HEURISTICS = ("korf-taylor", "pairs")


def lower_bound(board: Board, goal: Board, size: BoardSize, databases: Sequence[Database], pieces: Pieces) -> int:
    """Return the largest lower bound of a solvable board; `pieces` is the board in terms of the goal.

    Raises `TableMismatchError` if a database is for another size, `GoalError` if it cannot serve the goal.
    """
    bounds = [linear_conflict_bound(pieces, size)]
    for database in databases:
        database.check_size(size)
        bounds.append(database.probe(board, goal).h)
    if max(size.width, size.height) <= MAX_TABLE_SIDE:
        tables = heuristic_tables(_HEURISTICS, size, goal)
        bounds.append(int(values_of(tables, np.array([board], dtype=np.uint8)).max()))
    return max(bounds)


def manhattan_distance(pieces: Pieces, size: BoardSize) -> int:
    """Return the sum of the distances of all tiles from their goal cells."""
    rows, columns, _ = geometry(size)
    cells = pieces.cells
    away = np.abs(rows[cells] - rows) + np.abs(columns[cells] - columns)
    return int(away.sum() - away[pieces.blank_cell])


def linear_conflict_bound(pieces: Pieces, size: BoardSize) -> int:
    """Return the Manhattan distance plus two moves for each tile that must leave its goal line."""
    rows, columns, _ = geometry(size)
    bound = manhattan_distance(pieces, size)
    board = pieces.cells.reshape(size.height, size.width)
    for lines, line_of in ((board, rows), (board.T, columns)):
        for number, line in enumerate(lines):
            # The numbers of pieces rise along their goal line.
            at_home = line[(line_of[line] == number) & (line != pieces.blank)].tolist()
            bound += 2 * (len(at_home) - longest_increasing(at_home))
    return bound


def longest_increasing(numbers: Iterable[int]) -> int:
    """Return the length of the longest increasing subsequence of different numbers."""
    # The least last number of a subsequence of each length.
    lasts: list[int] = []
    for number in numbers:
        place = bisect_left(lasts, number)
        lasts[place : place + 1] = [number]
    return len(lasts)
