"""Symmetries: a group, and each keeps distances."""

import pytest

from pdb_core.board_size import BoardSize
from pdb_core.errors import GoalError
from pdb_core.puzzle import Board, blank_last
from pdb_core.symmetry import mappings_between, symmetries
from tests import rows
from tests.naive import boards_and_tables as naive
from tests.solving import CENTRE, S3, SIZES, goal_with_blank

pytestmark = pytest.mark.tiny


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_symmetries_are_those_found_by_turning_and_flipping(size: BoardSize) -> None:
    numbered = tuple(range(size.n_cells))
    images = naive.naive_turned_and_flipped(numbered, size)
    maps = list(symmetries(size).values())
    # A group: the image of a map is that of its inverse.
    assert maps[0] == numbered
    assert sorted(maps) == sorted(set(images))
    for blank in range(size.n_cells):
        goal = goal_with_blank(blank, size)
        mappings = mappings_between(goal, goal, size)
        assert len(mappings) == sum(cell_map[blank] == blank for cell_map in maps)
        assert mappings[0].cell_map == mappings[0].tile_map == numbered


@pytest.mark.parametrize(
    ("goal", "table_goal"),
    rows("""
0 1 2/3 4 5 | 1 2 3/4 5 0
4 5/1 2/0 3 | 2 1/3 4/5 0
1 2/0 3/4 5 | 1 2/3 0/4 5
1 2/0 3 | 1 2/3 0
"""),
)
def test_mapped_boards_are_as_far_from_the_other_goal(goal: str, table_goal: str) -> None:
    board, other = Board(goal), Board(table_goal)
    distances, others = (naive.naive_distances(each.size, each) for each in (board, other))
    for mapping in mappings_between(board, other, board.size):
        assert mapping.apply(board) == other
        tiles = tuple(range(1, board.size.n_cells))
        assert mapping.original_tiles(mapping.tile_map[1:]) == tiles  # also if the relabelling is not its own inverse
        assert all(others[mapping.apply(at)] == distance for at, distance in distances.items())


def test_goals_that_no_symmetry_joins_are_refused() -> None:
    with pytest.raises(GoalError, match="build a table for this size and goal"):
        mappings_between(CENTRE, blank_last(S3), S3)
