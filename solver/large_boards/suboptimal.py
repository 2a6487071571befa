"""Suboptimal solution of a board of up to 32x32, without tables, within a time limit.

1. Solve the board line by line.                                     line_by_line.py
2. Solve it line by line again, each part by beam search.            beam_search.py
3. Replace windows of the solution by shorter paths between boards.
4. Replay the solution, move by move.                                solution.py

A path is the list of cells that the blank moves to.
"""

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pdb_core.puzzle import BLANK, Board, BoardLike, BoardSize, Tiles, as_goal, blank_last
from solver.large_boards.beam_search import Aim, BeamSearch
from solver.large_boards.line_by_line import (
    Geometry,
    Part,
    Pieces,
    Plan,
    geometry,
    in_pieces,
    plan_lines,
    solve_by_lines,
    solve_part,
    solve_rest,
)
from solver.large_boards.line_by_line_kernels import Bytes, Int32s
from solver.solution import Solution, check_solution, check_solvable, one_move_away


class _Weighting(NamedTuple):
    """Ranking of boards by the beam search of a part.

    focus, line, following  cost of each cell of distance for the pieces of the part, of its line, of the next line
    drop                    decrease of that cost from the next to the last line
    pull, patience          see `Aim` and `BeamSearch.find`
    """

    focus: int
    line: int
    following: int
    drop: int
    pull: int
    patience: int


# For all pieces of a part at once, and for one piece after another. Found by trials on 10x10 and 20x20.
_TOGETHER = _Weighting(focus=32, line=20, following=16, drop=8, pull=32, patience=60)
_ONE_BY_ONE = _Weighting(focus=16, line=10, following=9, drop=5, pull=16, patience=30)
_NOISE = 16
# Estimated moves per cell of Manhattan distance, to compare paths that end at different boards.
_MOVES_A_CELL = 2.0
_FIRST_WIDTH, _MAX_WIDTH = 24, 16_384
# Share of the time limit for beams; windows get the rest.
_BEAM_SHARE = 0.7
# Up to this number of cells, a beam searches for the goal without parts.
_WHOLE_BOARD_CELLS = 36
# Passes over the windows: moves of a window, and width of the beam.
_WINDOWS = ((40, 40), (100, 100), (150, 400), (200, 1500))


def default_time_limit(size: BoardSize) -> float:
    """Return the default time limit in seconds: 0.5 up to 7x7, 0.9 for 10x10, at most 5."""
    return min(5.0, max(0.5, size.n_cells * 0.009))


def find_suboptimal_solution(
    board: BoardLike,
    goal: BoardLike = "blank-last",
    size: BoardSize | str | None = None,
    *,
    time_limit: float | None = None,
) -> Solution:
    """Return a solution of a board from 2x2 to 32x32, the best one found within `time_limit` seconds.

    The first solution is always completed. Raises `BoardError` for an invalid board, `UnsolvableError` if there is no
    solution.

    >>> find_suboptimal_solution((1, 2, 3, 4, 0, 6, 7, 5, 8), (1, 2, 3, 4, 5, 6, 7, 8, 0), BoardSize(3, 3)).tiles
    (5, 8)
    """
    checked = Board(board, size)
    size = checked.size
    checked_goal = as_goal(goal, size)
    check_solvable(checked, checked_goal, size)
    _compile_kernels()
    start = time.perf_counter()
    seconds = default_time_limit(size) if time_limit is None else time_limit
    pieces = in_pieces(checked, checked_goal)
    h = bound = manhattan_distance(pieces, geometry(size))
    path = without_loops(pieces, solve_by_lines(pieces, size))
    if not plan_lines(size, pieces.blank).parts:
        # IDA* has searched the whole board: the path is optimal.
        bound = len(path)
    else:
        path = _improve_by_beams(pieces, size, path, start + _BEAM_SHARE * seconds)
        path = _shorten_windows(pieces, size, path, bound, start + seconds)
    tiles = tiles_on_path(checked, path)
    check_solution(checked, tiles, checked_goal, size)
    is_optimal = len(tiles) == bound
    return Solution(
        board=checked,
        goal=checked_goal,
        length=len(tiles),
        tiles=tiles,
        is_optimal=is_optimal,
        bound=1.0 if is_optimal else None,
        h=h,
        lower_bound=bound,
        generated=0,
        expanded=0,
        seconds=time.perf_counter() - start,
        search="approximate",
    )


