"""Suboptimal solutions of boards up to 32x32 within a time limit, each with a lower bound of the optimal length.

1. Solve the board line by line.                                                     line_by_line.py
2. Up to 6x6: search by beams of growing width, ranked by fitted values,             fitted_values.py
   from the board and from the goal.                                                 beam_search.py
   Larger boards: solve them line by line again, each part by beam search, until
   a rest of at most 6x6 is left, which is searched as above.
3. Replace windows of the solution by shorter paths between boards, found by beams.
4. Replay the solution, move by move.                                                solution.py

A path is the list of cells that the blank moves to.
"""

import math
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pdb_core.puzzle import BLANK, Board, BoardLike, BoardSize, Tiles, as_goal, blank_last
from pdb_core.resources import available_cores
from pdb_query import Database
from solver.engine.worker_pool import WorkerPool, in_parallel
from solver.large_boards.beam_search import BeamSearch
from solver.large_boards.beam_search_kernels import Aim
from solver.large_boards.fitted_values import (
    FITTED_SIZE,
    MOVE_UNITS,
    Embedding,
    embedding,
    fits,
    fitted_values,
    no_fitted_values,
)
from solver.large_boards.line_by_line import (
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
from solver.large_boards.line_by_line_kernels import Bytes, Geometry
from solver.large_boards.lower_bound import lower_bound, manhattan_distance
from solver.progress import Report
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
# The focus of a search for a whole board.
_ALL_PIECES = np.empty(0, dtype=np.int32)
# Estimated moves per cell of Manhattan distance, to compare paths that end at different boards.
_MOVES_A_CELL = 2.0
_FIRST_WIDTH, _MAX_WIDTH = 24, 16_384
# Share of the time limit for beams; windows get the rest.
_BEAM_SHARE = 0.7
_FIRST_FITTED_WIDTH, _MAX_FITTED_WIDTH = 500, 200_000
# Passes over the windows: moves of a window, and width of the beam, which doubles after each round of passes.
_WINDOWS = ((40, 40), (100, 100), (150, 400), (200, 1500))
_FITTED_WINDOWS = ((60, 500), (90, 1000), (120, 2000))
_MAX_ROUNDS = 8
# Width of the beams for the rest of a larger board, for each board of the beams of its parts.
_REST_FACTOR = 4
# Longer paths for a rest are not searched for.
_REST_MOVES = 400


def default_time_limit(size: BoardSize) -> float:
    """Return the default time limit of `find_suboptimal_solution`, in seconds.

    Parameters
    ----------
    size
        Size of the board.

    Returns
    -------
    float
        0.5 up to 7x7, 0.9 for 10x10, and at most 5.
    """
    return min(5.0, max(0.5, size.n_cells * 0.009))


def find_suboptimal_solution(
    board: BoardLike,
    goal: BoardLike = "blank-last",
    size: BoardSize | str | None = None,
    *,
    time_limit: float | None = None,
    databases: Sequence[Database] = (),
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
        Seconds; by default ``default_time_limit(size)``.
    databases
        Open databases that may raise the lower bound.

    Returns
    -------
    Solution
        Its `lower_bound` is the largest of `databases` and of heuristics without tables; `bound` is the length divided
        by it.

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
    TableFileDamagedError
        If a database has no distance for the board.

    Examples
    --------
    >>> find_suboptimal_solution((1, 2, 3, 4, 0, 6, 7, 5, 8), (1, 2, 3, 4, 5, 6, 7, 8, 0), BoardSize(3, 3)).tiles
    (5, 8)
    """
    checked = Board(board, size)
    checked_goal = as_goal(goal, checked.size)
    check_solvable(checked, checked_goal, checked.size)
    _compile_kernels()
    return _find_solution(checked, checked_goal, time_limit, databases)


def _find_solution(board: Board, goal: Board, time_limit: float | None, databases: Sequence[Database]) -> Solution:
    size = board.size
    pieces = in_pieces(board, goal)
    h = bound = lower_bound(board, goal, size, databases, pieces)
    start = time.perf_counter()
    seconds = default_time_limit(size) if time_limit is None else time_limit
    path = without_loops(pieces, solve_by_lines(pieces, size))
    if not plan_lines(size, pieces.blank).parts:
        # IDA* has searched the whole board: the path is optimal.
        bound = len(path)
    elif fits(size):
        path = _solve_fitted(pieces, size, path, bound, start, seconds)
    else:
        path = _solve_in_parts(pieces, size, path, bound, start, seconds)
    tiles = tiles_on_path(board, path)
    check_solution(board, tiles, goal, size)
    return Solution(
        board=board,
        goal=goal,
        length=len(tiles),
        tiles=tiles,
        is_optimal=len(tiles) == bound,
        bound=len(tiles) / bound if bound else 1.0,
        h=h,
        lower_bound=bound,
        generated=0,
        expanded=0,
        seconds=time.perf_counter() - start,
        search="approximate",
    )


@lru_cache(maxsize=1)
def _compile_kernels() -> None:
    """Solve a small board with every kernel and the fitted values, so that time limits do not include loading them."""
    size = BoardSize(FITTED_SIZE.width + 1, FITTED_SIZE.height)
    goal = blank_last(size)
    pieces = in_pieces(one_move_away(goal, size), goal)
    solve_by_lines(pieces, size)
    _LineSolver(size, pieces.blank, 1, math.inf).solve(pieces)


def fitted_aim(embedded: Embedding) -> Aim:
    """Return the aim at the goal of the boards of an embedded rectangle, ranked by fitted values."""
    weights = np.full(FITTED_SIZE.n_cells, MOVE_UNITS, dtype=np.int32)
    return Aim(embedded.geometry, weights, fitted_values(), noise=1, focus=_ALL_PIECES, pull=0)


def find(
    pieces: Pieces, aim: Aim, width: int, limit: int, end: float, report: Report | None = None
) -> list[int] | None:
    """Return a path of at most `limit` moves to the goal, or None if a beam finds none by the time `end`."""
    if limit < 1:
        return None
    return BeamSearch(len(pieces.cells), width, limit).find(pieces, aim, limit=limit, end=end, report=report)


def find_back(
    pieces: Pieces, aim: Aim, width: int, limit: int, end: float, report: Report | None = None
) -> list[int] | None:
    """Return a path as `find` does, searched for from the goal to the board."""
    back = Pieces(np.argsort(pieces.cells).astype(np.int32), pieces.blank_cell)
    path = find(back, aim, width, limit, end, report)
    return None if path is None else [*path[-2::-1], pieces.blank]


def find_from_both_ends(pieces: Pieces, aim: Aim, width: int, limit: int, end: float) -> list[int] | None:
    """Return the shorter path of `find` and `find_back`."""
    paths = in_parallel(
        (find, find_back),
        lambda search, report, _: search(pieces, aim, width, limit, end, report),
        n_threads=available_cores(),
    )
    return min((path for path in paths if path is not None), key=len, default=None)


def _solve_fitted(
    pieces: Pieces, size: BoardSize, path: list[int], bound: int, start: float, seconds: float
) -> list[int]:
    """Return the shortest path found by beams and windows with fitted values, at most as long as `path`."""
    whole = embedding(size, range(size.height), range(size.width))
    aim, pieces = fitted_aim(whole), whole.embed(pieces)

    def search(width: int, path: list[int], end: float) -> list[int]:
        return find_from_both_ends(pieces, aim, width, len(path) - 2, end) or path

    widths = (_FIRST_FITTED_WIDTH, _MAX_FITTED_WIDTH)
    path = _widen_beams(search, widths, whole.embed_path(path), start + _BEAM_SHARE * seconds)
    return whole.original_path(_shorten_windows(aim, pieces, path, bound, start + seconds))


def _solve_in_parts(
    pieces: Pieces, size: BoardSize, path: list[int], bound: int, start: float, seconds: float
) -> list[int]:
    """Return the shortest path found line by line by beams and windows, at most as long as `path`."""
    weights = np.full(size.n_cells, MOVE_UNITS, dtype=np.int32)
    aim = Aim(geometry(size), weights, no_fitted_values(), _NOISE, focus=_ALL_PIECES, pull=0)

    def search(width: int, path: list[int], end: float) -> list[int]:
        found = _LineSolver(size, pieces.blank, width, end).solve(pieces)
        return min(path, without_loops(pieces, found), key=len)

    path = _widen_beams(search, (_FIRST_WIDTH, _MAX_WIDTH), path, start + _BEAM_SHARE * seconds)
    return _shorten_windows(aim, pieces, path, bound, start + seconds)


def _widen_beams(
    search: Callable[[int, list[int], float], list[int]], widths: tuple[int, int], path: list[int], end: float
) -> list[int]:
    """Return the shortest path after searches by beams of growing width, from the first to the second of `widths`.

    search  is called with a width, the shortest path so far and the time it has to end; returns the shortest path
    """
    width, most = widths
    while time.perf_counter() < end:
        start = time.perf_counter()
        path = search(width, path, end)
        seconds = time.perf_counter() - start
        wider = min(most, int(width * 0.8 * (end - time.perf_counter()) / seconds))
        if wider < 1.3 * width:
            break
        # If the last beam takes all of the time left, the one before takes an eighth.
        width = wider if wider < 8 * width else max(8 * width, wider // 8)
    return path


class _LineSolver:
    """Solver that places parts of lines by beams of one width; without beams after `end`."""

    def __init__(self, size: BoardSize, blank: int, width: int, end: float) -> None:
        self._size, self._width, self._end = size, width, end
        self._arrays = geometry(size)
        self._plan: Plan = plan_lines(size, blank)
        self._beam = BeamSearch(size.n_cells, width, 50 * (size.width + size.height))

    def solve(self, pieces: Pieces) -> list[int]:
        """Return a path to the goal."""
        locked = np.zeros(self._size.n_cells, dtype=np.uint8)
        path: list[int] = []
        for part in self._plan.parts:
            rest = self._find_rest(pieces, locked)
            if rest is not None:
                return path + rest
            best = solve_part(pieces, self._size, part, locked)
            if time.perf_counter() < self._end:
                together = self._place(pieces, part, locked, _TOGETHER, best)
                others = [together, self._place_one_by_one(pieces, part, locked)]
                best = min([best, *others], key=lambda found: self._cost(pieces, found))
            pieces = pieces.after(best)
            locked[part.cells] = 1
            path += best
        return path + solve_rest(pieces, self._size, self._plan)

    def _find_rest(self, pieces: Pieces, locked: Bytes) -> list[int] | None:
        """Return a path to the goal if the open cells are a rectangle of at most 6x6 and beams find one, else None."""
        rows, columns = (np.unique(lines[locked == 0]) for lines in (self._arrays.rows, self._arrays.columns))
        n_open = np.count_nonzero(locked == 0)
        if max(len(rows), len(columns)) > FITTED_SIZE.width or n_open < len(rows) * len(columns):
            return None
        rest = embedding(self._size, range(rows[0], rows[-1] + 1), range(columns[0], columns[-1] + 1))
        width = _REST_FACTOR * self._width
        found = find_from_both_ends(rest.embed(pieces), fitted_aim(rest), width, _REST_MOVES, self._end)
        return None if found is None else rest.original_path(found)

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
        aim = Aim(self._open(locked), weights, no_fitted_values(), _NOISE, part.cells, weighting.pull)
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

    def _open(self, locked: Bytes) -> Geometry:
        """Return the board with the unlocked neighbours of each cell."""
        neighbours = self._arrays.neighbours
        result = np.where(locked[neighbours] == 0, neighbours, -1).astype(np.int32)
        result[locked == 1] = -1
        return self._arrays._replace(neighbours=result)


def _shorten_windows(aim: Aim, pieces: Pieces, path: list[int], bound: int, end: float) -> list[int]:
    """Shorten windows of the path in rounds of growing width, until `end` or `_MAX_ROUNDS`."""
    is_fitted = len(aim.fitted.pairs) > 0
    for n_round in range(_MAX_ROUNDS):
        before = path
        for length, width in _FITTED_WINDOWS if is_fitted else _WINDOWS:
            for first in (0, length // 2):
                if time.perf_counter() > end or len(path) <= bound:
                    return path
                path = shorten_each_window(aim, pieces, path, first, length, width << n_round, end)
            path = without_loops(pieces, path)
        if path == before and not is_fitted:
            break
    return path


def shorten_each_window(
    aim: Aim,
    pieces: Pieces,
    path: list[int],
    first: int,
    length: int,
    width: int,
    end: float,
) -> list[int]:
    """Replace windows of `length` moves, from the move `first` on, by shorter paths that a beam of `width` finds."""
    items: list[tuple[Pieces, list[int]]] = []
    board = pieces.after(path[:first])
    for start in range(first, len(path), length):
        window = path[start : start + length]
        items.append((board, window))
        board = board.after(window)

    def shorten(item: tuple[Pieces, list[int]], report: Report, _: WorkerPool | None) -> list[int]:
        board, window = item
        # Name each piece by its cell at the end of the window.
        names = np.argsort(board.after(window).cells).astype(np.int32)
        renamed = Pieces(names[board.cells], int(names[board.blank]))
        return find(renamed, aim, width, len(window) - 2, end, report) or window

    shortened = in_parallel(items, shorten, n_threads=available_cores())
    return path[:first] + [cell for part in shortened for cell in part]


def without_loops(pieces: Pieces, path: list[int]) -> list[int]:
    """Return the path without the moves between two visits of the same board."""
    cells, here = pieces.cells.astype(np.uint16), pieces.blank_cell
    kept: list[int] = []
    key = hash(cells.tobytes())
    trail, depth_of = [key], {key: 0}
    for cell in path:
        cells[here], cells[cell] = cells[cell], cells[here]
        here = cell
        key = hash(cells.tobytes())
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
