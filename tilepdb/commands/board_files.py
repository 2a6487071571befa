"""Text files of boards, in the format of docs/files.md, and names of tiles (--tiles letters)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pdb_core.errors import BoardError, GoalError, InputError, InstanceError
from pdb_core.messages import as_typed, shorten
from tilepdb.commands.output import Record, plural

if TYPE_CHECKING:
    from pdb_core.puzzle import BoardSize
    from pdb_query import Instance

_MAX_FILE_BYTES = 20_000_000
_BLANKS = ("_", "0", ".")


class TileNames:
    """Words of a goal and their numbers: 1, 2, ... in the order of the goal, 0 for the blank.

    `goal` is the goal in numbers, with the same rows.

    >>> names = TileNames("a b/c _")
    >>> names.goal, names.numbered("b a/_ c")
    ('1 2/3 0', '2 1/0 3')
    """

    def __init__(self, goal: str) -> None:
        """Raises `GoalError` if a word comes twice, or if there is not exactly one blank."""
        shown = shorten(" ".join(goal.split()))
        try:
            goal.encode()
        except UnicodeEncodeError:
            raise GoalError(f"goal {as_typed(goal)!r} is not text in UTF-8") from None
        words = [word for row in _word_rows(goal) for word in row]
        blanks = [word for word in words if word in _BLANKS]
        if len(blanks) != 1:
            raise GoalError(
                f"goal {shown!r} has {len(blanks)} blanks instead of one; with --tiles letters the blank is _, 0 or ., "
                "and words are separated by spaces or commas"
            )
        word, times = Counter(words).most_common(1)[0]
        if times > 1:
            raise GoalError(f"goal {shown!r} has the tile {shorten(word, 40)!r} twice; give each tile its own word")
        self._words = (*blanks, *(word for word in words if word not in _BLANKS))
        self._numbers = {word: number for number, word in enumerate(self._words)} | dict.fromkeys(_BLANKS, 0)
        self.goal = self.numbered(goal)

    def has(self, words: Iterable[str]) -> bool:
        """Return True if all words are tiles or the blank."""
        return all(word in self._numbers for word in words)

    def numbered(self, board: str) -> str:
        """Return a board of words as numbers. Raises `BoardError` if its words are not those of the goal."""
        rows = _word_rows(board)
        seen: set[int] = set()
        for word in (word for row in rows for word in row):
            number = self._numbers.get(word)
            if number is None:
                raise self._error(board, f"has {shorten(word, 40)!r}, which is no tile of its goal")
            if number in seen:
                raise self._error(board, f"has {shorten(word, 40)!r} twice")
            seen.add(number)
        lacking = next((word for word in self._words if self._numbers[word] not in seen), None)
        if lacking is not None:
            raise self._error(board, f"lacks {shorten(lacking, 40)!r}")
        return "/".join(" ".join(str(self._numbers[word]) for word in row) for row in rows)

    def _error(self, board: str, fault: str) -> BoardError:
        shown = shorten(" ".join(board.split()))
        return BoardError(f"board {shown!r} {fault}; a board has each word of its goal once")

    def word(self, tile: int) -> str:
        """Return the word of a tile, or of the blank."""
        return self._words[tile]

    def named(self, record: Record) -> dict[str, Any]:
        """Return a board's record with words for tiles."""
        lists = {key: record[key] for key in ("board", "goal", "moves") if record.get(key) is not None}
        return {**record} | {key: list(map(self.word, tiles)) for key, tiles in lists.items()}


def _word_rows(text: str) -> list[list[str]]:
    return [row.replace(",", " ").split() for row in text.split("/")]


def boards_of_files(
    paths: Iterable[Path], size: "BoardSize | None", names: TileNames | None = None
) -> "Iterator[Instance]":
    """Yield the boards of each file. Their ids are the name of the file, with a number if it has several boards.

    Raises `InstanceError` if a file cannot be read or has no boards, `BoardError` for an invalid board.
    """
    from pdb_query.board_pickle import SUFFIXES
    from pdb_query.instances import pickled_instances

    for path in paths:
        boards = list(pickled_instances(path, size) if path.suffix in SUFFIXES else _boards_of(path, size, names))
        for number, instance in enumerate(boards, start=1):
            yield replace(instance, id=path.name if len(boards) == 1 else f"{path.name}:{number}")


class _Row(NamedTuple):
    """Number of a line in the file, and its words."""

    number: int
    words: list[str]


def _boards_of(path: Path, size: "BoardSize | None", names: TileNames | None) -> "Iterator[Instance]":
    from pdb_core.puzzle import Board
    from pdb_query import Instance

    rows = _rows(path)
    at = 0
    while at < len(rows):
        if not rows[at].words:
            at += 1
            continue
        where = f"{as_typed(str(path))} line {rows[at].number}"
        board_rows, at, declared = _next_board(rows, at, where, names)
        # Rows of a declared size may be broken anywhere.
        between = "/" if len(board_rows) > 1 and declared is None else " "
        text = between.join(" ".join(row.words) for row in board_rows)
        try:
            text = text if names is None else names.numbered(text)
            board = Board(text, declared or (size if len(board_rows) == 1 else None))
        except BoardError as error:
            raise BoardError(f"{where}: {error}") from None
        if size is not None and board.size != size:
            raise BoardError(f"{where}: a {size} board is expected, this one is {board.size}")
        yield Instance("", board)


def _rows(path: Path) -> list[_Row]:
    shown = as_typed(str(path))
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)  # devices have no size, and may not end
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InstanceError(f"there is no file {shown}; name a text file of boards") from None
    except UnicodeDecodeError:
        raise InstanceError(f"{shown} is not text in UTF-8; name a text file of boards") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        reason = getattr(error, "strerror", None) or error
        raise InstanceError(f"cannot read {shown}: {reason}; name a text file of boards") from None
    if len(content) > _MAX_FILE_BYTES:
        raise InstanceError(f"{shown} has more than {_MAX_FILE_BYTES // 10**6} MB; is this a file of boards?")
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        of_line = [_Row(number, words) for words in _word_rows(line.partition("#")[0])]
        # With / between rows, the line is a whole board: an empty row ends it.
        rows += of_line if len(of_line) == 1 else [*(row for row in of_line if row.words), _Row(number, [])]
    if not any(row.words for row in rows):
        raise InstanceError(f"{shown} holds no board; rows of a board are numbers separated by spaces, 0 is the blank")
    return rows


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
    board_rows, n_numbers, at = [], 0, at + 1
    while at < len(rows) and n_numbers < size.n_cells:
        n_numbers += len(rows[at].words)
        board_rows += [rows[at]] if rows[at].words else []
        at += 1
    if n_numbers != size.n_cells:
        raise BoardError(
            f"{where}: {plural(n_numbers, 'number')} follow; a board of {height} rows and {width} columns has "
            f"{size.n_cells}"
        )
    # Some courses write the width first; the rows decide.
    if all(len(row.words) == height for row in board_rows) and len(board_rows) == width:
        size = BoardSize(height, width)
    return board_rows, at, size
