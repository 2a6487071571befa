"""Long searches end when beams find a solution of the next threshold: it is optimal."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from pdb_core.errors import TableFileDamagedError, WrongAnswerError
from solver.engine.checkpoint import Checkpoint
from solver.engine.tuning import Tuning
from solver.progress import Limits
from solver.solution import Solution
from solver.solve import Solver
from tests.solving import S4, TINY_SLICES, database_for, divided_early, node_counts, solvable_boards, solver_for

(BOARD,) = solvable_boards(S4, 1, 8)


def solver_with(beams: Callable[..., Any]) -> Solver:
    """Return a solver that searches by these beams after each threshold."""
    return solver_for("555", "4x4", "bits", Tuning(slice_nodes=300, long_nodes=0, beams=beams))


def counts_before_the_last(solution: Solution) -> list[tuple[int, int, int]]:
    return [count for count in node_counts(solution.thresholds) if count[0] != solution.length]


@pytest.mark.parametrize("nodes_per_board", [1 << 40, 1])
def test_beams_replace_the_last_threshold(nodes_per_board: int) -> None:
    """Wide ones. Counts of all solutions, and nodes to compare with the literature, need the last threshold."""
    n_replaced = 0
    with database_for("555", "4x4", encoding="bits") as database:
        alone = Solver(database, tuning=TINY_SLICES)
        tuning = Tuning(slice_nodes=300, long_nodes=1000, nodes_per_board=nodes_per_board)
        solver, plain = (Solver(database, plain=plain, tuning=tuning) for plain in (False, True))
        for board in solvable_boards(S4, 6, 8):
            whole, found = alone.solve(board), solver.solve(board)
            assert (found.length, found.lower_bound, found.optimal) == (whole.length, whole.length, True)
            assert counts_before_the_last(found) == counts_before_the_last(whole)
            n_replaced += found.thresholds[-1].threshold < whole.length
        assert (n_replaced > 2) == (nodes_per_board == 1)
        for search in (solver.solve_all, plain.solve):
            assert search(board).thresholds[-1].threshold == whole.length


def test_beams_have_a_width_and_half_of_the_time_that_is_left() -> None:
    widths_and_ends: list[tuple[int, float]] = []

    def note(*arguments: Any) -> None:
        widths_and_ends.append((arguments[3], arguments[5]))

    begin = time.perf_counter()
    solver_with(note).solve(BOARD, limits=1000)
    widths, ends = zip(*widths_and_ends, strict=True)
    # The thresholds before have 9,137, 51,004 and 279,511 nodes. A board takes 50,000 at the speed of this engine.
    assert widths[-3:] == (1, 1, 5)
    assert all(400 < end - begin < 700 for end in ends)


def test_run_that_continues_a_threshold_does_not_repeat_the_beams() -> None:
    """Runs with a short limit would never get further."""
    searched: list[int] = []

    def find_nothing(*arguments: Any) -> None:
        searched.append(arguments[4])

    tuning = replace(divided_early(5, 100_000, 1, slice_nodes=300), beams=find_nothing)
    solver, checkpoint, n_continued = solver_for("555", "4x4", "bits", tuning), Checkpoint(), 0
    for max_nodes in count(0, 10_000):
        begun = [threshold for threshold in range(100) if checkpoint.has_subtrees(threshold)]
        searched.clear()
        solution = solver.solve(BOARD, limits=Limits(max_nodes=max_nodes), checkpoint=checkpoint)
        assert not set(begun) & set(searched)
        n_continued += len(begun)
        if solution.optimal:
            break
    assert n_continued > 3


def test_solution_by_beams_that_fails_its_replay_is_no_answer() -> None:
    """One below a searched threshold proves that tables are damaged."""
    with pytest.raises(WrongAnswerError, match="not next to the blank"):
        solver_with(lambda *arguments: (1,) * arguments[4]).solve_many([BOARD])
    with pytest.raises(TableFileDamagedError):
        solver_with(lambda *arguments: (1,) * (arguments[4] - 2)).solve(BOARD)
