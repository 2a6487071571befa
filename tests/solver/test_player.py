"""A solution as an object: its boards, and its text."""

from dataclasses import asdict

import pytest

from pdb_core.puzzle import Board, blank_last
from solver import HeuristicSolver, Limits, Solution, find_suboptimal_solution

BOARD = Board("8 6 7/2 5 4/3 0 1")


@pytest.fixture(scope="module")
def solution() -> Solution:
    return HeuristicSolver("3x3").solve(BOARD)


def test_boards_of_a_solution_go_from_the_board_to_the_goal(solution: Solution) -> None:
    boards = solution.boards()
    assert (boards[0], boards[-1], len(boards)) == (BOARD, blank_last(BOARD.size), 32)
    assert all(board.size == BOARD.size for board in boards)


def test_a_solution_says_what_it_is(solution: Solution) -> None:
    assert repr(solution).startswith("Solution(31 moves, optimal; h 21, ")
    assert solution.gap == 0
    given_up = HeuristicSolver("3x3").solve(BOARD, limits=Limits(max_nodes=10))
    assert repr(given_up).startswith("Solution(no solution within the limits, at least ")
    assert (given_up.gap, given_up.boards()) == (None, ())
    assert asdict(given_up)["board"] == BOARD
    other = find_suboptimal_solution("15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0", time_limit=0.0)
    assert other.gap == other.length - other.lower_bound