@lru_cache(maxsize=1)
def _compile_kernels() -> None:
    """Solve a small board with every kernel, so that the time limit does not include their compilation."""
    size = BoardSize(4, 4)
    goal = blank_last(size)
    pieces = in_pieces(one_move_away(goal, size), goal)
    _LineSolver(size, pieces.blank, 1, math.inf).solve(pieces)


def manhattan_distance(pieces: Pieces, arrays: Geometry) -> int:
    """Return the sum of the distances of all tiles from their goal cells."""
    rows, columns, cells = arrays.rows, arrays.columns, pieces.cells
    away = np.abs(rows[cells] - rows) + np.abs(columns[cells] - columns)
    return int(away.sum() - away[pieces.blank_cell])


def _improve_by_beams(pieces: Pieces, size: BoardSize, path: list[int], end: float) -> list[int]:
    """Return the shortest of `path` and the paths found by beams of growing width."""
    width = _FIRST_WIDTH
    while time.perf_counter() < end:
        start = time.perf_counter()
        if size.n_cells <= _WHOLE_BOARD_CELLS:
            path = min(path, _search_whole_board(pieces, size, 8 * width, len(path), end) or path, key=len)
        found = _LineSolver(size, pieces.blank, width, end).solve(pieces)
        path = min(path, without_loops(pieces, found), key=len)
        seconds = time.perf_counter() - start
        wider = min(_MAX_WIDTH, int(width * 0.85 * (end - time.perf_counter()) / seconds))
        if wider < 1.3 * width:
            break
        width = wider if seconds > 0.02 else min(wider, 8 * width)
    return path


def _search_whole_board(pieces: Pieces, size: BoardSize, width: int, length: int, end: float) -> list[int] | None:
    """Return a path shorter than `length` to the goal, or None if the beam finds none."""
    if length < 2:
        return None
    arrays = geometry(size)
    aim = _whole_board(arrays, np.arange(size.n_cells, dtype=np.int32))
    return BeamSearch(arrays, width, length).find(pieces, aim, limit=length - 2, end=end)


def _whole_board(arrays: Geometry, wanted: Int32s) -> Aim:
    """Return the aim to reach one board."""
    weights, nothing = np.full(len(wanted), 16, dtype=np.int32), np.empty(0, dtype=np.int32)
    return Aim(wanted, weights, arrays.neighbours, nothing, pull=0, noise=_NOISE)


class _LineSolver:
    """Solver that places parts of lines by beams of one width; without beams after `end`."""

    def __init__(self, size: BoardSize, blank: int, width: int, end: float) -> None:
        self._size, self._end = size, end
        self._arrays = geometry(size)
        self._plan: Plan = plan_lines(size, blank)
        self._beam = BeamSearch(self._arrays, width, 50 * (size.width + size.height))
        self._wanted = np.arange(size.n_cells, dtype=np.int32)

    def solve(self, pieces: Pieces) -> list[int]:
        """Return a path to the goal."""
        locked = np.zeros(self._size.n_cells, dtype=np.uint8)
        path: list[int] = []
        for part in self._plan.parts:
            best = solve_part(pieces, self._size, part, locked)
            if time.perf_counter() < self._end:
                together = self._place(pieces, part, locked, _TOGETHER, best)
                others = [together, self._place_one_by_one(pieces, part, locked)]
                best = min([best, *others], key=lambda found: self._cost(pieces, found))
            pieces = pieces.after(best)
            locked[part.cells] = 1
            path += best
        return path + solve_rest(pieces, self._size, self._plan)

    def _cost(self, pieces: Pieces, path: list[int]) -> float:
        return len(path) + _MOVES_A_CELL * manhattan_distance(pieces.after(path), self._arrays)

    def _place(self, pieces: Pieces, part: Part, locked: Bytes, weighting: _Weighting, other: list[int]) -> list[int]:
        """Place all pieces of the part with one beam search, and those that it leaves without it.

        `other` is a path to compare with: the search ends after about twice as many moves.
        """
        behind = (self._plan.line_of - part.line) / self._plan.n_lines
        weights = np.maximum(weighting.following - weighting.drop * behind, 1).astype(np.int32)
        weights[self._plan.line_of == part.line] = weighting.line
        weights[locked == 1] = 0
        weights[part.cells] = weighting.focus
        aim = Aim(self._wanted, weights, self._open(locked), part.cells, weighting.pull, _NOISE)
        limit = 2 * len(other) + 50
        path = self._beam.find(pieces, aim, limit=limit, patience=weighting.patience, end=self._end) or []
        return path + solve_part(pieces.after(path), self._size, part, locked)

    def _place_one_by_one(self, pieces: Pieces, part: Part, locked: Bytes) -> list[int]:
        """Place one piece after another with beam searches, the last two of a line together."""
        locked = locked.copy()
        path: list[int] = []
        n_single = len(part.cells) - (2 if len(part.corner) else 0)
        small_parts = [Part(part.line, part.cells[i : i + 1], part.corner[:0]) for i in range(n_single)]
        if len(part.corner):
            small_parts.append(Part(part.line, part.cells[n_single:], part.corner))
        for small in small_parts:
            plain = solve_part(pieces, self._size, small, locked)
            found = self._place(pieces, small, locked, _ONE_BY_ONE, plain)
            found = min([plain, found], key=lambda stretch: self._cost(pieces, stretch))
            pieces = pieces.after(found)
            locked[small.cells] = 1
            path += found
        return path

    def _open(self, locked: Bytes) -> Int32s:
        """Return the unlocked neighbours of each cell."""
        neighbours = self._arrays.neighbours
        result = np.where(locked[neighbours] == 0, neighbours, -1).astype(np.int32)
        result[locked == 1] = -1
        return result


