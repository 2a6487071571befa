"""Text as boards: the one rule for files, arguments of commands, Python strings and HTTP (docs/files.md).

The numbers and the lines decide together. A board is one line, with `/` between its rows or as a list; or lines that
are its rows; or a column of single numbers, which is a list; or one of these after a line with its size. Lines belong
to one board until an empty line, or until they hold each number from 0 on once and the next line repeats one.
"""

import re
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from pdb_core.board_size import MAX_SIDE, MIN_SIDE, BoardSize, square_size
from pdb_core.errors import BoardError, InputError, InstanceError
from pdb_core.messages import listed, shorten

# A line: its place for messages, and its words.
Line = tuple[str, list[str]]
# Where a board begins, its numbers, which are not checked, and its size.
Read = tuple[str, tuple[int, ...], BoardSize]

_NUMBER = re.compile(r"[0-9]{1,4}")
_MOST_CELLS = MAX_SIDE * MAX_SIDE


def split_words(line: str) -> list[str]:
    """Return the words of a line, `/` among them, without its comment."""
    return line.partition("#")[0].replace("/", " / ").replace(",", " ").split()


def read_line(line: str, size: BoardSize | None) -> tuple[tuple[int, ...], BoardSize]:
    """Return the numbers of a board in one line, and its size: `size`, if it is given. Raises `BoardError`."""
    return _read_rows(_split_rows(split_words(line)), size, None)


def read_boards(lines: Iterator[Line], size: BoardSize | None, *, waits: bool = False) -> Iterator[Read]:
    """Yield the boards of a text, of this size if it is known.

    If the writer of the lines waits for answers, a board in one line is yielded before the next line is read.

    Raises `BoardError`, whose message begins with the place of the board's first line, and the errors of `lines`.
    """
    ahead = _Ahead(lines)
    while (line := ahead.take()) is not None:
        where, words = line
        if not words:
            continue
        try:
            rows, declared = _next_board(words, ahead, size, waits=waits)
            tiles, its_size = _read_rows(rows, size, declared)
        except InstanceError:
            raise
        except InputError as error:
            raise BoardError(f"{where}: {error}") from None
        yield where, tiles, its_size
        if waits and rows == [words] and len(ahead.peek()) == len(words) and not _repeats(ahead.peek(), words):
            raise BoardError(
                f"{where}: the line is a {its_size} board, and with the next line it is part of a board "
                f"{len(words)} wide; write the size of the board on a line before it"
            )


