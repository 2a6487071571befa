"""Tasks of a solve: functions that run on the workers. Each returns the work that it had no time for.

A result depends only on the arguments and that time, so a task that runs again, because its worker died, does no harm.
"""

import functools
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdb_core.errors import ClusterError, PdbError
from pdb_core.puzzle import Tiles
from pdb_query import open_database
from pdb_query.table_file import LoadMode
from solver.engine.paths import search_subtrees
from solver.engine.result import SearchResult
from solver.engine.tuning import Tuning
from solver.progress import Limits
from solver.solve import Solver


@dataclass(frozen=True)
class WorkerTables:
    """Tables for the workers, and how to open them.

    files   the path of each file, as the worker sees it, and the digest of its header, which holds those of the tables
    tuning  numbers of the solver
    """

    files: tuple[tuple[Path, str], ...]
    load: LoadMode
    tuning: Tuning


@functools.lru_cache(maxsize=4)
def solver_for(tables: WorkerTables) -> Solver:
    """Return the solver with those tables. A process verifies them when it opens them, and keeps the last few solvers.

    Raises `ClusterError`, which names the worker, if the tables are not those of the client.
    """
    databases = []
    try:
        for path, digest in tables.files:
            database = open_database(path, load=tables.load)
            found = database.header.digest()
            if found != digest:
                raise ClusterError(
                    f"its {path} holds other tables than the client's (header digest {found[:12]}, not {digest[:12]}); "
                    "copy the client's file there, or name the folder of the workers that holds it"
                )
            database.verify()
            databases.append(database)
        return Solver(*databases, tuning=tables.tuning)
    except PdbError as error:
        raise ClusterError(f"the worker on {platform.node()} cannot search: {error}") from None


def search_boards(
    boards: Sequence[Tiles], tables: WorkerTables, *, limits: Limits, seconds: float
) -> list[SearchResult]:
    """Search boards, in the terms of the tables, each up to `limits`. Return the results of those begun in time."""
    ida_star = solver_for(tables).ida_star
    end = time.perf_counter() + seconds
    results: list[SearchResult] = []
    for board in boards:
        results.append(ida_star.search(board, limits))
        if time.perf_counter() > end:
            break
    return results


def search_paths(
    paths: Sequence[bytes], tables: WorkerTables, board: Tiles, *, threshold: int, max_nodes: int, max_seconds: float
) -> SearchResult:
    """Search the subtrees of a threshold of `board` that some paths lead to."""
    stacks = solver_for(tables).ida_star.stacks
    return search_subtrees(stacks, board, paths, threshold, max_nodes=max_nodes, max_seconds=max_seconds)
