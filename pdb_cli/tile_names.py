"""Names of tiles (--tiles letters): letters or words, numbered in the order of the goal."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pdb_cli.output import Record
from pdb_core.errors import BoardError, GoalError
from pdb_core.messages import listed, shorten

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
        words = [word for row in _rows(goal) for word in row]
        blanks = [word for word in words if word in _BLANKS]
        if len(blanks) != 1:
            raise GoalError(
                f"goal {shown!r} has {len(blanks)} blanks instead of one; with --tiles letters the blank is _, 0 or ., "
                "and words are separated by spaces or commas"
            )
        tiles = [word for word in words if word not in _BLANKS]
        for word in tiles:
            if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
                raise GoalError(f"goal {shown!r} is not text in UTF-8")
        word, times = Counter(tiles).most_common(1)[0] if tiles else ("", 0)
        if times > 1:
            raise GoalError(f"goal {shown!r} has the tile {shorten(word, 40)!r} twice; give each tile its own word")
        self._words = (blanks[0], *tiles)
        self._numbers = {word: number for number, word in enumerate(self._words)} | dict.fromkeys(_BLANKS, 0)
        self.goal = self.numbered(goal)

    def has(self, words: Iterable[str]) -> bool:
        """Return True if all words are tiles or the blank."""
        return all(word in self._numbers for word in words)

    def numbered(self, board: str) -> str:
        """Return a board of words as numbers. Raises `BoardError` if its words are not those of the goal."""
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
        """Return the word of a tile, or of the blank."""
        return self._words[tile]

    def named(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield records of boards with words for tiles."""
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
