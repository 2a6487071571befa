"""Checks of solutions from elsewhere, against brute force on all boards of small puzzles."""

import random

import pytest

import tilepdb
from pdb_core.board_size import BoardSize
from pdb_core.moves import MovesLike, Notation
from pdb_core.puzzle import Board, blank_last
from solver.check import CheckedNotation, SolutionCheck
from solver.heuristics.heuristic_solver import HeuristicSolver
from tests.naive.boards_and_tables import naive_distances, naive_moves
from tests.solving import S3

# 2 moves from the goal, and the moves.
NEAR = Board("1 2 3/4 0 6/7 5 8")
# What is given, in which notation; then the verdict, length, first illegal move, optimum, difference, and first
# suboptimal move.
CHECKS = (
    ("5 8", "tiles", ("optimal", 2, None, 2, 0, None)),
    ("up, left", "tile-directions", ("optimal", 2, None, 2, 0, None)),
    ("DR", "tile-directions", ("goal not reached", 2, None, 2, None, 1)),
    ("U2", "blank", ("illegal", 2, 2, 2, None, 1)),
    ("", "tiles", ("goal not reached", 0, None, 2, None, None)),
    (4, "tiles", ("too long", 4, None, 2, 2, None)),
    (1, "tiles", ("too short", 1, None, 2, -1, None)),
)


def facts(check: SolutionCheck) -> tuple[str | int | None, ...]:
    """Return the verdict and the numbers, as in `CHECKS`."""
    return tuple(vars(check).values())[:6]


@pytest.mark.parametrize(("moves", "notation", "expected"), CHECKS)
def test_solution_is_checked(moves: str | int, notation: Notation, expected: tuple[str | int | None, ...]) -> None:
    assert facts(tilepdb.check_solution(NEAR, moves, notation=notation)) == expected


@pytest.mark.parametrize(
    ("moves", "notation", "read_as", "fitting", "reached", "left"),
    [
        ("5 8", "any", "tiles", None, "1 2 3/4 5 6/7 8 0", 0),
        ("DR", "any", "blank", None, "1 2 3/4 5 6/7 8 0", 0),
        ("UL", "any", "tile-directions", None, "1 2 3/4 5 6/7 8 0", 0),
        ("UL", "blank", "blank", "tile-directions", "0 1 3/4 2 6/7 5 8", 4),
        ("UR", "any", "blank", None, "1 3 0/4 2 6/7 5 8", 4),
        ([0, 2], "deepcubea", "deepcubea", None, "1 2 3/4 5 6/7 8 0", 0),
        ([3], "gym", "gym", None, "1 2 3/4 5 6/7 0 8", 1),
        ("D D", "blank", "blank", None, "1 2 3/4 5 6/7 0 8", 1),
        (2, "any", "tiles", None, "1 2 3/4 0 6/7 5 8", 2),
    ],
)
def test_notation_and_rest_of_moves(
    moves: MovesLike | int, notation: CheckedNotation, read_as: str, fitting: str | None, reached: str, left: int
) -> None:
    check = tilepdb.check_solution(NEAR, moves, notation=notation)
    assert (check.notation, check.fitting_notation, check.reached, check.moves_left) == (
        read_as, fitting, Board(reached), left,
    )  # fmt: skip


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
