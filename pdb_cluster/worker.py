"""Tasks of a solve: functions that run on the workers. Each returns the work that it had no time for.

A result depends only on the arguments and that time, so a task that runs again, because its worker died, does no harm.
"""

import functools
import platform
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdb_core.errors import ClusterError, PdbError
from pdb_core.puzzle import Tiles
from pdb_query import Database, open_database
from pdb_query.table_file import LoadMode
from solver.engine.paths import search_subtrees
from solver.engine.result import SearchResult
from solver.engine.threads import Wanted
from solver.progress import Limits
from solver.solve import Solver


@dataclass(frozen=True)
class WorkerTables:
    """Tables for the workers, and how to open them.

    paths     of the files, as the worker sees them
    digests   of their headers, which hold the digests of the tables
    """

    paths: tuple[str, ...]
    digests: tuple[str, ...]
    load: LoadMode


def tables_of(databases: Sequence[Database], load: LoadMode, worker_folder: Path | None) -> WorkerTables:
    """Return the tables of the client's databases. Workers read them at the client's paths or in `worker_folder`."""
    return WorkerTables(
        paths=tuple(
            str(database.path.absolute() if worker_folder is None else worker_folder / database.path.name)
            for database in databases
        ),
        digests=tuple(database.header.digest() for database in databases),
        load=load,
    )


_lock = threading.Lock()


def solver_for(tables: WorkerTables) -> Solver:
    """Return the solver with those tables. A process opens and verifies them once and keeps the last few solvers.

    Raises `ClusterError`, which names the worker, if the tables are not those of the client.
    """
    with _lock:
        try:
            return _open(tables)
        except PdbError as error:
            raise ClusterError(f"the worker on {platform.node()} cannot search: {error}") from None


@functools.lru_cache(maxsize=4)
def _open(tables: WorkerTables) -> Solver:
    databases = []
    for path, digest in zip(tables.paths, tables.digests, strict=True):
        database = open_database(Path(path), load=tables.load)
        if database.header.digest() != digest:
            raise ClusterError(
                f"its {path} holds other tables than the client's (header digest {database.header.digest()[:12]}, not "
                f"{digest[:12]}); copy the client's file there, or name the folder of the workers that holds it"
            )
        database.verify()
        databases.append(database)
    return Solver(*databases)


def search_boards(
    boards: Sequence[Tiles], tables: WorkerTables, *, limits: Limits, seconds: float
) -> list[SearchResult | None]:
    """Search boards, in the terms of the tables, each up to `limits`. Boards not started within `seconds` give None."""
    ida_star = solver_for(tables).ida_star
    end = time.perf_counter() + seconds
    results: list[SearchResult | None] = []
    for board in boards:
        starts = not results or time.perf_counter() < end
        results.append(ida_star.search(board, limits, wanted=Wanted(keeps_rest=True)) if starts else None)
    return results


def search_paths(
    paths: Sequence[bytes], tables: WorkerTables, board: Tiles, threshold: int, *, max_nodes: int, max_seconds: float
) -> SearchResult:
    """Search the subtrees of a threshold of `board` that some paths lead to."""
    stacks = solver_for(tables).ida_star.stacks
    return search_subtrees(stacks, board, paths, threshold, max_nodes=max_nodes, max_seconds=max_seconds)
