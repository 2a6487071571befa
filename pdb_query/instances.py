"""Boards to query and to solve, read from a named set, a file, or standard input: the one reader of board files."""

import codecs
import csv
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pdb_core.arguments import FilePath, as_path, check_functions, located, refusal
from pdb_core.board_size import BoardSize, SizeLike, as_size, parse_size
from pdb_core.board_text import TILE_WORD, split_lines
from pdb_core.errors import BoardError, InputError, InstanceError
from pdb_core.messages import as_typed, did_you_mean, shorten
from pdb_core.puzzle import NAMED_GOALS, Board, boards_of_text, parse_goal

# In a wheel the sets are beside this file; in a checkout they are in data/instances.
_PLACES = (Path(__file__).parent / "instance_sets", Path(__file__).parent.parent / "data" / "instances")
# A line is read as a whole, which takes up to 1.3 GB of memory; 290,000 4x4 boards fit into an array on one line.
_MAX_LINE = 16_000_000
csv.field_size_limit(max(csv.field_size_limit(), _MAX_LINE))  # of the whole process, so it is never lowered
# What a column or a field `size` has if it is the size of the board.
_SIZE = re.compile(r"\d{1,2}x\d{1,2}")
# Rows, or rows and columns, of the boards after the line.
_SIZE_LINE = re.compile(r"\s*\d{1,2}(\s+\d{1,2})?\s*")
STANDARD_INPUT = "-"

# Returns the number of a tile that is written as a word. Raises `BoardError`.
TileNumber = Callable[[str], str]


@dataclass(frozen=True)
class Instance:
    """Board of an instance set or of a file.

    id                the id in the file; without one, the number of the board in the file, from 1 on
    goal              the text in the file, a name or a board; None if the file has none
    optimal_length    the optimal number of moves; None if the file has none
    published_length  the number of moves of a known solution, which need not be optimal; None if the file has none
    moves             the text of a solution to be checked, or its published length; None if the file has neither
    fields            the texts of the row of CSV, or of the object in JSON, by column; empty in other files
    """

    id: str
    board: Board
    goal: str | None = None
    optimal_length: int | None = None
    published_length: int | None = None
    moves: str | int | None = None
    fields: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def size(self) -> BoardSize:
        return self.board.size


@dataclass(frozen=True)
class InvalidRow:
    """Row of CSV or JSON that is no instance: its id and fields as in `Instance`, and what is wrong with it."""

    id: str
    error: InputError
    fields: dict[str, str]


# Place of a line for messages, and the line without its end, and without spaces around it.
_Line = tuple[str, str]
# Returns the rows that begin on a line. Raises `InstanceError`.
_ReadRows = Callable[[_Line], list[dict[str, str]]]


@cache
def instance_sets() -> dict[str, Path]:
    """Return the file of each named instance set, CSV or NPZ, by name."""
    return {path.stem: path for place in _PLACES for kind in ("*.csv", "*.npz") for path in sorted(place.glob(kind))}


def read_instances(
    source: FilePath,
    size: SizeLike | None = None,
    *,
    tile_number: TileNumber | None = None,
    stdin: BinaryIO | None = None,
) -> Iterator[Instance]:
    """Yield the boards of a named set, of a file, or of standard input (`-`), one by one as they are read.

    A file is CSV, objects in JSON, or text as `pdb_core.board_text` reads it. docs/files.md describes
    the forms.

    Parameters
    ----------
    source
        Name of a set, name of a file, or `-`. A `Path` is always a file.
    size
        Size of boards that are written as one row.
    tile_number
        Replaces each word of a board before it is read, for tiles that are not numbers.
    stdin
        Replaces standard input.

    Raises
    ------
    InstanceError
        There is no such set or file, or it cannot be read, or it holds no board.
    BoardError, GoalError
        A board or a goal is invalid. The message names the file and the line.
    InputError
        An argument is invalid.

    Examples
    --------
    >>> sum(1 for instance in read_instances("korf100"))
    100
    """
    return valid(read_rows(source, size, tile_number=tile_number, stdin=stdin))


def valid(rows: Iterator[Instance | InvalidRow]) -> Iterator[Instance]:
    """Yield rows up to the first invalid one, whose error is raised."""
    for row in rows:
        if isinstance(row, InvalidRow):
            raise row.error
        yield row


