"""Solutions as sequences of moves, and the proof that one is a solution: replaying it."""

from collections.abc import Iterator, Sequence

from pdb_core.errors import WrongAnswerError
from pdb_core.messages import shorten
from pdb_core.puzzle import BLANK, Board, BoardSize, format_board


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
