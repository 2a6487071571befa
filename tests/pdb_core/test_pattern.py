"""Patterns, partitions and catalogues."""

import math
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from pdb_core.errors import PartitionError
from pdb_core.pattern import Partition, catalogue, named_partitions, parse_partition, partition_source
from pdb_core.puzzle import BoardSize, blank_first, blank_last, parse_goal, parse_size

pytestmark = pytest.mark.tiny
SIZES = [BoardSize(width, height) for width in range(2, 7) for height in range(2, 7)]
S3, S4 = BoardSize(3, 3), BoardSize(4, 4)


@pytest.mark.parametrize(
    ("name", "goal", "shapes"),
    [
        ("663", "blank-last", "1,5,6,9,10,13/7,8,11,12,14,15/2,3,4"),
        ("555", "blank-last", "1,2,3,4,7/5,6,9,10,13/8,11,12,14,15"),
        ("78", "blank-last", "1,2,3,4,5,6,7,8/9,10,11,12,13,14,15"),
        ("8", "blank-last", "1,2,3,4,5,6,7,8"),
        ("6666", "blank-first", "1,2,5,6,7,12/3,4,8,9,13,14/10,11,15,16,20,21/17,18,19,22,23,24"),
    ],
)
def test_named_partitions_are_the_published_shapes(name: str, goal: str, shapes: str) -> None:
    size = named_partitions()[name]
    assert str(parse_partition(name, size, parse_goal(goal, size))) == shapes


@pytest.mark.parametrize("name", list(named_partitions()))
def test_named_partitions_have_a_size_and_a_source(name: str) -> None:
    size = named_partitions()[name]
    partition = parse_partition(name, None)
    assert (partition.name, partition.size) == (name, size)
    assert partition_source(name)
    assert partition_source(str(partition)) is None
    assert parse_partition(str(partition), size, cost=partition.cost).patterns == partition.patterns


@pytest.mark.parametrize("name", list(named_partitions()))
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


@pytest.mark.parametrize(
    ("text", "size", "match"),
    [
        ("", "3x3", "neither a name"),
        ("1,2,3,4/4,5,6,7,8", "3x3", "tiles 4 are in two patterns"),
        ("1,2,1,2,3/4,5,6,7,8", "3x3", "pattern 1,1,2,2,3 names 1, 2 twice; name each tile once"),
        ("1,1,2/3", None, "names 1 twice"),
        ("12345,12346/1,2,3", "2x2", "tiles 12345, 12346 are not on the board"),
        ("1,2,3,4/5,6,7,9", "3x3", "tiles 9 are not on the board"),
        ("1,2,3,4/5,6,7", "3x3", "tiles 8 are in no pattern"),
        ("0,1,2/3", "2x2", "tiles 0 are not on the board"),
        ("1,2,3,4,5,6,7,8,9,10,11/12,13,14,15", "4x4", "has 11 tiles"),
        ("1,2/3,-4", "2x2", "neither a name"),
        ("663", "5x5", "one of a 4x4 board"),
        ("1,2,3/4,5", None, "fits no square board up to 6x6; give --size"),
        # Blanks before a tile must not hide its last digits: this was read as 2,1/3 once.
        ("2,     10/3", "2x2", "tiles 10 are not on the board"),
        ("1,2\u0663/3", "2x2", "neither a name"),
        ("auto", None, "auto is made for the size of a board; give --size"),
        ("automatic", "3x3", r"55554 \(5x5\); auto for any --size\) nor written out"),
        ("1,2,3,4/5,6,7,8+1,2,3/5,6,7,8", "3x3", "tiles 4 are in no pattern"),
        ("1,2,3,4/5,6,7,8+", "3x3", "neither a name"),
        ("8+78", None, "4x4"),
        ("fringe+78", None, "count different moves"),
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
        partition = parse_partition("auto", size, goal)  # refuses a partition that leaves a tile out
        assert max(pattern.n_tiles for pattern in partition.patterns) <= 8
        assert sum(math.perm(size.n_cells, pattern.n_tiles) for pattern in partition.patterns) <= 150_000_000
        assert (len(partition.patterns) == 1) == (size.n_cells <= 9)


def test_partition_is_drawn_on_the_goal() -> None:
    assert parse_partition("663", S4).draw(blank_last(S4)) == "A C C C\nA A B B\nA A B B\nA B B ."
    # The same shape, turned by 180 degrees with the blank.
    goal = blank_first(S4)
    assert parse_partition("663", S4, goal).draw(goal) == ". B B A\nB B A A\nB B A A\nC C C A"


def test_catalogue_has_each_pattern_once() -> None:
    parts = ["1,2,3,4/5,6,7,8", "1,2,3,4/5,6/7,8", "1,4,7/2,3,5/6,8", "1,2/3,4,5/6,7,8"]
    found = parse_partition("+".join(parts), S3)
    assert found.is_catalogue
    assert " ".join(map(str, found.patterns)) == "1,2,3,4 5,6,7,8 5,6 7,8 1,4,7 2,3,5 6,8 1,2 3,4,5 6,7,8"
    assert found.sums == ((0, 1), (0, 2, 3), (4, 5, 6), (7, 8, 9))
    assert str(found) == found.name == "+".join(parts)
    assert parse_partition("+".join([*parts, parts[0]]), S3).sums == found.sums
    assert parse_partition("78+78d", None).size == S4


def test_catalogue_that_is_too_large_or_leaves_patterns_out_is_refused() -> None:
    parts = [parse_partition(f"{a},{b}/{','.join(str(t) for t in range(1, 9) if t not in (a, b))}", S3)
             for a in range(1, 9) for b in range(a + 1, 9)]  # fmt: skip
    with pytest.raises(PartitionError, match="28 partitions and 56 different patterns"):
        catalogue("many", parts)
    pairs = {
        frozenset(map(frozenset, zip(tiles[::2], tiles[1::2], strict=True))) for tiles in permutations(range(1, 9))
    }
    names = ["/".join(",".join(map(str, sorted(pair))) for pair in each) for each in list(pairs)[:65]]
    assert len(parse_partition("+".join(names[:64]), S3).sums) == 64
    with pytest.raises(PartitionError, match=r"65 partitions and .*; a file holds up to 64 and 52"):
        parse_partition("+".join(names), S3)
    with pytest.raises(PartitionError, match="tiles 3, 4, 5, 6, 7, 8 are in no pattern"):
        Partition("a", parts[0].patterns, S3, "additive", ((0,),))
    with pytest.raises(PartitionError, match="patterns that belong to no partition"):
        Partition("a", (*parts[0].patterns, *parts[1].patterns), S3, "additive", ((0, 1),))
