"""Optimal solutions by IDA* with heuristics that need no database."""

from typing import Any

from pdb_core.board_size import SizeLike, as_size
from pdb_core.errors import GoalError
from pdb_core.puzzle import BoardLike, Tiles, as_goal, format_board
from pdb_core.symmetry import BoardMapping, mappings_between
from solver.engine.engine import BoundHeuristic
from solver.engine.tuning import TUNING, Tuning
from solver.heuristics.heuristic import HeuristicsLike, as_heuristics, heuristic_name, heuristic_tables
from solver.heuristics.heuristic_engine import HeuristicEngine, heuristic_engine
from solver.pruning.fsm import PruningFsm
from solver.solve import Solver


class Heuristics(BoundHeuristic):
    """Largest of some heuristics that need no database, for one goal."""

    operator_order = True

    def __init__(self, size: SizeLike, goal: BoardLike, heuristics: HeuristicsLike) -> None:
        """Raises the errors of `HeuristicSolver`."""
        self.size = as_size(size)
        self.goal = as_goal(goal, self.size)
        self._tables = heuristic_tables(heuristics, self.size, self.goal)
        self._given = as_heuristics(heuristics)
        self.identity = self.size, self._given

    def __reduce__(self) -> tuple[Any, ...]:
        return Heuristics, (self.size, self.goal, self._given)

    def __repr__(self) -> str:
        return f"{self.size}, {', '.join(map(heuristic_name, self._given))}"

    def engine(self, fsm: PruningFsm, tuning: Tuning) -> HeuristicEngine:
        return heuristic_engine(self.size, self.goal, self._tables, fsm, tuning)

    def mapping(self, goal: Tiles) -> BoardMapping:
        if goal != self.goal:
            raise GoalError(f"the solver's goal is {format_board(self.goal, self.size)}; make one for another goal")
        return mappings_between(goal, goal, self.size)[0]  # the identity


def HeuristicSolver(  # noqa: N802 (it was a class of its own)
    size: SizeLike,
    goal: BoardLike = "blank-last",
    heuristics: HeuristicsLike = "manhattan",
    *,
    plain: bool = False,
    tuning: Tuning = TUNING,
) -> Solver:
    """Return a solver by IDA* for one goal, with the largest of heuristics that need no database.

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
    return Solver(Heuristics(size, goal, heuristics), plain=plain, tuning=tuning)
