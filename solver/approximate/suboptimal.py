"""Suboptimal solutions of boards up to 32x32 within a time limit, each with a lower bound of the optimal length.

1. Solve the board line by line.                                                     line_by_line.py
2. Until the time is up, solve it line by line with beams of growing width: each     beams/beam_search.py
   part of a line by beam search, until a rest with fitted values is left, which is
   searched from the board and from the goal, ranked by them. Most boards of up      beams/solutions.py
   to 64 cells are such a rest.
3. Replay the solution, move by move.                                                ../solution.py

A path is a list of the blank's moves.
"""

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pdb_core.arguments import FilePath, as_number
from pdb_core.board_size import BoardSize, SizeLike
from pdb_core.moves import tiles_moved
from pdb_core.puzzle import Board, BoardLike, as_goal, blank_last
from pdb_core.resources import available_cores, available_memory
from pdb_core.types import Bytes
from pdb_query import Database
from pdb_query.database import as_databases
from solver.approximate.line_by_line import Part, Plan, path_of_part, plan_lines, solve_rest
from solver.approximate.lower_bound import lower_bound, manhattan_distance
from solver.beams.beam_search import find_path, widest_beam
from solver.beams.beam_search_kernels import Aim
from solver.beams.fitted_values import (
    MOST_CELLS,
    embedding,
    fitted_size,
    fitted_values,
    has_fitted_values,
    no_fitted_values,
)
from solver.beams.pieces import Pieces, geometry, geometry_within, in_pieces
from solver.beams.solutions import both_ends, fitted_aim, shorter, without_loops
from solver.engine.worker_pool import in_parallel
from solver.solution import Solution, check_replay, check_solvable, one_move_away, solution_of

# Cost of each cell between a piece and its goal cell: for the pieces of a part, for those of its line, and the decrease
# from there to the rest. Found by trials on boards from 7x7 to 16x16.
_PART_WEIGHT, _LINE_WEIGHT, _WEIGHT_DROP = 32, 16, 8
# Cost of each cell between the blank and the nearest misplaced piece of a part.
_PULL = 32
# Estimated moves per cell of Manhattan distance, to compare paths that end at different boards.
_MOVES_A_CELL = 2.0
_FIRST_WIDTH = 24
# Width of the beams for a rest, for each board of the beams for parts.
_REST_FACTOR = 4
# Longer paths for a rest are not searched for.
_REST_MOVES = 700


def find_suboptimal_solution(
    board: BoardLike,
    goal: BoardLike = "blank-last",
    size: SizeLike | None = None,
    *,
    time_limit: float | None = None,
    databases: Database | FilePath | Sequence[Database | FilePath] = (),
) -> Solution:
    """Return the best solution of `board` found within a time limit. The first solution is always completed.

    Parameters
    ----------
    board
        Board from 2x2 to 32x32.
    goal
        Board to reach, or its name.
    size
        Size of the board, if it does not follow from `board`.
    time_limit
        Seconds; by default 0.5 up to 7x7, 0.9 for 10x10, and at most 5.
    databases
        Databases that may raise the lower bound, open or as paths.

    Returns
    -------
    Solution
        Its `lower_bound` is the largest of `databases` and of heuristics without tables. `suboptimality_bound` is the
        length divided by it.

    Raises
    ------
    BoardError
        If the board is invalid.
    InputError
        If the size is invalid.
    UnsolvableError
        If there is no solution.
    GoalError
        If the goal is invalid, or a database cannot serve it.
    TableMismatchError
        If a database is for another size.
    TableFileError
        If a file of `databases` is missing or cannot be used, or a database has no distance for the board.

    Examples
    --------
    >>> find_suboptimal_solution("1 2 3/4 0 6/7 5 8").moves
    (5, 8)
    """
    board = Board(board, size)
    goal, size = as_goal(goal, board.size), board.size
    check_solvable(board, goal, size)
    usual = min(5.0, max(0.5, size.n_cells * 0.009))
    seconds = usual if time_limit is None else as_number(time_limit, "time_limit")
    opened = as_databases(databases)
    _compile_kernels(np.min_scalar_type(size.n_cells))
    fitted_values(fitted_size(size.height, size.width))
    pieces = in_pieces(board, goal)
    h = bound = lower_bound(board, goal, size, opened, pieces)
    start = time.perf_counter()
    path = without_loops(pieces, solve_by_lines(pieces, size), size)
    if not plan_lines(size, pieces.blank).parts:
        # A* has searched the whole board: the path is optimal.
        bound = len(path)
    path = _shortened(pieces, size, path, bound, start + seconds)
    tiles, _ = tiles_moved(board, path, size)
    check_replay(board, tiles, goal, size)
    return solution_of(
        board,
        goal,
        tiles,
        bound,
        len(tiles) / max(1, bound),
        h=h,
        generated=0,
        expanded=0,
        seconds=time.perf_counter() - start,
        algorithm="approximate",
    )


