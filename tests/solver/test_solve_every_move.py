"""Solving with tables in which every move counts, alone and beside additive ones."""

import pytest

from pdb_core.puzzle import blank_last, parse_size, random_boards
from pdb_query import Database, open_database
from solver import GraphSolver, Solver
from solver.engine.unit_tables import DatabaseSums
from solver.textbook import ida_star
from tests.naive import boards_and_tables as naive
from tests.solving import S3, S4, database_for, node_counts, solvable_boards
from tests.tables import table_file


def every_move(partition: str, size: str, goal: str = "blank-last") -> Database:
    return open_database(table_file(partition, size, goal, "bits", "every-move"))


@pytest.mark.parametrize(("partition", "size"), [("1,2", "2x3"), ("3/1,5", "2x3"), ("1/4", "3x2"), ("1,2,3", "2x2")])
def test_every_small_board_is_solved_in_its_length(partition: str, size: str) -> None:
    board_size = parse_size(size)
    with every_move(partition, size) as database:
        solver = Solver(database)
        for board, length in naive.naive_distances(board_size, blank_last(board_size)).items():
            assert solver.solve(board).length == length


@pytest.mark.parametrize("others", [(), ("1,2,5/3,4,6/7,8",)])
def test_boards_of_3x3_are_solved_in_their_lengths(others: tuple[str, ...]) -> None:
    goal = blank_last(S3)
    distances = naive.naive_distances(S3, goal)
    additive = [database_for(partition, "3x3", encoding="bits") for partition in others]
    with every_move("1,2,5/3,4", "3x3") as database:
        for solver in (Solver(database, *additive), Solver(*additive, database)):
            for board in solvable_boards(S3, goal, 150, seed=4):
                solution = solver.solve(board)
                assert solution.length == distances[board]
                assert solution.h == max(of.probe(board).maximum for of in (database, *additive))


def test_a_star_uses_standard_tables() -> None:
    goal = blank_last(S3)
    distances = naive.naive_distances(S3, goal)
    with (
        every_move("1,2,5/3,4", "3x3") as database,
        database_for("1,2,5/3,4,6/7,8", "3x3", encoding="bits") as additive,
    ):
        solver = GraphSolver(S3, goal, search="a-star", databases=[database, additive])
        for board in solvable_boards(S3, goal, 60, seed=4):
            solution = solver.solve(board)
            assert solution.length == distances[board]
            assert solution.h == max(database.probe(board).maximum, additive.probe(board).maximum)
            # Both are consistent: no board is reached on a shorter way later. A value that is wrong along the way would
            # show here.
            assert solution.reopened == 0


def test_nodes_are_those_of_the_textbook() -> None:
    goal = blank_last(S3)
    with every_move("1,4,7/2,3", "3x3") as database:
        solver = Solver(database, plain=True)
        for board in solvable_boards(S3, goal, 4, seed=2):
            expected = node_counts(ida_star(board, goal, S3, lambda at: database.probe(at).maximum).iterations)
            counts = node_counts(solver.solve(board).iterations)
            # The last threshold ends at the goal, whichever child is searched first.
            assert counts[:-1] == expected[:-1]
            assert counts[-1][0] == expected[-1][0]


def test_pattern_in_its_place_is_not_taken_for_the_goal() -> None:
    board = (1, 2, 3, 4, 5, 7, 10, 8, 9, 6, 11, 12, 13, 14, 15, 0)
    with every_move("1,2,3,4", "4x4") as database:
        solution = Solver(database).solve(board)
    assert solution.h == 0
    assert solution.length == naive.naive_solution_length(board, blank_last(S4), S4)


def test_reflection_of_a_symmetric_pattern_is_not_looked_up() -> None:
    """Its distances are the same through the reflection, as those of the fringe."""
    with every_move("1,2,3,4,7", "3x3") as database:
        values = database.probe_batch(random_boards(S3, blank_last(S3), 200, seed=3)).values
        assert (values[:, 0] == values[:, 1]).all()
        assert len(DatabaseSums(database.lookup_tables, database.views()).sums()) == 1
    with every_move("1,2,3", "3x3") as database:
        assert len(DatabaseSums(database.lookup_tables, database.views()).sums()) == 2
