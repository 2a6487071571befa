"""Values of a heuristic for one board or for an array of boards."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize, SizeLike, check_table_size
from pdb_core.puzzle import Board, BoardLike, Boards, Tiles, as_goal, as_items
from pdb_core.types import Int64s
from pdb_query.board_rows import board_rows
from solver.heuristics.heuristic import HeuristicsLike, heuristic_tables, values_of

_BOARDS_AT_A_TIME = 100_000


def h(
    boards: BoardLike | npt.ArrayLike,
    heuristic: HeuristicsLike = "manhattan",
    goal: BoardLike = "blank-last",
    size: SizeLike | None = None,
) -> int | Int64s:
    """Return the value of a heuristic for one board, or for each of many boards.

    Parameters
    ----------
    boards
        One board, as a text or a sequence of integers; or integers of shape (m, n_cells) or (m, height, width), or a
        sequence of boards, such as a column of a data frame.
    heuristic
        Such as "manhattan" or "max(walking-distance,linear-conflict)", or a function as for `HeuristicSolver`.
    goal
        A board or a name.
    size
        Size of the boards, up to 6x6. By default their rows give it; without rows they are square.

    Returns
    -------
    int or numpy.ndarray
        The value of one board; or int64[m]. Boards are not checked for solvability.

    Raises
    ------
    BoardError, GoalError, InputError
        A board, the goal, the size or the heuristic is invalid.

    Examples
    --------
    >>> h("8 6 7/2 5 4/3 0 1", "manhattan")
    21
    >>> h([[1, 2, 3, 4, 5, 6, 7, 0, 8], [1, 2, 3, 4, 5, 6, 0, 7, 8]], "linear-conflict").tolist()
    [1, 2]
    """
    given = as_items(boards)
    if not isinstance(given, Sequence) and np.ndim(given) == 0:
        given = [given]  # a number is no board
    if not isinstance(given, str) and len(given) == 0:
        return np.empty(0, dtype=np.int64)
    is_one = isinstance(given, str) or (np.ndim(given[0]) == 0 and not isinstance(given[0], str))
    size = Board(given if is_one else given[0], size).size
    check_table_size(size, what="heuristics", instead="choose a smaller size")
    rows = board_rows([Board(given, size)] if is_one else given, size)
    found = evaluated(rows, heuristic, as_goal(goal, size), size)
    return int(found[0]) if is_one else found


def evaluated(boards: Boards, heuristic: HeuristicsLike, goal: Tiles, size: BoardSize) -> Int64s:
    """Return h of each board, int64[m], for a heuristic as `as_heuristics` reads it. Raises `InputError`."""
    tables = heuristic_tables(heuristic, size, goal)
    found = np.empty(len(boards), dtype=np.int64)
    for start in range(0, len(boards), _BOARDS_AT_A_TIME):  # so that Ctrl-C works
        rows = slice(start, start + _BOARDS_AT_A_TIME)
        found[rows] = values_of(tables, boards[rows]).max(axis=1)
    return found