def _shortened(pieces: Pieces, size: BoardSize, path: list[int], bound: int, end: float) -> list[int]:
    """Return a path, or a shorter one that beams of growing width find until `end`; none is shorter than `bound`."""
    width, next_width = 0, _FIRST_WIDTH
    # Beams of the same width find the same path.
    while len(path) > bound and next_width != width and (begun := time.perf_counter()) < end:
        width = next_width
        try:
            if has_fitted_values(size.height, size.width):
                # Paths line by line would be longer.
                found = _find_rest(pieces, size, np.zeros(size.n_cells, dtype=np.uint8), width, len(path) - 2, end)
            else:
                found = solve_by_lines(pieces, size, width, end, len(path) - 2)
        except MemoryError:
            # The path that was found is a solution.
            break
        if found is not None:
            path = min(path, without_loops(pieces, found, size), key=len)
        now = time.perf_counter()
        # Eight times as wide, or as wide as the time allows if that is not more than 50 times.
        growth = (end - now) / (now - begun)
        widest = widest_beam(MOST_CELLS, min(len(path), _REST_MOVES), available_memory()) // _REST_FACTOR
        next_width = max(1, min(widest, int(width * (growth if growth <= 50 else 8))))
    return path


@lru_cache(maxsize=2)
def _compile_kernels(cell_type: np.dtype[Any]) -> None:
    """Run every kernel once, so that time limits do not include the compilation.

    `cell_type` is the type of the cells of the board: beams for its parts are compiled for it.
    """
    for size in [BoardSize(4, 2)] + [BoardSize(16, 16)] * (cell_type.itemsize > 1):
        pieces = in_pieces(one_move_away(blank_last(size), size), blank_last(size))
        for part in plan_lines(size, pieces.blank).parts[:1]:
            _place(pieces, size, [part], np.zeros(size.n_cells, dtype=np.uint8), 1, math.inf)
        _find_rest(pieces, size, np.zeros(size.n_cells, dtype=np.uint8), 1, _REST_MOVES, math.inf)


def solve_by_lines(
    pieces: Pieces, size: BoardSize, width: int = 1, end: float = -math.inf, limit: int = _REST_MOVES
) -> list[int]:
    """Return a path to the goal that places one part of a line after another. The board must be solvable.

    Until `end`, parts are placed by beams of this width, and a rest with fitted values is solved by them, if that takes
    at most `limit` moves in all.
    """
    plan = plan_lines(size, pieces.blank)
    locked = np.zeros(size.n_cells, dtype=np.uint8)
    path: list[int] = []
    for part in plan.parts:
        divisions = [[part]]
        if time.perf_counter() < end:
            rest = _find_rest(pieces, size, locked, width, limit - len(path), end)
            if rest is not None:
                return path + rest
            divisions.append(part.steps)
        best = _best(pieces, size, [_place(pieces, size, parts, locked, width, end) for parts in divisions])
        pieces = pieces.after(best, size)
        locked[part.cells] = 1
        path += best
    return path + solve_rest(pieces, plan)


def _best(pieces: Pieces, size: BoardSize, paths: list[list[int]]) -> list[int]:
    """Return the path with the fewest moves, including an estimate of those that are left after it."""
    return min(paths, key=lambda path: len(path) + _MOVES_A_CELL * manhattan_distance(pieces.after(path, size), size))


def _place(pieces: Pieces, size: BoardSize, parts: list[Part], locked: Bytes, width: int, end: float) -> list[int]:
    """Return a path that places one part after another: each by a beam or without it, whichever seems better."""
    locked = locked.copy()
    path: list[int] = []
    for part in parts:
        plain = path_of_part(pieces, size, part, locked)
        aim = _aim_of_part(size, plan_lines(size, pieces.blank), part, locked)
        found = find_path(pieces, aim, width, 2 * len(plain) + 50, end)
        best = plain if found is None else _best(pieces, size, [plain, found])
        pieces = pieces.after(best, size)
        locked[part.cells] = 1
        path += best
    return path


def _find_rest(pieces: Pieces, size: BoardSize, locked: Bytes, width: int, limit: int, end: float) -> list[int] | None:
    """Return a path to the goal if the open cells are a rectangle with fitted values and beams find one, else None."""
    rows, columns = (np.unique(lines[locked == 0]).tolist() for lines in geometry(size)[:2])
    n_open, limit = np.count_nonzero(locked == 0), min(limit, _REST_MOVES)
    if limit < 1 or not has_fitted_values(len(rows), len(columns)) or n_open < len(rows) * len(columns):
        return None
    rest = embedding(size, rows, columns)
    found = find_from_both_ends(rest.embed(pieces), fitted_aim(rest), _REST_FACTOR * width, limit, end)
    return None if found is None else rest.original_path(found)


def find_from_both_ends(pieces: Pieces, aim: Aim, width: int, limit: int, end: float) -> list[int] | None:
    """Return the shorter of the paths that beams find from the board and from the goal; None if they find none."""
    forward, backward = in_parallel(
        both_ends(pieces),
        lambda board, report, _: find_path(board, aim, width, limit, end, report),
        n_threads=available_cores(),
    )
    return shorter(forward, backward)


def _aim_of_part(size: BoardSize, plan: Plan, part: Part, locked: Bytes) -> Aim:
    """Return the aim at the boards with the pieces of a part on their goal cells."""
    behind = (plan.line_of - plan.line_of[part.cells[0]]) / plan.n_lines
    weights = (_LINE_WEIGHT - _WEIGHT_DROP * behind).astype(np.int32)
    weights[locked == 1] = 0
    weights[part.cells] = _PART_WEIGHT
    return Aim(geometry_within(size, 1 - locked), weights, no_fitted_values(), part.cells, _PULL)
