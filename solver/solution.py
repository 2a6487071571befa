"""Solutions as sequences of moves, and the proof that one is a solution: replaying it."""

from collections.abc import Sequence

from pdb_core.errors import WrongAnswerError
from pdb_core.puzzle import BLANK, Board, BoardSize, format_board


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
