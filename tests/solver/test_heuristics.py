"""Every heuristic on every board of the small sizes: the value of the naive twin, and never more than the distance."""

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, BoardSize, blank_first, blank_last
from solver.heuristics import HEURISTICS, heuristic_tables, parse_heuristic
from solver.heuristics.evaluate_kernels import evaluate, evaluate_many
from tests.naive.boards_and_tables import naive_distances, naive_linear_conflict, naive_manhattan, naive_misplaced
from tests.naive.korf_taylor import naive_corner_tiles, naive_korf_taylor, naive_last_move
from tests.naive.mutual_cost import naive_pairs, naive_triples
from tests.naive.walking_distance import naive_walking_distance

NAIVE: dict[str, Callable[[Board, Board, BoardSize], int]] = {
    "misplaced": naive_misplaced,
    "manhattan": naive_manhattan,
    "corner-tiles": naive_corner_tiles,
    "last-move": naive_last_move,
    "linear-conflict": naive_linear_conflict,
    "korf-taylor": naive_korf_taylor,
    "walking-distance": naive_walking_distance,
    "pairs": naive_pairs,
    "triples": naive_triples,
}
CONSISTENT = {"misplaced", "manhattan", "last-move", "linear-conflict", "walking-distance"}
CENTRE = (1, 2, 3, 8, 0, 4, 7, 6, 5)
EDGE = (1, 2, 3, 4, 5, 6, 7, 0, 8)
CASES = {
    "3x3": (BoardSize(3, 3), blank_last(BoardSize(3, 3))),
    "3x3 centre": (BoardSize(3, 3), CENTRE),
    "3x3 edge": (BoardSize(3, 3), EDGE),
    "3x3 blank first": (BoardSize(3, 3), blank_first(BoardSize(3, 3))),
    "2x4": (BoardSize(2, 4), blank_last(BoardSize(2, 4))),
    "4x2": (BoardSize(4, 2), blank_first(BoardSize(4, 2))),
}
CASES_SLOW = {"2x5": (BoardSize(2, 5), blank_last(BoardSize(2, 5)))}
SMALL = {"2x2": (BoardSize(2, 2), blank_last(BoardSize(2, 2))), "3x2": (BoardSize(3, 2), (1, 0, 2, 3, 4, 5))}


@cache
def all_boards(size: BoardSize, goal: Board) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return every solvable board and its distance."""
    distances = naive_distances(size, goal)
    return np.array(list(distances), dtype=np.uint8), np.array(list(distances.values()))


def values_of(name: str, size: BoardSize, goal: Board, boards: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    values = np.zeros((len(boards), 1), dtype=np.uint16)
    evaluate_many(heuristic_tables((name,), size, goal), boards, values)
    return values[:, 0].astype(np.int64)


def test_every_heuristic_has_a_naive_twin() -> None:
    assert set(NAIVE) == set(HEURISTICS)


@pytest.mark.parametrize("case", [*CASES, pytest.param("2x5", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", HEURISTICS)
def test_no_heuristic_exceeds_the_distance(name: str, case: str) -> None:
    size, goal = (CASES | CASES_SLOW)[case]
    boards, distances = all_boards(size, goal)
    values = values_of(name, size, goal, boards)
    assert np.all(values <= distances)
    assert values[0] == 0
    assert np.all(values[1:] > 0)


def largest_change(name: str, size: BoardSize, goal: Board) -> int:
    """Return the largest change of h by one move: at most 1 if the heuristic is consistent."""
    boards, _distances = all_boards(size, goal)
    values, blanks = values_of(name, size, goal, boards), boards.argmin(axis=1)
    largest = 0
    for blank, neighbours in enumerate(size.neighbours):
        rows = blanks == blank
        for cell in neighbours:
            moved = boards[rows]
            moved[:, blank], moved[:, cell] = moved[:, cell], 0
            largest = max(largest, int(abs(values_of(name, size, goal, moved) - values[rows]).max()))
    return largest


@pytest.mark.parametrize(
    "case",
    [
        pytest.param("2x2", marks=pytest.mark.tiny),
        pytest.param("3x2", marks=pytest.mark.tiny),
        *CASES,
        pytest.param("2x5", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_is_as_consistent_as_documented(name: str, case: str) -> None:
    change = largest_change(name, *(SMALL | CASES | CASES_SLOW)[case])
    # On 2x2, one cycle of twelve boards, no move changes any of them by more.
    assert (change == 1) == (name in CONSISTENT or case == "2x2")


@pytest.mark.tiny
@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_is_that_of_its_naive_twin(name: str, case: str) -> None:
    size, goal = SMALL[case]
    boards, _distances = all_boards(size, goal)
    values = values_of(name, size, goal, boards)
    assert values.tolist() == [NAIVE[name](tuple(board), goal, size) for board in boards.tolist()]


@pytest.mark.tiny
def test_several_heuristics_give_the_largest() -> None:
    size, goal = SMALL["3x2"]
    boards, _distances = all_boards(size, goal)
    for names in itertools.combinations(HEURISTICS, 2):
        tables = heuristic_tables(parse_heuristic(f"max({names[0]}, {names[1]})"), size, goal)
        for board in boards[::7]:
            one, other = (values_of(name, size, goal, board[None])[0] for name in names)
            assert evaluate(tables, board) == max(one, other)


@pytest.mark.tiny
@pytest.mark.parametrize("text", ["", "euclid", "max(manhattan", "max()", "max(manhattan,)", "x" * 1000])
def test_unknown_heuristic_is_rejected(text: str) -> None:
    with pytest.raises(InputError, match="is not known; there are misplaced, manhattan"):
        parse_heuristic(text)
