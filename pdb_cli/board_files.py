"""Files of boards in plain text, as courses use them: boards to solve, and their solutions position by position.

The format is described in docs/files.md.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from pdb_cli.output import Format, Record, message, plural, write_records
from pdb_cli.tile_names import TileNames
from pdb_core.durable_files import written_safely
from pdb_core.errors import BoardError, InputError, InstanceError
from pdb_core.messages import as_typed, shorten

if TYPE_CHECKING:
    from pdb_core.puzzle import BoardSize
    from pdb_query import Instance

_MAX_FILE_BYTES = 20_000_000
NO_SOLUTION = "NO SOLUTION"
GIVEN_UP = "NO ANSWER"


def split_arguments(arguments: list[str] | None) -> tuple[list[Path], list[str]]:
    """Which of the arguments name files, and which are boards."""
    files, boards = [], []
    for text in arguments or []:
        if _names_a_file(text):
            files.append(Path(text))
        else:
            boards.append(text)
    return files, boards


def _names_a_file(text: str) -> bool:
    if text.endswith(".dat"):
        return True
    if re.fullmatch(r"[\d\s,/]*", text):
        return False
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def boards_of_files(
    paths: Iterable[Path], size: "BoardSize | None", names: TileNames | None = None
) -> "Iterator[Instance]":
    """The boards of each file. A board is called after its file, with a number where there are several. Tiles may have
    `names`.

    Raises `InstanceError` where a file cannot be read or holds no board, `BoardError` for what is none.
    """
    for path in paths:
        boards = list(_boards_of(path, size, names))
        for number, instance in enumerate(boards, start=1):
            yield replace(instance, id=path.name if len(boards) == 1 else f"{path.name}:{number}")


class _Row(NamedTuple):
    """A line of a file and its words."""

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
            content = file.read(_MAX_FILE_BYTES + 1)  # a device tells no size, and may not end
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
        raise InstanceError(f"{shown} holds no board; its rows are numbers separated by blanks, 0 the blank")
    return rows


def _rows_of_line(number: int, line: str) -> list[_Row]:
    """The rows of a line. One that marks the ends of its rows with / is a board of its own: an empty row ends it."""
    rows = [_Row(number, row.replace(",", " ").split()) for row in line.split("/")]
    return rows if len(rows) == 1 else [*(row for row in rows if row.words), _Row(number, [])]


def _next_board(
    rows: list[_Row], at: int, where: str, names: TileNames | None
) -> "tuple[list[_Row], int, BoardSize | None]":
    """The rows of the board that begins at row `at`, where the next begins, and the size if a line tells it."""
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
    """Whether rows of two numbers each, up to an empty line, hold each number from 0 on once."""
    words: set[str] = set()
    while at < len(rows) and len(rows[at].words) == 2:
        n_before = len(words)
        words.update(rows[at].words)
        # Looking no further, files of many boards are read in a time that grows as they do.
        if len(words) < n_before + 2:
            return False
        at += 1
    return words == set(map(str, range(len(words))))


def _declared_board(rows: list[_Row], at: int, where: str) -> "tuple[list[_Row], int, BoardSize]":
    from pdb_core.puzzle import BoardSize

    words = rows[at].words
    if not all(re.fullmatch(r"[0-9]{1,4}", word) for word in words):
        raise BoardError(f"{where}: {shorten(' '.join(words), 40)!r} is no size of a board, such as 4, or 3 4")
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
            f"{where}: {plural(n_numbers, 'number')} follow where a board of {height} rows and {width} columns has "
            f"{size.n_cells}"
        )
    # Courses disagree on which number comes first; the rows know.
    if all(len(row.words) == height for row in board_rows) and len(board_rows) == width:
        size = BoardSize(height, width)
    return board_rows, at, size


def write_answers(
    records: Iterable[Record],
    output: Format,
    out: Path | None,
    *,
    columns: Sequence[str],
    text: Callable[[Iterable[Record]], Iterator[str]],
    names: TileNames | None = None,
) -> None:
    """Write records to stdout, or where a file is named to the file, and to stdout too if not as text. Tiles are told
    by `names` where there are some.
    """
    named = names.named if names is not None else iter
    if out is None:
        write_records(named(records), output, columns=columns, text=text)
        return
    with written_safely(out) as file:
        kept = saved(records, file, str if names is None else names.word)
        if output is Format.text:
            for _ in kept:
                pass
        else:
            write_records(named(kept), output, columns=columns, text=text)
    message(f"pdb: {out} written")


def saved(records: Iterable[Record], file: IO[str], word: Callable[[int], str] = str) -> Iterator[Record]:
    """Pass records of `pdb solve` on, writing the solution of each to `file`, tiles as `word` has them."""
    for number, record in enumerate(records):
        if number:
            file.write("\n")
        if not record["solvable"]:
            file.write(f"{NO_SOLUTION}\n")
        elif record["length"] is None:
            file.write(f"{GIVEN_UP}\n")
        else:
            file.write(f"{record['length']}\n")
            first = True
            for position in _positions(record, word):
                file.write(position if first else f"\n{position}")
                first = False
        yield record


def _positions(record: Record, word: Callable[[int], str]) -> Iterator[str]:
    """The board after each move, as rows of numbers; the first and the last included."""
    width = int(record["size"].partition("x")[0])
    cells = list(record["board"])
    places = {tile: cell for cell, tile in enumerate(cells)}

    def row_text(row: int) -> str:
        return " ".join(map(word, cells[row * width : (row + 1) * width])) + "\n"

    rows = [row_text(row) for row in range(len(cells) // width)]
    yield "".join(rows)
    for tile in record["moves"]:
        blank, cell = places[0], places[tile]
        cells[blank], cells[cell] = tile, 0
        places[tile], places[0] = blank, cell
        # Only the rows that the move touches are written anew: boards can be large.
        for row in {blank // width, cell // width}:
            rows[row] = row_text(row)
        yield "".join(rows)
