"""Sizes of boards: width and height, cells and their neighbours."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pdb_core.arguments import as_count, shown
from pdb_core.errors import InputError

MIN_SIDE, MAX_SIDE = 2, 32
# Tables, and searches with tables, store a set of cells in the bits of a word.
MAX_TABLE_SIDE = 6


@dataclass(frozen=True)
class BoardSize:
    """Board size: width and height in cells.

    Raises
    ------
    InputError
        One of them is not from 2 to 32.

    Examples
    --------
    >>> BoardSize(4, 4).n_cells
    16
    """

    width: int
    height: int

    def __post_init__(self) -> None:
        try:
            for name in ("width", "height"):
                object.__setattr__(self, name, as_count(getattr(self, name), name, MIN_SIDE, MAX_SIDE))
        except InputError:
            text = f"{shown(self.width)}x{shown(self.height)}"
            raise InputError(
                f"board size {text} is not supported: width and height go from {MIN_SIDE} to {MAX_SIDE}"
            ) from None

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"

    @property
    def n_cells(self) -> int:
        return self.width * self.height

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The cells next to each cell, in the order up, left, right, down."""
        result = []
        for cell in range(self.n_cells):
            row, column = divmod(cell, self.width)
            near = {-self.width: row > 0, -1: column > 0, 1: column < self.width - 1, self.width: row < self.height - 1}
            result.append(tuple(cell + step for step, is_on_board in near.items() if is_on_board))
        return tuple(result)

    def is_dark(self, cell: int) -> bool:
        """Return whether a cell is dark on a chess board. Every move takes the blank to the other colour."""
        return sum(divmod(cell, self.width)) % 2 == 1

    @property
    def dark_cells(self) -> int:
        """The mask of the dark cells."""
        return sum(1 << cell for cell in range(self.n_cells) if self.is_dark(cell))


def parse_size(text: str) -> BoardSize:
    """Read a size written `WIDTHxHEIGHT`, such as `4x4`.

    Raises
    ------
    InputError
        The text is of another form.

    Examples
    --------
    >>> parse_size("3x4").height
    4
    """
    match = re.fullmatch(r"\s*(\d{1,9})\s*[xX]\s*(\d{1,9})\s*", text, re.ASCII) if isinstance(text, str) else None
    if match is None:
        raise InputError(f"board size {shown(text)} is not of the form WIDTHxHEIGHT, such as 4x4")
    return BoardSize(int(match[1]), int(match[2]))


def check_table_size(
    size: BoardSize,
    *,
    what: str = "tables and shortest solutions",
    instead: str = "pdb approximate finds a suboptimal solution",
) -> None:
    """Raise `InputError` for a board with a side of more than 6 cells: `what` is limited, and what to do `instead`."""
    if max(size.width, size.height) > MAX_TABLE_SIDE:
        raise InputError(f"{what} go to boards of {MAX_TABLE_SIDE}x{MAX_TABLE_SIDE}, this board is {size}; {instead}")


@lru_cache(maxsize=64)
def square_size(n_cells: int) -> BoardSize | None:
    """Return the size of the square board with that many cells, or None."""
    side = math.isqrt(n_cells)
    return BoardSize(side, side) if side * side == n_cells and MIN_SIDE <= side <= MAX_SIDE else None


# What users may give for a size: see `as_size`.
SizeLike = BoardSize | str | int | Sequence[int]


def as_size(size: SizeLike) -> BoardSize:
    """Return a size, given as such, as text (`4x3`), as width and height (4, 3), or as the side of a square.

    Raises `InputError`.
    """
    if isinstance(size, BoardSize):
        return size
    if isinstance(size, str):
        return parse_size(size)
    sides: Any = size if isinstance(size, Sequence) and len(size) == 2 else (size, size)
    return BoardSize(*sides)
