"""Engine compiled for processors with shorter vectors: the node counts are the same."""

import csv
import json
import os
import platform
import subprocess
import sys

import pytest

from pdb_core.puzzle import BoardSize, blank_last
from pdb_query import open_database
from solver import HeuristicSolver, Solution, Solver
from tests import ROOT
from tests.solving import S3, S4, solvable_boards
from tests.tables import table_file

# The first one has the vector stages, the last one wide rounds.
TABLES = {"1,2,5/3,4,6/7,8": S3, "555": S4, "1,2,3,4,5/6,7,8,9": BoardSize(5, 2)}
HEURISTICS = ("manhattan", "linear-conflict", "corner-tiles")
PROGRAM = "import json; from tests.solver.test_engine_processors import counts; print(json.dumps(counts({}, {})))"


def counts(n_tables: int, n_heuristics: int) -> list[list[int]]:
    """Lanes of a vector; then length, generated and expanded nodes of boards by the first tables and heuristics."""
    from solver.vectors.vector_kernels import LANES

    rows = [[LANES]]
    for partition, size in list(TABLES.items())[:n_tables]:
        with open_database(table_file(partition, str(size), encoding="bits")) as database:
            solver = Solver(database)
            for board in solvable_boards(size, blank_last(size), 6, 5):
                rows.append(figures(solver.solve(board)))
    for name in HEURISTICS[:n_heuristics]:
        heuristics = HeuristicSolver(S3, blank_last(S3), [name])
        rows += [figures(heuristics.solve(board)) for board in solvable_boards(S3, blank_last(S3), 6, 5)]
    return rows


def figures(solution: Solution) -> list[int]:
    assert solution.length is not None
    return [solution.length, solution.generated, solution.expanded]


def golden_counts() -> list[list[int]]:
    """Return what `counts` of all tables and heuristics returns on every processor, without the lanes."""
    with (ROOT / "tests" / "golden" / "processors.csv").open(encoding="utf-8") as file:
        return [[int(row[name]) for name in ("length", "generated", "expanded")] for row in csv.DictReader(file)]


# By machine: the processor that kernels are compiled for, lanes of its vectors, and how many TABLES and HEURISTICS.
PROCESSORS = {
    "x86_64": [
        ("x86-64-v2", 4, (1, 0)),
        pytest.param("x86-64-v2", 4, (3, 3), marks=pytest.mark.slow),
        pytest.param("x86-64-v3", 8, (3, 3), marks=pytest.mark.slow),
    ],
    "aarch64": [
        ("generic", 4, (1, 0)),
        pytest.param("generic", 4, (3, 3), marks=pytest.mark.slow),
    ],
}


@pytest.mark.parametrize(("processor", "lanes", "n_each"), PROCESSORS.get(platform.machine(), []))
def test_engine_for_other_processors_expands_the_same_nodes(
    processor: str, lanes: int, n_each: tuple[int, int]
) -> None:
    """The same as compiled for this machine, and as committed."""
    _, *expected = counts(*n_each)  # builds the tables, too
    assert expected == golden_counts()[: len(expected)]
    # Without features numba would compile for those of this machine.
    environment = {**os.environ, "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(*n_each)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,  # an emulated processor compiles slowly
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found_lanes, *rows = json.loads(result.stdout)
    assert found_lanes == [lanes]
    assert rows == expected
