"""Solutions with the counts and bounds of their searches, and the replay that proves a solution."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize
from pdb_core.errors import UnsolvableError, WrongAnswerError
from pdb_core.messages import ShortRepr, shorten
from pdb_core.moves import directions, play
from pdb_core.puzzle import Board, Tiles, format_board, is_solvable, why_unsolvable
from pdb_core.types import BLANK, Int64s
from solver.progress import Iteration


@dataclass(frozen=True, repr=False)
class Solution:
    """Solution of `board` by any search, or the lower bound that was proved before a limit was reached.

    Attributes
    ----------
    board, goal
        The first and the last board.
    length
        Number of moves; None if a limit was reached first.
    moves
        Tiles moved, in order; None if a limit was reached first.
    optimal
        Whether `length` is proved to be optimal.
    suboptimality_bound
        `length` is at most this many times the optimum: 1 if it is optimal, None if nothing is proved.
    h
        Lower bound at the root, 0 without a heuristic.
    lower_bound
        Proved lower bound of the optimal length.
    generated, expanded, reopened
        Nodes, over all thresholds: children listed, nodes whose children were listed, and closed nodes that were opened
        again.
    seconds
        Time of the search.
    algorithm
        Name of the algorithm.
    peak_open
        Largest number of open nodes, if the search stores its nodes.
    n_nodes
        Stored nodes; a board that is reached by a shorter path while it is open counts once more.
    n_bytes
        Bytes of the stored nodes at the end.
    thresholds
        Thresholds that IDA* searched, without the last one if beams found the solution; empty for other searches.
    n_solutions
        Optimal solutions found; all that exist if `is_complete`.
    """

    board: Board
    goal: Board
    length: int | None
    moves: tuple[int, ...] | None
    optimal: bool
    suboptimality_bound: float | None
    h: int
    lower_bound: int
    generated: int
    expanded: int
    seconds: float
    algorithm: str = "ida-star"
    reopened: int = 0
    peak_open: int = 0
    n_nodes: int = 0
    n_bytes: int = 0
    thresholds: tuple[Iteration, ...] = ()
    n_solutions: int = 1
    is_complete: bool = False

    def __repr__(self) -> str:
        """Return the result in a few words: `moves`, `thresholds` and the rest are attributes."""
        if self.length is None:
            found = f"no solution within the limits, at least {self.lower_bound} moves"
        elif self.optimal:
            found = f"{self.length} moves, optimal"
        else:
            found = f"{self.length} moves, at least {self.lower_bound}"
        return f"Solution({found}; h {self.h}, {self.generated:,} nodes in {self.seconds:.3g} s, {self.algorithm})"

    @property
    def gap(self) -> int | None:
        """Return the length minus the proved lower bound; None without a solution."""
        return None if self.length is None else self.length - self.lower_bound

    def boards(self) -> tuple[Board, ...]:
        """Return every board of the solution, the first and the last included; () without a solution."""
        if self.moves is None:
            return ()
        size = self.board.size
        return tuple(Board(board, size) for board in replay(self.board, self.moves, self.goal, size))

    def directions(self, of: str = "blank") -> str | None:
        """Return `moves` as letters U, D, L, R: directions of the blank, or with of="tile" of the tiles.

        Raises `InputError` for another `of`.

        Examples
        --------
        >>> from solver.heuristics.heuristic_solver import HeuristicSolver
        >>> solution = HeuristicSolver(3).solve("1 2 3/4 0 6/7 5 8")
        >>> solution.moves, solution.directions(), solution.directions(of="tile")
        ((5, 8), 'DR', 'UL')
        """
        return None if self.moves is None else directions(self.board, self.moves, of, self.board.size)

    def checked(self, bounds: Sequence[int]) -> "Solution":
        """Return the solution, without its proof if a heuristic, h of each of its boards, exceeds the moves left."""
        if all(h <= moves_left for moves_left, h in enumerate(reversed(bounds))):
            return self
        return replace(self, optimal=False, suboptimality_bound=None, lower_bound=0)

    def contradicts(self, shortest: int) -> bool:
        """Return True if this cannot be right for a board whose optimal length is `shortest`."""
        if self.lower_bound > shortest:
            return True
        if self.length is None:
            return False
        # The bound is a quotient of whole numbers below a million: smaller differences are rounding.
        most = math.inf if self.suboptimality_bound is None else self.suboptimality_bound * shortest + 1e-6
        return not shortest <= self.length <= most


def solution_of(
    board: Board, goal: Board, moves: Sequence[int] | None, lower_bound: int, weight: float | None = None, **fields: Any
) -> Solution:
    """Return a solution, which is optimal if its length is the lower bound; else `weight` is its suboptimality bound.

    `moves` is None if a limit was reached first. `fields` are the other ones of `Solution`.
    """
    if moves is None:
        return Solution(board, goal, None, None, False, None, lower_bound=lower_bound, **fields)
    optimal = len(moves) == lower_bound
    bound = 1.0 if optimal else weight
    return Solution(board, goal, len(moves), tuple(moves), optimal, bound, lower_bound=lower_bound, **fields)


@dataclass(frozen=True, repr=False)
class SolvedBoards(ShortRepr):
    """Optimal solutions of m boards.

    Attributes
    ----------
    lengths
        Optimal lengths, int16[m]; -1 for a board that cannot be solved.
    h
        Lower bounds at the root, int16[m]; -1 for a board that cannot be solved.
    generated, expanded
        Nodes, over all thresholds, int64[m].
    moves
        Tiles moved, in order, then zeros, uint8[m, longest length]; None without `moves`.
    """

    lengths: npt.NDArray[np.int16]
    h: npt.NDArray[np.int16]
    generated: Int64s
    expanded: Int64s
    moves: npt.NDArray[np.uint8] | None


def check_solvable(board: Tiles, goal: Tiles, size: BoardSize) -> None:
    """Raise `UnsolvableError`, with the reason, if no sequence of moves leads from `board` to `goal`."""
    if not is_solvable(board, goal, size):
        raise unsolvable(board, goal, size)


def unsolvable(board: Tiles, goal: Tiles, size: BoardSize) -> UnsolvableError:
    """Return the error for an unsolvable board."""
    return UnsolvableError(
        f"board {shorten(format_board(board))} cannot be solved: {why_unsolvable(board, goal, size)}"
    )


def least_length(bound: int, board: Board, goal: Board) -> int:
    """Return the least length of a solution that a lower bound allows: the bound, or one more.

    Every move takes the blank to a cell of the other colour, so all lengths are even, or all are odd.
    """
    is_dark = board.size.is_dark
    is_odd = is_dark(board.index(BLANK)) != is_dark(goal.index(BLANK))
    return bound + (bound % 2 != is_odd)


def one_move_away(goal: Tiles, size: BoardSize) -> Tiles:
    """Return a neighbour of a goal. Solvers search it first, so that all kernels are compiled."""
    tile = goal[size.neighbours[goal.index(BLANK)][0]]
    _, board = next(play(goal, [tile], size))
    return tuple(board)


def replay(board: Tiles, tiles: Sequence[int], goal: Tiles, size: BoardSize) -> tuple[Tiles, ...]:
    """Return every board of a solution, the first and the last included.

    Parameters
    ----------
    board
        First board.
    tiles
        Tiles moved, in order.
    goal
        Last board.
    size
        Size of the boards.

    Raises
    ------
    WrongAnswerError
        If a tile is not next to the blank when it moves, or the last board is not `goal`.
    """
    return tuple(tuple(cells) for cells in played(board, tiles, goal, size))


def check_replay(board: Tiles, tiles: Sequence[int], goal: Tiles, size: BoardSize) -> None:
    """Replay a solution without keeping the boards, which can be large and many. Raises `WrongAnswerError`."""
    for _cells in played(board, tiles, goal, size):
        pass


def played(board: Tiles, tiles: Sequence[int], goal: Tiles, size: BoardSize) -> Iterator[list[int]]:
    """Yield the board after each move, the first and the last included: one list that changes."""
    cells, n_legal = list(board), 0
    yield cells
    for n_legal, (_, cells) in enumerate(play(board, tiles, size), start=1):  # noqa: B007
        yield cells
    if n_legal < len(tiles):
        raise WrongAnswerError(
            f"move {n_legal + 1} of the solution of {shorten(format_board(board))} slides tile {tiles[n_legal]}, which "
            "is not next to the blank; please report this board"
        )
    if tuple(cells) != goal:
        raise WrongAnswerError(
            f"the solution of {shorten(format_board(board))} ends at {shorten(format_board(cells))}, not at the goal; "
            "please report this board"
        )
