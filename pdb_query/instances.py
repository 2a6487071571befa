"""Instance sets: boards to query and to solve, from a named set, a file, or standard input."""

import csv
import difflib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from pdb_core.errors import BoardError, GoalError, InstanceError
from pdb_core.messages import as_typed, shorten
from pdb_core.puzzle import Board, BoardSize, parse_goal
from pdb_query.board_pickle import SUFFIXES, read_board_pickle

# In a wheel the sets are beside this file; in a checkout they are in data/instances.
_PLACES = (Path(__file__).parent / "instance_sets", Path(__file__).parent.parent / "data" / "instances")
_MAX_LINE = 10_000
_COLUMNS = ("id", "goal", "optimal_length", "board")
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Instance:
    """Board of an instance set or of a file.

    id              the id in the file; without one, the number of the line or, in a file of DeepCubeA, of the board
    goal            the text in the file, a name or a board; None if the file has none
    optimal_length  the published number of moves; None if the file has none
    """

    id: str
    board: Board
    goal: str | None = None
    optimal_length: int | None = None

    @property
    def size(self) -> BoardSize:
        return self.board.size


@lru_cache(maxsize=1)
def instance_sets() -> dict[str, Path]:
    """Return the CSV file of each named instance set, by name."""
    for place in _PLACES:
        if place.is_dir():
            return {path.stem: path for path in sorted(place.glob("*.csv"))}
    return {}


def read_instances(source: str, size: BoardSize | None, *, stdin: TextIO | None = None) -> Iterator[Instance]:
    """Yield the boards of a named set, of a file, or of standard input (`-`), one by one as they are read.

    The text is CSV with a header that names at least `board` (and `id`, `goal`, `optimal_length`; others are ignored),
    or plain lines of one board each. Empty lines and lines that start with `#` are skipped. `size` is the size of
    boards that are written as one row, as in `Board`. A file that ends in .pkl or .pickle is a test file of DeepCubeA,
    see `board_pickle`. `stdin` replaces standard input.

    Raises `InstanceError` if there is no such set or file, or if it cannot be read, `BoardError` for a line without a
    board, `GoalError` for an invalid goal. The messages name the file and the line.
    """
    if source == STANDARD_INPUT:
        lines = stdin or sys.stdin
        if lines is None:  # a process started without one
            raise InstanceError("there is no standard input; name a file or a set of boards instead of -")
        yield from _parse(lines, "standard input", size)
        return
    path = instance_sets().get(source) or Path(source)
    if path.suffix in SUFFIXES:
        yield from pickled_instances(path, size)
        return
    shown = as_typed(str(path))
    try:
        # A strict decoder fails a buffer ahead of the line; escaped bytes are refused in their own line.
        file = path.open(encoding="utf-8-sig", errors="surrogateescape", newline=None)
    except FileNotFoundError:
        raise InstanceError(
            f"there is no file and no instance set {shorten(source)!r}; {_known_sets(source)}"
        ) from None
    except (OSError, ValueError) as error:  # a NUL byte in the path is a ValueError
        why = error.strerror if isinstance(error, OSError) else error
        raise InstanceError(f"cannot read {shown}: {why}; name a text file of boards") from None
    with file:
        yield from _parse(file, shown if path == Path(source) else source, size)


def pickled_instances(path: Path, size: BoardSize | None) -> Iterator[Instance]:
    """Yield the boards of a file of DeepCubeA, whose goal is 1 2 ... n 0. Raises `InstanceError`, `BoardError`."""
    for number, tiles in enumerate(read_board_pickle(path), start=1):
        text = " ".join(map(str, tiles.tolist()))
        yield Instance(str(number), _parse_board(text, f"{as_typed(str(path))} board {number}", size), "blank-last")


def _known_sets(source: str) -> str:
    near = difflib.get_close_matches(source, instance_sets(), n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    return f"{guess}the sets are {', '.join(instance_sets())}"


def _parse(lines: TextIO, name: str, size: BoardSize | None) -> Iterator[Instance]:
    columns: list[str] | None = None
    for at, (number, line) in enumerate(_numbered_lines(lines, name)):
        where = f"{name} line {number}"
        if at == 0:
            columns = _parse_header(line, where)
            if columns is not None:
                continue
        if columns is None:
            yield Instance(str(number), _parse_board(line, where, size))
        else:
            yield _parse_row(line, columns, number, where, size)


def _numbered_lines(lines: TextIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    number = 0
    try:
        while line := lines.readline(_MAX_LINE + 2):  # the longest line, its end, and one more to notice
            number += 1
            if not _is_unicode(line):
                raise InstanceError(f"{name} line {number} is not text in UTF-8; name a text file of boards")
            if len(line.rstrip("\r\n")) > _MAX_LINE:
                raise InstanceError(
                    f"{name} line {number} is longer than {_MAX_LINE} characters; is this a file of boards?"
                )
            text = line.lstrip("\ufeff").strip()
            if text and not text.startswith("#"):
                yield number, text
    except UnicodeDecodeError:
        # From a strict decoder, which reads ahead: only the lines so far are known to be valid.
        raise InstanceError(
            f"{name} is not text in UTF-8, on line {number + 1} or after it; name a text file of boards"
        ) from None
    except OSError as error:
        raise InstanceError(f"cannot read {name}: {error.strerror}; name a text file of boards") from None


def _is_unicode(line: str) -> bool:
    """Return whether all bytes of a line could be decoded."""
    return line.isascii() or not any("\ud800" <= character <= "\udfff" for character in line)


def _fields(line: str) -> list[str]:
    """Return the fields of a row of CSV. Raises `csv.Error`."""
    return [field.strip() for field in next(csv.reader([line], strict=True), [])]


def _parse_header(line: str, where: str) -> list[str] | None:
    """Return the names of the columns, or None if `line` is not a header."""
    try:
        columns = [field.lower() for field in _fields(line)]
    except csv.Error:
        return None
    if "board" not in columns:
        return None
    for name in _COLUMNS:
        if columns.count(name) > 1:
            raise InstanceError(f"{where}: the header names the column {name} twice; keep one of them")
    return columns


def _parse_row(line: str, columns: list[str], number: int, where: str, size: BoardSize | None) -> Instance:
    try:
        fields = _fields(line)
    except csv.Error as error:
        raise InstanceError(f"{where} is not a row of CSV: {error}") from None
    if len(fields) != len(columns):
        raise InstanceError(
            f"{where} has {len(fields)} fields where the header has {len(columns)}; quote boards with commas"
        )
    row = dict(zip(columns, fields, strict=True))
    board = _parse_board(row["board"], where, size)
    length = row.get("optimal_length", "")
    if length and not (length.isascii() and length.isdigit() and len(length) <= 6):
        raise InstanceError(
            f"{where}: optimal_length {shorten(length, 40)!r} is not a number of moves; leave it empty if unknown"
        )
    goal = row.get("goal") or None
    if goal is not None:
        try:
            parse_goal(goal, board.size)
        except GoalError as error:
            raise GoalError(f"{where}: {error}") from None
    return Instance(row.get("id") or str(number), board, goal, int(length) if length else None)


def _parse_board(text: str, where: str, size: BoardSize | None) -> Board:
    try:
        return Board(text, size)
    except BoardError as error:
        raise BoardError(f"{where}: {error}") from None
