"""Moves of the blank, in Python: what each adds to its cell, and the tiles that it moves."""

from collections.abc import Iterable
from itertools import accumulate

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK


def blank_steps(size: BoardSize) -> tuple[int, int, int, int]:
    """Return what the blank's moves add to its cell: 0 up, 1 left, 2 right, 3 down."""
    return -size.width, -1, 1, size.width


def tiles_on_path(board: Tiles, path: Iterable[int]) -> tuple[tuple[int, ...], Tiles]:
    """Return the tiles that move when the blank moves to one cell after another, and the board after that."""
    cells, blank = list(board), board.index(BLANK)
    tiles = []
    for cell in path:
        tiles.append(cells[cell])
        cells[blank], cells[cell] = cells[cell], BLANK
        blank = cell
    return tuple(tiles), tuple(cells)


def tiles_moved(board: Tiles, moves: Iterable[int], size: BoardSize) -> tuple[tuple[int, ...], Tiles]:
    """Return the tiles that move when the blank makes these moves, and the board after that."""
    steps = blank_steps(size)
    _, *path = accumulate((steps[move] for move in moves), initial=board.index(BLANK))
    return tiles_on_path(board, path)
