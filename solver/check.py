"""Check of a solution from elsewhere: legal moves, the goal, the optimal length, and where it leaves the optimum."""

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pdb_core.arguments import as_choice
from pdb_core.errors import LimitReachedError, MovesError
from pdb_core.moves import NOTATIONS, MovesLike, Notation, as_moves, parse_moves, play
from pdb_core.puzzle import Board, BoardLike, Tiles, as_goal, unchecked_board
from solver.solution import Solution

# "any": the notation of numbers, or the one of letters in which the moves reach the goal, or most of them are legal.
CheckedNotation = Notation | Literal["any"]
CHECKED_NOTATIONS: tuple[CheckedNotation, ...] = *NOTATIONS, "any"
GUESSED_NOTATIONS: tuple[Notation, ...] = ("tiles", "blank", "tile-directions")
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
    reached
        The board after the legal moves, up to the first illegal one.
    moves_left
        Optimal number of moves from there to the goal; None if a limit was reached first.
    notation
        How the moves were read.
    fitting_notation
        If the moves do not reach the goal: the notation in which they do, or None.
    """

    verdict: str
    length: int
    first_illegal_move: int | None
    optimal_length: int | None
    difference: int | None
    first_suboptimal_move: int | None
    reached: Tiles
    moves_left: int | None
    notation: Notation
    fitting_notation: Notation | None


def check_moves(
    board: BoardLike, moves: MovesLike | int, goal: BoardLike, notation: CheckedNotation, solve: Solve
) -> SolutionCheck:
    """Return what is right and wrong about a solution, see `tilepdb.check_solution`."""
    board, notation = Board(board), as_choice(notation, "notation", CHECKED_NOTATIONS)
    goal, boards, verdict = as_goal(goal, board.size), [board], "unknown"
    first_illegal_move = optimal_length = difference = first_suboptimal_move = moves_left = fitting_notation = None
    given = as_moves(moves)
    if isinstance(given, int):
        length = given
        read_as = "tiles" if notation == "any" else notation
    else:
        boards, length, read_as, fitting_notation = _read(board, given, goal, notation)
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
        moves_left = shortest_by(len(boards) - 1) - (len(boards) - 1)
    return SolutionCheck(
        verdict, length, first_illegal_move, optimal_length, difference, first_suboptimal_move,
        boards[-1], moves_left, read_as, fitting_notation,
    )  # fmt: skip


def _read(
    board: Board, moves: str, goal: Board, notation: CheckedNotation
) -> tuple[list[Board], int, Notation, Notation | None]:
    """Return the boards of the moves, their number, how they were read, and another notation that fits, or None.

    Raises `MovesError` if they are not moves in `notation`.
    """
    wanted = GUESSED_NOTATIONS if notation == "any" else (notation,)
    readings: dict[Notation, tuple[list[Board], int]] = {}
    for name in dict.fromkeys((*wanted, *NOTATIONS)):
        with suppress(MovesError):
            readings[name] = _played(board, moves, name)
    fitting = [name for name, (boards, length) in readings.items() if len(boards) > length and boards[-1] == goal]
    # The one in which most moves are legal.
    read_as: Notation = max(
        (name for name in wanted if name in readings),
        key=lambda name: (name in fitting, len(readings[name][0])),
        default=wanted[0],
    )
    # Raises if there is no reading.
    boards, length = readings.get(read_as) or _played(board, moves, read_as)
    return boards, length, read_as, next((name for name in fitting if read_as not in fitting), None)


def _played(board: Board, moves: str, notation: Notation) -> tuple[list[Board], int]:
    """Return the boards up to the first illegal move, and the number of moves. Raises `MovesError`."""
    parsed = parse_moves(moves, notation)
    after = play(board, parsed, board.size)
    return [board, *(unchecked_board(cells, board.size) for _, cells in after)], len(parsed)
