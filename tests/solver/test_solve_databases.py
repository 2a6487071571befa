"""Several databases at once: the largest of all their sums counts."""

import pytest

from pdb_core.errors import TableMismatchError
from pdb_core.puzzle import Board, blank_last
from solver import Solver
from solver.textbook import ida_star
from tests.naive import boards_and_tables as naive
from tests.solving import S3, database_for, node_counts, share, solvable_boards


@pytest.mark.tiny
def test_several_databases_prune_with_the_largest_of_their_sums() -> None:
    goal = blank_last(S3)
    names = "1,2,5/3,4,6/7,8", "1,4,7,8/2,3,5,6"
    with (
        database_for(names[0], "3x3") as first,
        database_for(names[1], "3x3", encoding="bits") as second,
    ):
        solver = Solver(first, second)
        for board in share(solvable_boards(S3, goal, 6, 15), 4):

            def h(at: Board) -> int:
                return max(first.probe(at).maximum, second.probe(at).maximum)

            expected = node_counts(ida_star(board, goal, S3, h, pruned=naive.naive_duplicates(8)).iterations)
            solution = solver.solve(board)
            assert solution.h == h(board)
            assert solution.length == expected[-1][0]
            for (threshold_found, generated, expanded), (t, most_generated, most_expanded) in zip(
                node_counts(solution.iterations[:-1]), expected, strict=False
            ):
                # The solver's FSM prunes longer duplicates too.
                assert threshold_found == t
                assert generated <= most_generated
                assert expanded <= most_expanded


@pytest.mark.tiny
def test_databases_of_other_goals_serve_the_goal_of_the_first() -> None:
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as first,
        database_for("1,2,3,4/5,6,7,8", "3x3", "blank-first", "bits") as second,
    ):
        both, alone = Solver(first, second), Solver(first)
        for board in solvable_boards(S3, blank_last(S3), 5, 16):
            assert both.solve(board).length == alone.solve(board).length
            assert both.solve(board).h >= alone.solve(board).h


@pytest.mark.tiny
def test_databases_of_another_size_are_rejected() -> None:
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as first,
        database_for("1,2,3", "2x2") as second,
        pytest.raises(TableMismatchError, match="holds tables for 2x2"),
    ):
        Solver(first, second)