class _Ahead:
    """Lines of a text, with a look at the lines ahead."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._ahead: deque[Line] = deque()

    def peek(self, n: int = 0) -> list[str]:
        """Return the words of the line `n` lines ahead; none at the end of the text."""
        while len(self._ahead) <= n:
            line = next(self._lines, None)
            if line is None:
                return []
            self._ahead.append(line)
        return self._ahead[n][1]

    def take(self) -> Line | None:
        """Return the next line; None at the end of the text."""
        self.peek()
        return self._ahead.popleft() if self._ahead else None


# The lines of a board: its rows as words, and the rows and columns that a line before them declares


def _next_board(
    words: list[str], ahead: _Ahead, size: BoardSize | None, *, waits: bool
) -> tuple[list[list[str]], tuple[int, int] | None]:
    """Return the rows of the board that begins with these words, and its declared size. Raises `InputError`."""
    if "/" in words:
        while words[-1] == "/" and ahead.peek():
            words += ahead.peek()
            ahead.take()
        return _split_rows(words), None
    if len(words) < 3 and not _is_numbered(words, ahead):
        return _declared_board(words, ahead)
    rows, numbers = [words], list(words)
    if waits and _is_answered(words, size):
        return rows, None
    while _continues(ahead.peek(), rows, numbers, size):
        rows.append(ahead.peek())
        numbers += ahead.peek()
        ahead.take()
    return ([numbers] if len(words) == 1 else rows), None


def _continues(following: list[str], rows: list[list[str]], numbers: list[str], size: BoardSize | None) -> bool:
    """Return whether a line belongs to the board with these rows."""
    if not following or "/" in following or (len(following) == 1) != (len(rows[0]) == 1):
        return False
    is_board = _is_whole(numbers, size) or _is_whole(following, size)
    return len(numbers) <= _MOST_CELLS and not (is_board and _repeats(following, numbers))


def _is_numbered(words: list[str], ahead: _Ahead) -> bool:
    """Return whether the lines of as many words hold each number from 0 on once. Otherwise the words are a size."""
    seen: set[str] = set()
    n = 0
    following = words
    while len(following) == len(words) and len(seen) <= _MOST_CELLS:
        n_before = len(seen)
        seen.update(following)
        # Stop here: otherwise the time would be quadratic in the number of boards.
        if len(seen) < n_before + len(words):
            return False
        following, n = ahead.peek(n), n + 1
    return _is_numbering(list(seen))


def _is_numbering(words: list[str]) -> bool:
    """Return whether the words are the numbers from 0 on, each once, and enough for a board."""
    if not 3 < len(words) <= _MOST_CELLS:
        return False
    wanted = _numbers(len(words))
    return wanted == set(words) or wanted == {word.lstrip("0") or "0" for word in words}


@lru_cache
def _numbers(n: int) -> frozenset[str]:
    return frozenset(map(str, range(n)))


def _is_whole(words: list[str], size: BoardSize | None) -> bool:
    """Return whether the numbers are those of a whole board."""
    return _is_numbering(words) or (size is not None and len(words) == size.n_cells)


def _is_answered(words: list[str], size: BoardSize | None) -> bool:
    """Return whether a line is a board by itself. Four numbers are not: they may be the first row of a larger board."""
    if size is not None:
        return len(words) == size.n_cells
    return len(words) > 4 and square_size(len(words)) is not None and _is_numbering(words)


def _repeats(following: list[str], numbers: list[str]) -> bool:
    if not set(numbers).isdisjoint(following):
        return True
    return not {word.lstrip("0") for word in numbers}.isdisjoint(word.lstrip("0") for word in following)


def _declared_board(words: list[str], ahead: _Ahead) -> tuple[list[list[str]], tuple[int, int]]:
    """Return the rows after a line with their size, rows, or rows and columns, and the size. Raises `InputError`."""
    if not all(map(_NUMBER.fullmatch, words)):
        raise BoardError(f"{shorten(' '.join(words), 40)!r} is not a board size, such as 4, or 3 4")
    is_column = len(words) == len(ahead.peek()) == 1
    otherwise = ", and as a column the lines do not hold each number from 0 on once" if is_column else ""
    height, width = int(words[0]), int(words[-1])
    try:
        n_cells = BoardSize(width, height).n_cells
    except InputError as error:
        raise BoardError(f"{error}{otherwise}") from None
    rows: list[list[str]] = []
    n_numbers = 0
    while n_numbers < n_cells and (line := ahead.take()) is not None:
        more = list(filter(None, _split_rows(line[1])))
        rows += more
        n_numbers += sum(map(len, more))
    if n_numbers != n_cells:
        raise BoardError(
            f"{n_numbers} numbers follow; a board of {height} rows and {width} columns has {n_cells}{otherwise}"
        )
    if all(len(row) == 1 for row in rows):
        rows = [[word for row in rows for word in row]]
    return rows, (height, width)


def _split_rows(words: list[str]) -> list[list[str]]:
    """Return the rows of a line of words, which `/` separates."""
    rows: list[list[str]] = [[]]
    for word in words:
        if word == "/":
            rows.append([])
        else:
            rows[-1].append(word)
    return rows


# Numbers and size


def _read_rows(
    rows: list[list[str]], expected: BoardSize | None, declared: tuple[int, int] | None
) -> tuple[tuple[int, ...], BoardSize]:
    """Return the numbers and the size of rows of words. Raises `InputError`."""
    words = [word for row in rows for word in row]
    shown = "/".join(map(" ".join, rows))
    if not (all(rows) and all(map(_NUMBER.fullmatch, words))):
        odd = next((word for word in words if not _NUMBER.fullmatch(word)), None)
        what = "a number is missing" if odd is None else f"{shorten(odd, 40)!r} is not a number"
        raise BoardError(
            f"board {quoted(shown)}: {what}; a board is written like 1 2 3/4 5 6/7 8 0, with 0 for the blank"
        )
    lengths = list(map(len, rows))
    if declared is not None:
        height, width = declared
        # Some courses write the width first; the rows decide.
        size = BoardSize(height, width) if lengths == [height] * width else BoardSize(width, height)
        if expected not in (None, size):
            raise BoardError(f"a {expected} board is expected, this one is {size}")
        expected = size
    return tuple(map(int, words)), size_of_rows(lengths, expected, shown)


def size_of_rows(lengths: list[int], expected: BoardSize | None, text: str) -> BoardSize:
    """Return the board size for rows of these lengths. A single row may hold the whole board. Raises `BoardError`."""
    width, height = lengths[0], len(lengths)
    is_grid = lengths == [width] * height
    if height > 1 and expected is not None and lengths != [expected.width] * expected.height:
        of_rows = (
            f"is {width}x{height} by its rows, and" if is_grid else f"has rows of [{listed(lengths)}] numbers where"
        )
        raise BoardError(f"board {quoted(text)} {of_rows} a {expected} board is expected")
    if expected is not None:
        return expected
    if not is_grid:
        raise BoardError(f"board {quoted(text)} has rows of different lengths: [{listed(lengths)}]")
    if height > 1:
        try:
            return BoardSize(width, height)
        except InputError as error:
            raise BoardError(f"board {quoted(text)}: {error}") from None
    size = square_size(width)
    if size is None:
        sides = [
            side
            for side in range(MIN_SIDE, MAX_SIDE + 1)
            if width % side == 0 and MIN_SIDE <= width // side <= MAX_SIDE
        ]
        others = " or ".join(f"{side}x{width // side}" for side in reversed(sides))
        raise BoardError(
            f"board {quoted(text)} has {width} numbers, which is no square from {MIN_SIDE}x{MIN_SIDE} to "
            f"{MAX_SIDE}x{MAX_SIDE}{others and f', but may be {others}'}; mark the rows with /, or name the size"
        )
    return size


def quoted(text: str) -> str:
    """Return a board for a message."""
    return repr(shorten(" ".join(text.split())))
