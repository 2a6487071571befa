"""Patterns and partitions."""

import math

import pytest
from hypothesis import given, strategies as st

from pdb_core.errors import PartitionError
from pdb_core.pattern import named_partitions, parse_partition, partition_source
from pdb_core.puzzle import BoardSize, blank_first, blank_last, parse_goal, parse_size

pytestmark = pytest.mark.tiny
SIZES = [BoardSize(width, height) for width in range(2, 7) for height in range(2, 7)]


def tiles_of(name: str, size: str, goal: str = "blank-last") -> list[tuple[int, ...]]:
    board_size = parse_size(size)
    partition = parse_partition(name, board_size, parse_goal(goal, board_size))
    return [pattern.tiles for pattern in partition.patterns]


def test_named_partitions_are_the_published_shapes() -> None:
    assert tiles_of("663", "4x4") == [(1, 5, 6, 9, 10, 13), (7, 8, 11, 12, 14, 15), (2, 3, 4)]
    assert tiles_of("555", "4x4") == [(1, 2, 3, 4, 7), (5, 6, 9, 10, 13), (8, 11, 12, 14, 15)]
    assert tiles_of("78", "4x4") == [tuple(range(1, 9)), tuple(range(9, 16))]
    assert tiles_of("8", "3x3") == [tuple(range(1, 9))]
    assert tiles_of("6666", "5x5", "blank-first") == [
        (1, 2, 5, 6, 7, 12), (3, 4, 8, 9, 13, 14), (10, 11, 15, 16, 20, 21), (17, 18, 19, 22, 23, 24),
    ]  # fmt: skip


@pytest.mark.parametrize("name", list(named_partitions()))
def test_named_partitions_have_a_size_and_a_source(name: str) -> None:
    size = named_partitions()[name]
    partition = parse_partition(name, None)
    assert partition.size == size
    assert partition.name == name
    assert partition_source(name)
    assert partition_source(str(partition)) is None
    assert parse_partition(str(partition), size, cost=partition.cost).patterns == partition.patterns


@pytest.mark.parametrize(
    ("text", "size", "match"),
    [
        ("", "3x3", "neither a name"),
        ("664", "4x4", "neither a name"),
        ("1,2,3,4/4,5,6,7,8", "3x3", "tiles 4 are in two patterns"),
        ("1,1,2/3", "2x2", "pattern 1,1,2 names 1 twice; name each tile once"),
        ("1,2,1,2,3/4,5,6,7,8", "3x3", "pattern 1,1,2,2,3 names 1, 2 twice"),
        ("1,1,2/3", None, "names 1 twice"),
        ("12345,12346/1,2,3", "2x2", "tiles 12345, 12346 are not on the board"),
        ("1,2,3,4/5,6,7,9", "3x3", "tiles 9 are not on the board"),
        ("1,2,3,4/5,6,7", "3x3", "tiles 8 are in no pattern"),
        ("0,1,2/3", "2x2", "tiles 0 are not on the board"),
        ("1,2,3,4,5,6,7,8,9,10,11/12,13,14,15", "4x4", "has 11 tiles"),
        ("1,,2/3", "2x2", "neither a name"),
        ("1,2/3,-4", "2x2", "neither a name"),
        ("663", "5x5", "one of a 4x4 board"),
        ("1,2,3/4,5", None, "fits no square board up to 6x6; give --size"),
        ("1,99999999999/2,3", "2x2", "not on the board"),
        # Blanks before a tile must not hide its last digits: this was read as 2,1/3 once.
        ("2,   10/3", "2x2", "tiles 10 are not on the board"),
        ("2,     10/3", "2x2", "tiles 10 are not on the board"),
        ("/1,2,3", "2x2", "neither a name"),
        ("1,2,3/", "2x2", "neither a name"),
        ("1,2\u0663/3", "2x2", "neither a name"),
        ("auto", None, "auto is made for the size of a board; give --size"),
        ("automatic", "3x3", r"55554 \(5x5\); auto for any --size\) nor written out"),
    ],
)
def test_bad_partition_is_refused(text: str, size: str | None, match: str) -> None:
    with pytest.raises(PartitionError, match=match):
        parse_partition(text, None if size is None else parse_size(size))


@given(st.sampled_from(SIZES), st.data())
def test_partitions_written_out_are_read_back(size: BoardSize, data: st.DataObject) -> None:
    """In any order of the tiles, cut anywhere, with any blanks between."""
    tiles = data.draw(st.permutations(range(1, size.n_cells)))
    n_each = data.draw(st.integers(1, min(10, len(tiles) - 1)))
    blanks = data.draw(st.sampled_from(["", " ", "   ", "\t", " \n   "]))
    groups = [tiles[start : start + n_each] for start in range(0, len(tiles), n_each)]
    text = f"{blanks}/{blanks}".join(f"{blanks},{blanks}".join(map(str, group)) for group in groups)
    partition = parse_partition(text, size)
    assert [pattern.tiles for pattern in partition.patterns] == [tuple(sorted(group)) for group in groups]
    assert partition.name == str(partition) == "/".join(",".join(map(str, sorted(group))) for group in groups)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_automatic_partition_covers_every_goal(size: BoardSize) -> None:
    tiles = tuple(range(1, size.n_cells))
    # The blank on every cell: corners, edges and within.
    goals = [(*tiles[:blank], 0, *tiles[blank:]) for blank in range(size.n_cells)]
    for goal in (*goals, parse_goal("snail", size)):
        partition = parse_partition("auto", size, goal)
        assert max(pattern.n_tiles for pattern in partition.patterns) <= 8
        assert sorted(t for pattern in partition.patterns for t in pattern.tiles) == list(range(1, size.n_cells))
        assert sum(math.perm(size.n_cells, pattern.n_tiles) for pattern in partition.patterns) <= 150_000_000
        assert (len(partition.patterns) == 1) == (size.n_cells <= 9)


def test_partition_is_drawn_on_the_goal() -> None:
    size = BoardSize(4, 4)
    assert parse_partition("663", size).draw(blank_last(size)) == "A C C C\nA A B B\nA A B B\nA B B ."
    goal = blank_first(size)
    # The same shape, turned by 180 degrees with the blank.
    assert parse_partition("663", size, goal).draw(goal) == ". B B A\nB B A A\nB B A A\nC C C A"


@pytest.mark.parametrize("name", ["8", "555", "663", "78", "78d", "78v", "96", "fringe", "6666", "7773", "55554"])
def test_named_shapes_are_refused_for_a_blank_not_in_the_corner(name: str) -> None:
    size = named_partitions()[name]
    tiles = tuple(range(1, size.n_cells))
    for blank in range(size.n_cells):
        goal = (*tiles[:blank], 0, *tiles[blank:])
        if len(size.neighbours[blank]) == 2:
            assert parse_partition(name, size, goal).name == name
        else:
            with pytest.raises(PartitionError, match="shape for a blank in the corner"):
                parse_partition(name, size, goal)
