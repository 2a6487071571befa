"""Boards to query and to solve, read from a named set, a file, or standard input: the one reader of board files."""

import csv
import difflib
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pdb_core.arguments import FilePath, as_path, check_functions, refusal
from pdb_core.errors import BoardError, GoalError, InputError, InstanceError
from pdb_core.messages import as_typed, shorten
from pdb_core.puzzle import MAX_SIDE, Board, BoardSize, SizeLike, as_size, parse_goal
from pdb_query.board_pickle import SUFFIXES, read_board_pickle

# In a wheel the sets are beside this file; in a checkout they are in data/instances.
_PLACES = (Path(__file__).parent / "instance_sets", Path(__file__).parent.parent / "data" / "instances")
_MAX_LINE = 10_000
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
    """

    id: str
    board: Board
    goal: str | None = None
    optimal_length: int | None = None
    published_length: int | None = None

    @property
    def size(self) -> BoardSize:
        return self.board.size


class _Line(NamedTuple):
    """Line of a file without surrounding whitespace, and its place for messages."""

    where: str
    text: str


@lru_cache(maxsize=1)
def instance_sets() -> dict[str, Path]:
    """Return the CSV file of each named instance set, by name."""
    for place in _PLACES:
        if place.is_dir():
            return {path.stem: path for path in sorted(place.glob("*.csv"))}
    return {}


def read_instances(
    source: FilePath,
    size: SizeLike | None = None,
    *,
    tile_number: TileNumber | None = None,
    stdin: BinaryIO | None = None,
) -> Iterator[Instance]:
    """Yield the boards of a named set, of a file, or of standard input (`-`), one by one as they are read.

    A file is CSV, text with a board per line or with a number per tile in rows, or a test file of DeepCubeA (.pkl).
    docs/files.md describes the forms.

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
    check_functions(tile_number=tile_number)
    size = None if size is None else as_size(size)
    path = as_path(source, "source")
    if source == STANDARD_INPUT:
        if stdin is not None and not hasattr(stdin, "readline"):
            raise refusal(stdin, "stdin", "an open binary file")
        yield from _parse(_lines(stdin or _standard_input(), "standard input"), size, tile_number)
        return
    if isinstance(source, str):
        path = instance_sets().get(source, path)
    is_empty = True
    for instance in _read_file(path, str(source), size, tile_number):
        is_empty = False
        yield instance
    if is_empty:
        raise InstanceError(f"{as_typed(str(source))} holds no board; name a file or a set that does")


