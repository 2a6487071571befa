"""Text as boards: the one parser for files, arguments of commands, Python strings and HTTP.

docs/files.md has the table of spellings, and the rules by which lines are boards. `split_lines` reads each line as rows
of numbers, whatever signs are around them. `read_boards` then decides by the numbers and the lines together.
"""

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

from pdb_core.board_size import MAX_SIDE, MIN_SIDE, BoardSize, parse_size, square_size
from pdb_core.errors import BoardError, InputError, InstanceError
from pdb_core.messages import listed, shorten

# Numbers, and words that are none.
Words = list[int | str]
# A line: its place for messages, and its rows: several if they are separated, none if it is empty.
Line = tuple[str, list[Words]]
# Where a board begins, its numbers, which are not checked, and its size.
Read = tuple[str, tuple[int, ...], BoardSize]

# A tile that is named by a word.
TILE_WORD = re.compile(r"[^\s,/]+")
_MOST_CELLS = MAX_SIDE * MAX_SIDE
_PLAIN = re.compile(r"[0-9\s/,;]*")
_BLANKS = ("_", ".", "x", "X", "-", "--", "-1", "None", "none", "null")
# The number of each word, with and without leading zeros.
_NUMBERS = {f"{n:0{width}}": n for width in (1, 2, 3) for n in range(_MOST_CELLS)} | dict.fromkeys(_BLANKS, 0)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# Signs around numbers, and what is read instead, in this order.
_SIGNS = (
    (r"#.*", ""),
    (r"(?<=[\[(,])(\s*)([\"'])\2(?=\s*[],)])", r"\g<1>0"),  # an empty string in a list
    (r'^[\s[]*\{(?!.*"board".*"board").*?"board"\s*:\s*("[^"]*"|[][\w\s,"-]*\]).*', r"\1"),  # an object in JSON
    ("[│┃║]", "|"),
    (r"^(?=.*([+=─-╿]|---))[-+=|\s─-╿]+$", ""),  # a border in a drawing
    (r"^\s*\||[|,;]\s*$", ""),
    (r"^\s*(\d+[xX]\d+)\s*:", r"\1\n"),
    (r"(?<![\w.])[A-Za-z][\w.]*(?=\()|[\"']", ""),  # such as array(...) and Board('...')
    (r"[])}]{2}[\s,]*[\[({]{2}", "\n"),
    (r"\\n|[])}][\s,]*[\[({]", "/"),
    (r"[][(){}]", " "),
)


def split_lines(lines: Iterable[tuple[str, str]]) -> Iterator[Line]:
    """Yield the rows of each line, which is given with its place. A line of nothing but signs is left out."""
    for where, line in lines:
        text = line
        if not _PLAIN.fullmatch(line):
            for pattern, instead in _SIGNS:
                text = re.sub(pattern, instead, text)
            # A comment ends a board, as an empty line does.
            if not text.strip() and "#" not in line:
                continue
        for part in text.split("\n"):
            rows = _split_rows(part)
            # A list of lists may be a list of boards.
            for board in [[row] for row in rows] if len(rows) > 1 and all(map(_is_numbering, rows)) else [rows]:
                yield where, board


def _split_rows(text: str) -> list[Words]:
    """Return the rows of a line. Separators other than / are between rows if each row has several numbers."""
    for separator in "/|;,":
        if separator in text:
            rows = list(map(_split_words, text.split(separator)))
            if separator == "/" or all(len(row) > 1 for row in rows):
                return rows
            if separator == "|":
                return [[word for row in rows for word in row or [0]]]
    words = _split_words(text)
    return [words] if words else []


def _split_words(text: str) -> Words:
    words = text.replace(",", " ").replace(";", " ").split()
    if len(words) == 1 and len(words[0]) > 3:
        words = _split_digits(words[0])
    return [_NUMBERS.get(word, word) for word in words]