def _shorten_windows(pieces: Pieces, size: BoardSize, path: list[int], bound: int, end: float) -> list[int]:
    """Shorten windows of the path in passes of growing cost, until `end` or a round without change."""
    before = None
    while before != path and len(path) > bound:
        before = path
        for length, width in _WINDOWS:
            if time.perf_counter() > end:
                return path
            path = without_loops(pieces, _shorten_each_window(pieces, size, path, length, width, end))
    return path


def _shorten_each_window(
    pieces: Pieces, size: BoardSize, path: list[int], length: int, width: int, end: float
) -> list[int]:
    """Replace windows of `length` moves, which overlap by half, by shorter paths that a beam of `width` finds."""
    arrays = geometry(size)
    beam = BeamSearch(arrays, width, length)
    result = list(path)
    start, board = 0, pieces
    while start < len(result) - 2 and time.perf_counter() < end:
        window = result[start : start + length]
        wanted = np.argsort(board.after(window).cells).astype(np.int32)
        better = beam.find(board, _whole_board(arrays, wanted), limit=len(window) - 2, end=end)
        if better is not None:
            result[start : start + len(window)] = better
        step = length // 2
        board = board.after(result[start : start + step])
        start += step
    return result


def without_loops(pieces: Pieces, path: list[int]) -> list[int]:
    """Return the path without the moves between two visits of the same board."""
    n = len(pieces.cells)
    # Zobrist hashing with 62 bits: different boards of a path have different keys.
    keys = np.random.default_rng(1).integers(1 << 62, size=n * n)
    cells, here, key = pieces.cells.tolist(), pieces.blank_cell, 0
    kept: list[int] = []
    trail, depth_of = [0], {0: 0}
    for cell in path:
        piece = cells[cell]
        key ^= int(keys[piece * n + cell]) ^ int(keys[piece * n + here])
        cells[here], cells[cell] = piece, pieces.blank
        here = cell
        if key in depth_of:
            depth = depth_of[key]
            for old in trail[depth + 1 :]:
                del depth_of[old]
            del trail[depth + 1 :], kept[depth:]
        else:
            kept.append(cell)
            depth_of[key] = len(kept)
            trail.append(key)
    return kept


def tiles_on_path(board: Tiles, path: Sequence[int]) -> tuple[int, ...]:
    """Return the tiles that move when the blank follows a path."""
    cells, blank = list(board), board.index(BLANK)
    tiles = []
    for cell in path:
        tiles.append(cells[cell])
        cells[blank], cells[cell] = cells[cell], BLANK
        blank = cell
    return tuple(tiles)
