"""Instance sets: solved in their published lengths, with the node counts on record."""

import csv

import pytest

from pdb_core.encoding import Encoding
from pdb_core.puzzle import parse_goal
from pdb_query import Instance, read_instances
from solver import Solver
from solver.engine.worker_pool import in_parallel
from tests import ROOT
from tests.solving import S3, S4, database_for

GOLDEN = ROOT / "tests" / "golden" / "nodes.csv"


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
        ("hardest80", "78", "bytes"),
        ("korf100", "78", "bytes"),
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


def test_classic_8_puzzles_are_solved_in_their_published_lengths() -> None:
    n_boards = 0
    with database_for("8", "3x3") as database:
        solver = Solver(database)
        for instance in read_instances("classic", None):
            if instance.size == S3:
                n_boards += 1
                goal = parse_goal(instance.goal or "blank-last", S3)
                assert solver.solve(instance.board, goal).length == instance.optimal_length
    assert n_boards == 4
