"""What is known of a board after a search, whichever search it was; and the proof of a solution: replaying it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.errors import UnsolvableError, WrongAnswerError
from pdb_core.messages import shorten
from pdb_core.puzzle import BLANK, Board, BoardSize, format_board, is_solvable, why_unsolvable
from pdb_query.lookup import Int64s
from solver.progress import Iteration


@dataclass(frozen=True)
class Solution:
    """What is known of a board after a search.

    search          its name
    length, tiles   of the solution; None where a limit was reached first
    is_optimal      whether `length` is proved to be the shortest
    bound           `length` is at most that many times the shortest; 1 where it is optimal, None where nothing is known
    h               the lower bound at the root, 0 where no heuristic is asked
    lower_bound     what is proved of the length of a shortest solution
    generated, expanded, reopened  nodes, over all thresholds, see docs/glossary.md
    seconds         of the search
    peak_open       most nodes that were open at a time, in a search that keeps its nodes
    n_nodes         rows of its table of nodes in use: boards met, and those met on a shorter way while open once more
    n_bytes         what its arrays took at the end
    iterations      of IDA*: one for each threshold
    n_solutions     how many shortest solutions were found; all there are where `is_complete`
    """

    board: Board
    goal: Board
    length: int | None
    tiles: tuple[int, ...] | None
    is_optimal: bool
    bound: float | None
    h: int
    lower_bound: int
    generated: int
    expanded: int
    seconds: float
    search: str = "ida-star"
    reopened: int = 0
    peak_open: int = 0
    n_nodes: int = 0
    n_bytes: int = 0
    iterations: tuple[Iteration, ...] = ()
    n_solutions: int = 1
    is_complete: bool = False

    def contradicts(self, shortest: int) -> bool:
        """Whether what is claimed here cannot be so if a shortest solution has that many moves."""
        if self.lower_bound > shortest:
            return True
        if self.length is None:
            return False
        # The bound is a quotient of whole numbers below a million: what is above by less is rounding.
        most = math.inf if self.bound is None else self.bound * shortest + 1e-6
        return not shortest <= self.length <= most


@dataclass(frozen=True)
class SolvedBoards:
    """Optimal solutions of m boards.

    lengths              int16[m]  -1 for a board that cannot be solved
    h                    int16[m]  the lower bound at the root
    generated, expanded  int64[m]  nodes, over all thresholds
    tiles                uint8[m, n], if asked for: the tiles moved, in order, then zeros
    """

    lengths: npt.NDArray[np.int16]
    h: npt.NDArray[np.int16]
    generated: Int64s
    expanded: Int64s
    tiles: npt.NDArray[np.uint8] | None


def check_solvable(board: Board, goal: Board, size: BoardSize) -> None:
    """Raise `UnsolvableError`, with the reason, if no sequence of moves leads from `board` to `goal`."""
    if not is_solvable(board, goal, size):
        raise unsolvable(board, goal, size)


def unsolvable(board: Board, goal: Board, size: BoardSize) -> UnsolvableError:
    """Return the error for an unsolvable board."""
    return UnsolvableError(f"board {format_board(board)} cannot be solved: {why_unsolvable(board, goal, size)}")


def one_move_away(goal: Board, size: BoardSize) -> Board:
    """A neighbour of a goal: what solvers try themselves on, so that the first board finds all kernels compiled."""
    cells = list(goal)
    blank = cells.index(BLANK)
    cell = size.neighbours[blank][0]
    cells[blank], cells[cell] = cells[cell], cells[blank]
    return tuple(cells)


def replay(board: Board, tiles: Sequence[int], goal: Board, size: BoardSize) -> tuple[Board, ...]:
    """Move `tiles` one after another; every board on the way, the first and the last included.

    Raises `WrongAnswerError` where a tile is not next to the blank at its turn, or the last board is not `goal`.
    """
    return tuple(tuple(cells) for cells in _played(board, tiles, goal, size))


def check_solution(board: Board, tiles: Sequence[int], goal: Board, size: BoardSize) -> None:
    """As `replay`, without keeping the boards: some can be large, and the moves many. Raises `WrongAnswerError`."""
    for _cells in _played(board, tiles, goal, size):
        pass


def _played(board: Board, tiles: Sequence[int], goal: Board, size: BoardSize) -> Iterator[list[int]]:
    """The board after each move, one list that changes; the first and the last included."""
    cells = list(board)
    places = [0] * len(cells)
    for cell, tile in enumerate(cells):
        places[tile] = cell
    neighbours = size.neighbours
    yield cells
    for number, tile in enumerate(tiles, start=1):
        blank, cell = places[BLANK], places[tile]
        if cell not in neighbours[blank]:
            raise WrongAnswerError(
                f"move {number} of the solution of {shorten(format_board(board))} slides tile {tile}, which is not "
                "next to the blank; please report this board"
            )
        cells[blank], cells[cell] = tile, BLANK
        places[tile], places[BLANK] = blank, cell
        yield cells
    if tuple(cells) != goal:
        raise WrongAnswerError(
            f"the solution of {shorten(format_board(board))} ends at {shorten(format_board(cells))}, not at the goal; "
            "please report this board"
        )
