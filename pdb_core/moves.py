"""Moves as numbers of tiles and as directions, read, played and written; what each move of the blank adds to its cell.

The blank and the tile that it swaps with move in opposite directions: a notation says which of both is meant.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

from pdb_core.arguments import as_choice, as_count, check_kind
from pdb_core.board_size import BoardSize
from pdb_core.errors import MovesError
from pdb_core.messages import as_typed
from pdb_core.types import BLANK

# How moves are written: numbers of tiles; directions of the blank or of the tiles; actions from 0 to 3 of DeepCubeA and
# deepxube, the tile moves up, down, left, right, or those of `tilepdb.gym`, the blank moves up, left, right, down.
Notation = Literal["tiles", "blank", "tile-directions", "deepcubea", "gym"]
NOTATIONS: tuple[Notation, ...] = get_args(Notation)
# What users may give for moves.
MovesLike = str | Iterable[int | str]
# In the order of `blank_steps`, in which opposite directions are equally far from the ends.
_LETTERS = "ULRD"
_OPPOSITE = str.maketrans(_LETTERS, _LETTERS[::-1])
# What may stand between two moves, as in `12, 11 -> 10`, `U-R-D` or `['U', 'R']`.
_BETWEEN = r"[\s,;|/>()\[\]]|-(?!\d)"
# Text in quotes. A quote behind a move, as in `R'`, opens none: it is a prime, which no notation has.
_QUOTED = re.compile(r"""(?s)(?<![\w)])(['"])(.*?)\1""")
_TILE = re.compile(rf"(?a)(?<!\d)(\d{{1,4}})(?!\d)|{_BETWEEN}")
_ACTION = re.compile(rf"(?a)(?<!\d)([0-3])(?!\d)|{_BETWEEN}")
# The blank's directions of the actions.
_OF_ACTIONS = {"deepcubea": str.maketrans("0123", "DURL"), "gym": str.maketrans("0123", _LETTERS)}
# A direction, and how often: no board has room for a hundred moves.
_DIRECTION = re.compile(rf"(?ai)(up|down|left|right|[udlr])([1-9]\d?)?(?!\d)|{_BETWEEN}")


def blank_steps(size: BoardSize) -> tuple[int, int, int, int]:
    """Return what the blank's moves add to its cell: 0 up, 1 left, 2 right, 3 down."""
    return -size.width, -1, 1, size.width


def as_moves(moves: MovesLike | int) -> str | int:
    """Return moves as a text, or their number if only that is given. Raises `InputError` for another kind."""
    if isinstance(moves, int):
        return as_count(moves, "moves")
    check_kind(moves, Iterable, "moves", "a text, or a sequence of tiles or directions")
    return moves if isinstance(moves, str) else " ".join(map(str, moves))


def parse_moves(moves: str, notation: Notation = "tiles") -> list[int | str]:
    """Return moves as numbers of tiles, or as the letters U, L, R and D of the blank's directions, for `play`.

    Directions are letters or words in either case, and may be runs, such as `R3U2`.

    Raises
    ------
    MovesError
        If the moves are not written in this notation.
    InputError
        If the notation is unknown.
    """
    as_choice(notation, "notation", NOTATIONS)
    of_actions = _OF_ACTIONS.get(notation)
    pattern = _TILE if notation == "tiles" else _ACTION if of_actions else _DIRECTION
    moves = _QUOTED.sub(r" \2 ", moves)
    if pattern.sub("", moves):
        odd = next((word for word in re.split(r"[\s,;|]+", moves) if pattern.sub("", word)), moves)
        raise MovesError(
            f"moves {as_typed(moves)!r}: {as_typed(odd, 40)!r} is no move in the notation {notation}; choose "
            "another with --notation (notation=): tiles (12 11), blank (R U: the blank moves), tile-directions (R U: "
            "the tile moves), deepcubea or gym (3 0: actions), or, in a check, any"
        )
    found = pattern.findall(moves)
    if of_actions:
        return list("".join(found).translate(of_actions))
    if notation == "tiles":
        tiles: list[int | str] = [int(tile) for tile in found if tile]
        if BLANK in tiles:
            raise MovesError(
                f"moves {as_typed(moves)!r}: 0 is the blank, not a tile; for actions from 0 to 3, give the notation "
                "deepcubea or gym"
            )
        return tiles
    letters = "".join(word[:1].upper() * int(times or 1) for word, times in found)
    return list(letters if notation == "blank" else letters.translate(_OPPOSITE))


def play(board: Sequence[int], moves: Iterable[int | str], size: BoardSize) -> Iterator[tuple[str, list[int]]]:
    """Yield the blank's direction and the board after each move, until a move is illegal.

    Moves are numbers of tiles, or directions of the blank. The board is one list that changes.
    """
    cells, blank = list(board), board.index(BLANK)
    letters = dict(zip(blank_steps(size), _LETTERS, strict=True))
    for move in moves:
        for cell in size.neighbours[blank]:
            if move == cells[cell] or move == letters[cell - blank]:  # a tuple for `in` takes twice the time
                break
        else:
            return
        cells[blank], cells[cell] = cells[cell], BLANK
        yield letters[cell - blank], cells
        blank = cell


def board_after(board: Sequence[int], moves: Sequence[int | str], size: BoardSize) -> list[int]:
    """Return the board after moves as of `parse_moves`. Raises `MovesError` for an illegal move."""
    cells, n_played = list(board), 0
    for n_played, (_, after) in enumerate(play(board, moves, size), start=1):  # noqa: B007
        cells = after
    if n_played < len(moves):
        raise MovesError(
            f"move {n_played + 1}, {moves[n_played]}, is illegal on the board {' '.join(map(str, cells))}; only a tile "
            "next to the blank can move, and the blank cannot leave the board"
        )
    return cells


def directions(board: Sequence[int], tiles: Iterable[int], of: str, size: BoardSize) -> str:
    """Return the directions of the blank, or of the tiles, as letters. Raises `InputError` for another `of`."""
    letters = "".join(letter for letter, _ in play(board, tiles, size))
    return letters if as_choice(of, "of", ("blank", "tile")) == "blank" else opposite(letters)


def opposite(letters: str) -> str:
    """Return the directions of the tiles for those of the blank."""
    return letters.translate(_OPPOSITE)


def blank_moves_of(board: Sequence[int], tiles: Iterable[int], size: BoardSize) -> bytes:
    """Return the blank's moves by which tiles move."""
    return bytes(map(_LETTERS.index, directions(board, tiles, "blank", size)))


def make_moves(cells: Any, moves: Iterable[int], size: BoardSize, blank: int = BLANK) -> Iterator[int]:
    """Make the blank's moves on a board, and yield the tile that each of them moves.

    cells  list or array that changes; `blank` is the number of the blank in it
    """
    steps, here = blank_steps(size), list(cells).index(blank)
    for move in moves:
        there = here + steps[move]
        tile = cells[there]
        cells[here], cells[there], here = tile, blank, there
        yield tile


def tiles_moved(board: Sequence[int], moves: Iterable[int], size: BoardSize) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tiles that move when the blank makes these moves, and the board after that."""
    cells = list(board)
    tiles = tuple(make_moves(cells, moves, size))
    return tiles, tuple(cells)
