"""Text files of boards, in the format of docs/files.md."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pdb_cli.output import plural
from pdb_cli.tile_names import TileNames
from pdb_core.errors import BoardError, InputError, InstanceError
from pdb_core.messages import as_typed, shorten

if TYPE_CHECKING:
    from pdb_core.puzzle import BoardSize
    from pdb_query import Instance

_MAX_FILE_BYTES = 20_000_000


def boards_of_files(
    paths: Iterable[Path], size: "BoardSize | None", names: TileNames | None = None
) -> "Iterator[Instance]":
    """Yield the boards of each file. Their ids are the name of the file, with a number if it has several boards.

    Raises `InstanceError` if a file cannot be read or has no boards, `BoardError` for an invalid board.
    """
    for path in paths:
        boards = list(_boards_of(path, size, names))
        for number, instance in enumerate(boards, start=1):
            yield replace(instance, id=path.name if len(boards) == 1 else f"{path.name}:{number}")


class _Row(NamedTuple):
    """Number of a line in the file, and its words."""

    number: int
    words: list[str]


def _boards_of(path: Path, size: "BoardSize | None", names: TileNames | None) -> "Iterator[Instance]":
    from pdb_core.puzzle import parse_board
    from pdb_query import Instance

    rows = _rows(path)
    at = 0
    while at < len(rows):
        if not rows[at].words:
            at += 1
            continue
        where = f"{as_typed(str(path))} line {rows[at].number}"
        board_rows, at, declared = _next_board(rows, at, where, names)
        text = "/".join(" ".join(row.words) for row in board_rows)
        if len(board_rows) == 1 or declared is not None:
            text = text.replace("/", " ")
        try:
            text = text if names is None else names.numbered(text)
            board, board_size = parse_board(text, declared or (size if len(board_rows) == 1 else None))
        except BoardError as error:
            raise BoardError(f"{where}: {error}") from None
        if size is not None and board_size != size:
            raise BoardError(f"{where}: a {size} board is expected, this one is {board_size}")
        yield Instance("", board, board_size, None, None)


def _rows(path: Path) -> list[_Row]:
    shown = as_typed(str(path))
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)  # devices have no size, and may not end
        if len(content) > _MAX_FILE_BYTES:
            raise InstanceError(f"{shown} has more than {_MAX_FILE_BYTES // 10**6} MB; is this a file of boards?")
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InstanceError(f"there is no file {shown}; name a text file of boards") from None
    except UnicodeDecodeError:
        raise InstanceError(f"{shown} is not text in UTF-8; name a text file of boards") from None
    except OSError as error:
        raise InstanceError(f"cannot read {shown}: {error.strerror}; name a text file of boards") from None
    except ValueError as error:  # a NUL byte in the path
        if isinstance(error, InputError):
            raise
        raise InstanceError(f"cannot read {shown}: {error}; name a text file of boards") from None
    lines = [line.partition("#")[0] for line in text.splitlines()]
    rows = [row for number, line in enumerate(lines, start=1) for row in _rows_of_line(number, line)]
    if not any(row.words for row in rows):
        raise InstanceError(f"{shown} holds no board; rows of a board are numbers separated by spaces, 0 is the blank")
    return rows


def _rows_of_line(number: int, line: str) -> list[_Row]:
    """Return the rows of a line. With / between rows, the line is a whole board: an empty row ends it."""
    rows = [_Row(number, row.replace(",", " ").split()) for row in line.split("/")]
    return rows if len(rows) == 1 else [*(row for row in rows if row.words), _Row(number, [])]


def _next_board(
    rows: list[_Row], at: int, where: str, names: TileNames | None
) -> "tuple[list[_Row], int, BoardSize | None]":
    """Return the rows of the board at row `at`, the row after it, and the size if the file declares it."""
    words = rows[at].words
    if len(words) == 2:
        is_size = not _is_two_wide(rows, at) if names is None else not names.has(words)
    else:
        is_size = len(words) == 1
    if is_size:
        return _declared_board(rows, at, where)
    first = at
    # A single number is the size of the next board.
    while at < len(rows) and len(rows[at].words) > 1:
        at += 1
    return rows[first:at], at, None


def _is_two_wide(rows: list[_Row], at: int) -> bool:
    """Return True if the rows up to an empty line have two numbers each, and each number from 0 on once."""
    words: set[str] = set()
    while at < len(rows) and len(rows[at].words) == 2:
        n_before = len(words)
        words.update(rows[at].words)
        # Stop here: otherwise the time would be quadratic in the number of boards.
        if len(words) < n_before + 2:
            return False
        at += 1
    return words == set(map(str, range(len(words))))


def _declared_board(rows: list[_Row], at: int, where: str) -> "tuple[list[_Row], int, BoardSize]":
    from pdb_core.puzzle import BoardSize

    words = rows[at].words
    if not all(re.fullmatch(r"[0-9]{1,4}", word) for word in words):
        raise BoardError(f"{where}: {shorten(' '.join(words), 40)!r} is not a board size, such as 4, or 3 4")
    height, width = int(words[0]), int(words[-1])
    try:
        size = BoardSize(width, height)
    except InputError as error:
        raise BoardError(f"{where}: {error}") from None
    at += 1
    first, n_numbers = at, 0
    while at < len(rows) and n_numbers < size.n_cells:
        n_numbers += len(rows[at].words)
        at += 1
    board_rows = [row for row in rows[first:at] if row.words]
    if n_numbers != size.n_cells:
        raise BoardError(
            f"{where}: {plural(n_numbers, 'number')} follow; a board of {height} rows and {width} columns has "
            f"{size.n_cells}"
        )
    # Some courses write the width first; the rows decide.
    if all(len(row.words) == height for row in board_rows) and len(board_rows) == width:
        size = BoardSize(height, width)
    return board_rows, at, size
