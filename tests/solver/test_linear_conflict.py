"""Linear conflicts: each content of a line, each move, and boards whose distance is known."""

import itertools
import random
import sys

import numpy as np
import pytest

from pdb_core.jit import borrowing_kernel
from pdb_core.puzzle import BoardSize, blank_last, random_boards, snail
from solver.heuristics import heuristic_tables, linear_conflict_kernels
from solver.heuristics.evaluate_kernels import evaluate, evaluate_many
from solver.heuristics.linear_conflict import line_costs, linear_conflict_tables
from solver.heuristics.linear_conflict_kernels import conflicts
from tests.naive.boards_and_tables import naive_linear_conflict, naive_moves

pytestmark = pytest.mark.tiny

# The inlined kernel has no wrapper for Python, so compile its function with one.
_inlined = linear_conflict_kernels.conflicts_after_move
conflicts_after_move = borrowing_kernel(getattr(_inlined, "py_func", _inlined))


@pytest.mark.parametrize("length", [2, 3, 4])
def test_line_costs_are_those_of_the_smallest_set_that_leaves_the_line(length: int) -> None:
    costs = line_costs(length)
    for places in itertools.product(range(length + 1), repeat=length):
        tiles = [place for place in places if place > 0]
        if len(set(tiles)) < len(tiles):
            continue
        n_staying = max(
            n for n in range(len(tiles) + 1) for rest in itertools.combinations(tiles, n) if list(rest) == sorted(rest)
        )
        assert costs[sum(place * (length + 1) ** i for i, place in enumerate(places))] == 2 * (len(tiles) - n_staying)


@pytest.mark.parametrize("size", [BoardSize(4, 4), BoardSize(6, 6), BoardSize(3, 5), BoardSize(6, 2)], ids=str)
def test_linear_conflict_of_random_boards_is_that_of_its_naive_twin(size: BoardSize) -> None:
    for goal in blank_last(size), snail(size):
        tables = heuristic_tables(("linear-conflict",), size, goal)
        for board in random_boards(size, goal, 30, seed=1):
            assert evaluate(tables, board) == naive_linear_conflict(tuple(board.tolist()), goal, size)


@pytest.mark.parametrize("size", [BoardSize(4, 4), BoardSize(3, 3), BoardSize(5, 4), BoardSize(2, 6)], ids=str)
def test_conflicts_after_a_move_change_as_those_of_the_whole_board(size: BoardSize) -> None:
    chance = random.Random(7)
    n_changes = 0
    for goal in blank_last(size), snail(size):
        tables = linear_conflict_tables(size, goal)
        board = goal
        for _ in range(300):
            near = chance.choice([near for _tile, near in naive_moves(board, size)])
            from_cell, to_cell = near.index(0), board.index(0)
            before, after = np.array(board, dtype=np.uint8), np.array(near, dtype=np.uint8)
            change = conflicts(tables, after) - conflicts(tables, before)
            assert conflicts_after_move(tables, before, from_cell, to_cell) == change
            assert conflicts_after_move(tables, after, from_cell, to_cell) == change
            assert conflicts_after_move(tables, after, to_cell, from_cell) == -change
            n_changes += change != 0
            board = near
    assert n_changes > 20


def test_mean_over_random_boards_is_the_mean_over_all_within_its_error() -> None:
    size, goal = BoardSize(4, 4), blank_last(BoardSize(4, 4))
    # A line of which all tiles, or all but the blank, are among 16 pieces, four of them on the line.
    means = []
    for n_own in 4, 3:
        places = [*range(1, n_own + 1), *[0] * (16 - n_own)]
        costs = [
            line_costs(4)[sum(place * 5**i for i, place in enumerate(line))]
            for line in itertools.permutations(places, 4)
        ]
        means.append(sum(map(int, costs)) / len(costs))
    # A tile is 2.5 cells from its place on average, the four in a corner 3: 16 * 2.5 - 3, the blank's, is Manhattan's.
    mean = 37 + 2 * (3 * means[0] + means[1])
    values = np.zeros((4_000, 1), dtype=np.uint16)
    evaluate_many(heuristic_tables(("linear-conflict",), size, goal), random_boards(size, goal, 4_000, seed=4), values)
    assert abs(values.mean() - mean) < 3 * values.std() / 4_000**0.5


def test_kernels_that_borrow_leave_the_counts_of_references_as_they_are() -> None:
    size, goal = BoardSize(4, 4), blank_last(BoardSize(4, 4))
    tables = heuristic_tables(("korf-taylor",), size, goal)
    boards, values = random_boards(size, goal, 5, seed=1), np.zeros((5, 1), dtype=np.uint16)
    arrays = [boards, values, tables.codes, tables.linear_conflict.parts, tables.corner_tiles.corner_cells]
    evaluate_many(tables, boards, values)
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(100):
        evaluate_many(tables, boards, values)
    assert [sys.getrefcount(array) for array in arrays] == before
