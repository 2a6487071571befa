"""Many boards at once: the same as one after another."""

import numpy as np
import pytest

from pdb_core.encoding import Encoding
from pdb_core.errors import BoardError, GoalError, UnsolvableError
from pdb_core.puzzle import blank_first, blank_last
from solver import Solution, Solver, replay
from tests.solving import S3, S4, database_for, node_counts, solvable_boards


@pytest.mark.tiny
@pytest.mark.parametrize("is_sliced", [False, True])
@pytest.mark.parametrize(("encoding", "n_threads"), [("bytes", 1), ("bits", 3)])
def test_many_boards_have_the_solutions_and_nodes_of_single_ones(
    encoding: Encoding, n_threads: int, is_sliced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = blank_first(S3)
    boards = [*solvable_boards(S3, goal, 9, 5), goal]
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        solver = Solver(database)
        single = [solver.solve(board, goal) for board in boards]
        if is_sliced:  # every board is a hard one, which the threads share
            monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 100)
        many = solver.solve_many(boards, goal, n_threads=n_threads, moves=True)
    assert many.tiles is not None
    for row, (board, alone) in enumerate(zip(boards, single, strict=True)):
        assert (many.lengths[row], many.h[row]) == (alone.length, alone.h)
        tiles = many.tiles[row].tolist()
        replay(board, tiles[: many.lengths[row]], goal, S3)
        assert not any(tiles[many.lengths[row] :])
        if n_threads == 1 or not is_sliced:
            assert tuple(tiles[: many.lengths[row]]) == alone.tiles
            assert (many.generated[row], many.expanded[row]) == (alone.generated, alone.expanded)


@pytest.mark.tiny
def test_boards_without_solution_and_bad_boards() -> None:
    near = [1, 2, 3, 4, 5, 6, 7, 0, 8]
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        found = solver.solve_many([[2, 1, 3, 4, 5, 6, 7, 8, 0], near])
        assert found.lengths.tolist() == [-1, 1]
        assert found.tiles is None
        assert solver.solve_many(np.empty((0, 9), dtype=np.uint8), n_threads=2).lengths.shape == (0,)
        with pytest.raises(BoardError, match="row 1"):
            solver.solve_many([near, [1, 1, 3, 4, 5, 6, 7, 0, 8]])
        with pytest.raises(BoardError):
            solver.solve_many([[1, 2, 3]])
        with pytest.raises(ValueError, match="n_threads is 0; give 1 or more"):
            solver.solve_many([near], n_threads=0)
        with pytest.raises(GoalError):
            solver.solve_many([near], (1, 2, 3, 4, 0, 5, 6, 7, 8))


def test_batches_have_the_solutions_of_single_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of boards that take several slices; `pdb solve` compares others."""
    goal = blank_last(S4)
    boards = [*solvable_boards(S4, goal, 30, 6), (2, 1, *goal[2:]), goal]
    boards.insert(5, boards[-2])
    reported: set[int] = set()
    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        alone = [None if board[:2] == (2, 1) else solver.solve(board) for board in boards]
        monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 500)
        lists = list(solver.solve_batch(boards, report=lambda index, _: reported.add(index)))
        found = [answer for answers in lists for answer in answers]
        for board, single, answer in zip(boards, alone, found, strict=True):
            if single is None:
                assert isinstance(answer, UnsolvableError)
                continue
            assert isinstance(answer, Solution)
            assert node_counts(answer.iterations) == node_counts(single.iterations)
            assert (answer.board, answer.length, answer.h, answer.lower_bound) == (
                board, single.length, single.h, single.lower_bound,
            )  # fmt: skip
        # Answers come, and boards are reported, as soon as a board takes more than a slice.
        assert len(lists) > 1
        assert set() < reported <= set(range(len(boards))) - {5}
        assert [type(answer) for answer in next(solver.solve_batch(boards[5:6]))] == [UnsolvableError]
        assert list(solver.solve_batch([])) == []
