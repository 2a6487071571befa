"""Labels of boards in chunks, which are those of `Solver.label`."""

from collections.abc import Iterable
from itertools import permutations

import numpy as np
import pytest

from pdb_core.errors import BoardError, GoalError
from pdb_core.puzzle import BoardSize, blank_last, format_board, parse_goal
from pdb_study.labels import GivenBoards, LabelledBoards, label
from solver import Solver
from tests.solving import S4, database_for

S32 = BoardSize(3, 2)
GOAL = parse_goal("5 4 3/2 1 0", S32)
BOARDS = np.array(list(permutations(range(6))), dtype=np.uint8)  # half of them cannot be solved


def joined(parts: Iterable[LabelledBoards]) -> LabelledBoards:
    """Return the labels of several arrays of boards as those of one."""
    arrays = [part.arrays() for part in parts]
    return LabelledBoards(**{name: np.concatenate([each[name] for each in arrays]) for name in arrays[0]})


def test_chunks_have_the_labels_of_the_solver() -> None:
    with database_for("1,2/3,4,5", "3x2") as database:
        solver = Solver(database)
        expected = solver.label(BOARDS, GOAL)
        chunks = list(label(GivenBoards(S32, GOAL, BOARDS), solver, chunk=100, n_threads=2))
        assert [len(chunk.boards) for chunk in chunks] == [100] * 7 + [20]
        texts = [format_board(board, S32) for board in BOARDS.tolist()]
        rest = label(texts, solver, goal=GOAL, first=700, content="distances")
        whole, last = joined(chunks), joined(rest)
    assert np.array_equal(whole.boards, BOARDS)
    assert np.array_equal(last.boards, BOARDS[700:])
    for name, array in vars(expected).items():
        assert np.array_equal(vars(whole)[name], array)
    assert list(last.arrays()) == ["boards", "distances"]
    assert np.array_equal(last.distances, expected.distances[700:])


def test_wrong_arguments_are_rejected() -> None:
    with database_for("1,2/3,4,5", "3x2") as database:
        solver = Solver(database)
        with pytest.raises(ValueError, match="chunk is 0; give 1 or more"):
            next(label([GOAL], solver, chunk=0))
        with pytest.raises(BoardError, match="shape"):
            next(label([blank_last(S4)], solver))
        with pytest.raises(GoalError):
            next(label([GOAL], solver, goal=(1, 2, 3, 4, 0, 5)))
