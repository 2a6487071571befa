"""Boards of a sliding-tile puzzle: conversion, drawing, solvability, random boards.

A board is a tuple of `n_cells` integers, the tile on each cell row by row, 0 for the blank. Cells are numbered the same
way, 0 in the upper left corner. `Board` is such a tuple that was checked, with its size.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from types import GeneratorType
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import as_count, located, shown

# BoardSize and parse_size are public here, too.
from pdb_core.board_size import BoardSize as BoardSize, SizeLike, as_size, parse_size as parse_size
from pdb_core.board_text import Line, quoted, read_boards, read_rows, size_of_rows, split_lines
from pdb_core.drawing import Drawing, board_drawing
from pdb_core.errors import BoardError, GoalError
from pdb_core.messages import did_you_mean, listed, shorten
from pdb_core.moves import MovesLike, Notation, as_moves, board_after, parse_moves
from pdb_core.types import BLANK, Bytes, Int64s

# A board: the tile on each cell, row by row.
Tiles = tuple[int, ...]
# What users may give for a board: see `Board`.
BoardLike = str | Sequence[int | None] | Sequence[Sequence[int | None]] | npt.NDArray[np.integer]
Boards = Bytes
Seed = int | np.random.SeedSequence
Item = TypeVar("Item")

# Random boards that one call draws.
_MOST_RANDOM = 100_000_000


class Board(tuple[int, ...]):
    """Board: the tile on each cell row by row, 0 for the blank, and its `size`. It is equal to the plain tuple.

    Parameters
    ----------
    board
        A text in any spelling that a file may have, such as numbers separated by whitespace or commas, with `/` or line
        breaks between rows; a sequence of numbers, or of rows, in which None or -1 may be the blank; or such an array.
    size
        Such as "4x3", 4 or (4, 3). Without it the rows give the size; without rows the board is square.

    Raises
    ------
    BoardError
        It is not a board of that size.
    InputError
        `size` is not a board size.

    Examples
    --------
    >>> Board("1 2 3/4 5 6/7 0 8")
    Board('1 2 3/4 5 6/7 0 8')
    >>> Board([[1, 2], [3, 0]]) == (1, 2, 3, 0)
    True
    """

    size: BoardSize

    def __new__(cls, board: BoardLike, size: SizeLike | None = None) -> Self:
        expected = None if size is None else as_size(size)
        if isinstance(board, cls) and expected in (None, board.size):
            return board
        if isinstance(board, str):
            return cls._read(board, expected)
        cells: Any = board
        if isinstance(cells, GeneratorType):  # from dataclasses.asdict, which remakes each tuple
            cells = tuple(cells)
        return cls._checked(*_read_sequence(cells, expected))

    @classmethod
    def _read(cls, text: str, size: BoardSize | None) -> Self:
        typed = text if "\n" in text else text.replace(r"\n", "\n")
        lines = list(split_lines((f"line {n}", line) for n, line in enumerate(typed.split("\n"), start=1)))
        rows = [rows for _, rows in lines if rows]
        if len(rows) < 2:
            return cls._checked(*read_rows(rows[0] if rows else [], size))
        found = list(islice(boards_of_text(iter(lines), size), 2))
        if len(found) != 1:
            boards = " and ".join(f"a {board.size} board" for board in found) or "no board"
            raise BoardError(f"the lines {shown(text)} hold {boards}; give the lines of one board")
        return cls._checked(found[0], found[0].size)

    def __getnewargs__(self) -> tuple[Tiles, BoardSize]:
        return tuple(self), self.size

    @classmethod
    def _checked(cls, tiles: Tiles, size: BoardSize) -> Self:
        if len(tiles) != size.n_cells:
            raise BoardError(
                f"board {quoted([tiles])} has {len(tiles)} numbers where a {size} board has {size.n_cells}"
            )
        missing = set(range(size.n_cells)).difference(tiles)
        if missing:
            if missing == {BLANK} and -1 in tiles:
                return cls._checked(tuple(BLANK if tile == -1 else tile for tile in tiles), size)
            twice = [tile for tile, times in Counter(tiles).items() if times > 1]
            outside = [tile for tile in tiles if not 0 <= tile < size.n_cells]
            wrong = f"{twice[0]} appears twice" if twice else f"{outside[0]} is out of range"
            hint = f"; if {size.n_cells} is the blank, write 0 for it" if outside == [size.n_cells] else ""
            raise BoardError(
                f"board {quoted([tiles])} must hold each number from 0 to {size.n_cells - 1} once: "
                f"{wrong}, missing {listed(sorted(missing))}{hint}"
            )
        self = super().__new__(cls, tiles)
        self.size = size
        return self

    def __repr__(self) -> str:
        return f"Board({format_board(self, self.size)!r})"

    def __str__(self) -> str:
        return draw_board(self, self.size)

    def moves(self) -> tuple[int, ...]:
        """Return the tiles next to the blank, in the order above, left, right, below."""
        return tuple(self[cell] for cell in self.size.neighbours[self.index(BLANK)])

    def move(self, tile: int) -> "Board":
        """Return the board after `tile` has moved to the blank.

        Raises `BoardError` if it is not next to the blank.
        """
        if tile not in self.moves():
            raise BoardError(
                f"tile {shown(tile)} is not next to the blank; tiles that can move: {listed(self.moves())}"
            )
        swapped = {tile: BLANK, BLANK: tile}
        return unchecked_board([swapped.get(other, other) for other in self], self.size)

    def play(self, moves: MovesLike, notation: Notation = "tiles") -> "Board":
        """Return the board after moves, which may be a solution, or a scramble from a goal.

        Parameters
        ----------
        moves
            A text or a sequence of moves, such as "12 11", [12, 11] or "R U2".
        notation
            "tiles": the numbers of the tiles. "blank", "tile-directions": the directions of the blank or of the tiles.
            "deepcubea", "gym": actions from 0 to 3.

        Raises
        ------
        MovesError
            A move is illegal, or is not written in this notation.
        InputError
            The notation is unknown.

        Examples
        --------
        >>> Board("1 2 3/4 5 6/7 8 0").play("R D", "tile-directions")
        Board('1 2 3/4 0 6/7 5 8')
        """
        parsed = parse_moves(str(as_moves(moves)), notation)
        return unchecked_board(board_after(self, parsed, self.size), self.size)

    def is_solvable(self, goal: BoardLike = "blank-last") -> bool:
        """Return whether the board can be solved for `goal`, a board or a name. Raises `GoalError`."""
        return is_solvable(self, as_goal(goal, self.size), self.size)

    def draw(self, database: Any = None) -> Drawing:
        """Return a picture of the board, with a colour for each pattern of a `Database` if one is given."""
        return board_drawing(_rows(self, self.size), repr(self), database)

    def _repr_svg_(self) -> str:
        return self.draw().svg


def boards_of_text(lines: Iterator[Line], size: BoardSize | None, *, waits: bool = False) -> Iterator[Board]:
    """Yield the boards of a text. Raises what `read_boards` raises."""
    for where, tiles, its_size in read_boards(lines, size, waits=waits):
        with located(where):
            board = Board._checked(tiles, its_size)
        yield board


def unchecked_board(tiles: Sequence[int], size: BoardSize) -> Board:
    """Return a board whose tiles need no check: for searches, which make millions."""
    board = tuple.__new__(Board, tiles)
    board.size = size
    return board


def as_goal(goal: BoardLike, size: BoardSize) -> Board:
    """Return a goal, given as a board in any form or as one of `NAMED_GOALS`. Raises `GoalError`."""
    named = NAMED_GOALS.get(goal.strip()) if isinstance(goal, str) else None
    if named is not None:
        return Board(named(size), size)
    try:
        return Board(goal, size)
    except BoardError as error:
        raise GoalError(
            f"goal is neither one of {', '.join(NAMED_GOALS)} nor a {size} board: {error}"
            f"{did_you_mean(goal, NAMED_GOALS)}"
        ) from None


def as_array(given: Any) -> npt.NDArray[Any]:
    """Return a sequence, of sequences perhaps, or an array as an array.

    Raises `ValueError` for anything else, such as a set, and for sequences of different lengths.
    """
    if not (isinstance(given, Sequence) or hasattr(given, "__array__")):
        raise ValueError
    return np.asarray(given)


def as_items(boards: Any) -> Any:
    """Return a column of a data frame, whose items are boards, as a list, a data frame as an array, and anything else
    as it is.
    """
    if hasattr(boards, "__array__") and not isinstance(boards, Sequence):
        array = np.asarray(boards)
        return array.tolist() if array.ndim == 1 and array.dtype == object else array
    return boards


def _read_sequence(board: BoardLike, size: BoardSize | None) -> tuple[Tiles, BoardSize]:
    try:
        cells = as_array(board)
        if cells.dtype == object:  # with None for the blank
            cells = as_array(np.where(cells == None, BLANK, cells).tolist())  # noqa: E711 (of each cell)
        if cells.ndim not in (1, 2) or (cells.size and cells.dtype.kind not in "iu"):
            raise ValueError
    except (TypeError, ValueError):  # also of NumPy, for rows of different lengths
        integers = "integers" if size is None else f"{size.n_cells} integers"
        raise BoardError(
            f"board {shown(board)} must be {integers}, 0 or None for the blank, in a sequence or an array, or in "
            "rows of one length"
        ) from None
    tiles = tuple(cells.reshape(-1).tolist())
    if size is not None and cells.ndim == 1:
        return tiles, size
    lengths = [len(row) for row in np.atleast_2d(cells)] or [0]
    return tiles, size_of_rows(lengths, size, [tiles])


def format_board(board: Sequence[int], size: SizeLike | None = None) -> str:
    """Return the board on one line, rows separated by `/` if `size` is given. `Board` reads it back.

    Parameters
    ----------
    board
        Numbers; they are not checked.
    size
        Such as "4x3", 4 or (4, 3).

    Returns
    -------
    str
        Such as `1 2 3/4 5 6/7 8 0`.

    Raises
    ------
    InputError
        The size is invalid.

    Examples
    --------
    >>> format_board((1, 2, 3, 0), 2)
    '1 2/3 0'
    """
    if size is None:
        return " ".join(map(str, board))
    return "/".join(" ".join(map(str, row)) for row in _rows(board, as_size(size)))


def draw_grid(labels: Sequence[str], size: BoardSize) -> str:
    """Return labels, one per cell, in rows and right-aligned columns."""
    column = max(map(len, labels))
    return "\n".join(" ".join(label.rjust(column) for label in row) for row in _rows(labels, size))


def _rows(cells: Sequence[Item], size: BoardSize) -> list[Sequence[Item]]:
    return [cells[start : start + size.width] for start in range(0, len(cells), size.width)]


def draw_board(board: Sequence[int], size: BoardSize) -> str:
    """Return the board as a grid, with `.` for the blank."""
    return draw_grid(["." if tile == BLANK else str(tile) for tile in board], size)


def blank_last(size: BoardSize) -> Tiles:
    """Return the default goal: 1 2 ... n 0."""
    return (*range(1, size.n_cells), BLANK)


def blank_first(size: BoardSize) -> Tiles:
    """Return Korf's goal: 0 1 2 ... n."""
    return tuple(range(size.n_cells))


