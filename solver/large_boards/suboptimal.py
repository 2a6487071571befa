"""Suboptimal solution of a board of up to 32x32, without tables, within a time limit.

1. Solve the board line by line.                                     line_by_line.py
2. Solve it line by line again, each part by beam search.            beam_search.py
3. Replace windows of the solution by shorter paths between boards.  windows.py
4. Replay the solution, move by move.                                solution.py

A path is the list of cells that the blank moves to.
"""

import math
import time
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from pdb_core.errors import UnsolvableError
from pdb_core.messages import shorten
from pdb_core.puzzle import BLANK, Board, BoardSize, blank_last, check_board, format_board, is_solvable, why_unsolvable
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
from solver.large_boards.windows import Windows, without_loops
from solver.solution import Solution, check_solution, one_move_away

# Beam search of a part: cost of each cell of distance for the pieces of the part, of its line, and of the next lines.
# The cost of further lines drops. Found by trials on 10x10 and 20x20.
_FOCUS_WEIGHT, _LINE_WEIGHT, _NEXT_WEIGHT, _DROP = 32, 20, 16, 8
_PULL, _NOISE, _PATIENCE = 32, 16, 60
# The same for one piece after another.
_ONE_FOCUS_WEIGHT, _ONE_LINE_WEIGHT, _ONE_NEXT_WEIGHT, _ONE_DROP = 16, 10, 9, 5
_ONE_PULL, _ONE_PATIENCE = 16, 30
# Estimated moves per cell of Manhattan distance, to compare paths that end at different boards.
_MOVES_A_CELL = 2.0
_FIRST_WIDTH, _MAX_WIDTH = 24, 16_384
# Share of the time limit for beams; windows get the rest.
_BEAM_SHARE = 0.7
# Up to this number of cells, a beam searches for the goal without parts.
_WHOLE_BOARD_CELLS = 36
# Passes over the windows: by beam search (length, width) or IDA* (length, nodes).
_WINDOWS = (
    ("search", 20, 10_000), ("search", 30, 30_000), ("beam", 100, 100), ("search", 40, 100_000), ("beam", 150, 400),
    ("search", 45, 500_000), ("beam", 200, 1500), ("search", 55, 500_000),
)  # fmt: skip


def default_time_limit(size: BoardSize) -> float:
    """Return the default time limit in seconds: 0.5 up to 7x7, 0.9 for 10x10, at most 5."""
    return min(5.0, max(0.5, size.n_cells * 0.009))


