"""Last moves, corner tiles and both with linear conflicts: larger boards, known distances, and what each adds."""

import random

import numpy as np
import pytest

from pdb_core.puzzle import Board, BoardSize, blank_first, blank_last, parse_goal, random_boards, snail
from pdb_query import read_instances
from solver.heuristics import HEURISTICS, HeuristicTables, heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate, evaluate_many
from solver.heuristics.last_move import endings
from tests.naive.boards_and_tables import naive_moves
from tests.solver.test_heuristics import NAIVE

NAMES = ("manhattan", "corner-tiles", "last-move", "linear-conflict", "korf-taylor")
MANHATTAN, CORNER_TILES, LAST_MOVE, LINEAR_CONFLICT, KORF_TAYLOR = range(5)
FOUR, FIVE = BoardSize(4, 4), BoardSize(5, 5)
INSIDE: Board = (1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
GOALS = {"last": blank_last(FOUR), "first": blank_first(FOUR), "snail": snail(FOUR), "inside": INSIDE}


def values_of(tables: HeuristicTables, boards: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> list[list[int]]:
    values = np.zeros((len(boards), len(tables.codes)), dtype=np.uint16)
    evaluate_many(tables, boards, values)
    result: list[list[int]] = values.tolist()
    return result


@pytest.mark.tiny
def test_codes_are_in_the_order_of_the_names_here() -> None:
    assert sorted(NAMES, key=lambda name: HEURISTICS[name]) == list(NAMES)


@pytest.mark.tiny
@pytest.mark.parametrize(("cell", "n"), [(0, 4), (1, 6), (5, 6), (6, 10), (12, 12)])
def test_number_of_endings_follows_from_the_blanks_cell(cell: int, n: int) -> None:
    goal = (*range(1, cell + 1), 0, *range(cell + 1, 25))
    assert len(endings(FIVE, goal)) == n


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("name", NAMES)
def test_random_boards_have_the_value_of_the_naive_twin(name: str, goal: str) -> None:
    boards = random_boards(FOUR, GOALS[goal], 300, seed=3)
    tables = heuristic_tables((name,), FOUR, GOALS[goal])
    assert [h for (h,) in values_of(tables, boards)] == [
        NAIVE[name](tuple(board), GOALS[goal], FOUR) for board in boards.tolist()
    ]


@pytest.mark.parametrize("size", [FOUR, FIVE, BoardSize(6, 3), BoardSize(2, 6)], ids=str)
def test_no_value_exceeds_the_moves_of_a_walk_from_the_goal(size: BoardSize) -> None:
    chance = random.Random(11)
    for goal in blank_last(size), snail(size), (*range(1, size.width + 2), 0, *range(size.width + 2, size.n_cells)):
        tables = heuristic_tables(NAMES, size, goal)
        for _ in range(60):
            board, last, walk = goal, goal, []
            for _ in range(40):
                last, board = board, chance.choice([n for _, n in naive_moves(board, size) if n != last])
                walk.append(board)
            values = values_of(tables, np.array(walk, dtype=np.uint8))
            for n_moves, (before, row) in enumerate(zip([[0] * len(NAMES), *values], values, strict=False), start=1):
                assert max(row) <= n_moves
                assert all((n_moves - h) % 2 == 0 for h in row)
                for consistent in MANHATTAN, LAST_MOVE, LINEAR_CONFLICT:
                    assert abs(row[consistent] - before[consistent]) == 1


@pytest.mark.parametrize("name", ["korf100", "classic", "hardest80"])
def test_values_of_published_boards_do_not_exceed_their_lengths(name: str) -> None:
    for instance in read_instances(name, None):
        goal = parse_goal(instance.goal or "blank-last", instance.size)
        tables = heuristic_tables(NAMES, instance.size, goal)
        ((manhattan, *others),) = values_of(tables, np.array([instance.board], dtype=np.uint8))
        assert instance.optimal_length is not None
        assert manhattan <= min(others)
        assert max(others) <= instance.optimal_length
        assert others[LINEAR_CONFLICT - 1] <= others[KORF_TAYLOR - 1]


@pytest.mark.tiny
def test_each_corner_tile_that_has_to_move_adds_two_moves() -> None:
    tables = heuristic_tables(("corner-tiles",), FOUR, blank_first(FOUR))

    def added(text: str) -> int:
        board = np.array([int(tile) for tile in text.split()], dtype=np.uint8)
        return evaluate(tables, board) - evaluate(heuristic_tables(("manhattan",), FOUR, blank_first(FOUR)), board)

    assert added("0 1 2 10 4 5 6 7 8 9 3 11 12 13 14 15") == 4
    assert added("0 1 6 10 4 5 2 7 8 9 3 11 12 13 14 15") == 2
    assert added("10 1 2 0 4 5 6 7 8 9 3 11 12 13 14 15") == 0


@pytest.mark.tiny
def test_last_moves_add_four_if_no_tile_can_end_a_solution() -> None:
    tables = heuristic_tables(("last-move",), FOUR, blank_first(FOUR))
    # Tiles 1 and 4 end a solution, after 2, 5 or 8: all are on their goal cells, and none of them passes the corner.
    assert evaluate(tables, np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 12, 15], dtype=np.uint8)) == 4 + 4
