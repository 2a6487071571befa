"""Reference node counts in tests/golden, for changes that are meant to change them: state them in the commit message.

The counts of all thresholds but the last do not depend on the order in which nodes are searched.
"""

import csv
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pdb_core.board_size import BoardSize
from pdb_core.encoding import Encoding
from pdb_core.puzzle import blank_first
from pdb_query import Instance, open_database, read_instances
from solver import HeuristicSolver, Limits, Solution, Solver
from tests import ROOT
from tests.solver.test_engine_processors import SEARCHES, counts
from tests.tables import table_file

_SETS: dict[tuple[str, Encoding], tuple[str, ...]] = {
    ("78", "bits"): ("hardest80", "korf100", "worst-for-78", "classic"),
    ("78", "bytes"): ("hardest80", "korf100"),
    ("663", "bits"): ("korf100", "hardest80"),
    ("663", "bytes"): ("korf100",),
}
# The search and the limit of nodes of each heuristic on the easier of Korf's boards.
_CLASSIC = (("manhattan", "plain", 20e6), ("manhattan", "pruned", 10e6), ("linear-conflict", "pruned", 1e6))


def write_golden_counts() -> None:
    """Write nodes.csv, processors.csv and classic.csv."""
    _write("processors", ("searched_with", "length", "generated", "expanded"), _small_boards())
    _write("classic", ("heuristic", "algorithm", "id", "complete", "generated"), _without_tables())
    _write("nodes", ("set", "partition", "encoding", "id", "length", "complete", "generated"), _with_tables())


def _write(stem: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with (ROOT / "tests" / "golden" / f"{stem}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        for row in rows:
            writer.writerow(row)
            print(*row, flush=True)


def _nodes(solution: Solution) -> tuple[int, int]:
    assert solution.length is not None
    complete = sum(at.generated for at in solution.thresholds if at.threshold < solution.length)
    return complete, solution.generated


def _small_boards() -> Iterable[Sequence[Any]]:
    names = [*SEARCHES]
    _lanes, *rows = counts(len(names))
    return ([names[i * len(names) // len(rows)], *row] for i, row in enumerate(rows))


def _without_tables() -> Iterable[Sequence[Any]]:
    size = BoardSize(4, 4)
    for name, kind, n_nodes in _CLASSIC:
        solver = HeuristicSolver(size, blank_first(size), [name], plain=kind == "plain")
        for instance in read_instances("korf100"):
            # The order of the textbook is found after a search in another order, whose nodes are limited, too.
            solution = solver.solve(instance.board, limits=Limits(max_nodes=int(4 * n_nodes)))
            if solution.length is not None and solution.generated <= n_nodes:
                yield name, kind, instance.id, *_nodes(solution)


def _with_tables() -> Iterable[Sequence[Any]]:
    for (partition, encoding), sets in _SETS.items():
        path = table_file(partition, "4x4", encoding=encoding)
        with open_database(path, load="copy") as database, ThreadPoolExecutor(2) as threads:
            solver = Solver(database)

            def solve(instance: Instance, solver: Solver = solver) -> Solution:
                return solver.solve(instance.board, instance.goal or "blank-last")

            for name in sets:
                boards = [instance for instance in read_instances(name) if instance.size == database.size]
                for instance, solution in zip(boards, threads.map(solve, boards), strict=True):
                    yield name, partition, encoding, instance.id, solution.length, *_nodes(solution)
