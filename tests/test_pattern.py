"""Patterns and partitions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdb_core.errors import PartitionError
from pdb_core.pattern import Pattern, automatic_partition, named_partitions, parse_partition, partition_source
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


def test_named_partitions_keep_their_shape_for_other_corners() -> None:
    """For the goal turned by 180 degrees, tile t of blank-first is tile 25-t of blank-last."""
    turned = [tuple(sorted(25 - tile for tile in tiles)) for tiles in tiles_of("6666", "5x5", "blank-first")]
    assert tiles_of("6666", "5x5") == turned


@pytest.mark.parametrize("name", list(named_partitions()))
def test_named_partitions_tell_their_size_and_source(name: str) -> None:
    size = named_partitions()[name]
    partition = parse_partition(name, None)
    assert partition.size == size
    assert partition.name == name
    assert partition_source(name)
    assert parse_partition(str(partition), size).patterns == partition.patterns
    assert partition.n_entries() == sum(math.perm(size.n_cells, p.n_tiles) for p in partition.patterns)


@pytest.mark.parametrize(
    ("text", "size", "match"),
    [
        ("", "3x3", "neither a name"),
        ("664", "4x4", "neither a name"),
        ("1,2,3,4/4,5,6,7,8", "3x3", "tiles 4 are in two patterns"),
        ("1,2,3,4/5,6,7,9", "3x3", "tiles 9 are not on the board"),
        ("1,2,3,4/5,6,7", "3x3", "tiles 8 are in no pattern"),
        ("0,1,2/3", "2x2", "tiles 0 are not on the board"),
        ("1,2,3,4,5,6,7,8,9,10,11/12,13,14,15", "4x4", "has 11 tiles"),
        ("1,,2/3", "2x2", "neither a name"),
        ("1,2/3,-4", "2x2", "neither a name"),
        ("663", "5x5", "one of a 4x4 board"),
        ("1,2,3/4,5", None, "no square board; give --size"),
        ("1,99999999999/2,3", "2x2", "not on the board"),
    ],
)
def test_bad_partition_is_refused(text: str, size: str | None, match: str) -> None:
    with pytest.raises(PartitionError, match=match):
        parse_partition(text, None if size is None else parse_size(size))


@given(st.text(alphabet="0123456789,/ x", max_size=40), st.sampled_from(SIZES))
def test_any_text_is_a_partition_or_a_partition_error(text: str, size: BoardSize) -> None:
    try:
        partition = parse_partition(text, size)
    except PartitionError:
        return
    assert sorted(tile for pattern in partition.patterns for tile in pattern.tiles) == list(range(1, size.n_cells))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_automatic_partition_covers_every_goal(size: BoardSize) -> None:
    goals = [blank_last(size), blank_first(size), parse_goal("snail", size)]
    for goal in goals:
        partition = automatic_partition(size, goal)
        assert sorted(t for pattern in partition.patterns for t in pattern.tiles) == list(range(1, size.n_cells))
        assert partition.n_entries() <= 150_000_000
        assert (len(partition.patterns) == 1) == (size.n_cells <= 9)


def test_partition_is_drawn_on_the_goal() -> None:
    size = BoardSize(4, 4)
    assert parse_partition("663", size).draw(blank_last(size)) == "A C C C\nA A B B\nA A B B\nA B B ."
    goal = blank_first(size)
    # The same shape, turned by 180 degrees with the blank.
    assert parse_partition("663", size, goal).draw(goal) == ". B B A\nB B A A\nB B A A\nC C C A"


def test_pattern_without_tiles_is_refused() -> None:
    with pytest.raises(PartitionError):
        Pattern(())
