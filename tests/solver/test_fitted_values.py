"""Fitted values: their tables, the values of boards, and the solutions that they lead to."""

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from pdb_core.puzzle import BoardSize, blank_last, random_boards
from solver.large_boards.fitted_values import FITTED_SIZE, embedding, no_fitted_values
from solver.large_boards.fitted_values_kernels import FittedValues, value_change, value_of_board
from solver.large_boards.line_by_line import Pieces, in_pieces
from solver.large_boards.suboptimal import find_from_both_ends, fitted_aim

Int16s = npt.NDArray[np.int16]


def naive_value(singles: Int16s, pairs: Int16s, cells: Sequence[int], blank_piece: int) -> int:
    """Return the value of the board `cells` by all its pieces and pairs."""
    placed = [(piece, cell) for cell, piece in enumerate(cells) if piece != blank_piece]
    value = sum(int(singles[piece, cell]) for piece, cell in placed)
    return value + sum(int(pairs[p, c, d, q]) for (p, c), (q, d) in itertools.combinations(placed, 2))


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
    lengths = []
    for board in random_boards(FITTED_SIZE, goal, 4, seed=2).tolist():
        pieces = in_pieces(tuple(board), goal)
        found = find_from_both_ends(pieces, aim, 300, 500, math.inf)
        assert found is not None
        assert pieces.after(found).cells.tolist() == list(range(36))
        lengths.append(len(found))
    # Any other value of a piece or a pair leads to other lengths. Without fitted values they are 1.6 times as long.
    assert lengths == [192, 184, 177, 168]
