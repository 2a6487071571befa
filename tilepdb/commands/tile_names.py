"""Names of tiles (--tiles letters)."""

from collections import Counter
from typing import Any

from pdb_core.board_text import TILE_WORD
from pdb_core.errors import BoardError, GoalError
from pdb_core.messages import as_typed, shorten
from tilepdb.commands.output import Record

_BLANKS = ("_", "0", ".")


class TileNames:
    """Words of a goal and their numbers: 1, 2, ... in the order of the goal, 0 for the blank.

    `goal` is the goal in numbers, with the same rows.

    >>> names = TileNames("a b/c _")
    >>> names.goal, names.numbered("b a/_ c")
    ('1 2/3 0', '2 1/0 3')
    """

    def __init__(self, goal: str) -> None:
        """Raises `GoalError` if a word comes twice or is not UTF-8, or if there is not exactly one blank."""
        shown = as_typed(" ".join(goal.split()))
        if goal.encode(errors="ignore").decode() != goal:
            raise GoalError(f"goal {shown!r} is not text in UTF-8; give each tile a word that can be written")
        words: list[str] = TILE_WORD.findall(goal)
        blanks = [word for word in words if word in _BLANKS]
        if len(blanks) != 1:
            raise GoalError(
                f"goal {shown!r} has {len(blanks)} blanks instead of one; with --tiles letters the blank is _, 0 or ., "
                "and words are separated by spaces or commas"
            )
        word, times = Counter(words).most_common(1)[0]
        if times > 1:
            raise GoalError(f"goal {shown!r} has the tile {as_typed(word, 40)!r} twice; give each tile its own word")
        self._words = (*blanks, *(word for word in words if word not in _BLANKS))
        self._numbers = {word: str(number) for number, word in enumerate(self._words)} | dict.fromkeys(_BLANKS, "0")
        self.goal = self.numbered(goal)

    def number(self, word: str) -> str:
        """Return the number of a tile. Raises `BoardError` for another word."""
        if word not in self._numbers:
            raise BoardError(f"{shorten(word, 40)!r} is no tile of the goal; a board has each word of its goal once")
        return self._numbers[word]

    def numbered(self, board: str) -> str:
        """Return a board of words as numbers. Raises `BoardError` if a word is not one of the goal."""
        return TILE_WORD.sub(lambda word: self.number(word[0]), board)

    def word(self, tile: int) -> str:
        """Return the word of a tile, or of the blank."""
        return self._words[tile]

    def named(self, record: Record) -> dict[str, Any]:
        """Return a board's record with words for tiles."""
        lists = {key: record[key] for key in ("board", "goal", "moves") if record.get(key) is not None}
        return {**record} | {key: list(map(self.word, tiles)) for key, tiles in lists.items()}
