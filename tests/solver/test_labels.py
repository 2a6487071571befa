"""Labels of boards: distances, optimal first moves, and distances after each move."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from pdb_core.encoding import Cost, Encoding
from pdb_core.errors import BoardError, GoalError
from pdb_core.puzzle import BoardSize, Tiles, blank_first, blank_last, parse_goal
from pdb_query import Database
from solver import Labels, Solver
from solver.engine.database_engine import CATALOGUE, SCALAR, VECTOR, WIDE, DatabaseEngine
from tests.naive.boards_and_tables import naive_distances, naive_labels, naive_moves
from tests.solving import S3, S4, database_for, share, solvable_boards

Row = tuple[int, int, list[int]]
S32, S5 = BoardSize(3, 2), BoardSize(5, 5)
FOURS = "1,2,3,4/5,6,7,8/9,10,11,12/13,14,15,16/17,18,19,20/21,22,23,24"
OTHER_FOURS = "1,2,6,7/3,4,5,8/9,10,14,15/11,12,16,17/13,18,19,20/21,22,23,24"


def rows_of(labels: Labels) -> list[Row]:
    """Return (distance, first moves, distances after moves) of each board."""
    assert labels.first_moves is not None
    assert labels.after is not None
    assert labels.distances.dtype == labels.after.dtype == np.int16
    assert labels.first_moves.dtype == np.uint8
    columns = (labels.distances.tolist(), labels.first_moves.tolist(), labels.after.tolist())
    return list(zip(*columns, strict=True))


def labels_by_solving(solver: Solver, board: Tiles, size: BoardSize) -> Row:
    """Solve a board and its neighbours, and return the labels of the board."""
    near = [after for _tile, after in naive_moves(board, size)]
    return naive_labels(board, size, {at: solver.solve(at).length or 0 for at in (board, *near)})


def near_boards(goal: Tiles, size: BoardSize, n: int, n_moves: int) -> list[Tiles]:
    """Return the ends of random walks of `n_moves` or one more from the goal."""
    random = np.random.default_rng(n_moves)
    boards = []
    for i in range(n):
        board = goal
        for _ in range(n_moves + i % 2):
            near = naive_moves(board, size)
            board = near[random.integers(len(near))][1]
        boards.append(board)
    return boards


def kind_of(solver: Solver) -> str:
    engine = solver.ida_star.engine
    assert isinstance(engine, DatabaseEngine)
    return engine.kind


@pytest.mark.tiny
@pytest.mark.parametrize("goal_text", ["blank-last", "blank-first", "3 0 5/1 2 4", "5 1 0/3 4 2"])
def test_labels_of_every_board(goal_text: str) -> None:
    """Also of those that cannot be solved, of the goal, and with goals whose boards a symmetry maps to the table's."""
    goal = parse_goal(goal_text, S32)
    table_goal = goal_text if goal_text == "3 0 5/1 2 4" else "blank-last"
    distances = naive_distances(S32, goal)
    boards = share(itertools.permutations(range(6)), 12)
    boards.append(goal)
    with database_for("1,2/3,4,5", "3x2", table_goal, encoding="bits") as database:
        solver = Solver(database)
        found = rows_of(solver.label(boards, goal))
        assert found == [naive_labels(board, S32, distances) for board in boards]
        assert found[-1][:2] == (0, 0)
        assert set(found[-1][2]) == {1, -1}


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("kind", "partition", "table_goal", "goal_text", "encoding", "cost"),
    [
        (VECTOR, "1,2,5/3,4,6/7,8", "blank-last", "8 3 2/7 1 4/5 6 0", "bits", "additive"),
        (WIDE, "1,2,5/3,4,6/7,8", "blank-last", "blank-first", "bytes", "additive"),
        (CATALOGUE, "1,2,3,4/5,6,7,8", "blank-last", "blank-last", "bits", "every-move"),
        (WIDE, "1,2,3/4,5,6/7,8", "1 2 3/4 0 5/6 7 8", "8 7 6/5 0 4/3 2 1", "bytes", "additive"),
    ],
)
def test_labels_of_8_puzzle_boards(
    kind: str, partition: str, table_goal: str, goal_text: str, encoding: Encoding, cost: Cost
) -> None:
    goal = parse_goal(goal_text, S3)
    distances = naive_distances(S3, goal)
    unsolvable = (*goal[:1], goal[2], goal[1], *goal[3:])
    boards = share([goal, unsolvable, *solvable_boards(S3, goal, 300, 1)], 75)
    with database_for(partition, "3x3", table_goal, encoding=encoding, cost=cost) as database:
        solver = Solver(database)
        assert kind_of(solver) == kind
        for n_threads in (1, 2):
            found = rows_of(solver.label(boards, goal, n_threads=n_threads))
            assert found == [naive_labels(board, S3, distances) for board in boards]


