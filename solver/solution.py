"""Solutions as sequences of moves, and the proof that one is a solution: replaying it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pdb_core.errors import WrongAnswerError
from pdb_core.puzzle import BLANK, Board, BoardSize, format_board


@dataclass(frozen=True)
class Replay:
    """Every board on the way, the first and the last included."""

    boards: tuple[Board, ...]


def replay(board: Board, tiles: Sequence[int], goal: Board, size: BoardSize) -> Replay:
    """Move `tiles` one after another, and see that each can move and that the last board is `goal`.

    Raises `WrongAnswerError` otherwise.
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
    return Replay(tuple(boards))
