"""Symmetries: a group, and each keeps distances."""

import pytest

from pdb_core.errors import GoalError
from pdb_core.puzzle import BoardSize, blank_first, blank_last, snail
from pdb_core.symmetry import mappings_between, symmetries
from tests.naive import boards_and_tables as naive

pytestmark = pytest.mark.tiny
S3 = BoardSize(3, 3)


@pytest.mark.parametrize(
    ("size", "n"), [(BoardSize(3, 3), 8), (BoardSize(4, 4), 8), (BoardSize(4, 3), 4), (BoardSize(2, 5), 4)], ids=str
)
def test_symmetries_form_a_group_and_keep_neighbours(size: BoardSize, n: int) -> None:
    maps = list(symmetries(size).values())
    assert len(set(maps)) == n
    assert maps[0] == tuple(range(size.n_cells))
    for first in maps:
        for second in maps:
            assert tuple(first[second[cell]] for cell in range(size.n_cells)) in maps
        for cell in range(size.n_cells):
            assert {first[near] for near in size.neighbours[cell]} == set(size.neighbours[first[cell]])


@pytest.mark.parametrize("size", [BoardSize(w, h) for w in range(2, 7) for h in range(2, 7)], ids=str)
def test_symmetries_that_fix_each_cell_are_as_many_as_naive(size: BoardSize) -> None:
    numbered = tuple(range(size.n_cells))
    images = naive.naive_turned_and_flipped(numbered, size)
    for blank in range(size.n_cells):
        others = list(range(1, size.n_cells))
        goal = (*others[:blank], 0, *others[blank:])
        mappings = mappings_between(goal, goal, size)
        assert len(mappings) == sum(image[blank] == blank for image in images)
        assert mappings[0].cell_map == mappings[0].tile_map == numbered
        is_corner = len(size.neighbours[blank]) == 2
        assert not is_corner or len(mappings) == (2 if size.width == size.height else 1)


@pytest.mark.parametrize(
    ("size", "goal", "table_goal"),
    [
        (BoardSize(3, 2), blank_first(BoardSize(3, 2)), blank_last(BoardSize(3, 2))),
        (BoardSize(2, 3), (4, 5, 1, 2, 0, 3), (2, 1, 3, 4, 5, 0)),
        (BoardSize(2, 3), (1, 2, 0, 3, 4, 5), (1, 2, 3, 0, 4, 5)),
        (BoardSize(2, 2), snail(BoardSize(2, 2)), blank_last(BoardSize(2, 2))),
        (S3, blank_first(S3), blank_last(S3)),
    ],
)
def test_mapped_boards_are_as_far_from_the_other_goal(
    size: BoardSize, goal: tuple[int, ...], table_goal: tuple[int, ...]
) -> None:
    distances, others = naive.naive_distances(size, goal), naive.naive_distances(size, table_goal)
    for mapping in mappings_between(goal, table_goal, size):
        assert mapping.apply(goal) == table_goal
        for board, distance in distances.items():
            assert others[mapping.apply(board)] == distance


def test_solutions_are_mapped_back() -> None:
    goal, table_goal = blank_first(S3), blank_last(S3)
    mapping = mappings_between(goal, table_goal, S3)[0]
    board = (1, 0, 2, 3, 4, 5, 6, 7, 8)
    moved = [tile for tile, after in naive.naive_moves(mapping.apply(board), S3) if after == table_goal]
    assert mapping.original_tiles(moved) == (1,)


def test_goals_that_no_symmetry_joins_are_refused() -> None:
    with pytest.raises(GoalError, match=r'build one with pdb build \.\.\. --size 3x3 --goal "snail"'):
        mappings_between((1, 2, 3, 8, 0, 4, 7, 6, 5), blank_last(S3), S3)