def read_rows(
    source: FilePath,
    size: SizeLike | None = None,
    *,
    tile_number: TileNumber | None = None,
    stdin: BinaryIO | None = None,
) -> Iterator[Instance | InvalidRow]:
    """Yield boards as `read_instances`, and go on after an invalid row of CSV or JSON."""
    check_functions(tile_number=tile_number)
    size = None if size is None else as_size(size)
    path = as_path(source, "source")
    if source == STANDARD_INPUT:
        if stdin is not None and not hasattr(stdin, "readline"):
            raise refusal(stdin, "stdin", "an open binary file")
        yield from _parse(_lines(stdin or _standard_input(), "standard input"), size, tile_number, waits=True)
        return
    sets, shown, row = instance_sets(), as_typed(str(source)), None
    if isinstance(source, str):
        path = sets.get(source, path)
    try:
        with path.open("rb") as file:
            is_labelled = path.suffix == ".npz"
            for row in _labelled(file, shown) if is_labelled else _parse(_lines(file, shown), size, tile_number):
                yield row
    except FileNotFoundError:
        raise InstanceError(
            f"there is no file and no instance set {shorten(str(source))!r}; the sets are {', '.join(sets)}"
            f"{did_you_mean(str(source), sets)}"
        ) from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        # A path that is no text in UTF-8 is a ValueError.
        why = error.strerror if isinstance(error, OSError) else error
        raise InstanceError(f"cannot read {shown}: {why}; name a file of boards") from None
    if row is None:
        raise InstanceError(f"{shown} holds no board; name a file or a set that does")


