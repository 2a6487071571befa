"""Many boards at once: the same as one after another."""

import time
from typing import Any

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import BoardError, GoalError, LimitReachedError, UnsolvableError
from pdb_core.puzzle import blank_first, blank_last
from solver import Solution, Solver, replay
from solver.engine import stack
from solver.engine.search_memory import EXHAUSTED, TOO_DEEP
from tests.solving import S3, S4, database_for, node_counts, solvable_boards


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_many_boards_have_the_solutions_and_nodes_of_single_ones(n_threads: int, encoding: Encoding) -> None:
    goal = blank_first(S3)
    boards = [*solvable_boards(S3, goal, 9, 5), goal]
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        solver = Solver(database)
        many = solver.solve_many(boards, goal, n_threads=n_threads, moves=True)
        assert many.tiles is not None
        for row, board in enumerate(boards):
            alone = solver.solve(board, goal)
            assert many.lengths[row] == alone.length
            assert many.h[row] == alone.h
            assert many.generated[row] == alone.generated
            assert many.expanded[row] == alone.expanded
            tiles = many.tiles[row].tolist()
            assert tuple(tiles[: many.lengths[row]]) == alone.tiles
            assert not any(tiles[many.lengths[row] :])


def test_hard_boards_among_easy_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    boards = np.array(solvable_boards(S4, blank_last(S4), 40, 6))
    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        whole = solver.solve_many(boards, moves=True)
        # Now every board is a hard one.
        monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 500)
        for n_threads in (1, 2):
            sliced = solver.solve_many(boards, n_threads=n_threads, moves=True)
            assert (sliced.lengths == whole.lengths).all()
            assert (sliced.h == whole.h).all()
            assert sliced.tiles is not None
            for row, board in enumerate(boards.tolist()):
                replay(tuple(board), sliced.tiles[row, : sliced.lengths[row]].tolist(), blank_last(S4), S4)
            if n_threads == 1:
                assert (sliced.generated == whole.generated).all()


@pytest.mark.tiny
def test_boards_without_solution_and_bad_boards() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        found = solver.solve_many([[2, 1, 3, 4, 5, 6, 7, 8, 0], [1, 2, 3, 4, 5, 6, 7, 0, 8]])
        assert found.lengths.tolist() == [-1, 1]
        assert found.tiles is None
        assert solver.solve_many(np.empty((0, 9), dtype=np.uint8), n_threads=2).lengths.shape == (0,)
        with pytest.raises(BoardError, match="row 1"):
            solver.solve_many([[1, 2, 3, 4, 5, 6, 7, 0, 8], [1, 1, 3, 4, 5, 6, 7, 0, 8]])
        with pytest.raises(BoardError):
            solver.solve_many([[1, 2, 3]])
        with pytest.raises(ValueError, match="n_threads is 0; give 1 or more"):
            solver.solve_many([[1, 2, 3, 4, 5, 6, 7, 0, 8]], n_threads=0)
        with pytest.raises(GoalError):
            solver.solve_many([[1, 2, 3, 4, 5, 6, 7, 0, 8]], (1, 2, 3, 4, 0, 5, 6, 7, 8))


@pytest.mark.parametrize("slice_nodes", [500, 10**9])
def test_batches_have_the_solutions_of_single_boards(slice_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    goal = blank_last(S4)
    boards = [*solvable_boards(S4, goal, 30, 6), (2, 1, *goal[2:]), goal]
    boards.insert(5, boards[-2])
    reported: set[int] = set()
    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        alone = [None if board[:2] == (2, 1) else solver.solve(board) for board in boards]
        monkeypatch.setattr("solver.engine.stack._SLICE_NODES", slice_nodes)
        start = time.perf_counter()
        lists = list(solver.solve_batch(boards, report=lambda index, _: reported.add(index)))
        seconds = time.perf_counter() - start
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
        total = sum(answer.seconds for answer in found if isinstance(answer, Solution))
        assert 0 < total <= seconds
        assert (len(lists) > 1) is (slice_nodes == 500)
        assert reported <= set(range(len(boards))) - {5}
        assert bool(reported) is (slice_nodes == 500)
        assert [type(answer) for answer in next(solver.solve_batch(boards[5:6]))] == [UnsolvableError]
        assert list(solver.solve_batch([])) == []


def test_boards_before_one_that_cannot_be_searched_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    boards = solvable_boards(S3, blank_last(S3), 5, 3)
    real = stack.search_boards

    def too_deep_at_3(tables: Any, stages: Any, at: Any, counters: Any, batch: Any, *others: Any) -> int:
        assert real(tables, stages, at, counters, batch._replace(roots=batch.roots[:3]), *others) == EXHAUSTED
        return TOO_DEEP

    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        alone = [solver.solve(board).length for board in boards[:3]]
        monkeypatch.setattr(stack, "search_boards", too_deep_at_3)
        answers = solver.solve_batch(boards)
        assert [answer.length for answer in next(answers) if isinstance(answer, Solution)] == alone
        with pytest.raises(LimitReachedError, match="such boards cannot be searched"):
            next(answers)