def snail(size: BoardSize) -> Tiles:
    """Return the goal whose tiles spiral clockwise from the upper left corner, with the blank at the end."""
    board, cells = [BLANK] * size.n_cells, np.arange(size.n_cells).reshape(size.height, size.width)
    tile = 1
    while cells.size:
        for cell in cells[0].tolist():
            board[cell] = tile % size.n_cells
            tile += 1
        cells = np.rot90(cells[1:])
    return tuple(board)


NAMED_GOALS = {"blank-last": blank_last, "blank-first": blank_first, "snail": snail}


def parse_goal(text: BoardLike, size: SizeLike) -> Board:
    """Read a goal: a name (`blank-last`, `blank-first`, `snail`) or a board.

    Raises
    ------
    GoalError, InputError
        It is neither, or the size is invalid.

    Examples
    --------
    >>> parse_goal("snail", 3)
    Board('1 2 3/8 0 4/7 6 5')
    """
    return as_goal(text, as_size(size))


def goal_name(goal: Tiles, size: BoardSize) -> str:
    """Return the name of a goal, or the board on one line if it has none."""
    named = [name for name, make in NAMED_GOALS.items() if make(size) == goal]
    return named[0] if named else format_board(goal, size)


def permutation_is_odd(permutation: Sequence[int]) -> bool:
    """Return whether a permutation of 0 .. n-1 is a product of an odd number of swaps."""
    seen = [False] * len(permutation)
    n_cycles = 0
    for start in range(len(permutation)):
        n_cycles += not seen[start]
        place = start
        while not seen[place]:
            seen[place] = True
            place = permutation[place]
    return (len(permutation) - n_cycles) % 2 == 1


