"""What is known of a board after a search, whichever search it was; and the proof of a solution: replaying it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pdb_core.errors import UnsolvableError, WrongAnswerError
from pdb_core.puzzle import BLANK, Board, BoardSize, format_board, is_solvable, why_unsolvable
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


def check_solvable(board: Board, goal: Board, size: BoardSize) -> None:
    """Raise `UnsolvableError`, with the reason, where no sequence of moves leads from `board` to `goal`."""
    if not is_solvable(board, goal, size):
        raise UnsolvableError(f"board {format_board(board)} cannot be solved: {why_unsolvable(board, goal, size)}")


def replay(board: Board, tiles: Sequence[int], goal: Board, size: BoardSize) -> tuple[Board, ...]:
    """Move `tiles` one after another; every board on the way, the first and the last included.

    Raises `WrongAnswerError` where a tile is not next to the blank at its turn, or the last board is not `goal`.
    """
    cells = list(board)
    boards = [board]
    for number, tile in enumerate(tiles, start=1):
        blank, cell = cells.index(BLANK), cells.index(tile)
        if cell not in size.neighbours[blank]:
            raise WrongAnswerError(
                f"move {number} of the solution of {format_board(board)} slides tile {tile}, which is not next to the "
                "blank; "
                f"please report this board"
            )
        cells[blank], cells[cell] = tile, BLANK
        boards.append(tuple(cells))
    if boards[-1] != goal:
        raise WrongAnswerError(
            f"the solution of {format_board(board)} ends at {format_board(boards[-1])}, not at the goal; please "
            "report this board"
        )
    return tuple(boards)
