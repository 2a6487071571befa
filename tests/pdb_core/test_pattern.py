"""Patterns, partitions and catalogues."""

import math

import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.errors import PartitionError
from pdb_core.pattern import NAMED_PARTITIONS, Partition, catalogue, parse_partition
from pdb_core.puzzle import parse_goal
from tests import rows
from tests.solving import S3, SIZES, goal_with_blank

pytestmark = pytest.mark.tiny


@pytest.mark.parametrize("name", list(NAMED_PARTITIONS))
def test_named_shapes_are_refused_for_a_blank_not_in_the_corner(name: str) -> None:
    size = NAMED_PARTITIONS[name].size
    for blank in range(size.n_cells):
        goal = goal_with_blank(blank, size)
        if len(size.neighbours[blank]) == 2:
            assert parse_partition(name, size, goal).name == name
        else:
            with pytest.raises(PartitionError, match="shape for a blank in the corner"):
                parse_partition(name, size, goal)


# Partition | size | a part of the message. Blanks before a tile must not hide its last digits: 2,     10/3 was read as
# 2,1/3 once.
REFUSED = """
 | 3x3 | neither a name
1,2,3,4/4,5,6,7,8 | 3x3 | tiles 4 are in two patterns
1,1,2/3 | | names 1 twice
1,2,3,4/5,6,7,9 | 3x3 | tiles 9 are not on the board
1,2,3,4/5,6,7 | 3x3 | tiles 8 are in no pattern
1,2,3,4,5,6,7,8,9,10,11/12,13,14,15 | 4x4 | has 11 tiles
663 | 5x5 | one of a 4x4 board
1,2,3/4,5 | | of a 3x3 board: tiles 6, 7, 8 are in no pattern; .* for another board give its size
1,2,3,4/4,5,6,7,8 | | tiles 4 are in two patterns
1,2/36 | | tile 36 is on no board up to 6x6
2,     10/3 | 2x2 | tiles 10 are not on the board
1,2\u0663/3 | 2x2 | neither a name
auto | | auto is made for the size of a board; give a size
1,2,3,4/5,6,7,8+ | 3x3 | neither a name
fringe+78 | | count different moves
7-9 | | neither a name
24-smal | | did you mean 24-small
"""


@pytest.mark.parametrize(("text", "size", "match"), rows(REFUSED))
def test_bad_partition_is_refused(text: str, size: str, match: str) -> None:
    with pytest.raises(PartitionError, match=match):
        parse_partition(text, parse_size(size) if size else None)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_automatic_partition_covers_every_goal(size: BoardSize) -> None:
    # The blank on every cell: corners, edges and within.
    for goal in (*(goal_with_blank(blank, size) for blank in range(size.n_cells)), parse_goal("snail", size)):
        partition = parse_partition("auto", size, goal)  # refuses a partition that leaves a tile out
        assert max(pattern.n_tiles for pattern in partition.patterns) <= 8
        assert sum(math.perm(size.n_cells, pattern.n_tiles) for pattern in partition.patterns) <= 150_000_000
        assert (len(partition.patterns) == 1) == (size.n_cells <= 9)


@pytest.mark.parametrize(
    ("name", "goal", "drawing"),
    # The last two were published for the blank in the first cell: one as it is, one turned with the blank.
    rows("""
555 | blank-last | A A A A/B B A C/B B C C/B C C .
6666 | blank-first | . A A B B/A A A B B/C C A B B/C C D D D/C C D D D
663 | blank-first | . B B A/B B A A/B B A A/C C C A
"""),
)
def test_published_shapes_are_drawn_on_the_goal(name: str, goal: str, drawing: str) -> None:
    of = parse_goal(goal, NAMED_PARTITIONS[name].size)
    assert parse_partition(name, None, of).draw(of).replace("\n", "/") == drawing


def test_catalogue_has_each_pattern_once() -> None:
    assert parse_partition("6-6-3+7-8", None) == parse_partition("663+78", None)  # names as in papers
    parts = ["1,2,3,4/5,6,7,8", "1,2,3,4/5,6/7,8", "1,4,7/2,3,5/6,8", "1,2/3,4,5/6,7,8"]
    found = parse_partition("+".join(parts), S3)
    assert found.is_catalogue
    assert " ".join(map(str, found.patterns)) == "1,2,3,4 5,6,7,8 5,6 7,8 1,4,7 2,3,5 6,8 1,2 3,4,5 6,7,8"
    assert found.sums == ((0, 1), (0, 2, 3), (4, 5, 6), (7, 8, 9))
    assert str(found) == found.name == "+".join(parts)
    assert parse_partition("+".join([*parts, parts[0]]), S3).sums == found.sums


def test_catalogue_that_is_too_large_is_refused() -> None:
    parts = [parse_partition(f"{a},{b}/{','.join(str(t) for t in range(1, 9) if t not in (a, b))}", S3)
             for a in range(1, 9) for b in range(a + 1, 9)]  # fmt: skip
    with pytest.raises(PartitionError, match="28 partitions and 56 different patterns; a file holds up to 64 and 52"):
        catalogue("many", parts)
    with pytest.raises(PartitionError, match="65 partitions and"):
        Partition("many", parts[0].patterns, S3, "additive", ((0, 1),) * 65)
