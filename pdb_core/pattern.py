"""Patterns, partitions and catalogues: the tiles of each table.

Named partitions are shapes on the board: a name means the same cells for every goal, if a symmetry takes the blank of
the published goal to the blank of that goal.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from pdb_core.arguments import as_choice, check_kind
from pdb_core.board_size import MAX_TABLE_SIDE, MIN_SIDE, BoardSize, check_table_size
from pdb_core.encoding import COSTS, DEFAULT_COST, Cost
from pdb_core.errors import GoalError, PartitionError
from pdb_core.messages import did_you_mean, listed, shorten
from pdb_core.puzzle import Tiles, blank_first, blank_last, draw_grid
from pdb_core.symmetry import mappings_between
from pdb_core.types import BLANK

MAX_PATTERN_TILES = 10
# Of the patterns of a catalogue, which have one each.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MAX_CATALOGUE_PATTERNS, MAX_PARTITIONS = len(LETTERS), 64
AUTOMATIC = "auto"
_LONGEST_NAME = 93

# The largest automatic partition: what `pdb solve` builds by itself for a size that has no named one.
_AUTOMATIC_MAX_ENTRIES = 150_000_000


@dataclass(frozen=True)
class Pattern:
    """Set of 1 to 10 tiles, which become a tuple that ascends. Raises `PartitionError`."""

    tiles: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiles", tuple(sorted(self.tiles)))
        if not 1 <= len(self.tiles) <= MAX_PATTERN_TILES:
            raise PartitionError(
                f"pattern {shorten(str(self))} has {self.n_tiles} tiles; a pattern has 1 to {MAX_PATTERN_TILES}, "
                "split it"
            )
        twice = sorted({tile for tile in self.tiles if self.tiles.count(tile) > 1})
        if twice:
            raise PartitionError(f"pattern {self} names {listed(twice)} twice; name each tile once")

    def __str__(self) -> str:
        return ",".join(map(str, self.tiles))

    @property
    def n_tiles(self) -> int:
        return len(self.tiles)


@dataclass(frozen=True)
class Partition:
    """Patterns of tiles for one board size, and the moves that their distances count.

    The patterns of a sum are disjoint. Additive ones cover all tiles; if every move counts, they may leave tiles out.

    Parameters
    ----------
    name
        The published name, or the patterns written out.
    patterns
        All patterns.
    size
        Size of the boards.
    cost
        The moves that the distances count: "additive" or "every-move", see `pdb_core.encoding`.
    sums
        For each lower bound the indices of its patterns in `patterns`, ascending; a catalogue has several. An empty
        tuple means one sum of all patterns.

    Raises
    ------
    PartitionError
        Patterns overlap or leave tiles out, or there are too many.
    InputError
        The board is larger than 6x6.
    """

    name: str
    patterns: tuple[Pattern, ...]
    size: BoardSize
    cost: Cost = DEFAULT_COST
    sums: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        check_table_size(self.size)
        if not self.sums:
            object.__setattr__(self, "sums", (tuple(range(len(self.patterns))),))
        for places in self.sums:
            self._check_sum([self.patterns[place] for place in places])
        if len(self.patterns) > MAX_CATALOGUE_PATTERNS or len(self.sums) > MAX_PARTITIONS:
            raise PartitionError(
                f"catalogue {shorten(self.name)} has {len(self.sums)} partitions and {len(self.patterns)} "
                f"different patterns; a file holds up to {MAX_PARTITIONS} and {MAX_CATALOGUE_PATTERNS}, leave some out"
            )

    def _check_sum(self, patterns: list[Pattern]) -> None:
        tiles = Counter(tile for pattern in patterns for tile in pattern.tiles)
        expected = set(range(1, self.size.n_cells))
        must_cover = self.cost == "additive"
        how_many = "exactly one pattern (or to none, with the cost every-move)" if must_cover else "at most one pattern"
        for problem, which in (
            ("in two patterns", {tile for tile in tiles if tiles[tile] > 1}),
            ("not on the board", set(tiles) - expected),
            ("in no pattern", expected - set(tiles) if must_cover else set()),
        ):
            if which:
                raise PartitionError(
                    f"partition {shorten('/'.join(map(str, patterns)))} of a {self.size} board: "
                    f"tiles {listed(sorted(which))} are {problem}; "
                    f"each of the tiles 1 to {self.size.n_cells - 1} belongs to {how_many}; for another board give its "
                    "size"
                )

    def __str__(self) -> str:
        return "+".join("/".join(str(self.patterns[place]) for place in places) for places in self.sums)

    @property
    def is_catalogue(self) -> bool:
        """True for a catalogue: a partition with several sums."""
        return len(self.sums) > 1

    def draw(self, goal: Tiles) -> str:
        """Return the goal board with a letter for each pattern, `.` for the blank and for tiles that are in no pattern.

        Of a catalogue the first partition is drawn.
        """
        letter = {tile: LETTERS[i] for i in self.sums[0] for tile in self.patterns[i].tiles}
        return draw_grid([letter.get(tile, ".") for tile in goal], self.size)


def catalogue(name: str, partitions: Sequence[Partition]) -> Partition:
    """Return a catalogue of partitions, each pattern once. Raises `PartitionError` if their sizes or costs differ."""
    first = partitions[0]
    for other in partitions[1:]:
        if (other.size, other.cost) != (first.size, first.cost):
            raise PartitionError(
                f"partitions {shorten(first.name)} and {shorten(other.name)} cannot be in one catalogue: they are of "
                f"{first.size} and {other.size} boards, or count different moves"
            )
    patterns = tuple(dict.fromkeys(pattern for partition in partitions for pattern in partition.patterns))
    sums = dict.fromkeys(tuple(sorted(map(patterns.index, partition.patterns))) for partition in partitions)
    return Partition(name, patterns, first.size, first.cost, tuple(sums))


class PublishedPartition(NamedTuple):
    """Partition or catalogue as its source states it, for the goal `goal_of(size)`."""

    size: BoardSize
    goal_of: Callable[[BoardSize], Tiles]
    patterns: str
    source: str
    cost: Cost = DEFAULT_COST


_4X4, _5X5 = BoardSize(4, 4), BoardSize(5, 5)
# By their names.
NAMED_PARTITIONS = {
    "8": PublishedPartition(BoardSize(3, 3), blank_last, "1,2,3,4,5,6,7,8", "all tiles: the complete table"),
    "555": PublishedPartition(_4X4, blank_last, "1,2,3,4,7/5,6,9,10,13/8,11,12,14,15", "Korf and Felner 2002"),
    "663": PublishedPartition(_4X4, blank_last, "1,5,6,9,10,13/7,8,11,12,14,15/2,3,4", "Felner, Korf and Hanan 2004"),
    "78": PublishedPartition(_4X4, blank_last, "1,2,3,4,5,6,7,8/9,10,11,12,13,14,15", "Korf and Felner 2002"),
    "78d": PublishedPartition(_4X4, blank_last, "4,7,8,10,11,12,14,15/1,2,3,5,6,9,13", "this project"),
    "78v": PublishedPartition(_4X4, blank_last, "2,3,4,7,8,11,12,15/1,5,6,9,10,13,14", "this project"),
    "96": PublishedPartition(_4X4, blank_last, "3,4,7,8,10,11,12,14,15/1,2,5,6,9,13", "this project"),
    "fringe": PublishedPartition(_4X4, blank_first, "3,7,11,12,13,14,15", "Culberson and Schaeffer 1998", "every-move"),
    "6666": PublishedPartition(
        _5X5,
        blank_first,
        "1,2,5,6,7,12/3,4,8,9,13,14/10,11,15,16,20,21/17,18,19,22,23,24",
        "Korf and Felner 2002",
    ),
    "7773": PublishedPartition(
        _5X5, blank_last, "1,2,6,7,11,12,16/3,4,5,8,9,10,15/13,14,18,19,20,23,24/17,21,22", "this project"
    ),
    "24-small": PublishedPartition(
        _5X5,
        blank_first,
        "1,5,6,10,11,12/2,3,4,7,8,9/13,14,18,19,23,24/15,16,17,20,21,22"
        "+1,2,5,6,10,11/3,4,7,8,9,12/13,14,18,19,23,24/15,16,17,20,21,22"
        "+1,5,6,10,11,12/2,3,4,7,8,9/13,14,15,16,17,18/19,20,21,22,23,24"
        "+1,2,5,6,10,11/3,4,7,8,9,12/13,14,15,16,17,18/19,20,21,22,23,24"
        "+1,5,6,10,15,20/2,3,4,7,8,9/11,12,16,17,21,22/13,14,18,19,23,24"
        "+1,2,5,6,10,11/3,4,9,14,19,24/7,8,12,13,18,23/15,16,17,20,21,22"
        "+1,5,6,10,15,20/2,3,4,7,8,9/11,12,13,16,17,18/14,19,21,22,23,24",
        "Clausecker and Reinefeld 2019",
    ),
    "24-large": PublishedPartition(
        _5X5,
        blank_first,
        "1,2,5,6,7,12/3,4,8,9,13,14/10,11,15,16,20,21/17,18,19,22,23,24"
        "+1,2,3,5,6,7,8/4,9,14,18,19,23,24/10,11,15,16,20,21,22/12,13,17"
        "+1,2,3,4,5,6,7/8,9,13,14,19,23,24/10,11,15,16,20,21,22/12,17,18"
        "+1,2,3,4,5,6,7/8,9,10,11,12,13,14/15,16,17,20,21,22/18,19,23,24"
        "+1,2,5,6,7,10/3,4,8,9,13,14/11,12,15,16,20,21/17,18,19,22,23,24"
        "+1,2,5,6,7,10/3,4,8,9,13,14/11,12,15,16,17/18,19,20,21,22,23,24"
        "+1,2,3,4,5,6,7/8,9,10,11,12,13,14/15,18,20/16,17,19,21,22,23,24",
        "this project",
    ),
    "55554": PublishedPartition(
        _5X5, blank_first, "1,2,5,6,7/3,4,8,9,14/10,11,15,16,20/12,13,17,21,22/18,19,23,24", "this project"
    ),
}


def default_cost(name: str) -> Cost:
    """Return the default cost of a partition of that name."""
    return NAMED_PARTITIONS[name].cost if name in NAMED_PARTITIONS else DEFAULT_COST


def parse_partition(
    text: str, size: BoardSize | None, goal: Tiles | None = None, cost: Cost | None = None
) -> Partition:
    """Read a partition or catalogue: a name (`663`), `auto`, or patterns (`1,2,5/3,4,6/7,8`).

    Parameters
    ----------
    text
        Several partitions joined by `+` make a catalogue. `auto` is a partition for any `size`, which must be given.
    size
        By default the size of the name, or of the smallest square board with the largest tile.
    goal
        By default blank-last.
    cost
        By default the cost of the name, or additive.

    Raises
    ------
    PartitionError
        The text is no partition, or a named shape does not fit the goal.
    InputError
        The board is larger than 6x6.
    """
    check_kind(text, str, "partition", "a name such as 663, or patterns such as 1,2,5/3,4,6/7,8")
    if cost is not None:
        as_choice(cost, "cost", COSTS)
    text = text.strip()
    if "+" in text:
        parts = [parse_partition(part, size, goal, cost) for part in text.split("+")]
        name = "+".join(part.name for part in parts)
        return catalogue(name if len(name) <= _LONGEST_NAME else f"{len(parts)} partitions", parts)
    # Papers write 6-6-3 for 663.
    text = text.replace("-", "") if re.fullmatch("[0-9](-[0-9])+", text) else text
    cost = cost or default_cost(text)
    if text in NAMED_PARTITIONS:
        return _named_partition(text, size, goal, cost)
    if text == AUTOMATIC:
        if size is None:
            raise PartitionError(f"partition {AUTOMATIC} is made for the size of a board; give a size")
        return replace(_automatic_partition(size, goal or blank_last(size)), cost=cost)
    if not re.fullmatch(r"\d{1,9}(\s*[,/]\s*\d{1,9})+", text, re.ASCII):
        named = ", ".join(f"{name} ({published.size})" for name, published in NAMED_PARTITIONS.items())
        raise PartitionError(
            f"partition {shorten(text)!r} is neither a name ({named}; {AUTOMATIC} for any size) nor written out "
            f"like 1,2,5/3,4,6/7,8{did_you_mean(text, (*NAMED_PARTITIONS, AUTOMATIC))}"
        )
    patterns = tuple(Pattern(tuple(map(int, part.split(",")))) for part in text.split("/"))
    return Partition("/".join(map(str, patterns)), patterns, size or _square_size(patterns), cost)


def _square_size(patterns: Sequence[Pattern]) -> BoardSize:
    """Return the smallest square board with the largest tile."""
    largest = max(pattern.tiles[-1] for pattern in patterns)
    side = max(MIN_SIDE, math.isqrt(largest) + 1)
    if side > MAX_TABLE_SIDE:
        raise PartitionError(f"tile {largest} is on no board up to 6x6; check the tiles of the partition")
    return BoardSize(side, side)


def _named_partition(name: str, size: BoardSize | None, goal: Tiles | None, cost: Cost) -> Partition:
    published = NAMED_PARTITIONS[name]
    if size is not None and size != published.size:
        raise PartitionError(
            f"partition {name} is one of a {published.size} board, not of {size}; write the patterns out like "
            "1,2,5/3,4,6/7,8"
        )
    size = published.size
    try:
        mapping = mappings_between(published.goal_of(size), goal or blank_last(size), size)[0]
    except GoalError:
        raise PartitionError(
            f"partition {name} is a shape for a blank in the corner; for this goal write the patterns out like "
            "1,2,5/3,4,6/7,8"
        ) from None
    as_published = parse_partition(published.patterns, size, cost=cost)
    patterns = tuple(
        Pattern(tuple(mapping.tile_map[tile] for tile in pattern.tiles)) for pattern in as_published.patterns
    )
    return replace(as_published, name=name, patterns=patterns)


def _automatic_partition(size: BoardSize, goal: Tiles) -> Partition:
    """Return a partition for any size: the tiles in the goal's order, in patterns as large as can be built quickly.

    Up to 8 tiles are one pattern, whose table is the exact distance.
    """
    tiles = _along_columns(goal, size)
    n_patterns = next(
        n
        for n in range(-(-len(tiles) // 8), len(tiles) + 1)
        if n * math.perm(size.n_cells, -(-len(tiles) // n)) <= _AUTOMATIC_MAX_ENTRIES
    )
    # Even sizes: 11 tiles as 6+5 rather than 8+3.
    bounds = [round(i * len(tiles) / n_patterns) for i in range(n_patterns + 1)]
    patterns = tuple(Pattern(tuple(tiles[start:stop])) for start, stop in pairwise(bounds))
    return Partition("/".join(map(str, patterns)), patterns, size)


def _along_columns(goal: Tiles, size: BoardSize) -> list[int]:
    """Return the tiles of the goal along pairs of rows, so that consecutive tiles form compact shapes."""
    order = []
    for top in range(0, size.height, 2):
        columns = range(size.width) if (top // 2) % 2 == 0 else range(size.width - 1, -1, -1)
        order += [row * size.width + c for c in columns for row in range(top, min(top + 2, size.height))]
    return [goal[cell] for cell in order if goal[cell] != BLANK]