def is_solvable(board: Tiles, goal: Tiles, size: BoardSize) -> bool:
    """Return whether `board` can be solved for `goal`.

    Each move swaps the blank with a tile, and takes it to a cell of the other colour. So the permutation from board to
    goal must be odd if and only if the blank changes its colour. From 2x2 on this is sufficient (Johnson and Story
    1879).
    """
    is_odd, changes_colour = _parities(board, goal, size)
    return is_odd == changes_colour


def why_unsolvable(board: Tiles, goal: Tiles, size: BoardSize, words: str | None = None) -> str:
    """Return a sentence with the reason why `board` cannot be solved for `goal`, and a named goal for which it can.

    If tiles are words, `words` is the goal in words, and no other goal is named.
    """
    named = [name for name, make in NAMED_GOALS.items() if words is None and is_solvable(board, make(size), size)]
    permutation, moves = ("odd" if parity else "even" for parity in _parities(board, goal, size))
    return (
        f"to reach the goal {shorten(words or goal_name(goal, size))}, an {permutation} number of swaps is needed, but "
        f"taking the blank to its place takes an {moves} number of moves, each of which is one swap"
        + (f"; it can be solved for {named[0]}" if named else "")
    )


def _parities(board: Tiles, goal: Tiles, size: BoardSize) -> tuple[bool, bool]:
    """Return whether the permutation from board to goal is odd, and whether the blank changes its colour."""
    cell_of = {tile: cell for cell, tile in enumerate(goal)}
    changes_colour = size.is_dark(board.index(BLANK)) != size.is_dark(cell_of[BLANK])
    return permutation_is_odd([cell_of[tile] for tile in board]), changes_colour


