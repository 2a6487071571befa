"""Solutions with databases: nodes of the textbook, node counts of instance sets, replays, refusals.

Their lengths: test_agreement.py.
"""

from contextlib import ExitStack

import pytest

from pdb_core.encoding import Cost, Encoding
from pdb_core.errors import BoardError, GoalError, TableMismatchError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import Tiles, blank_last, parse_goal
from pdb_query import Instance, read_instances
from solver import Solver, replay
from solver.engine.worker_pool import in_parallel
from solver.textbook import ida_star
from tests.solving import S3, S4, database_for, golden_rows, node_counts, share, solvable_boards

Table = tuple[str, str, Encoding, Cost]
SMALL: Table = ("1,2,5/3,4,6/7,8", "blank-last", "bytes", "additive")


@pytest.mark.tiny
def test_boards_goals_and_tables_that_do_not_fit_are_rejected() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database, database_for("1,2,3", "2x2") as other:
        solver = Solver(database)
        with pytest.raises(UnsolvableError, match="odd"):
            solver.solve((2, 1, 3, 4, 5, 6, 7, 8, 0))
        with pytest.raises(BoardError):
            solver.solve((1, 2, 3))
        with pytest.raises(GoalError):
            solver.solve(blank_last(S3), (1, 2, 3, 8, 0, 4, 7, 6, 5))
        with pytest.raises(TableMismatchError, match="holds tables for 2x2"):
            Solver(database, other)


@pytest.mark.tiny
@pytest.mark.parametrize(
    "tables",
    [
        [SMALL, ("1,4,7,8/2,3,5,6", "blank-last", "bits", "additive")],
        [SMALL, ("1,2,3,4/5,6,7,8", "blank-first", "bits", "additive")],
        [("1,4,7/2,3", "blank-last", "bits", "every-move")],
    ],
    ids=["two databases", "of two goals", "every move"],
)
def test_nodes_are_those_of_the_textbook_with_the_largest_sum(tables: list[Table]) -> None:
    goal = blank_last(S3)
    # In the last board, all tiles of the tables in which every move counts are on their goal cells.
    boards = [*share(solvable_boards(S3, goal, 4, 15), 4), (1, 2, 3, 4, 6, 8, 7, 5, 0)]
    with ExitStack() as stack:
        databases = [
            stack.enter_context(database_for(partition, "3x3", table_goal, encoding, cost))
            for partition, table_goal, encoding, cost in tables
        ]

        def h(at: Tiles) -> int:
            return max(database.probe(at, goal).maximum for database in databases)

        solver = Solver(*databases, plain=True)
        for board in boards:
            expected = node_counts(ida_star(board, goal, S3, h).iterations)
            solution = solver.solve(board)
            found = node_counts(solution.iterations)
            assert solution.h == h(board)
            # The last threshold ends at the goal, whichever child is searched first.
            assert found[:-1] == expected[:-1]
            assert found[-1][0] == expected[-1][0]


# Instance sets


def solve_set(name: str, partition: str, encoding: Encoding, identities: set[str]) -> dict[str, tuple[int, int]]:
    """Generated nodes of each board: of the complete thresholds, and of all. One thread per board: with several the
    last threshold varies.
    """

    def solve(instance: Instance, _report: object, _pool: object) -> tuple[str, tuple[int, int]]:
        solution = solver.solve(instance.board, parse_goal(instance.goal or "blank-last", S4))
        assert solution.length == instance.optimal_length, instance
        return instance.id, (sum(at.generated for at in solution.iterations[:-1]), solution.generated)

    with database_for(partition, "4x4", encoding=encoding) as database:
        solver = Solver(database)
        boards = [at for at in read_instances(name, None) if at.size == S4 and at.id in identities]
        return dict(in_parallel(boards, solve, n_threads=2))


def golden_counts(name: str, partition: str, encoding: Encoding) -> dict[str, tuple[int, int]]:
    rows = golden_rows("nodes.csv", set=name, partition=partition, encoding=encoding)
    return {row["id"]: (int(row["complete"]), int(row["generated"])) for row in rows}


@pytest.mark.parametrize(
    ("name", "partition", "encoding"),
    [
        ("korf100", "78", "bits"),
        ("classic", "78", "bits"),
        ("korf100", "663", "bits"),
        *(
            pytest.param(name, partition, encoding, marks=pytest.mark.slow)
            for name, partition, encoding in (
                ("hardest80", "78", "bits"),
                ("worst-for-78", "78", "bits"),
                ("hardest80", "78", "bytes"),
                ("korf100", "78", "bytes"),
                ("korf100", "663", "bytes"),
                ("hardest80", "663", "bits"),
            )
        ),
    ],
)
def test_sets_are_solved_in_their_published_lengths(name: str, partition: str, encoding: Encoding) -> None:
    """Exact to the node: any change of the search shows here."""
    expected = golden_counts(name, partition, encoding)
    assert solve_set(name, partition, encoding, set(expected)) == expected


def test_easy_boards_of_korf_take_the_nodes_on_record_with_tables_in_bytes() -> None:
    easy = {at: nodes for at, nodes in golden_counts("korf100", "663", "bytes").items() if nodes[1] < 300_000}
    assert solve_set("korf100", "663", "bytes", set(easy)) == easy != {}


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
