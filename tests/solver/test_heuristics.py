"""Heuristics: on every board of small sizes, on larger boards, and their tables."""

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.puzzle import Tiles, parse_goal, random_boards
from pdb_core.types import Bytes, Int64s
from solver.heuristics import HEURISTICS, heuristic, heuristic_tables, parse_heuristic
from solver.heuristics.evaluate_kernels import evaluate
from solver.heuristics.walking_distance import walking_table
from tests import rows
from tests.naive import heuristics as naive
from tests.naive.boards_and_tables import naive_distances

INCONSISTENT = {"corner-tiles", "korf-taylor", "pairs"}
# Goals of boards.
SMALL = {"2x2": "blank-last", "3x2": "1 0 2/3 4 5"}
LARGER = {"3x3": "blank-last", "3x3 centre": "1 2 3/8 0 4/7 6 5", "4x2": "blank-first", "2x5": "blank-last"}


def case_of(name: str) -> tuple[BoardSize, Tiles]:
    size = parse_size(name.split()[0])
    return size, parse_goal((SMALL | LARGER)[name], size)


@cache
def all_boards(size: BoardSize, goal: Tiles) -> tuple[Bytes, Int64s]:
    """Return every solvable board and its distance."""
    distances = naive_distances(size, goal)
    return np.array(list(distances), dtype=np.uint8), np.array(list(distances.values()))


tables_of = cache(heuristic_tables)


def values_of(name: str, size: BoardSize, goal: Tiles, boards: Bytes) -> Int64s:
    return heuristic.values_of(tables_of((name,), size, goal), boards)[:, 0]


# Values


def assert_equals_naive_twin(name: str, size: BoardSize, goal: Tiles, boards: Bytes) -> None:
    twin: Callable[[Tiles, Tiles, BoardSize], int] = getattr(naive, f"naive_{name.replace('-', '_')}")
    expected = [twin(tuple(board), goal, size) for board in boards.tolist()]
    assert values_of(name, size, goal, boards).tolist() == expected


@pytest.mark.tiny
@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_is_that_of_its_naive_twin(name: str) -> None:
    for size, goal in map(case_of, SMALL):
        assert_equals_naive_twin(name, size, goal, all_boards(size, goal)[0])


# Size | goal | how many random boards. The last row has every order of tiles in a line of 4 cells.
RANDOM = rows("""
4x4 | snail | 100
4x4 | blank-last | 50
4x4 | blank-first | 50
4x4 | 1 2 3 4/5 0 6 7/8 9 10 11/12 13 14 15 | 50
3x5 | snail | 50
6x2 | snail | 50
6x6 | snail | 50
2x4 | blank-last | 20_000
""")
# How many of the rows: some twins take long.
N_ROWS = {"pairs": 1, "walking-distance": 4, "linear-conflict": 8}


@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_of_larger_boards_is_that_of_its_naive_twin(name: str) -> None:
    for sides, goal_text, n in RANDOM[: N_ROWS.get(name, 7)]:
        size = parse_size(sides)
        goal = parse_goal(goal_text, size)
        assert_equals_naive_twin(name, size, goal, random_boards(size, goal, int(n), seed=3).astype(np.uint8))


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, marks=pytest.mark.tiny) for case in SMALL),
        *("3x3", "3x3 centre", "4x2"),
        pytest.param("2x5", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_is_admissible_and_as_consistent_as_documented(name: str, case: str) -> None:
    size, goal = case_of(case)
    boards, distances = all_boards(size, goal)
    values, blanks = values_of(name, size, goal, boards), boards.argmin(axis=1)
    assert np.all(values <= distances)
    assert values[0] == 0
    assert np.all(values[1:] > 0)
    # Those that only add to Manhattan distance change parity with each move.
    assert HEURISTICS[name].than_manhattan != "higher" or np.all((distances - values) % 2 == 0)
    largest_change = 0
    for blank, neighbours in enumerate(size.neighbours):
        rows = blanks == blank
        for cell in neighbours:
            moved = boards[rows]
            moved[:, blank], moved[:, cell] = moved[:, cell], 0
            largest_change = max(largest_change, int(abs(values_of(name, size, goal, moved) - values[rows]).max()))
    # On 2x2, one cycle of twelve boards, no move changes any of them by more.
    assert (largest_change == 1) == (name not in INCONSISTENT or case == "2x2")


@pytest.mark.tiny
def test_several_heuristics_give_the_largest() -> None:
    size, goal = case_of("3x2")
    boards, _distances = all_boards(size, goal)
    for names in itertools.combinations(HEURISTICS, 2):
        tables = heuristic_tables(parse_heuristic(f"max({names[0]}, {names[1]})"), size, goal)
        for board in boards[::7]:
            one, other = (values_of(name, size, goal, board[None])[0] for name in names)
            assert evaluate(tables, board) == max(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "n_states"), [((5, 5, 4), 65_650_495), ((6, 3, 5), 50_388_240)])
def test_largest_walking_tables_reach_every_state(case: tuple[int, int, int], n_states: int) -> None:
    distances = walking_table(*case).distances
    assert len(distances) == n_states
    assert distances.max() < 255