def cell_distances(size: BoardSize) -> Int64s:
    """Return the Manhattan distance of each two cells, int64[n_cells, n_cells]."""
    rows, columns = np.divmod(np.arange(size.n_cells), size.width)
    distances: Int64s = np.abs(rows[:, None] - rows) + np.abs(columns[:, None] - columns)
    return distances


def random_boards(
    size: SizeLike, goal: BoardLike = "blank-last", n_boards: int = 1000, seed: Seed = 0
) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    """Draw solvable boards, uniformly distributed.

    Parameters
    ----------
    size
        Size of the boards: "4x3", 4 or (4, 3).
    goal
        A board or a name.
    n_boards
        Number of boards.
    seed
        Equal seeds give equal boards.

    Returns
    -------
    numpy.ndarray
        uint8[n_boards, n_cells], or uint16 if a tile is larger than 255.

    Raises
    ------
    InputError, GoalError
        An argument is invalid.

    Examples
    --------
    >>> random_boards("4x4", n_boards=10).shape
    (10, 16)
    """
    size, n_boards = as_size(size), as_count(n_boards, "n_boards", 0, _MOST_RANDOM)
    if not isinstance(seed, np.random.SeedSequence):
        seed = as_count(seed, "seed")
    goal = as_goal(goal, size)
    tiles = np.arange(size.n_cells, dtype=np.uint8 if size.n_cells <= 256 else np.uint16)
    boards = np.random.default_rng(seed).permuted(np.tile(tiles, (n_boards, 1)), axis=1)
    places = np.argsort(np.array(goal))[boards]
    odd = np.array([permutation_is_odd(row.tolist()) for row in places], dtype=bool)
    dark = np.array([size.is_dark(cell) for cell in range(size.n_cells)])
    blank = np.argmin(boards, axis=1)
    rows = np.flatnonzero(odd != (dark[blank] != dark[goal.index(BLANK)]))
    # Swapping the first two tiles changes the parity, and maps the unsolvable half one to one onto the solvable one.
    first = np.where(blank == 0, 1, 0)[rows]
    second = np.where(blank <= 1, 2, 1)[rows]
    boards[rows, first], boards[rows, second] = boards[rows, second], boards[rows, first]
    return boards
