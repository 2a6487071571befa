"""Solutions with databases: optimal, replayed, for any goal."""

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import BoardError, GoalError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import Board, BoardSize, blank_last, parse_goal, parse_size
from solver import Solver, replay
from tests.naive import boards_and_tables as naive
from tests.solving import S3, database_for, share, solvable_boards


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("partition", "size", "goal"),
    [
        ("1,2,3", "2x2", "blank-last"),
        ("1,2/3", "2x2", "blank-first"),
        ("1,2,3/4,5", "2x3", "blank-last"),
        ("1,2,3,4,5", "3x2", "snail"),
    ],
)
def test_every_board_of_small_sizes_is_solved_in_its_distance(
    partition: str, size: str, goal: str, encoding: Encoding
) -> None:
    board_size = parse_size(size)
    goal_board = parse_goal(goal, board_size)
    with database_for(partition, size, goal, encoding) as database:
        solver = Solver(database)
        for board, distance in share(naive.naive_distances(board_size, goal_board).items(), 4):
            solution = solver.solve(board)
            assert solution.length == distance
            assert solution.is_optimal
            assert solution.lower_bound == distance
            assert solution.h <= distance


@pytest.mark.parametrize("partition", ["8", "1,2,5/3,4,6/7,8", "1,2,3,4/5,6,7,8"])
def test_8_puzzles_are_solved_in_their_distance(partition: str) -> None:
    goal = blank_last(S3)
    distances = naive.naive_distances(S3, goal)
    with database_for(partition, "3x3") as database:
        solver = Solver(database)
        for board in solvable_boards(S3, goal, 1000, 1):
            assert solver.solve(board).length == distances[board]
        for board in [board for board, distance in distances.items() if distance >= 30]:
            assert solver.solve(board).length == distances[board]


@pytest.mark.parametrize(
    "goal",
    ["1 2 3 8 0 4 7 6 5", "1 2 3 4 5 6 7 0 8", "blank-first", "1 2 0 4 5 3 7 8 6"],
    ids=["centre", "edge", "first", "upper right"],
)
def test_any_goal_can_be_built_for_and_solved(goal: str) -> None:
    goal_board = parse_goal(goal, S3)
    distances = naive.naive_distances(S3, goal_board)
    with database_for("1,2,5,6/3,4,7,8", "3x3", goal) as database:
        solver = Solver(database)
        for board in solvable_boards(S3, goal_board, 300, 2):
            assert solver.solve(board).length == distances[board]


@pytest.mark.parametrize("goal", ["blank-first", "1 2 0 4 5 3 7 8 6", "3 2 1 6 5 4 0 8 7"])
def test_one_table_serves_goals_with_the_blank_in_another_corner(goal: str) -> None:
    goal_board = parse_goal(goal, S3)
    distances = naive.naive_distances(S3, goal_board)
    with database_for("8", "3x3") as database:
        solver = Solver(database)
        for board in solvable_boards(S3, goal_board, 300, 3):
            solution = solver.solve(board, goal_board)
            assert solution.length == distances[board]
            assert replay(board, solution.tiles or (), goal_board, S3)[-1] == goal_board


@pytest.mark.parametrize("size", ["2x4", "4x2", "2x5", "3x4", "4x3", "5x3", "2x6"])
def test_rectangles_are_solved_like_by_naive_search(size: str) -> None:
    """Boards a short walk from the goal, by the automatic partition; the naive twin searches from both ends."""
    board_size = parse_size(size)
    goal = blank_last(board_size)
    generator = np.random.default_rng(5)
    with database_for("auto", size) as database:
        solver = Solver(database)
        for _ in range(12):
            board = walk(goal, board_size, 18, generator)
            assert solver.solve(board).length == naive.naive_solution_length(board, goal, board_size)


def walk(board: Board, size: BoardSize, n_moves: int, generator: np.random.Generator) -> Board:
    cells = list(board)
    for _ in range(n_moves):
        blank = cells.index(0)
        cell = int(generator.choice(size.neighbours[blank]))
        cells[blank], cells[cell] = cells[cell], 0
    return tuple(cells)


@pytest.mark.tiny
def test_solved_board_needs_no_move() -> None:
    with database_for("8", "3x3") as database:
        solution = Solver(database).solve(blank_last(S3))
    assert (solution.length, solution.tiles, solution.generated, solution.is_optimal) == (0, (), 0, True)


@pytest.mark.tiny
def test_unsolvable_and_invalid_boards_are_rejected() -> None:
    with database_for("8", "3x3") as database:
        solver = Solver(database)
        with pytest.raises(UnsolvableError, match="odd"):
            solver.solve((2, 1, 3, 4, 5, 6, 7, 8, 0))
        with pytest.raises(BoardError):
            solver.solve((1, 2, 3))
        with pytest.raises(GoalError):
            solver.solve(blank_last(S3), (1, 2, 3, 8, 0, 4, 7, 6, 5))


# Replays


@pytest.mark.tiny
def test_replay_gives_every_board() -> None:
    boards = replay((1, 2, 3, 4, 5, 6, 0, 7, 8), (7, 8), blank_last(S3), S3)
    assert boards == ((1, 2, 3, 4, 5, 6, 0, 7, 8), (1, 2, 3, 4, 5, 6, 7, 0, 8), (1, 2, 3, 4, 5, 6, 7, 8, 0))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("tiles", "match"), [((1,), "move 1 .* slides tile 1"), ((7,), "ends at"), ((7, 7), "ends at"), ((), "ends at")]
)
def test_replay_refuses_what_is_no_solution(tiles: tuple[int, ...], match: str) -> None:
    with pytest.raises(WrongAnswerError, match=match):
        replay((1, 2, 3, 4, 5, 6, 0, 7, 8), tiles, blank_last(S3), S3)