def find_suboptimal_solution(
    board: Board, goal: Board, size: BoardSize, *, time_limit: float | None = None
) -> Solution:
    """Return a solution of a board from 2x2 to 32x32, the best one found within `time_limit` seconds.

    The first solution is always completed. Raises `BoardError` for an invalid board, `UnsolvableError` if there is no
    solution.

    >>> find_suboptimal_solution((1, 2, 3, 4, 0, 6, 7, 5, 8), (1, 2, 3, 4, 5, 6, 7, 8, 0), BoardSize(3, 3)).tiles
    (5, 8)
    """
    board, goal = check_board(board, size), check_board(goal, size)
    if not is_solvable(board, goal, size):
        shown = shorten(format_board(board))
        raise UnsolvableError(f"board {shown} cannot be solved: {why_unsolvable(board, goal, size)}")
    _compile_kernels()
    start = time.perf_counter()
    seconds = default_time_limit(size) if time_limit is None else time_limit
    pieces = in_pieces(board, goal)
    h = bound = manhattan_distance(pieces, geometry(size))
    path = without_loops(pieces, solve_by_lines(pieces, size))
    if not plan_lines(size, pieces.blank).parts:
        # IDA* has searched the whole board: the path is optimal.
        bound = len(path)
    else:
        path = _improve_by_beams(pieces, size, path, start + _BEAM_SHARE * seconds)
        path = _shorten_windows(pieces, size, path, bound, start + seconds)
    tiles = tiles_on_path(board, path)
    check_solution(board, tiles, goal, size)
    is_optimal = len(tiles) == bound
    return Solution(
        board=board,
        goal=goal,
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
    n, arrays = size.n_cells, geometry(size)
    weights = np.full(n, 16, dtype=np.int32)
    aim = Aim(np.arange(n, dtype=np.int32), weights, arrays.neighbours, np.empty(0, dtype=np.int32), 0, 16)
    return BeamSearch(arrays, width, length).find(pieces, aim, limit=length - 2, end=end)


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
                others = [
                    self._place_together(pieces, part, locked, best),
                    self._place_one_by_one(pieces, part, locked),
                ]
                best = min([best, *others], key=lambda found: self._cost(pieces, found))
            pieces = pieces.after(best)
            locked[part.cells] = 1
            path += best
        return path + solve_rest(pieces, self._size, self._plan)

    def _cost(self, pieces: Pieces, path: list[int]) -> float:
        return len(path) + _MOVES_A_CELL * manhattan_distance(pieces.after(path), self._arrays)

    def _place_together(self, pieces: Pieces, part: Part, locked: Bytes, other: list[int]) -> list[int]:
        """Place all pieces of the part with one beam search."""
        weights = self._weights(part, locked, _NEXT_WEIGHT, _LINE_WEIGHT, _DROP)
        weights[part.cells] = _FOCUS_WEIGHT
        aim = Aim(self._wanted, weights, self._open(locked), part.cells, _PULL, _NOISE)
        return self._finish(pieces, part, locked, aim, limit=2 * len(other) + 50, patience=_PATIENCE)

    def _place_one_by_one(self, pieces: Pieces, part: Part, locked: Bytes) -> list[int]:
        """Place one piece after another with beam searches, the last two of a line together."""
        locked = locked.copy()
        path: list[int] = []
        n_single = len(part.cells) - (2 if len(part.corner) else 0)
        cuts = [*range(n_single), n_single] if len(part.corner) else range(n_single)
        for cut in cuts:
            is_last = len(part.corner) > 0 and cut == n_single
            cells = part.cells[cut:] if is_last else part.cells[cut : cut + 1]
            small = Part(part.line, cells, part.corner if is_last else part.corner[:0])
            weights = self._weights(part, locked, _ONE_NEXT_WEIGHT, _ONE_LINE_WEIGHT, _ONE_DROP)
            weights[cells] = _ONE_FOCUS_WEIGHT
            aim = Aim(self._wanted, weights, self._open(locked), cells, _ONE_PULL, _NOISE)
            plain = solve_part(pieces, self._size, small, locked)
            found = self._finish(pieces, small, locked, aim, limit=2 * len(plain) + 50, patience=_ONE_PATIENCE)
            found = min([plain, found], key=lambda stretch: self._cost(pieces, stretch))
            pieces = pieces.after(found)
            locked[cells] = 1
            path += found
        return path

    def _finish(self, pieces: Pieces, part: Part, locked: Bytes, aim: Aim, *, limit: int, patience: int) -> list[int]:
        """Follow the beam search to its end, then place the remaining pieces without it."""
        path = self._beam.find(pieces, aim, limit=limit, patience=patience, end=self._end) or []
        return path + solve_part(pieces.after(path), self._size, part, locked)

    def _weights(self, part: Part, locked: Bytes, following: int, line: int, drop: int) -> Int32s:
        """Return the weights of all pieces outside the focus: `line` for the same line, less for the lines after it."""
        behind = (self._plan.line_of - part.line) / self._plan.n_lines
        weights = np.maximum(following - drop * behind, 1).astype(np.int32)
        weights[self._plan.line_of == part.line] = line
        weights[locked == 1] = 0
        return weights

    def _open(self, locked: Bytes) -> Int32s:
        """Return the unlocked neighbours of each cell."""
        neighbours = self._arrays.neighbours
        result = np.where(locked[neighbours] == 0, neighbours, -1).astype(np.int32)
        result[locked == 1] = -1
        return result


def _shorten_windows(pieces: Pieces, size: BoardSize, path: list[int], bound: int, end: float) -> list[int]:
    """Shorten windows of the path in passes of growing cost, until `end` or a round without change."""
    windows = Windows(geometry(size), end)
    before = None
    while before != path and len(path) > bound:
        before = path
        for means, length, effort in _WINDOWS:
            if time.perf_counter() > end:
                return path
            search = windows.by_beam if means == "beam" else windows.by_search
            path = without_loops(pieces, search(pieces, path, length, effort))
    return path


def tiles_on_path(board: Board, path: Sequence[int]) -> tuple[int, ...]:
    """Return the tiles that move when the blank follows a path."""
    cells, blank = list(board), board.index(BLANK)
    tiles = []
    for cell in path:
        tiles.append(cells[cell])
        cells[blank], cells[cell] = cells[cell], BLANK
        blank = cell
    return tuple(tiles)
