"""Check of a solution from elsewhere: legal moves, the goal, the optimal length, and where it leaves the optimum."""

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pdb_core.errors import LimitReachedError
from pdb_core.moves import MovesLike, Notation, as_moves, parse_moves, play
from pdb_core.puzzle import Board, BoardLike, as_goal, unchecked_board
from solver.solution import Solution

# Returns an optimal solution of a board for a goal.
Solve = Callable[[Board, Board], Solution]


@dataclass(frozen=True)
class SolutionCheck:
    """What is right and wrong about a solution. Moves are numbered from 1 on.

    Attributes
    ----------
    verdict
        "optimal", "too long", "illegal" (a move), "goal not reached" (by legal moves), "too short" (a mere length), or
        "unknown" (a limit was reached first).
    length
        Number of moves.
    first_illegal_move
        Number of the first illegal move; None if there is none.
    optimal_length
        Length of an optimal solution; None if a limit was reached first.
    difference
        The length minus the optimal length; None without the latter, or without a solution.
    first_suboptimal_move
        Number of the first move that is not on an optimal path; None if there is none, or a limit was reached first.
    """

    verdict: str
    length: int
    first_illegal_move: int | None
    optimal_length: int | None
    difference: int | None
    first_suboptimal_move: int | None


def check_moves(
    board: BoardLike, moves: MovesLike | int, goal: BoardLike, notation: Notation, solve: Solve
) -> SolutionCheck:
    """Return what is right and wrong about a solution, see `tilepdb.check_solution`."""
    board = Board(board)
    goal, boards, verdict = as_goal(goal, board.size), [board], "unknown"
    first_illegal_move = optimal_length = difference = first_suboptimal_move = None
    given = as_moves(moves)
    if isinstance(given, int):
        length = given
    else:
        parsed = parse_moves(given, notation)
        length = len(parsed)
        boards += [unchecked_board(cells, board.size) for _, cells in play(board, parsed, board.size)]
        if len(boards) <= length:
            verdict, first_illegal_move = "illegal", len(boards)
        elif boards[-1] != goal:
            verdict = "goal not reached"

    def shortest_by(n_moves: int) -> int:
        """Return the length of the shortest solution that begins with the first moves."""
        found = solve(boards[n_moves], goal)
        if not found.optimal:
            raise LimitReachedError
        return n_moves + found.lower_bound

    with suppress(LimitReachedError):
        optimal_length = shortest_by(0)
        if verdict == "unknown":
            difference = length - optimal_length
            verdict = "too long" if difference > 0 else "too short" if difference else "optimal"
        if verdict != "optimal":
            # A move changes the distance by one, so from move to move these lengths never fall.
            n_moves = bisect_right(range(len(boards)), optimal_length, 1, key=shortest_by)
            first_suboptimal_move = n_moves if n_moves < len(boards) else None
    return SolutionCheck(verdict, length, first_illegal_move, optimal_length, difference, first_suboptimal_move)