def _split_digits(word: str) -> list[str]:
    """Return the numbers of a board that is a string of digits, such as 812043765 or 1853AC4F6B0D92E7."""
    digits = re.sub("[_.x-]" if len(word) <= _DIGITS.index("x") else "[_.-]", "0", word.lower())
    return [str(int(digit, 36)) for digit in digits] if sorted(digits) == list(_DIGITS[: len(digits)]) else [word]


def read_boards(lines: Iterator[Line], size: BoardSize | None, *, waits: bool = False) -> Iterator[Read]:
    """Yield the boards of a text, of this size if it is known.

    If the writer of the lines waits for answers, a board in one line is yielded before the next line is read.

    Raises `BoardError`, whose message begins with the place of the board's first line, and the errors of `lines`.
    """
    ahead = _Ahead(lines)
    counted, n_left = "", 0
    last_declared: BoardSize | None = None
    while (line := ahead.take()) is not None:
        where, rows = line
        try:
            if not rows:
                continue
            found = _next_board(rows, ahead, size, waits=waits)
            if isinstance(found, int):
                counted = f"{where} was read as a number of boards, {found}" if found else counted
                n_left = max(n_left, 0) + found
                continue
            n_left -= 1
            board, declared = found
            if declared is not None:
                where += f" was read as size {declared}"
                last_declared = declared
            elif last_declared is not None and list(map(len, board)) == [last_declared.n_cells]:
                declared = last_declared
            tiles, its_size = read_rows(board, size, declared)
        except InstanceError:
            raise
        except InputError as error:
            raise BoardError(f"{where}: {error}") from None
        yield where, tiles, its_size
    if n_left > 0:
        raise BoardError(
            f"{counted}; missing at the end: {n_left}; correct it, or write the rows and columns of a board there"
        )


