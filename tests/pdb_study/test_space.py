"""State spaces by distance: both searches agree with the naive one, with each other, and with published counts."""

from collections import Counter
from itertools import islice

import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.puzzle import Tiles, parse_goal
from pdb_study.space import StateSpace, explore_space
from tests import marked_rows
from tests.naive.boards_and_tables import naive_distances, naive_layers
from tests.solving import goal_with_blank, golden_rows

# The 15-puzzle with the blank in a corner: https://oeis.org/A089473.
FIFTEEN = (1, 2, 4, 10, 24, 54, 107, 212, 446, 946, 1948, 3938, 7808, 15544, 30821, 60842, 119000)


def layers(size: BoardSize, goal: Tiles, n_threads: int = 1) -> StateSpace:
    """Search the whole space by layers, which is done if there is a limit of depth."""
    return explore_space(size, goal, max_depth=1000, n_threads=n_threads, max_antipodes=10**6)


SPACES = """
2x2 | 1 3/0 2 | tiny
3x2 | 2 0 1/5 4 3 | tiny
2x4 | snail |
4x2 | 2 1 3 4/5 0 7 6 |
3x3 | 2 1 3/8 0 4/7 6 5 |
2x5 | blank-last | slow
5x2 | blank-last | slow
"""


@pytest.mark.parametrize(("text", "goal_text"), marked_rows(SPACES))
def test_both_searches_equal_the_naive_one(text: str, goal_text: str) -> None:
    size = parse_size(text)
    goal = parse_goal(goal_text, size)
    distances = naive_distances(size, goal)
    counts = Counter(distances.values())
    expected = tuple(counts[distance] for distance in range(len(counts)))
    farthest = tuple(sorted(board for board, distance in distances.items() if distance == len(counts) - 1))
    for space in explore_space(size, goal, n_threads=2, max_antipodes=10**6), layers(size, goal):
        assert (space.counts, space.antipodes) == (expected, farthest)
        assert (space.is_complete, space.out_of_memory) == (True, False)


@pytest.mark.parametrize("row", golden_rows("spaces.csv"), ids=lambda row: f"{row['size']} {row['goal']}")
def test_counts_are_those_on_record(row: dict[str, str]) -> None:
    space = explore_space(row["size"], row["goal"], n_threads=2, max_antipodes=0)
    assert list(space.counts) == [int(n) for n in row["counts"].split()]


def test_fifteen_puzzle_has_the_published_counts() -> None:
    space = explore_space("4x4", max_depth=len(FIFTEEN) - 1, n_threads=2)
    assert (space.counts, space.antipodes) == (FIFTEEN, ())
    assert (space.out_of_memory, space.is_complete) == (False, False)


@pytest.mark.parametrize(("text", "blank"), [("6x3", 0), ("5x4", 7), ("5x6", 7), ("6x6", 0)])
def test_large_boards_equal_the_naive_search(text: str, blank: int) -> None:
    size = parse_size(text)
    goal = goal_with_blank(blank, size)
    expected = [len(layer) for layer in islice(naive_layers(size, goal), 9)]
    assert list(explore_space(size, goal, max_depth=8).counts) == expected


def test_memory_limit_ends_the_search_with_the_counts_so_far() -> None:
    with pytest.warns(RuntimeWarning, match=r"the 10,461,394,944,000 boards of 4x4 do not fit into 200 kB"):
        space = explore_space("4x4", memory_limit_bytes=200_000, n_threads=2)
    assert (space.out_of_memory, space.is_complete) == (True, False)
    assert 5 < space.depth < len(FIFTEEN)
    assert space.counts == FIFTEEN[: space.depth + 1]


def test_memory_is_limited_to_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_study.space.available_memory", lambda: 200_000)
    with pytest.warns(RuntimeWarning, match=r"do not fit into 180 kB"):
        assert explore_space("4x4", max_depth=None).out_of_memory


@pytest.mark.tiny
def test_depth_above_the_maximum_is_the_whole_space() -> None:
    for max_depth in (6, 10):
        space = explore_space("2x2", max_depth=max_depth)
        assert (space.is_complete, space.antipodes, space.mean) == (True, ((0, 3, 2, 1),), 3)