@pytest.mark.parametrize(
    ("kind", "partitions", "encoding", "n_boards"),
    [(VECTOR, ["663"], "bits", 60), (VECTOR, ["663", "555"], "bits", 40), (WIDE, ["663"], "bytes", 20)],
)
def test_labels_of_15_puzzle_boards(kind: str, partitions: Sequence[str], encoding: Encoding, n_boards: int) -> None:
    goal = blank_last(S4)
    boards = solvable_boards(S4, goal, n_boards, 5)
    databases: list[Database] = [database_for(name, "4x4", encoding=encoding) for name in partitions]
    solver = Solver(*databases)
    assert kind_of(solver) == kind
    found = rows_of(solver.label(boards, n_threads=2))
    assert found == [labels_by_solving(solver, board, S4) for board in boards]


@pytest.mark.usefixtures("tiny_slices")
def test_threads_share_hard_boards() -> None:
    boards = solvable_boards(S4, blank_last(S4), 20, 6)
    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        expected = [labels_by_solving(solver, board, S4) for board in boards]
        for n_threads in (1, 2):
            assert rows_of(solver.label(boards, n_threads=n_threads)) == expected


@pytest.mark.parametrize(
    ("kind", "size", "partition", "encoding"),
    [
        (WIDE, S5, FOURS, "bits"),
        (CATALOGUE, S5, f"{FOURS}+{OTHER_FOURS}", "bits"),
        (SCALAR, BoardSize(6, 2), "1,2,3,4,5/6,7,8,9,10,11", "bytes"),
    ],
)
def test_labels_of_large_boards(kind: str, size: BoardSize, partition: str, encoding: Encoding) -> None:
    goal = blank_last(size)
    boards = [goal, *near_boards(goal, size, 30, 40)]
    with database_for(partition, str(size), encoding=encoding) as database:
        solver = Solver(database)
        assert kind_of(solver) == kind
        found = rows_of(solver.label(boards))
        assert found == [labels_by_solving(solver, board, size) for board in boards]


@pytest.mark.tiny
def test_search_within_does_not_undo_the_arrival() -> None:
    board, up, left = (1, 2, 3, 4, 5, 0, 7, 8, 6), 0, 1
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        found = Solver(database).ida_star.search_within([board] * 3, np.array([1, 1, -1]), np.array([up, left, left]))
        assert found.tolist() == [False, True, False]


@pytest.mark.tiny
def test_distances_alone() -> None:
    boards = [*solvable_boards(S3, blank_last(S3), 8, 2), (2, 1, 3, 4, 5, 6, 7, 8, 0)]
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        labels = solver.label(boards, moves=False)
        assert labels.distances.tolist() == solver.solve_many(boards).lengths.tolist()
        assert labels.first_moves is None
        assert labels.after is None
        nothing = solver.label(np.empty((0, 9), dtype=np.uint8), n_threads=2)
        assert rows_of(nothing) == []
        assert nothing.after is not None
        assert nothing.after.shape == (0, 4)


@pytest.mark.tiny
def test_bad_arguments_are_rejected() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        with pytest.raises(ValueError, match="n_threads is 0; give 1 or more"):
            solver.label([blank_last(S3)], n_threads=0)
        with pytest.raises(BoardError, match="row 1"):
            solver.label([blank_last(S3), (1, 1, 3, 4, 5, 6, 7, 0, 8)])
        with pytest.raises(GoalError):
            solver.label([blank_first(S3)], (1, 2, 3, 4, 0, 5, 6, 7, 8))