def _labelled(file: BinaryIO, shown: str) -> Iterator[Instance]:
    """Yield the boards of a dataset that `pdb label` wrote as .npz. Raises `InstanceError`, `BoardError`."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            description = json.loads(str(arrays["description"]))
            size, goal = parse_size(description["size"]), description["goal"]
            boards, lengths = arrays["board"], arrays["distance"].tolist()
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile):
        advice = "save boards as text: numpy.savetxt(FILE, boards, fmt='%d')"
        raise InstanceError(f"{shown} is no dataset that pdb label wrote; {advice}") from None
    for number, (board, length) in enumerate(zip(boards, lengths, strict=True), start=1):
        with located(f"{shown} board {number}"):
            yield Instance(str(number), Board(board.tolist(), size), goal, length if length >= 0 else None)


def _standard_input() -> BinaryIO:
    # Python's own stream has a lock, which a thread that waits for input would still hold when the process ends.
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except (AttributeError, OSError, ValueError):
        raise InstanceError("there is no standard input; name a file or a set of boards instead of -") from None


def _lines(file: BinaryIO, name: str) -> Iterator[_Line]:
    """Yield the lines of a text file as soon as they are read."""
    decoder = None
    # The longest line, its end, and one more to notice.
    for number, line in enumerate(iter(partial(file.readline, _MAX_LINE + 2), b""), start=1):
        where = f"{name} line {number}"
        if decoder is None:  # PowerShell writes UTF-16
            is_utf16 = line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            decoder = codecs.getincrementaldecoder("utf-16" if is_utf16 else "utf-8-sig")()
        try:
            # Of UTF-16, the second byte of a line's end may come with the next line.
            text = decoder.decode(line)
        except UnicodeDecodeError:
            raise InstanceError(f"{where} is not text in UTF-8; save the file as text in UTF-8") from None
        if len(line.rstrip(b"\r\n")) > _MAX_LINE:
            raise InstanceError(f"{where} is longer than {_MAX_LINE:,} bytes; write each board on its own line")
        yield where, text.strip(" \r\n")  # tabs separate cells, which may be empty


def _parse(
    lines: Iterator[_Line], size: BoardSize | None, tile_number: TileNumber | None, *, waits: bool = False
) -> Iterator[Instance | InvalidRow]:
    usual: dict[str, str] = {}
    for first in lines:
        text = first[1].strip()
        if text.startswith("#"):
            usual |= _described(text)
        elif text not in ("", "["):
            columns, separator = _parse_header(first, tile_number)
            lines = lines if columns else chain([first], lines)
            if columns:
                read = partial(_rows_of_csv, lines, columns, separator, usual)
                yield from _parse_rows(lines, read, columns, size, tile_number)
            elif _objects(text):
                yield from _parse_rows(lines, _rows_of_json, [], size, tile_number)
            else:
                numbered = ((where, _numbered(line, where, tile_number)) for where, line in lines)
                boards = boards_of_text(split_lines(numbered), size, waits=waits)
                yield from (Instance(str(number), board) for number, board in enumerate(boards, start=1))


# Rows of CSV, and of JSON with an object for each board

_FIELDS = ("id", "board", "goal", "size", "moves", "length", "optimal_length", "published_length")


def _described(comment: str) -> dict[str, str]:
    """Return the goal in the description of a dataset that `pdb label` wrote, if the comment is one."""
    with suppress(ValueError, RecursionError):
        described = json.loads(comment.lstrip("#"))
        if isinstance(described, dict) and isinstance(described.get("goal"), str):
            return {"goal": described["goal"]}
    return {}


def _objects(text: str) -> list[dict[str, Any]] | None:
    """Return the objects in JSON on a line, such as a line of an array; None if it has anything else."""
    with suppress(ValueError, RecursionError):
        found = json.loads(f"[{text.strip().strip('[], ')}]")
        if all(isinstance(each, dict) for each in found):
            return found  # type: ignore[no-any-return]
    return None


def _rows_of_json(line: _Line) -> list[dict[str, str]]:
    """Return the rows on a line. Raises `InstanceError`."""
    where, text = line
    objects = _objects(text)
    if objects is None:
        raise InstanceError(f"{where} is not an object in JSON with a board, as the lines before it are")
    for each in objects:
        if "board" not in each:
            raise InstanceError(f"{where}: none of {as_typed(', '.join(each))} is named board; name that of the board")
    return [{name: _text_of(value) for name, value in each.items()} for each in objects]


def _text_of(value: Any) -> str:
    """Return a value in JSON as CSV has it: spaces separate the items of a list, and slashes lists."""
    if isinstance(value, list):
        is_nested = any(isinstance(item, list) for item in value)
        return ("/" if is_nested else " ").join(_text_of(item) or "_" for item in value)
    return "" if value is None else str(value)


def _fields(separator: str, *lines: Iterable[_Line]) -> list[str]:
    """Return the fields of a row of CSV, which ends at the first line break outside of quotes. Raises `csv.Error`."""
    texts = (f"{text}\n" for _, text in chain(*lines))
    return [field.strip() for field in next(csv.reader(texts, delimiter=separator, strict=True), [])]


def _parse_header(line: _Line, tile_number: TileNumber | None) -> tuple[list[str], str]:
    """Return the names of the columns, none if `line` is no header, and the separator. Raises `InstanceError`."""
    for separator in ",;\t":
        with suppress(csv.Error):
            columns = _fields(separator, [line])
            lower = [name.lower() for name in columns]
            if "board" in lower:
                # Other columns keep their names.
                names = [low if low in _FIELDS else name for low, name in zip(lower, columns, strict=True)]
                return names, separator
    where, text = line
    if tile_number is None and re.fullmatch(r"[a-z_]{2,}(\s*[,;\t]\s*[a-z_]{2,})*", text.strip().lower()):
        raise InstanceError(f"{where}: no column of {as_typed(text)!r} is named board; name that of the boards")
    return [], ""


def _parse_rows(
    lines: Iterator[_Line],
    read: _ReadRows,
    columns: list[str],
    size: BoardSize | None,
    tile_number: TileNumber | None,
) -> Iterator[Instance | InvalidRow]:
    """Yield the board of each row, or what is wrong with it. `read` returns the rows that begin on a line."""
    number = 0
    for where, text in lines:
        # A spreadsheet may end with empty rows.
        if text.strip(" \t,;")[:1] in ("", "#"):
            continue
        try:
            rows = read((where, text))
        except InstanceError as error:
            number += 1
            yield InvalidRow(str(number), error, dict.fromkeys(columns, ""))
            continue
        for row in rows:
            number += 1
            try:
                yield _instance(row, str(number), where, size, tile_number)
            except InputError as error:
                yield InvalidRow(row.get("id") or str(number), error, row)


def _rows_of_csv(
    lines: Iterator[_Line], columns: list[str], separator: str, usual: dict[str, str], line: _Line
) -> list[dict[str, str]]:
    """Return the row that begins on a line, with the `usual` fields of rows that lack them. Raises `InstanceError`."""
    where, _text = line
    try:
        fields = _fields(separator, [line], lines)
    except csv.Error as error:
        raise InstanceError(f"{where} is not a row of CSV: {error}; check its quotes") from None
    if len(fields) != len(columns):
        raise InstanceError(
            f"{where} has {len(fields)} fields where the header has {len(columns)}; quote fields with a separator"
        )
    return [usual | dict(zip(columns, fields, strict=True))]


def _length(row: dict[str, str], column: str, where: str) -> int | None:
    text = row.get(column, "")
    if not re.fullmatch("[0-9]{0,6}", text):
        raise InstanceError(
            f"{where}: {column} {shorten(text, 40)!r} is not a number of moves; leave it empty if unknown"
        )
    return int(text) if text else None


def _instance(
    row: dict[str, str], number: str, where: str, size: BoardSize | None, tile_number: TileNumber | None
) -> Instance:
    """Return the board of a row, whose goal is checked, too. Raises `InputError`."""
    text = _numbered(row["board"], where, tile_number)
    goal = row.get("goal") or None
    if goal and goal not in NAMED_GOALS:
        goal = row["goal"] = _numbered(goal, where, tile_number)
    own_size = parse_size(row["size"]) if _SIZE.fullmatch(row.get("size", "")) else size
    with located(where):
        board = Board(text, own_size)
        if size not in (None, board.size):
            raise BoardError(f"a {size} board is expected, this one is {board.size}")
        if goal:
            parse_goal(goal, board.size)
    optimal, published = (_length(row, column, where) for column in ("optimal_length", "published_length"))
    moves = row.get("moves") or (row.get("moves") if published is None else published)
    if moves == "" == row.get("length"):
        moves = None  # the board was given up
    return Instance(row.get("id") or number, board, goal, optimal, published, moves, row)


def _numbered(line: str, where: str, tile_number: TileNumber | None) -> str:
    """Return a line with numbers for words; one with a size is kept. Raises `InstanceError`."""
    if tile_number is None:
        return line
    text = line.partition("#")[0]
    try:
        return TILE_WORD.sub(lambda word: tile_number(word[0]), text)
    except BoardError as error:
        if _SIZE_LINE.fullmatch(text):
            return text
        raise InstanceError(f"{where}: {error}") from None
