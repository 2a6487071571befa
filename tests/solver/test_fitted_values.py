"""Fitted values: their tables, the values of boards, and the solutions that they lead to."""

import itertools
import math
import random

import numpy as np
import pytest

from pdb_core.puzzle import BoardSize, blank_last, random_boards
from solver.large_boards.fitted_values import FITTED_SIZE, embedding, no_fitted_values, unfold
from solver.large_boards.fitted_values_kernels import FittedValues, value_change, value_of_board
from solver.large_boards.line_by_line import Pieces, geometry, in_pieces
from solver.large_boards.lower_bound import manhattan_distance
from solver.large_boards.suboptimal import find_from_both_ends, fitted_aim
from tests.naive.fitted_values import naive_unfold, naive_value


@pytest.mark.tiny
@pytest.mark.parametrize(("side", "n_classes"), [(2, 11), (3, 200)])
def test_classes_are_unfolded_as_by_growing_them(side: int, n_classes: int) -> None:
    classes = np.arange(1, n_classes + 1, dtype=np.int16)
    values = unfold(classes, side)
    expected = naive_unfold(classes.tolist(), side)
    for pair in itertools.product(range(side * side), repeat=4):
        assert values[pair] == expected.get(pair, 0)


@pytest.mark.tiny
def test_values_of_boards_and_of_moves_equal_naive_ones() -> None:
    size = BoardSize(3, 2)
    rng, chooser = np.random.default_rng(1), random.Random(1)
    singles = rng.integers(-50, 50, (6, 6)).astype(np.int16)
    pairs = rng.integers(-50, 50, (6, 6, 6, 6)).astype(np.int16)
    # The pair p, c, q, d is the pair q, d, p, c.
    pairs = (pairs + pairs.transpose(3, 2, 1, 0)).astype(np.int16)
    pairs[range(6), :, :, range(6)] = 0
    pairs[:, range(6), range(6), :] = 0
    fitted = FittedValues(singles, np.ascontiguousarray(pairs))
    for blank_piece in range(6):
        pieces = Pieces(rng.permutation(6).astype(np.int32), blank_piece)
        for _ in range(30):
            here = pieces.blank_cell
            near = chooser.choice(size.neighbours[here])
            after = pieces.after([near])
            value = value_of_board(fitted, pieces.cells, here)
            assert value == naive_value(singles, pairs, pieces.cells.tolist(), blank_piece)
            change = value_change(fitted, pieces.cells, int(pieces.cells[near]), near, here)
            assert change == naive_value(singles, pairs, after.cells.tolist(), blank_piece) - value
            pieces = after
    assert value_of_board(no_fitted_values(), pieces.cells, pieces.blank_cell) == 0
    assert value_change(no_fitted_values(), pieces.cells, 1, 0, 1) == 0


def test_narrow_beams_find_short_solutions_of_6x6() -> None:
    goal = blank_last(FITTED_SIZE)
    aim = fitted_aim(embedding(FITTED_SIZE, range(6), range(6)))
    ratios = []
    for board in random_boards(FITTED_SIZE, goal, 4, seed=2).tolist():
        pieces = in_pieces(tuple(board), goal)
        found = find_from_both_ends(pieces, aim, 300, 500, math.inf)
        assert found is not None
        assert pieces.after(found).cells.tolist() == list(range(36))
        ratios.append(len(found) / manhattan_distance(pieces, geometry(FITTED_SIZE)))
    # The mean is 1.38, and 2.17 without fitted values.
    assert sum(ratios) / len(ratios) < 1.5
