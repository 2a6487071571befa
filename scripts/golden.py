"""Write the node counts of the searches in tests/golden again, for changes that are meant to change them.

Give the difference in the commit message. To count other searches, first add rows with any counts. The counts of all
thresholds but the last do not depend on the order in which nodes are searched.
"""

import csv
from functools import cache

from pdb_core.puzzle import blank_first
from pdb_query import read_instances
from solver.engine.worker_pool import in_parallel
from solver.heuristics.heuristic_solver import HeuristicSolver
from tests import ROOT
from tests.solver.test_engine_processors import counts
from tests.solving import S4, golden_rows, solver_for

Row = dict[str, object]

_solver_for = cache(solver_for)
_heuristic_solver = cache(HeuristicSolver)


def counted(row: dict[str, str], _report: object, _pool: object) -> Row:
    """Return a row of nodes.csv or of classic.csv with the counts of a new search on one thread.

    With several threads, the nodes of the last threshold vary.
    """
    if "set" in row:
        name, solver = row["set"], _solver_for(row["partition"], "4x4", row["encoding"])
    else:
        is_plain = row["algorithm"] == "plain"
        name, solver = "korf100", _heuristic_solver(S4, blank_first(S4), row["heuristic"], plain=is_plain)
    instance = next(each for each in read_instances(name) if each.id == row["id"] and each.size == S4)
    found = solver.solve(instance.board, instance.goal)
    assert found.length == instance.optimal_length, instance
    complete = sum(each.generated for each in found.thresholds if each.threshold < found.length)
    new = {"length": found.length, "complete": complete, "generated": found.generated}
    return {column: new.get(column, value) for column, value in row.items()}


def write(name: str, rows: list[Row]) -> None:
    with (ROOT / "tests" / "golden" / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write processors.csv, classic.csv and nodes.csv."""
    _lanes, *found = counts()
    rows = zip(golden_rows("processors.csv"), found, strict=True)
    write("processors.csv", [{**row, "length": at[0], "generated": at[1], "expanded": at[2]} for row, at in rows])
    for name in ("classic.csv", "nodes.csv"):
        write(name, list(in_parallel(golden_rows(name), counted, n_threads=2)))


if __name__ == "__main__":
    main()
