"""Optimal solutions by IDA* with heuristics that need no database."""

from pdb_core.board_size import SizeLike
from pdb_core.puzzle import BoardLike
from solver.engine.tuning import TUNING, Tuning
from solver.heuristics.heuristic import HeuristicsLike
from solver.heuristics.heuristic_engine import Heuristics
from solver.solve import Solver


def HeuristicSolver(  # noqa: N802 (users make it as a solver)
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
