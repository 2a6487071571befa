"""Labels are the distances of `Solver.solve` and of a breadth-first search, of boards and of their neighbours."""

from collections.abc import Iterable
from itertools import permutations

import numpy as np
import pytest

from pdb_core.errors import BoardError, GoalError
from pdb_core.puzzle import BoardSize, Tiles, blank_last, parse_goal
from pdb_query import open_database
from pdb_study.labels import GivenBoards, LabelledBoards, RandomBoards, label
from pdb_study.labels.sources import DIRECTIONS
from solver import Solver
from tests.naive.boards_and_tables import naive_distances
from tests.solving import S3, S4, database_for
from tests.tables import table_file

S32 = BoardSize(3, 2)
# What each direction adds to the row and the column of the blank.
STEPS = {"up": (-1, 0), "left": (0, -1), "right": (0, 1), "down": (1, 0)}


def joined(parts: Iterable[LabelledBoards]) -> LabelledBoards:
    """Return the labels of several arrays of boards as those of one."""
    arrays = [part.arrays() for part in parts]
    return LabelledBoards(**{name: np.concatenate([each[name] for each in arrays]) for name in arrays[0]})


def naive_after(board: Tiles, size: BoardSize) -> list[Tiles | None]:
    """Return the boards after each move of the blank, None if there is no cell."""
    found: list[Tiles | None] = []
    blank = board.index(0)
    for name in DIRECTIONS:
        row, column = (blank // size.width + STEPS[name][0], blank % size.width + STEPS[name][1])
        if not (0 <= row < size.height and 0 <= column < size.width):
            found.append(None)
            continue
        cells, cell = list(board), row * size.width + column
        cells[blank], cells[cell] = cells[cell], 0
        found.append(tuple(cells))
    return found


def check_labels(labelled: LabelledBoards, distances: dict[Tiles, int], size: BoardSize) -> None:
    """Compare labels with the distances of all boards; those that are missing cannot be solved."""
    assert labelled.first_moves is not None
    assert labelled.after is not None
    for row, board in enumerate(map(tuple, labelled.boards.tolist())):
        distance = distances.get(board, -1)
        after = [-1 if other is None else distances.get(other, -1) for other in naive_after(board, size)]
        assert labelled.distances[row] == distance
        assert labelled.after[row].tolist() == after
        mask = sum(1 << k for k in range(4) if after[k] >= 0 and after[k] == distance - 1)
        assert labelled.first_moves[row] == mask


@pytest.mark.parametrize("goal_text", ["blank-last", "5 4 3/2 1 0"])
def test_labels_of_every_board_are_those_of_breadth_first_search(goal_text: str) -> None:
    goal = parse_goal(goal_text, S32)
    boards = np.array(list(permutations(range(6))), dtype=np.uint8)
    with open_database(table_file("1,2/3,4,5", "3x2")) as database:
        chunks = list(label(GivenBoards(S32, goal, boards), Solver(database), chunk=100))
    assert [len(chunk.boards) for chunk in chunks] == [100] * 7 + [20]
    labelled = joined(chunks)
    assert np.array_equal(labelled.boards, boards)
    check_labels(labelled, dict(naive_distances(S32, goal)), S32)


def test_labels_are_those_of_solve() -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        source = RandomBoards(S4, database.goal, 12, seed=3)
        labelled = joined(label(source, solver, chunk=5, n_threads=2))
        distances: dict[Tiles, int] = {}
        for board in map(tuple, labelled.boards.tolist()):
            for other in (board, *naive_after(board, S4)):
                if other is not None:
                    distances[other] = solver.solve(other).length or 0
    check_labels(labelled, distances, S4)


def test_arrays_contents_and_first_board() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        boards = next(RandomBoards(S3, database.goal, 30, seed=1).blocks())
        whole = joined(label(boards.tolist(), solver))
        rest = joined(label(boards, solver, first=20, chunk=3))
        assert np.array_equal(rest.distances, whole.distances[20:])
        assert np.array_equal(rest.boards, boards[20:])
        only = joined(label(boards, solver, content="distances"))
        assert list(only.arrays()) == ["boards", "distances"]
        assert np.array_equal(only.distances, whole.distances)
        goal = parse_goal("blank-first", S3)
        other = joined(label([goal, database.goal], solver, goal=goal))
        assert other.distances[0] == 0
        assert other.first_moves is not None
        assert other.first_moves[0] == 0
        assert joined(label([goal, database.goal], solver)).distances.tolist()[1] == 0


def test_wrong_arguments_are_rejected() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        with pytest.raises(ValueError, match="chunk is 0; give 1 or more"):
            next(label([blank_last(S3)], solver, chunk=0))
        with pytest.raises(ValueError, match="n_threads is 0; give 1 or more"):
            next(label([blank_last(S3)], solver, n_threads=0))
        with pytest.raises(BoardError, match="shape"):
            next(label([blank_last(S4)], solver))
        with pytest.raises(BoardError, match="integers"):
            next(label([[0.5] * 9], solver))
        with pytest.raises(BoardError, match="row 0"):
            next(label([[1] * 9], solver))
        with pytest.raises(GoalError):
            next(label([blank_last(S3)], solver, goal=(1, 2, 3, 4, 0, 5, 6, 7, 8)))


@pytest.mark.slow
def test_labels_of_5000_boards_are_those_of_solve_many() -> None:
    with database_for("78", "4x4", encoding="bits") as database:
        solver = Solver(database)
        for labelled in label(RandomBoards(S4, database.goal, 5000, seed=7), solver, n_threads=2):
            assert np.array_equal(labelled.distances, solver.solve_many(labelled.boards, n_threads=2).lengths)
