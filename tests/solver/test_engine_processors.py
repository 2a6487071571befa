"""Engine compiled for processors with shorter vectors: the node counts are the same."""

import json
import os
import platform

import pytest

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import blank_last
from solver.heuristics.heuristic_solver import HeuristicSolver
from tests import marked_rows
from tests.command_line import python
from tests.solving import S3, S4, golden_rows, solvable_boards, solver_for

# What boards are searched with: tables for vector, wide and catalogue rounds, then heuristics.
SEARCHES = {
    "1,2,5/3,4,6/7,8": S3,
    "555": S4,
    "1,2,3,4,5/6,7,8,9": BoardSize(5, 2),
    "1,2,5/3,4,6/7,8+1,4,7/2,3,5/6,8": S3,
    "manhattan": S3,
    "linear-conflict": S3,
    "corner-tiles": S3,
}
PROGRAM = "import json; from tests.solver.test_engine_processors import counts; print(json.dumps(counts()))"


def counts() -> list[list[int]]:
    """Lanes of a vector; then length, generated and expanded nodes of boards by all searches."""
    from solver.vectors.vector_kernels import LANES

    rows = [[LANES]]
    for name, size in SEARCHES.items():
        goal = blank_last(size)
        by_table = name[0].isdigit()
        solver = solver_for(name, str(size), "bits") if by_table else HeuristicSolver(size, goal, [name])
        for board in solvable_boards(size, 6, 5):
            found = solver.solve(board)
            rows.append([found.length, found.generated, found.expanded])
    return rows


# By machine: the processor that kernels are compiled for, and lanes of its vectors.
PROCESSORS = {
    "x86_64": """
        x86-64-v2 | 4 | slow
        x86-64-v3 | 8 | slow
    """,
    "aarch64": """
        generic | 4 | slow
    """,
}


@pytest.mark.parametrize(("processor", "lanes"), marked_rows(PROCESSORS.get(platform.machine(), "")))
def test_engine_for_other_processors_expands_the_same_nodes(processor: str, lanes: str) -> None:
    """They expand the same as on this machine, and as committed."""
    _, *expected = counts()  # builds the tables, too
    golden = [[int(row[at]) for at in ("length", "generated", "expanded")] for row in golden_rows("processors.csv")]
    assert expected == golden
    # Without features numba would compile for those of this machine.
    environment = {**os.environ, "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    # An emulated processor compiles slowly.
    result = python(PROGRAM, env=environment, timeout=1800)
    assert result.returncode == 0, result.stderr
    found_lanes, *rows = json.loads(result.stdout)
    assert found_lanes == [int(lanes)]
    assert rows == expected
