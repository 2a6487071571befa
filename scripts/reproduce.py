"""Measure the rows of docs/results.md: published results of the 15-puzzle, and the steps from there to fewer nodes.

Builds missing tables, and solves random boards, one per thread. --write writes the rows into docs/figures.json and the
pages.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pdb_build import build_database, plan_build
from pdb_core.encoding import Encoding
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import BoardSize, blank_last, random_boards
from pdb_core.resources import available_cores
from pdb_query import open_database
from pdb_study.heuristics import heuristic_values
from scripts.figures import store
from scripts.figures.pages import write_pages
from solver import HeuristicSolver, Solver
from solver.engine.worker_pool import in_parallel

SIZE = BoardSize(4, 4)
GOAL = blank_last(SIZE)
# h needs no search, so its mean is over this many boards for each one that is solved.
H_BOARDS = 100


class Row(NamedTuple):
    """Partitions whose largest sum is the heuristic, or a heuristic without tables, and the search of a row."""

    partitions: tuple[str, ...]
    encoding: Encoding = "bytes"
    reflects: bool = True
    plain: bool = True
    heuristic: str | None = None


ROWS = {
    "Manhattan distance": Row((), heuristic="manhattan"),
    "linear conflict": Row((), heuristic="linear-conflict"),
    "5-5-5": Row(("555",), reflects=False),
    "5-5-5 and reflection": Row(("555",)),
    # Not published: which rows use the reflection. The mean of h shows it, see the page.
    "6-6-3": Row(("663",), reflects=False),
    "6-6-3 and reflection": Row(("663",)),
    "7-8": Row(("78",), reflects=False),
    "7-8 and reflection": Row(("78",)),
    "bits": Row(("78",), "bits"),
    "pruning": Row(("78",), "bits", plain=False),
    "78d": Row(("78", "78d"), "bits", plain=False),
    "78v": Row(("78", "78d", "78v"), "bits", plain=False),
    "9-6": Row(("78", "96"), "bits", plain=False),
    "78d, 9-6": Row(("78", "78d", "96"), "bits", plain=False),
}


def measure(row: Row, n_boards: int, n_threads: int, folder: Path) -> dict[str, Any]:
    """Return the columns of a row: means over random boards, of h and of nodes with their standard errors."""
    boards = random_boards(SIZE, GOAL, n_boards * H_BOARDS, seed=1).astype(np.uint8)
    solver: Solver | HeuristicSolver
    with ExitStack() as stack:
        if row.heuristic is None:
            paths = [built(name, row.encoding, folder) for name in row.partitions]
            databases = [stack.enter_context(open_database(path, load="huge")) for path in paths]
            solver = Solver(*databases, plain=row.plain, reflects=row.reflects)
            batches = [database.probe_batch(boards) for database in databases]
            h = np.max([batch.maximum if row.reflects else batch.sums[:, 0] for batch in batches], axis=0)
        else:
            solver = HeuristicSolver(SIZE, GOAL, [row.heuristic], plain=row.plain)
            h = heuristic_values(boards, SIZE, GOAL, [row.heuristic])[:, 0]
        # Without a pool, so that one thread searches a board.
        found = in_parallel(
            [tuple(board) for board in boards[:n_boards].tolist()],
            lambda board, report, _pool: solver.solve(board, report=report),
            n_threads=n_threads,
        )
        solutions = list(found)
    assert [solution.h for solution in solutions] == h[:n_boards].tolist()
    nodes = np.array([solution.generated for solution in solutions])
    h_error, nodes_error = (float(values.std(ddof=1)) / len(values) ** 0.5 for values in (h, nodes))
    return {
        "mean_h": f"{h.mean():.2f}",
        "h_error": f"{h_error:.2f}",
        "nodes": round(nodes.mean()),
        "nodes_error": round(nodes_error),
        "boards": n_boards,
    }


def built(name: str, encoding: Encoding, folder: Path) -> Path:
    """Return the table file of a partition; build it if it is missing."""
    path = folder / f"{name}-{encoding}.h5"
    if not path.exists():
        build_database(plan_build(SIZE, GOAL, parse_partition(name, SIZE, GOAL), path, encoding=encoding))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/reproduce", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"rows to measure: {'; '.join(ROWS)} (default: all)")
    parser.add_argument("--boards", type=int, default=1000, help="random boards per row, at least 2 (default: 1000)")
    parser.add_argument("--write", action="store_true", help="write the rows into docs/figures.json and the pages")
    parser.add_argument("--threads", type=int, default=available_cores(), help="by default all cores")
    parser.add_argument("--data", type=Path, default=Path("data/reproduce"), help="folder of the tables, 2.7 GB")
    options = parser.parse_args()
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}; give one of {'; '.join(ROWS)}")
    if options.boards < 2:
        parser.error(f"--boards is {options.boards}; give 2 or more")
    options.data.mkdir(parents=True, exist_ok=True)
    for name in options.rows or ROWS:
        columns = measure(ROWS[name], options.boards, options.threads, options.data)
        print(
            f"{name}: mean h {columns['mean_h']} +- {columns['h_error']}, "
            f"{columns['nodes']:,} +- {columns['nodes_error']:,} nodes, {columns['boards']:,} boards",
            flush=True,
        )
        for section in ("published", "steps") if options.write else ():
            if name in store.load()[section]["rows"]:
                store.save_rows(section, {name: columns})
    if options.write:
        write_pages()


if __name__ == "__main__":
    main()
