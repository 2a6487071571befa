"""Largest sizes: boards up to 32x32, tables and optimal searches up to 6x6. Larger ones are rejected."""

import numpy as np
import pytest

from pdb_core.errors import InputError
from pdb_core.pattern import Partition, Pattern, parse_partition
from pdb_core.puzzle import (
    Board,
    BoardSize,
    blank_last,
    check_table_size,
    format_board,
    is_solvable,
    random_boards,
    snail,
)
from pdb_core.ranking import PatternIndex
from pdb_study.space import explore_space
from solver.graph_search.graph_search import GraphSolver
from solver.heuristics.heuristic import heuristic_tables

LARGE = BoardSize(32, 32)
BOARD_7X7 = format_board(blank_last(BoardSize(7, 7)))
pytestmark = pytest.mark.tiny


@pytest.mark.parametrize(
    "size", [BoardSize(7, 7), BoardSize(16, 16), BoardSize(17, 16), BoardSize(2, 32), LARGE], ids=str
)
def test_random_boards_of_large_sizes_are_solvable_boards(size: BoardSize) -> None:
    boards = random_boards(size, snail(size), 3, seed=1)
    assert boards.dtype == (np.uint8 if size.n_cells <= 256 else np.uint16)
    for row in boards.tolist():
        board = Board(row, size)
        assert is_solvable(board, snail(size), size)
        assert Board(format_board(board, size)).size == size
        assert Board(format_board(board, size)) == board
        assert not is_solvable((*board[:-2], *board[:-3:-1]), snail(size), size) or 0 in board[-2:]


def test_random_boards_of_small_sizes_stay_the_same_for_a_seed() -> None:
    size = BoardSize(4, 4)
    assert random_boards(size, blank_last(size), 2, seed=1).tolist() == [
        [1, 12, 7, 10, 14, 4, 5, 8, 0, 9, 2, 13, 11, 6, 3, 15],
        [0, 7, 13, 1, 3, 6, 11, 12, 9, 8, 10, 4, 5, 14, 15, 2],
    ]


def test_tables_of_large_boards_are_refused() -> None:
    size = BoardSize(7, 6)
    refusals = [
        lambda: check_table_size(size),
        lambda: Partition("1", (Pattern((1,)),), size),
        lambda: parse_partition("auto", size),
        lambda: PatternIndex(size, 2),
        lambda: GraphSolver(size, blank_last(size)),
        lambda: heuristic_tables(("manhattan",), size, blank_last(size)),
    ]
    for refusal in refusals:
        with pytest.raises(InputError, match=r"go to boards of 6x6, this board is 7x6; pdb approximate"):
            refusal()
    with pytest.raises(InputError, match=r"go to boards of 6x6, this board is 7x6; all boards are counted up to"):
        explore_space(size, blank_last(size))
