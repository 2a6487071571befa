"""Boards as the rows of an array: from arrays, from texts, and from what else is a board."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import located
from pdb_core.board_size import BoardSize
from pdb_core.errors import BoardError
from pdb_core.puzzle import Board, BoardLike, Tiles, as_array, as_items
from pdb_core.types import BLANK, Bytes
from pdb_query.lookup_kernels import check_boards


def board_rows(boards: npt.ArrayLike, size: BoardSize, *, strict: bool = True) -> Bytes:
    """Return boards as uint8[m, n_cells]; numbers that are on no board become 255, but -1 is the blank.

    Raises `BoardError`, for a text that is no board only if `strict`; otherwise its numbers become 255.

    Beside an array (m, n_cells), `boards` may be an array (m, height, width), or a sequence of strings or arrays, such
    as a column of a data frame.
    """
    boards = as_items(boards)
    if isinstance(boards, Sequence) and not isinstance(boards, str) and len(boards) and isinstance(boards[0], str):
        return rows_of_boards(boards, size, strict=strict)  # type: ignore[arg-type]  # an ArrayLike of strings is no board
    try:
        given = as_array(boards)
    except ValueError:
        raise BoardError(
            "boards are not a sequence or an array, or have rows of different lengths; "
            f"give an array of shape (m, {size.n_cells})"
        ) from None
    if given.shape == (0,):
        given = np.empty((0, size.n_cells), dtype=np.uint8)
    if given.shape[1:] == (size.height, size.width):
        given = given.reshape(len(given), size.n_cells)
    if given.ndim != 2 or given.shape[1] != size.n_cells:
        raise BoardError(
            f"boards have the shape {given.shape}; give an array of shape (m, {size.n_cells}) or a list of boards"
        )
    if given.dtype.kind not in "iu":
        raise BoardError(f"boards have the type {given.dtype}; give integers")
    if given.dtype != np.uint8:
        # A conversion to bytes would turn 256 into 0. No board has 255.
        given = np.where(given == -1, BLANK, np.where((given >= 0) & (given < 255), given, 255))
    return np.ascontiguousarray(given, dtype=np.uint8)


def checked_rows(
    boards: npt.ArrayLike, size: BoardSize, goal: Tiles, *, strict: bool = True
) -> tuple[Bytes, npt.NDArray[np.int8]]:
    """Return boards as `board_rows` does, and their verdicts, int8[m]: 1 solvable, 0 unsolvable, -1 not a board.

    Raises `BoardError`.
    """
    rows = board_rows(boards, size, strict=strict)
    verdicts = np.empty(len(rows), dtype=np.int8)
    check_boards(rows, np.argsort(goal), size.dark_cells, verdicts)
    if strict and -1 in verdicts:
        refuse_row(boards, int(verdicts.argmin()), size)
    return rows, verdicts


def refuse_row(boards: npt.ArrayLike, row: int, size: BoardSize) -> None:
    """Raise `BoardError` for a row of numbers that is no board."""
    with located(f"row {row}"):
        Board(as_array(as_items(boards))[row], size)


def rows_of_boards(boards: Sequence[BoardLike], size: BoardSize, *, strict: bool) -> Bytes:
    """Return boards that are read one by one, as `board_rows` does."""
    rows = np.full((len(boards), size.n_cells), 255, dtype=np.uint8)
    for row, board in enumerate(boards):
        try:
            rows[row] = Board(board, size)
        except BoardError as error:
            if strict:
                raise BoardError(f"row {row}: {error}") from None
    return rows
