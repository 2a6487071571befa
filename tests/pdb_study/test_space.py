"""State spaces by distance: they agree with a naive search, and with published counts."""

from collections import Counter

import pytest

from pdb_core.board_size import parse_size
from pdb_core.errors import InputError, MemoryLimitError
from pdb_core.puzzle import parse_goal
from pdb_study.space import explore_space
from tests import marked_rows
from tests.naive.boards_and_tables import naive_distances
from tests.solving import golden_rows

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
def test_search_equals_the_naive_one(text: str, goal_text: str) -> None:
    size = parse_size(text)
    goal = parse_goal(goal_text, size)
    distances = naive_distances(size, goal)
    counts = Counter(distances.values())
    expected = tuple(counts[distance] for distance in range(len(counts)))
    farthest = {board for board, distance in distances.items() if distance == len(counts) - 1}
    space = explore_space(size, goal, n_threads=2)
    assert space.counts == expected
    assert farthest.issuperset(space.antipodes)
    assert len(set(space.antipodes)) == min(20, len(farthest))


@pytest.mark.parametrize("row", golden_rows("spaces.csv"), ids=lambda row: f"{row['size']} {row['goal']}")
def test_counts_are_those_on_record(row: dict[str, str]) -> None:
    space = explore_space(row["size"], row["goal"], n_threads=2)
    assert list(space.counts) == [int(n) for n in row["counts"].split()]


@pytest.mark.tiny
def test_boards_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="the boards of 4x4 are too many to count; the largest sizes have 12 cells"):
        explore_space("4x4")
    monkeypatch.setattr("pdb_study.space.available_memory", lambda: 10)
    with pytest.raises(MemoryLimitError, match="the boards of 2x2 take 16 B of memory, and 10 B are available"):
        explore_space("2x2")
