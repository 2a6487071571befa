"""A solution as an object: its boards, and its text."""

from dataclasses import asdict

from pdb_core.puzzle import Board, blank_last
from solver.approximate.suboptimal import find_suboptimal_solution
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.progress import Limits

BOARD = Board("8 6 7/2 5 4/3 0 1")


def test_a_solution_has_its_boards_and_says_what_it_is() -> None:
    solution = HeuristicSolver("3x3").solve(BOARD)
    boards = solution.boards()
    assert (boards[0], boards[-1], len(boards)) == (BOARD, blank_last(BOARD.size), 32)
    assert {board.size for board in boards} == {BOARD.size}
    assert repr(solution).startswith("Solution(31 moves, optimal; h 21, ")
    assert solution.gap == 0
    given_up = HeuristicSolver("3x3").solve(BOARD, limits=Limits(max_nodes=10))
    assert repr(given_up).startswith("Solution(no solution within the limits, at least ")
    assert (given_up.gap, given_up.boards(), asdict(given_up)["board"]) == (None, (), BOARD)
    other = find_suboptimal_solution("15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0", time_limit=0.0)
    assert other.gap == other.length - other.lower_bound
