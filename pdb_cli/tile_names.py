"""`--tiles letters`: tiles that are letters or words. The goal tells which is which; answers are told in them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import typer

from pdb_cli.output import Record
from pdb_core.errors import BoardError, GoalError
from pdb_core.messages import listed, shorten

_NUMBERS, _LETTERS = "numbers", "letters"
_BLANKS = ("_", "0", ".")


class TileNames:
    """The words of a goal and the tiles they stand for: 1, 2, ... in the goal's order, 0 for the blank.

    `goal` is the goal in numbers, rows marked where they were.

    >>> names = TileNames("a b/c _")
    >>> names.goal, names.numbered("b a/_ c")
    ('1 2/3 0', '2 1/0 3')
    """

    def __init__(self, goal: str) -> None:
        """Raises `GoalError` where a word stands twice, or there is not one blank."""
        shown = shorten(" ".join(goal.split()))
        words = [word for row in _rows(goal) for word in row]
        blanks = [word for word in words if word in _BLANKS]
        if len(blanks) != 1:
            raise GoalError(
                f"goal {shown!r} has {len(blanks)} blanks where a board has one; with --tiles letters it is _, 0 or ., "
                "and words have spaces or commas between them"
            )
        tiles = [word for word in words if word not in _BLANKS]
        for word in tiles:
            if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
                raise GoalError(f"goal {shown!r} is not text in UTF-8, and could not be written")
        word, times = Counter(tiles).most_common(1)[0] if tiles else ("", 0)
        if times > 1:
            raise GoalError(
                f"goal {shown!r} has the tile {shorten(word, 40)!r} twice; give each tile a word of its own"
            )
        self._words = (blanks[0], *tiles)
        self._numbers = {word: number for number, word in enumerate(self._words)} | dict.fromkeys(_BLANKS, 0)
        self.goal = self.numbered(goal)

    def has(self, words: Iterable[str]) -> bool:
        """Whether all of them are tiles or the blank."""
        return all(word in self._numbers for word in words)

    def numbered(self, board: str) -> str:
        """A board of words in numbers. Raises `BoardError` where they are not its goal's, in equal rows."""
        rows = [[self._number(word, board) for word in row] for row in _rows(board)]
        tiles = [tile for row in rows for tile in row]
        times = Counter(tiles)
        fault = next((f"has {shorten(self.word(tile), 40)!r} twice" for tile in tiles if times[tile] > 1), None)
        lacking = (f"lacks {shorten(word, 40)!r}" for tile, word in enumerate(self._words) if tile not in times)
        fault = fault or next(lacking, None)
        lengths = [len(row) for row in rows]
        if fault is None and len(set(lengths)) > 1:
            fault = f"has rows of different lengths: [{listed(lengths)}]"
        if fault is not None:
            raise BoardError(f"{_shown(board)} {fault}; a board has each word of its goal once")
        return "/".join(" ".join(map(str, row)) for row in rows)

    def _number(self, word: str, board: str) -> int:
        if word not in self._numbers:
            raise BoardError(
                f"{_shown(board)}: the goal has no tile {shorten(word, 40)!r}; a board has the words of its goal"
            )
        return self._numbers[word]

    def word(self, tile: int) -> str:
        """The word of a tile, or of the blank."""
        return self._words[tile]

    def named(self, records: Iterable[Record]) -> Iterator[Record]:
        """Records of `pdb solve` with words for tiles."""
        for record in records:
            named: Mapping[str, Any] = {
                key: [self.word(tile) for tile in record[key]]
                for key in ("board", "goal", "moves")
                if record.get(key) is not None
            }
            yield {**record, **named}


def _shown(board: str) -> str:
    return f"board {shorten(' '.join(board.split()))!r}"


def _rows(text: str) -> list[list[str]]:
    return [[word for word in re.split(r"[\s,]+", row) if word] for row in text.split("/")]


def names_of_tiles(tiles: str, goal: str | None) -> TileNames | None:
    """The names that --tiles asks for; None for numbers. Raises a usage error."""
    if tiles == _NUMBERS:
        return None
    if tiles != _LETTERS:
        raise typer.BadParameter(f"{tiles!r} is neither {_NUMBERS} nor {_LETTERS}", param_hint="--tiles")
    if goal is None:
        raise typer.BadParameter("letters goes with --goal, which tells which tile is which", param_hint="--tiles")
    return TileNames(goal)


def between_boards(
    start: str | None, end: str | None, boards: list[str] | None, instances: str | None, goal: str | None
) -> tuple[list[str] | None, str | None]:
    """The boards and the goal where --from and --to may stand for them. Raises a usage error."""
    if start is None and end is None:
        return boards, goal
    if start is None or end is None:
        raise typer.BadParameter("go together", param_hint="--from and --to")
    if boards or instances is not None or goal is not None:
        raise typer.BadParameter("go without other boards and without --goal", param_hint="--from and --to")
    return [start], end
