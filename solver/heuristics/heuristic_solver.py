"""Optimal solutions by IDA* with heuristics that need no database."""

from functools import partial
from typing import Any

from pdb_core.arguments import check_kind
from pdb_core.board_size import SizeLike, as_size, check_table_size
from pdb_core.errors import GoalError
from pdb_core.puzzle import BoardLike, Tiles, as_goal, format_board
from pdb_core.symmetry import BoardMapping, mappings_between
from solver.engine.tuning import TUNING, Tuning
from solver.heuristics import Heuristics, heuristic_tables
from solver.heuristics.heuristic import as_heuristics, heuristic_name
from solver.heuristics.heuristic_engine import heuristic_engine
from solver.ida_star_solver import IdaStarSolver


class HeuristicSolver(IdaStarSolver):
    """Solver by IDA* for one goal, with heuristics that need no database. Its h is the largest of them. Thread-safe.

    Its kernels are loaded or compiled when it is made.

    Parameters
    ----------
    size
        Size of the boards, up to 6x6, such as "4x3", 4 or (4, 3).
    goal
        Board to reach, or its name.
    heuristics
        One name from `solver.heuristics.HEURISTICS`, or several. Or a function that ``numba.njit`` has compiled: it
        gets the tiles of a board row by row (a read-only array of int8, 0 for the blank), and returns a lower bound on
        the moves left. It is rounded up, and is 0 where it raises an exception. A function that overestimates may end
        in an `InputError` or a longer solution, and `optimal` may be wrong.
    plain
        Whether to prune only the move that undoes the last one. One thread then generates exactly the nodes of the
        textbook (Korf 1985), with thresholds of the parity of the solutions. Otherwise the solver prunes duplicate
        sequences of moves.
    tuning
        Numbers that change the speed and the memory of the search, and no answer.

    Raises
    ------
    GoalError
        If the goal is not a board of this size.
    InputError
        If the boards are larger than 6x6, a heuristic does not exist for the size, or none is given, or
        a function is not compiled or not 0 at the goal.

    Examples
    --------
    >>> solver = HeuristicSolver("3x3", heuristics="linear-conflict")
    >>> solver.solve((1, 2, 3, 4, 0, 6, 7, 5, 8)).moves
    (5, 8)
    """

    def __init__(
        self,
        size: SizeLike,
        goal: BoardLike = "blank-last",
        heuristics: Heuristics = "manhattan",
        *,
        plain: bool = False,
        tuning: Tuning = TUNING,
    ) -> None:
        check_kind(tuning, Tuning, "tuning", "a Tuning")
        board_size = as_size(size)
        check_table_size(board_size)
        checked_goal = as_goal(goal, board_size)
        self._made = partial(type(self), board_size, checked_goal, heuristics, plain=plain, tuning=tuning)
        tables = heuristic_tables(heuristics, board_size, checked_goal)
        super().__init__(
            board_size,
            checked_goal,
            lambda fsm: heuristic_engine(board_size, checked_goal, tables, fsm, tuning),
            plain=plain,
            operator_order=plain,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made, ()

    def __repr__(self) -> str:
        return f"HeuristicSolver({self._size}, {', '.join(map(heuristic_name, as_heuristics(self._made.args[2])))})"

    def _method(self) -> object:
        return self._size, self._made.args[2], self._plain

    def _mapping(self, goal: Tiles) -> BoardMapping:
        if goal != self._goal:
            raise GoalError(f"the solver's goal is {format_board(self._goal, self._size)}; make one for another goal")
        return mappings_between(goal, goal, self._size)[0]  # the identity
