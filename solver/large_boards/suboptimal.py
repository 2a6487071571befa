"""A good solution of any board, without tables: not the shortest, but one that is found in a time one can choose.

by lines   rows and columns are put in place from outside inwards          line_by_line.py
by beams   the same, each part by a beam search that minds the others too  beam_search.py
shortened  windows of the solution are searched anew                       windows.py
replayed   move by move to the goal, before anyone is told                 solution.py
"""

import math
import time
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

# Parts of lines by beams: what a cell of distance counts for the pieces of the part, and for the others, which count
# less the further inside they belong. Found by trials on 10x10 and 20x20.
_FOCUS_WEIGHT, _LINE_WEIGHT, _NEXT_WEIGHT, _DROP = 32, 20, 16, 8
_PULL, _NOISE, _PATIENCE = 32, 16, 60
# The same for one piece after another.
_ONE_FOCUS_WEIGHT, _ONE_LINE_WEIGHT, _ONE_NEXT_WEIGHT, _ONE_DROP = 16, 10, 9, 5
_ONE_PULL, _ONE_PATIENCE = 16, 30
# Moves that a cell of Manhattan distance left over is going to take: what ways that end at different boards are
# compared by.
_MOVES_A_CELL = 2.0
_FIRST_WIDTH, _MAX_WIDTH = 24, 16_384
# The shares of the time: beams, then windows.
_BEAM_SHARE = 0.7
# Up to this many cells a beam may find the whole way at once.
_WHOLE_BOARD_CELLS = 36
# How windows are searched in turn: by beams (their width) or by search (nodes).
_WINDOWS = (
    ("search", 20, 10_000), ("search", 30, 30_000), ("beam", 100, 100), ("search", 40, 100_000), ("beam", 150, 400),
    ("search", 45, 500_000), ("beam", 200, 1500), ("search", 55, 500_000),
)  # fmt: skip


def default_time_limit(size: BoardSize) -> float:
    """Seconds that a solution is improved for where nobody says: 0.5 up to 7x7, 0.9 for 10x10, at most 5."""
    return min(5.0, max(0.5, size.n_cells * 0.009))


def find_good_solution(board: Board, goal: Board, size: BoardSize, *, time_limit: float | None = None) -> Solution:
    """A solution of any board of 2x2 to 32x32, improved for `time_limit` seconds; at least the first one is found.

    Raises `BoardError` for what is no board, `UnsolvableError` where there is no solution.

    >>> find_good_solution((1, 2, 3, 4, 0, 6, 7, 5, 8), (1, 2, 3, 4, 5, 6, 7, 8, 0), BoardSize(3, 3)).tiles
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
    way = without_loops(pieces, solve_by_lines(pieces, size))
    if not plan_lines(size, pieces.blank).parts:
        # No lines: all of the board was searched, and the way is a shortest one.
        bound = len(way)
    else:
        way = _by_beams(pieces, size, way, start + _BEAM_SHARE * seconds)
        way = _shortened(pieces, size, way, bound, start + seconds)
    tiles = _tiles(board, way)
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
    """Solve a small board by every means, once: compiling takes seconds, and they are not the first board's."""
    size = BoardSize(4, 4)
    goal = blank_last(size)
    pieces = in_pieces(one_move_away(goal, size), goal)
    _Lines(size, pieces.blank, 1, math.inf).way(pieces)


def manhattan_distance(pieces: Pieces, arrays: Geometry) -> int:
    """The sum of the distances of all tiles from their places."""
    rows, columns, cells = arrays.rows, arrays.columns, pieces.cells
    away = np.abs(rows[cells] - rows) + np.abs(columns[cells] - columns)
    return int(away.sum() - away[pieces.blank_cell])


def _by_beams(pieces: Pieces, size: BoardSize, way: list[int], end: float) -> list[int]:
    """The shorter of `way` and what beams find: narrow ones first, then as wide ones as there is time for."""
    width = _FIRST_WIDTH
    while time.perf_counter() < end:
        start = time.perf_counter()
        if size.n_cells <= _WHOLE_BOARD_CELLS:
            way = min(way, _whole_board(pieces, size, 8 * width, len(way), end) or way, key=len)
        found = _Lines(size, pieces.blank, width, end).way(pieces)
        way = min(way, without_loops(pieces, found), key=len)
        seconds = time.perf_counter() - start
        wider = min(_MAX_WIDTH, int(width * 0.85 * (end - time.perf_counter()) / seconds))
        if wider < 1.3 * width:
            break
        width = wider if seconds > 0.02 else min(wider, 8 * width)
    return way


