"""Solutions with databases of each kind: optimal, replayed, for any goal; node counts of instance sets."""

import csv

import pytest

from pdb_core.encoding import Encoding
from pdb_core.errors import BoardError, GoalError, TableMismatchError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import Tiles, blank_last, parse_goal, random_boards
from pdb_query import Database, Instance, open_database, read_instances
from solver import GraphSolver, Solver, replay
from solver.engine.unit_tables import DatabaseSums
from solver.engine.worker_pool import in_parallel
from solver.textbook import ida_star
from tests import ROOT
from tests.naive import boards_and_tables as naive
from tests.solving import S3, S4, database_for, node_counts, share, solvable_boards
from tests.tables import table_file

GOLDEN = ROOT / "tests" / "golden" / "nodes.csv"


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


# Several databases


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

            def h(at: Tiles) -> int:
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


# Tables in which every move counts


def every_move(partition: str, size: str, goal: str = "blank-last") -> Database:
    return open_database(table_file(partition, size, goal, "bits", "every-move"))


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


# Instance sets


def solve_set(name: str, partition: str, encoding: Encoding) -> dict[str, tuple[int, int]]:
    """Generated nodes of each board: of the complete thresholds, and of all. One thread per board: with several the
    last threshold varies.
    """

    def solve(instance: Instance, _report: object, _pool: object) -> tuple[str, tuple[int, int]]:
        solution = solver.solve(instance.board, parse_goal(instance.goal or "blank-last", S4))
        assert solution.length == instance.optimal_length, instance
        return instance.id, (sum(at.generated for at in solution.iterations[:-1]), solution.generated)

    with database_for(partition, "4x4", encoding=encoding) as database:
        solver = Solver(database)
        boards = [instance for instance in read_instances(name, None) if instance.size == S4]
        return dict(in_parallel(boards, solve, n_threads=2))


def golden_counts(name: str, partition: str, encoding: Encoding) -> dict[str, tuple[int, int]]:
    with GOLDEN.open(encoding="utf-8") as file:
        return {
            row["id"]: (int(row["complete"]), int(row["generated"]))
            for row in csv.DictReader(file)
            if (row["set"], row["partition"], row["encoding"]) == (name, partition, encoding)
        }


@pytest.mark.parametrize(
    ("name", "partition", "encoding"),
    [
        ("hardest80", "78", "bits"),
        ("korf100", "78", "bits"),
        pytest.param("worst-for-78", "78", "bits", marks=pytest.mark.slow),
        ("classic", "78", "bits"),
        pytest.param("hardest80", "78", "bytes", marks=pytest.mark.slow),
        pytest.param("korf100", "78", "bytes", marks=pytest.mark.slow),
        ("korf100", "663", "bits"),
        ("korf100", "663", "bytes"),
        pytest.param("hardest80", "663", "bits", marks=pytest.mark.slow),
    ],
)
def test_sets_are_solved_in_their_published_lengths(name: str, partition: str, encoding: Encoding) -> None:
    """Exact to the node: any change of the search shows here."""
    expected = golden_counts(name, partition, encoding)
    assert expected
    assert solve_set(name, partition, encoding) == expected


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