def _read_file(path: Path, source: str, size: BoardSize | None, tile_number: TileNumber | None) -> Iterator[Instance]:
    shown = as_typed(source)
    try:
        with path.open("rb") as file:
            if path.suffix in SUFFIXES:
                for number, (tiles, length) in enumerate(read_board_pickle(file, shown), start=1):
                    board = _board(tiles, f"{shown} board {number}", size)
                    yield Instance(str(number), board, "blank-last", published_length=length)
            else:
                yield from _parse(_lines(file, shown), size, tile_number)
    except FileNotFoundError:
        raise InstanceError(
            f"there is no file and no instance set {shorten(source)!r}; {_known_sets(source)}"
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        # A NUL byte in the path is a ValueError.
        why = error.strerror if isinstance(error, OSError) else error
        raise InstanceError(f"cannot read {shown}: {why}; name a file of boards") from None


def _standard_input() -> BinaryIO:
    # Python's own stream has a lock, which a thread that waits for input would still hold when the process ends.
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except (AttributeError, OSError, ValueError):
        raise InstanceError("there is no standard input; name a file or a set of boards instead of -") from None


def _known_sets(source: str) -> str:
    near = difflib.get_close_matches(source, instance_sets(), n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    return f"{guess}the sets are {', '.join(instance_sets())}"


def _lines(file: BinaryIO, name: str) -> Iterator[_Line]:
    """Yield the lines of a text file as soon as they are read."""
    number = 0
    while line := file.readline(_MAX_LINE + 2):  # the longest line, its end, and one more to notice
        number += 1
        where = f"{name} line {number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise InstanceError(f"{where} is not text in UTF-8; name a text file of boards") from None
        if len(line.rstrip(b"\r\n")) > _MAX_LINE:
            raise InstanceError(f"{where} is longer than {_MAX_LINE} bytes; is this a file of boards?")
        yield _Line(where, text.strip())


def _parse(lines: Iterator[_Line], size: BoardSize | None, tile_number: TileNumber | None) -> Iterator[Instance]:
    for first in lines:
        if first.text and not first.text.startswith("#"):
            columns = _parse_header(first)
            if columns is not None:
                yield from _parse_rows(lines, columns, size, tile_number)
            else:
                yield from _parse_boards(_Rows(first, lines, tile_number), size)


# CSV


def _fields(line: str) -> list[str]:
    """Return the fields of a row of CSV. Raises `csv.Error`."""
    return [field.strip() for field in next(csv.reader([line], strict=True), [])]


def _parse_header(line: _Line) -> list[str] | None:
    """Return the names of the columns, or None if `line` is not a header."""
    try:
        columns = [field.lower() for field in _fields(line.text)]
    except csv.Error:
        return None
    return columns if "board" in columns else None


def _parse_rows(
    lines: Iterator[_Line], columns: list[str], size: BoardSize | None, tile_number: TileNumber | None
) -> Iterator[Instance]:
    rows = (line for line in lines if line.text and not line.text.startswith("#"))
    for number, (where, text) in enumerate(rows, start=1):
        try:
            fields = _fields(text)
        except csv.Error as error:
            raise InstanceError(f"{where} is not a row of CSV: {error}") from None
        if len(fields) != len(columns):
            raise InstanceError(
                f"{where} has {len(fields)} fields where the header has {len(columns)}; quote boards with commas"
            )
        row = dict(zip(columns, fields, strict=True))
        board = row["board"]
        if tile_number is not None:
            board = " ".join(_words(_Line(where, board), tile_number))
        yield _instance(row, str(number), _board(board, where, size), where)


def _length(row: dict[str, str], column: str, where: str) -> int | None:
    text = row.get(column, "")
    if text and not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise InstanceError(
            f"{where}: {column} {shorten(text, 40)!r} is not a number of moves; leave it empty if unknown"
        )
    return int(text) if text else None


def _instance(row: dict[str, str], number: str, board: Board, where: str) -> Instance:
    optimal, published = (_length(row, column, where) for column in ("optimal_length", "published_length"))
    goal = row.get("goal") or None
    if goal is not None:
        try:
            parse_goal(goal, board.size)
        except GoalError as error:
            raise GoalError(f"{where}: {error}") from None
    return Instance(row.get("id") or number, board, goal, optimal, published)


def _board(board: "str | list[int]", where: str, size: BoardSize | None) -> Board:
    try:
        return Board(board, size)
    except BoardError as error:
        raise BoardError(f"{where}: {error}") from None


# Text with a board per line, or a row of a board per line


def _words(line: _Line, tile_number: TileNumber | None) -> list[str]:
    """Return the words of a line, `/` among them, without its comment. Raises `InstanceError`."""
    words = line.text.partition("#")[0].replace("/", " / ").replace(",", " ").split()
    if tile_number is None:
        return words
    try:
        return [word if word == "/" else tile_number(word) for word in words]
    except BoardError as error:
        raise InstanceError(f"{line.where}: {error}") from None


class _Rows:
    """Lines of a text file as words, with a look at the lines ahead."""

    def __init__(self, first: _Line, lines: Iterator[_Line], tile_number: TileNumber | None) -> None:
        self._lines, self._tile_number = lines, tile_number
        self._ahead = deque([(first.where, _words(first, tile_number))])

    def peek(self, n: int = 0) -> list[str]:
        """Return the words of the line `n` lines ahead; none at the end of the file."""
        while len(self._ahead) <= n:
            line = next(self._lines, None)
            if line is None:
                return []
            self._ahead.append((line.where, _words(line, self._tile_number)))
        return self._ahead[n][1]

    def take(self) -> tuple[str, list[str]] | None:
        """Return the next line, its place and its words; None at the end of the file."""
        self.peek()
        return self._ahead.popleft() if self._ahead else None


def _parse_boards(rows: _Rows, size: BoardSize | None) -> Iterator[Instance]:
    number = 0
    while (row := rows.take()) is not None:
        where, words = row
        if words:
            number += 1
            try:
                board = _next_board(words, rows, size)
            except InstanceError:
                raise
            except InputError as error:
                raise BoardError(f"{where}: {error}") from None
            yield Instance(str(number), board)


def _next_board(words: list[str], rows: _Rows, size: BoardSize | None) -> Board:
    """Return the board that begins with a line of these words. Raises `InputError`."""
    if len(words) == 1 or (len(words) == 2 and not _is_two_wide(words, rows)):
        return _declared_board(words, rows, size)
    board = [words]
    if not _is_whole(words, size) or (len(words) == 4 and size is None and _is_row_below(rows.peek())):
        while len(following := rows.peek()) > 1 and not (len(following) > 4 and _is_whole(following, size)):
            board.append(following)
            rows.take()
    return Board("/".join(map(" ".join, board)), size)


def _is_numbering(words: list[str]) -> bool:
    """Return whether the words are the numbers from 0 on, each once, and enough for a board."""
    return 3 < len(words) <= MAX_SIDE**2 and _numbers(len(words)) == set(words)


@lru_cache
def _numbers(n: int) -> frozenset[str]:
    return frozenset(map(str, range(n)))


def _is_whole(words: list[str], size: BoardSize | None) -> bool:
    """Return whether a line is a whole board."""
    if "/" in words:
        return True
    return _is_numbering(words) if size is None else len(words) == size.n_cells


def _is_row_below(following: list[str]) -> bool:
    """Return whether a line of four numbers continues a board 4 wide, whose first row has the numbers 0 to 3."""
    return len(following) == 4 and not _is_whole(following, None)


def _is_two_wide(words: list[str], rows: _Rows) -> bool:
    """Return whether the lines up to an empty one have two numbers each, and each number from 0 on once.

    Otherwise two numbers are the size of the board that follows.
    """
    seen: list[str] = []
    n = 0
    while len(words) == 2:
        seen += words
        # Stop here: otherwise the time would be quadratic in the number of boards.
        if len(set(seen)) < len(seen):
            return False
        words, n = rows.peek(n), n + 1
    return _is_numbering(seen)


def _declared_board(words: list[str], rows: _Rows, expected: BoardSize | None) -> Board:
    """Return the board after a line with its size: rows, or rows and columns. Raises `InputError`."""
    if not all(re.fullmatch(r"[0-9]{1,4}", word) for word in words):
        raise BoardError(f"{shorten(' '.join(words), 40)!r} is not a board size, such as 4, or 3 4")
    height, width = int(words[0]), int(words[-1])
    size = BoardSize(width, height)
    board: list[list[str]] = []
    n_numbers = 0
    while n_numbers < size.n_cells and (row := rows.take()) is not None:
        numbers = [word for word in row[1] if word != "/"]
        n_numbers += len(numbers)
        board += [numbers] if numbers else []
    if n_numbers != size.n_cells:
        raise BoardError(f"{n_numbers} numbers follow; a board of {height} rows and {width} columns has {size.n_cells}")
    # Some courses write the width first; the rows decide.
    if len(board) == width and all(len(row) == height for row in board):
        size = BoardSize(height, width)
    if expected not in (None, size):
        raise BoardError(f"a {expected} board is expected, this one is {size}")
    return Board(" ".join(map(" ".join, board)), size)