def _whole_board(pieces: Pieces, size: BoardSize, width: int, length: int, end: float) -> list[int] | None:
    """A way shorter than `length`, if a beam finds one to the goal at once."""
    if length < 2:
        return None
    n, arrays = size.n_cells, geometry(size)
    weights = np.full(n, 16, dtype=np.int32)
    aim = Aim(np.arange(n, dtype=np.int32), weights, arrays.neighbours, np.empty(0, dtype=np.int32), 0, 16)
    return BeamSearch(arrays, width, length).way(pieces, aim, limit=length - 2, end=end)


class _Lines:
    """Solves a board line by line with beams of one width; without beams after the clock passes `end`."""

    def __init__(self, size: BoardSize, blank: int, width: int, end: float) -> None:
        self._size, self._end = size, end
        self._arrays = geometry(size)
        self._plan: Plan = plan_lines(size, blank)
        self._beam = BeamSearch(self._arrays, width, 50 * (size.width + size.height))
        self._wanted = np.arange(size.n_cells, dtype=np.int32)

    def way(self, pieces: Pieces) -> list[int]:
        """A way to the goal."""
        locked = np.zeros(self._size.n_cells, dtype=np.uint8)
        way: list[int] = []
        for part in self._plan.parts:
            best = solve_part(pieces, self._size, part, locked)
            if time.perf_counter() < self._end:
                others = [self._by_one_beam(pieces, part, locked, best), self._by_many_beams(pieces, part, locked)]
                best = min([best, *others], key=lambda found: self._cost(pieces, found))
            pieces = pieces.after(best)
            locked[part.cells] = 1
            way += best
        return way + solve_rest(pieces, self._size, self._plan)

    def _cost(self, pieces: Pieces, way: list[int]) -> float:
        return len(way) + _MOVES_A_CELL * manhattan_distance(pieces.after(way), self._arrays)

    def _by_one_beam(self, pieces: Pieces, part: Part, locked: Bytes, other: list[int]) -> list[int]:
        """All pieces of the part together; those the beam does not put in place, one by one."""
        weights = self._weights(part, locked, _NEXT_WEIGHT, _LINE_WEIGHT, _DROP)
        weights[part.cells] = _FOCUS_WEIGHT
        aim = Aim(self._wanted, weights, self._open(locked), part.cells, _PULL, _NOISE)
        return self._finished(pieces, part, locked, aim, limit=2 * len(other) + 50, patience=_PATIENCE)

    def _by_many_beams(self, pieces: Pieces, part: Part, locked: Bytes) -> list[int]:
        """One piece after another, the last two of a line together."""
        locked = locked.copy()
        way: list[int] = []
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
            found = self._finished(pieces, small, locked, aim, limit=2 * len(plain) + 50, patience=_ONE_PATIENCE)
            found = min([plain, found], key=lambda stretch: self._cost(pieces, stretch))
            pieces = pieces.after(found)
            locked[cells] = 1
            way += found
        return way

    def _finished(self, pieces: Pieces, part: Part, locked: Bytes, aim: Aim, *, limit: int, patience: int) -> list[int]:
        """As far as the beam comes, then without it."""
        way = self._beam.way(pieces, aim, limit=limit, patience=patience, end=self._end) or []
        return way + solve_part(pieces.after(way), self._size, part, locked)

    def _weights(self, part: Part, locked: Bytes, following: int, line: int, drop: int) -> Int32s:
        """Of pieces that are not in the focus: those of the same line, and the lines after it."""
        behind = (self._plan.line_of - part.line) / self._plan.n_lines
        weights = np.maximum(following - drop * behind, 1).astype(np.int32)
        weights[self._plan.line_of == part.line] = line
        weights[locked == 1] = 0
        return weights

    def _open(self, locked: Bytes) -> Int32s:
        """The neighbours of each cell that are not locked."""
        neighbours = self._arrays.neighbours
        result = np.where(locked[neighbours] == 0, neighbours, -1).astype(np.int32)
        result[locked == 1] = -1
        return result


def _shortened(pieces: Pieces, size: BoardSize, way: list[int], bound: int, end: float) -> list[int]:
    """Windows of the way searched anew, by ever more costly means, until the time is used up or nothing changes."""
    windows = Windows(geometry(size), end)
    before = None
    while before != way and len(way) > bound:
        before = way
        for means, length, effort in _WINDOWS:
            if time.perf_counter() > end:
                return way
            search = windows.by_beam if means == "beam" else windows.by_search
            way = without_loops(pieces, search(pieces, way, length, effort))
    return way


def _tiles(board: Board, way: list[int]) -> tuple[int, ...]:
    """The tiles moved when the blank goes that way."""
    cells, blank = list(board), board.index(BLANK)
    tiles = []
    for cell in way:
        tiles.append(cells[cell])
        cells[blank], cells[cell] = cells[cell], BLANK
        blank = cell
    return tuple(tiles)