class _Ahead:
    """Lines of a text, with a look at the lines ahead."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._ahead: deque[Line] = deque()

    def rows(self, n: int = 0) -> list[Words]:
        """Return the rows of the line `n` lines ahead; none at the end of the text."""
        while len(self._ahead) <= n:
            line = next(self._lines, None)
            if line is None:
                return []
            self._ahead.append(line)
        return self._ahead[n][1]

    def words(self, n: int = 0) -> Words:
        """Return the words of the line `n` lines ahead; none if it has several rows, or none."""
        rows = self.rows(n)
        return rows[0] if len(rows) == 1 else []

    def take(self) -> Line | None:
        """Return the next line; None at the end of the text."""
        self.rows()
        return self._ahead.popleft() if self._ahead else None


# The lines of a board: its rows, and the size that a line before them declares


def _next_board(
    rows: list[Words], ahead: _Ahead, size: BoardSize | None, *, waits: bool
) -> tuple[list[Words], BoardSize | None] | int:
    """Return the rows of the board that begins with these, and its declared size; or a number of boards that follow.

    Raises `InputError`.
    """
    words = rows[0]
    if len(rows) > 1:
        while not rows[-1] and (following := ahead.rows()):
            rows[-1:] = following
            ahead.take()
        return rows, None
    if len(words) < 3 and not _is_numbered(words, ahead):
        return _announced_board(words, ahead, size, waits=waits)
    if waits and _is_answered(words, size):
        return rows, None
    _check_numbers(words, ahead.words())
    while _continues(ahead.words(), rows, size):
        rows = [*rows, ahead.words()]
        ahead.take()
    return _row_of_column(rows), None


def _check_numbers(words: Words, following: Words) -> None:
    """Raise `BoardError` if a line is a board with one number more: its own in front, or a length behind."""
    if _is_numbering(words) or (following and not _repeats(following, words)):
        return
    for where, others in (("first", words[1:]), ("last", words[:-1])):
        if _is_numbering(others) and square_size(len(others)) is not None:
            raise BoardError(
                f"the line has {len(words)} numbers, of which all but the {where} are a board; leave that one out, or "
                "write CSV, such as with the columns id and board"
            )


def _row_of_column(rows: list[Words]) -> list[Words]:
    return [list(chain(*rows))] if all(len(row) == 1 for row in rows) else rows


def _continues(following: Words, rows: list[Words], size: BoardSize | None) -> bool:
    """Return whether a line belongs to the board with these rows."""
    numbers = list(chain(*rows))
    if not following or (len(following) == 1) != (len(rows[0]) == 1):
        return False
    is_board = _is_whole(numbers, size) or _is_whole(following, size)
    return len(numbers) <= _MOST_CELLS and not (is_board and _repeats(following, numbers))


def _is_numbered(words: Words, ahead: _Ahead) -> bool:
    """Return whether the lines of as many words hold each number from 0 on once. Otherwise the words are a size.

    If a line repeats a number, as many lines from it on are another board with these numbers.
    """
    seen, n = set(words), 0
    while len(following := ahead.words(n)) == len(words) and len(seen) <= _MOST_CELLS:
        # Stop here: otherwise the time would be quadratic in the number of boards.
        if _repeats(following, seen):
            return _is_numbering(seen) and seen == set(chain(*(ahead.words(n + row) for row in range(n + 1))))
        seen.update(following)
        n += 1
    return _is_numbering(seen)


def _is_numbering(words: Collection[int | str]) -> bool:
    """Return whether the words are the numbers from 0 on, each once, and enough for a board."""
    return 3 < len(words) <= _MOST_CELLS and _numbers(len(words)) == set(words)


@lru_cache
def _numbers(n: int) -> frozenset[int]:
    return frozenset(range(n))


def _is_whole(words: Words, size: BoardSize | None) -> bool:
    """Return whether the numbers are those of a whole board."""
    return _is_numbering(words) or (size is not None and len(words) == size.n_cells)


def _is_answered(words: Words, size: BoardSize | None) -> bool:
    """Return whether a line is a board by itself. Four numbers are not: they may be the first row of a larger board."""
    if size is not None:
        return len(words) == size.n_cells
    return len(words) > 4 and square_size(len(words)) is not None and _is_numbering(words)


def _repeats(following: Words, numbers: Collection[int | str]) -> bool:
    return not set(numbers).isdisjoint(following)


def _announced_board(
    words: Words, ahead: _Ahead, size: BoardSize | None, *, waits: bool
) -> tuple[list[Words], BoardSize | None] | int:
    """Return the rows after a line with their size, and the size; or the number of boards that the line announces.

    The size is that of rows, or of rows and columns. Raises `InputError`.
    """
    first, last, following, otherwise = words[0], words[-1], ahead.words(), ""
    if len(words) == len(following) == 1:
        if re.fullmatch("[UDLRudlr]+", str(*following)):
            ahead.take()
            return 0
        otherwise = ", and as a column the lines do not hold each number from 0 on once"
    if len(words) == 1 and isinstance(first, int) and first and _is_count(first, ahead, size, waits=waits):
        return first
    rows: list[Words] = []
    n_numbers = 0
    try:
        if isinstance(first, int) and isinstance(last, int):
            declared = BoardSize(last, first)
        else:
            declared = parse_size(" ".join(map(str, words)))
        while n_numbers < declared.n_cells and (line := ahead.take()) is not None:
            rows += filter(None, line[1])
            n_numbers = sum(map(len, rows))
        if n_numbers != declared.n_cells:
            raise BoardError(
                f"{n_numbers} numbers follow; a board of {declared.height} rows and {declared.width} columns has "
                f"{declared.n_cells}"
            )
    except InputError as error:
        raise BoardError(f"{error}{otherwise}") from None
    return _row_of_column(rows), declared


def _is_count(number: int, ahead: _Ahead, size: BoardSize | None, *, waits: bool) -> bool:
    """Return whether a number is one of boards: the lines after it are of another size. Raises `BoardError`."""
    while not ahead.rows() and ahead.take():
        pass
    following = list(chain(*ahead.rows()))
    if size is not None:
        return size.n_cells != number * number
    if len(following) != number * number or not _is_numbering(following):
        return len(following) not in (0, 1, number)
    if not waits and len(ahead.words(1)) == len(following) and not _repeats(ahead.words(1), following):
        raise BoardError(
            f"{number} may be a size, {number}x{number}, or a number of boards with rows of {len(following)}; "
            "leave it out, or write rows and columns of the boards"
        )
    return False


# Numbers and size


def read_rows(
    rows: list[Words], expected: BoardSize | None, declared: BoardSize | None = None
) -> tuple[tuple[int, ...], BoardSize]:
    """Return the numbers and the size of the rows of a board. Raises `InputError`."""
    tiles = tuple(word for row in rows for word in row if isinstance(word, int))
    if not (rows and all(rows) and len(tiles) == sum(map(len, rows))):
        odd = next((word for row in rows for word in row if isinstance(word, str)), None)
        what = "a number is missing"
        if odd is not None:
            what = f"{shorten(odd, 40)!r} is not a number up to {_MOST_CELLS - 1}, and does not hold each digit once"
        raise BoardError(
            f"board {quoted(rows)}: {what}; a board is written like 1 2 3/4 5 6/7 8 0, with 0 for the blank"
        )
    lengths = list(map(len, rows))
    if declared is not None:
        # Some courses write the width first; the rows decide.
        if lengths == [declared.height] * declared.width:
            declared = BoardSize(declared.height, declared.width)
        if expected not in (None, declared):
            raise BoardError(f"a {expected} board is expected, this one is {declared}")
        expected = declared
    return tiles, size_of_rows(lengths, expected, rows)


def size_of_rows(lengths: list[int], expected: BoardSize | None, rows: Sequence[Sequence[object]]) -> BoardSize:
    """Return the board size for rows of these lengths. A single row may hold the whole board. Raises `BoardError`."""
    width, height = lengths[0], len(lengths)
    is_grid = lengths == [width] * height
    if height > 1 and expected is not None and lengths != [expected.width] * expected.height:
        of_rows = (
            f"is {width}x{height} by its rows, and" if is_grid else f"has rows of [{listed(lengths)}] numbers where"
        )
        raise BoardError(f"board {quoted(rows)} {of_rows} a {expected} board is expected")
    if expected is not None:
        return expected
    if not is_grid:
        # In a spreadsheet, the blank may be an empty cell.
        is_blank_missing = sum(lengths) == max(lengths) * height - 1 and all(0 not in row for row in rows)
        hint = "; is the blank missing? write it as 0" if is_blank_missing else ""
        raise BoardError(f"board {quoted(rows)} has rows of different lengths: [{listed(lengths)}]{hint}")
    if height > 1:
        try:
            return BoardSize(width, height)
        except InputError as error:
            raise BoardError(f"board {quoted(rows)}: {error}") from None
    size = square_size(width)
    if size is None:
        others = " or ".join(
            f"{side}x{width // side}"
            for side in range(MAX_SIDE, MIN_SIDE - 1, -1)
            if width % side == 0 and MIN_SIDE <= width // side <= MAX_SIDE
        )
        numbers = "1 number" if width == 1 else f"{width} numbers"
        raise BoardError(
            f"board {quoted(rows)} is not square: it has {numbers}, and a square board has 4, 9, 16, ... numbers"
            f"{others and f'; it may be {others}'}; give it in rows, as in 1 2 3/4 5 0, or with its size, "
            "as in 3x2: 1 2 3 4 5 0"
        )
    return size


def quoted(rows: Sequence[Sequence[object]]) -> str:
    """Return a board for a message."""
    return repr(shorten("/".join(" ".join(map(str, row)) for row in rows)))
