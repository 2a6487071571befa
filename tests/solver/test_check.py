"""Checks of solutions from elsewhere, against brute force on all boards of small puzzles."""

import random

import pytest

import tilepdb
from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Board, blank_last
from solver.check import CheckedNotation, SolutionCheck
from solver.heuristics.heuristic_solver import HeuristicSolver
from tests import rows
from tests.naive.boards_and_tables import naive_distances, naive_moves
from tests.solving import S3

# 2 moves from the goal, and the moves.
NEAR = Board("1 2 3/4 0 6/7 5 8")
# What is given | its notation | the verdict | length, first illegal move, optimum, difference, first suboptimal move |
# the board reached | the moves left, the notation read, and another one that fits.
CHECKS = rows("""
5 8 | any | optimal | 2 None 2 0 None | 1 2 3/4 5 6/7 8 0 | 0 tiles None
up, left | tile-directions | optimal | 2 None 2 0 None | 1 2 3/4 5 6/7 8 0 | 0 tile-directions None
DR | any | optimal | 2 None 2 0 None | 1 2 3/4 5 6/7 8 0 | 0 blank None
DR | tile-directions | goal not reached | 2 None 2 None 1 | 0 1 3/4 2 6/7 5 8 | 4 tile-directions blank
UL | any | optimal | 2 None 2 0 None | 1 2 3/4 5 6/7 8 0 | 0 tile-directions None
UR | any | goal not reached | 2 None 2 None 1 | 1 3 0/4 2 6/7 5 8 | 4 blank None
U2 | blank | illegal | 2 2 2 None 1 | 1 0 3/4 2 6/7 5 8 | 3 blank None
3 2 | any | illegal | 2 1 2 None None | 1 2 3/4 0 6/7 5 8 | 2 tiles gym
[0, 2] | deepcubea | optimal | 2 None 2 0 None | 1 2 3/4 5 6/7 8 0 | 0 deepcubea None
[3] | gym | goal not reached | 1 None 2 None None | 1 2 3/4 5 6/7 0 8 | 1 gym None
D D | blank | illegal | 2 2 2 None None | 1 2 3/4 5 6/7 0 8 | 1 blank None
 | tiles | goal not reached | 0 None 2 None None | 1 2 3/4 0 6/7 5 8 | 2 tiles None
4 | tiles | too long | 4 None 2 2 None | 1 2 3/4 0 6/7 5 8 | 2 tiles None
1 | any | too short | 1 None 2 -1 None | 1 2 3/4 0 6/7 5 8 | 2 tiles None
""")


@pytest.mark.parametrize(("moves", "notation", "verdict", "numbers", "reached", "rest"), CHECKS)
def test_solution_is_checked(
    moves: str, notation: CheckedNotation, verdict: str, numbers: str, reached: str, rest: str
) -> None:
    """A number is a mere length."""
    check = tilepdb.check_solution(NEAR, int(moves) if moves.isdecimal() else moves, notation=notation)
    assert (check.verdict, " ".join(map(str, facts(check)[1:]))) == (verdict, numbers)
    assert check.reached == Board(reached)
    assert f"{check.moves_left} {check.notation} {check.fitting_notation}" == rest


def test_letters_are_read_as_legal_moves() -> None:
    check = tilepdb.check_solution("1 2 3/4 5 6/0 7 8", "L", notation="any")
    assert (check.verdict, check.moves_left, check.notation) == ("goal not reached", 1, "tile-directions")


def facts(check: SolutionCheck) -> tuple[str | int | None, ...]:
    """Return the verdict and the numbers of moves."""
    return tuple(vars(check).values())[:6]


def test_limits_leave_open_what_they_prevent() -> None:
    solver = HeuristicSolver(4)
    board = "15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"
    check = tilepdb.check_solution(board, "2 2", solve=lambda *of: solver.solve(*of, limits=0))
    assert facts(check) == ("goal not reached", 2, None, None, None, None)
    assert check.moves_left is None
    assert tilepdb.check_solution(board, 80, solve=lambda *of: solver.solve(*of, limits=0)).verdict == "unknown"


@pytest.mark.parametrize("size", [BoardSize(2, 3), pytest.param(S3, marks=pytest.mark.slow)], ids=str)
def test_checks_agree_with_brute_force_on_all_boards(size: BoardSize) -> None:
    goal = blank_last(size)
    distances, generator = naive_distances(size, goal), random.Random(size.n_cells)
    solver = HeuristicSolver(size, goal, "linear-conflict")
    for board, optimum in distances.items():
        # Steps to the goal and others; then perhaps a move too much, or a tile that cannot move.
        at, tiles, lengths = board, list[int](), [optimum]
        carelessness = generator.choice((0, 0.1, 0.5))
        while at != goal and len(tiles) < 40:
            near = naive_moves(at, size)
            if generator.random() >= carelessness:
                near = [(tile, board) for tile, board in near if distances[board] < distances[at]]
            tile, at = generator.choice(near)
            tiles.append(tile)
            lengths.append(len(tiles) + distances[at])
        stay = [tile for tile in range(1, size.n_cells) if tile not in dict(naive_moves(at, size))]
        illegal = generator.choice((None, None, generator.choice(stay)))
        moves = tiles if illegal is None else [*tiles, illegal]
        check = tilepdb.check_solution(Board(board, size), moves, solve=solver.solve)
        first_suboptimal_move = next((number for number, length in enumerate(lengths) if length > optimum), None)
        verdict, difference = "optimal" if first_suboptimal_move is None else "too long", len(moves) - optimum
        if illegal is not None or at != goal:
            verdict, difference = "goal not reached" if illegal is None else "illegal", None
        first_illegal_move = None if illegal is None else len(moves)
        expected = verdict, len(moves), first_illegal_move, optimum, difference, first_suboptimal_move
        assert facts(check) == expected
        assert (check.reached, check.moves_left) == (at, distances[at])
