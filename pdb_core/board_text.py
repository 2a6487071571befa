"""Text as boards: the one parser for files, arguments of commands, Python strings and HTTP.

docs/files.md has the table of spellings, and the rules by which lines are boards. `split_lines` reads each line as rows
of numbers, whatever signs are around them. `read_boards` then joins lines: the rows of a board go on until they are a
whole board and the next line repeats one of its numbers.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from itertools import chain, islice, takewhile, tee

from pdb_core.board_size import MAX_SIDE, BoardSize, parse_size, square_size
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
_BLANKS = ("_", "__", ".", "x", "X", "-", "--", "-1", "None", "none", "null")
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
    (r"^\s*\d+\s+\d+\s+:", ""),  # the number of a board and its length, as in lists of Korf's boards
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
            for board in [[row] for row in rows] if len(rows) > 1 and all(map(_is_whole, rows)) else [rows]:
                yield where, board


def _split_rows(text: str) -> list[Words]:
    """Return the rows of a line. Separators other than / are between rows if each row has several numbers."""
    for separator in "/|;,":
        if separator in text:
            rows = list(map(_split_words, text.rstrip().removesuffix("/").split(separator)))
            if separator == "/" and all(len(row) == 1 for row in rows):
                return [[*chain(*rows)]]
            if separator == "/" or all(len(row) > 1 for row in rows):
                return rows
            if separator == "|":
                return [[word for row in rows for word in row or [0]]]
    words = _split_words(text)
    return [words] if words else []


def _split_words(text: str) -> Words:
    """Return the numbers of a row. A word may be a whole board in digits, such as 812043765 or 1853AC4F6B0D92E7."""
    words = text.replace(",", " ").replace(";", " ").split()
    if len(words) == 1 and len(words[0]) > 3:
        digits = re.sub("[_.x-]" if len(words[0]) <= _DIGITS.index("x") else "[_.-]", "0", words[0].lower())
        if sorted(digits) == list(_DIGITS[: len(digits)]):
            return [_DIGITS.index(digit) for digit in digits]
    return [_NUMBERS.get(word, word) for word in words]


def read_boards(lines: Iterator[Line], size: BoardSize | None, *, waits: bool = False) -> Iterator[Read]:
    """Yield the boards of a text, of this size if it is known.

    If the writer of the lines waits for answers, a board in one line is yielded before the next line is read.

    Raises `BoardError`, whose message begins with the place of the board's first line, and the errors of `lines`.
    """
    (lines,) = tee(lines, 1)  # a copy of such an iterator looks ahead
    counted, header, n_left, n_wanted = "", "", 0, -1
    last_declared: BoardSize | None = None
    for where, rows in lines:
        if not rows or n_wanted == 0:
            continue
        if n_wanted < 0 and len(rows) == 1 and (n_boards := _header(rows[0], lines)):
            n_wanted, header = n_boards, f" ({where} was read as width, height and {n_boards} boards)"
            continue
        n_wanted -= n_wanted > 0
        where += header
        try:
            declared = _announced(rows[0], lines) if len(rows) == 1 and len(rows[0]) < 3 else None
            if isinstance(declared, int):
                counted = f"{where} was read as a number of boards, {declared}" if declared else counted
                n_left = max(n_left, 0) + declared
                continue
            if declared is not None:
                last_declared = declared
                where += f" was read as size {declared}"
                rows = _rows_of_size(lines, declared)
            else:
                rows = _rows_of_board(rows, lines, size, waits=waits)
                if last_declared is not None and list(map(len, rows)) == [last_declared.n_cells]:
                    declared = last_declared
            n_left -= 1
            tiles, its_size = read_rows(rows, size, declared)
        except InstanceError:
            raise
        except InputError as error:
            raise BoardError(f"{where}: {error}") from None
        yield where, tiles, its_size
    if n_left > 0:
        raise BoardError(
            f"{counted}; missing at the end: {n_left}; correct it, or write the rows and columns of a board there"
        )


def _rows_of_board(rows: list[Words], lines: Iterator[Line], size: BoardSize | None, *, waits: bool) -> list[Words]:
    """Return the rows of the board that begins with these, and take its other lines.

    They go on until they are a whole board and the next line repeats one of the numbers. If the writer waits, a board
    in a line is one; but four numbers may be the first row of a larger board.
    """
    numbers = [*chain(*rows)]
    is_square = len(numbers) > 4 and square_size(len(numbers)) is not None
    is_answered = waits and _is_whole(numbers) and (is_square if size is None else len(numbers) == size.n_cells)
    if len(rows) > 1 or is_answered:
        return rows
    is_column, rows = len(numbers) == 1, [*rows]
    for row in _ahead(lines, is_column=is_column):
        is_board = _is_whole(numbers, size) or _is_whole(row, size)
        if len(numbers) > _MOST_CELLS or (is_board and not set(numbers).isdisjoint(row)):
            break
        rows.append(row)
        numbers += row
        next(lines)
    return [numbers] if is_column else rows


def _rows_of_size(lines: Iterator[Line], size: BoardSize) -> list[Words]:
    """Take the rows of a board of this size. Raises `BoardError` if they have another number of numbers."""
    rows: list[Words] = []
    n_numbers = 0
    while n_numbers < size.n_cells and (line := next(lines, None)) is not None:
        rows += line[1]
        n_numbers = sum(map(len, rows))
    if n_numbers != size.n_cells:
        raise BoardError(f"{n_numbers} numbers follow, and such a board has {size.n_cells}")
    return [[*chain(*rows)]] if len(rows) == n_numbers else rows


def _take_row(lines: Iterator[Line]) -> Words:
    """Take the next line that is not empty, and return its first row."""
    return next((rows[0] for _, rows in lines if rows), [])


def _ahead(lines: Iterator[Line], *, is_column: bool) -> Iterator[Words]:
    """Yield the words of the lines ahead, up to one that cannot continue a board in a column, or in longer rows."""
    for _, rows in islice(copy(lines), _MOST_CELLS):
        if len(rows) != 1 or (len(rows[0]) == 1) != is_column:
            return
        yield rows[0]


def _is_whole(words: Collection[int | str], size: BoardSize | None = None) -> bool:
    """Return whether the words are the numbers from 0 on, each once, or as many as a board of this size has."""
    return (len(words) > 3 and set(words) == set(range(len(words)))) or (
        size is not None and len(words) == size.n_cells
    )


def _announced(words: Words, lines: Iterator[Line]) -> BoardSize | int | None:
    """Return what a line of one or two words announces: the size of the board that follows, or a number of boards.

    Two numbers, or one for a square, are a size if as many numbers follow, each from 0 on once. Otherwise, they may be
    the first row of a board, which announces nothing. Otherwise, one number is a number of boards. A number and
    directions are the solution of the board before, and announce no boards. Raises `InputError`.
    """
    size = None
    with suppress(InputError):
        size = _declared_size(words)
    with suppress(BoardError):  # but not errors of `lines`
        if size is not None and _is_whole([*chain(*_rows_of_size(copy(lines), size))]):
            return size
    row_by_row = takewhile(lambda row: len(row) == len(words), _ahead(lines, is_column=len(words) == 1))
    seen: set[int | str] = set()
    for row in chain([words], row_by_row):
        if not seen.isdisjoint(row):
            break
        seen.update(row)
    if _is_whole(seen):
        return None
    number = words[-1] if len(words) == 1 else 0
    if isinstance(number, int) and number > 0:
        if re.fullmatch("[UDLRudlr]+", str(*_take_row(copy(lines))[:1])):
            _take_row(lines)
            return 0
        return number
    return _declared_size(words)


def _header(words: Words, lines: Iterator[Line]) -> int:
    """Return the number of boards of a header: both sides and that number, on one line or on two. 0 if it is none.

    Take the second line.
    """
    after, is_on_two = copy(lines), len(words) == 2
    match [*words, *_take_row(after)] if is_on_two else words:
        case [int(width), int(height), int(n_boards)]:
            with suppress(InputError):
                size = BoardSize(width, height)
                # The first row is mostly enough to tell, and the writer of the lines may wait.
                if len(_take_row(copy(after))) == width and _is_whole([*chain(*_rows_of_size(after, size))]):
                    if is_on_two:
                        _take_row(lines)
                    return n_boards
    return 0


def _declared_size(words: Words) -> BoardSize:
    """Return the size of a line of the numbers of rows and columns, of one number for both, or such as 3x2.

    Raises `InputError`.
    """
    rows, columns = words[0], words[-1]
    if isinstance(rows, int) and isinstance(columns, int):
        return BoardSize(columns, rows)
    return parse_size(" ".join(map(str, words)))


def read_rows(
    rows: list[Words], expected: BoardSize | None, declared: BoardSize | None = None
) -> tuple[tuple[int, ...], BoardSize]:
    """Return the numbers and the size of the rows of a board. Raises `InputError`."""
    words = [*chain(*(row or [""] for row in rows or [[]]))]
    odd = [word for word in words if isinstance(word, str)]
    if odd:
        raise BoardError(
            f"board {quoted(rows)}: {shorten(odd[0], 40)!r} is not a number up to {_MOST_CELLS - 1}, and does not hold "
            "each digit once; a board is written like 1 2 3/4 5 6/7 8 0, with 0 for the blank"
        )
    tiles = tuple(word for word in words if isinstance(word, int))
    lengths = list(map(len, rows))
    if declared is not None:
        # Some courses write the width first; the rows decide.
        if lengths == [declared.height] * declared.width:
            declared = BoardSize(declared.height, declared.width)
        if expected not in (None, declared):
            raise BoardError(f"a {expected} board is expected, this one is {declared}")
    return tiles, size_of_rows(lengths, declared or expected, rows)


def size_of_rows(lengths: list[int], expected: BoardSize | None, rows: Sequence[Sequence[object]]) -> BoardSize:
    """Return the board size for rows of these lengths. A single row may hold the whole board. Raises `BoardError`."""
    width, height = lengths[0], len(lengths)
    if expected is not None and (height == 1 or lengths == [expected.width] * expected.height):
        return expected
    if lengths != [width] * height:
        wanted = "" if expected is None else f" where a {expected} board is expected"
        raise BoardError(
            f"board {quoted(rows)} has rows of different lengths: [{listed(lengths)}]{wanted}; write the blank as 0"
        )
    if expected is not None:
        raise BoardError(f"board {quoted(rows)} is {width}x{height} by its rows, and a {expected} board is expected")
    try:
        size = square_size(width) if height == 1 else BoardSize(width, height)
    except InputError as error:
        raise BoardError(f"board {quoted(rows)}: {error}") from None
    if size is None:
        raise BoardError(
            f"board {quoted(rows)} is not square: it has {width} numbers, and a square board has 4, 9, 16, ... "
            "numbers; give it in rows, as in 1 2 3/4 5 0, or with its size, as in 3x2: 1 2 3 4 5 0, and without other "
            "numbers in its line"
        )
    return size


def quoted(rows: Sequence[Sequence[object]]) -> str:
    """Return a board for a message."""
    return repr(shorten("/".join(" ".join(map(str, row)) for row in rows)))
