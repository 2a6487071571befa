"""What a worker does: the functions that are sent to it as tasks. Each ends within a second or two, and returns what it
had no time for, so that nothing has to be stopped from outside and no task is too large.

A worker maps its own copy of the tables and keeps what it has opened. What a task returns depends on its arguments
alone, but for where it was cut short: one that runs again, because its worker died, does no harm.
"""

import gc
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pdb_core.errors import ClusterError, PdbError
from pdb_core.jit import program_version
from pdb_core.puzzle import Board
from pdb_query import open_database
from solver.engine.search_result import SearchResult
from solver.engine.subtrees import search_subtrees
from solver.progress import Limits
from solver.solve import Solver


@dataclass(frozen=True)
class WorkerTables:
    """The tables that workers are to use, and how.

    paths     of the files, as the worker sees them
    digests   of their headers, which hold the digests of the tables: what they must be
    version   see `jit.program_version`
    """

    paths: tuple[str, ...]
    digests: tuple[str, ...]
    plain: bool
    load: Literal["map", "copy", "huge"]
    version: tuple[str, str]


# The last ones used come last. One that is dropped is unmapped as soon as no thread searches with it any more.
_opened: dict[WorkerTables, Solver] = {}
_MOST_OPENED = 4
_lock = threading.Lock()


def solver_for(tables: WorkerTables) -> Solver:
    """The solver with those tables; opened, compared with the digests and verified once in a process, or again where
    others were asked for since. What was opened of a file that has been built anew is dropped.

    Raises `ClusterError`, which names the worker.
    """
    with _lock:
        solver = _opened.pop(tables, None)
        if solver is None:
            _make_room(tables)
            try:
                solver = _open(tables)
            except PdbError as error:
                raise ClusterError(f"the worker at {_own_address()} cannot search: {error}") from None
        _opened[tables] = solver
        return solver


def _make_room(tables: WorkerTables) -> None:
    """Drop what `tables` take the place of."""
    dropped = [old for old in _opened if old.paths == tables.paths and old.digests != tables.digests]
    n_others = len(_opened) - len(dropped)
    dropped += [old for old in _opened if old not in dropped][: max(0, n_others - _MOST_OPENED + 1)]
    for old in dropped:
        del _opened[old]
    if dropped:
        gc.collect()  # a database and its cache of views know each other


def _open(tables: WorkerTables) -> Solver:
    if program_version() != tables.version:
        raise ClusterError("it runs another version of tile-pdb than the client; install the same on both")
    databases = []
    for path, digest in zip(tables.paths, tables.digests, strict=True):
        database = open_database(Path(path), load=tables.load)
        if database.header.digest() != digest:
            raise ClusterError(
                f"its {path} holds other tables than the client's (header digest {database.header.digest()[:12]}, not "
                f"{digest[:12]}); copy the client's file there, or name the folder that holds it with --worker-db"
            )
        database.verify()
        databases.append(database)
    return Solver(*databases, plain=tables.plain)


def _own_address() -> str:
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return "this process"


def search_boards(
    boards: Sequence[Board], tables: WorkerTables, *, limits: Limits, seconds: float
) -> list[SearchResult | None]:
    """Search boards, in the terms of the tables, each up to the limits; none is begun after `seconds`: None."""
    ida_star = solver_for(tables).ida_star
    end = time.perf_counter() + seconds
    results: list[SearchResult | None] = []
    for board in boards:
        begins = not results or time.perf_counter() < end
        results.append(ida_star.search(board, limits) if begins else None)
    return results


def search_part(
    paths: Sequence[bytes], tables: WorkerTables, board: Board, threshold: int, *, max_nodes: int, max_seconds: float
) -> SearchResult:
    """Search subtrees of a threshold of `board`."""
    stacks = solver_for(tables).ida_star.stacks
    return search_subtrees(stacks, board, paths, threshold, max_nodes=max_nodes, max_seconds=max_seconds)
