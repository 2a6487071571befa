"""Tasks of a build: functions that run on the workers."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from distributed import Worker, get_worker

from pdb_build.frontier import Table
from pdb_build.search import PatternTable, search_pattern
from pdb_cluster.shard import Advance, Pack, Shard, ShardedPattern, ShardSize
from pdb_cluster.table_parts import Part
from pdb_core.resources import peak_memory
from pdb_core.table_spec import TableSpec

# Dask gives a worker of several threads several tasks, but a search takes all threads and most of the memory.
_searching = Lock()


class AbandonedError(Exception):
    """The task was cancelled, or the client is gone."""


@dataclass(frozen=True)
class SearchRequest:
    """Pattern that one worker is to search. `topic` is the Dask topic of its progress."""

    index: int
    spec: TableSpec
    place: Part
    topic: str


@dataclass(frozen=True)
class Builder:
    """Worker that built a table or a part of one."""

    address: str
    host: str
    n_threads: int
    peak_memory_bytes: int


@dataclass(frozen=True, eq=False)
class Found:
    """Table of a pattern. The worker keeps the entries if it could not write them."""

    table: PatternTable
    part: Part
    builder: Builder

    @property
    def entries(self) -> Table:
        """Entries of the table, for pieces that are fetched."""
        return self.table.table

    def __sizeof__(self) -> int:
        """Return the bytes with those of the entries, for Dask's limits and dashboard."""
        return object.__sizeof__(self) + self.entries.nbytes


def search(request: SearchRequest) -> Found:
    """Search a pattern with all threads of this worker. Raises `AbandonedError` soon after the task is cancelled."""
    worker = get_worker()
    is_wanted = _wanted(worker)

    def report_depth(depth: int, n_reached: int, n_states: int) -> None:
        if not is_wanted():
            raise AbandonedError(f"the search of pattern {request.spec.pattern} was cancelled")
        worker.log_event(request.topic, (request.index, depth, n_reached, n_states))

    with _searching:
        report_depth(0, 1, 1)
        table = search_pattern(request.spec, n_threads=worker.state.nthreads, progress=report_depth)
        part = request.place.write(table.table)
    return Found(table.without_entries() if part.sha256 else table, part, _builder(worker))


def describe(key: str, dask_worker: Any) -> Found:
    """Return the result of a search without its entries. Not a task, which would wait for the worker's next search."""
    found: Found = dask_worker.data[key]
    return replace(found, table=found.table.without_entries())


def lay_out(pattern: ShardedPattern, number: int) -> Shard:
    """Begin a shard, which stays on this worker."""
    return Shard(pattern, number, get_worker().state.nthreads)


def set_rounds(shard: Shard, n_rounds: int) -> ShardSize:
    """Run `Shard.set_rounds` as a task."""
    return shard.set_rounds(n_rounds)


def start(shard: Shard) -> Advance:
    """Run `Shard.start` as a task."""
    return shard.start()


def pack(shard: Shard, level: int, target: int, of_round: int) -> Pack:
    """Run `Shard.pack` as a task."""
    return shard.pack(level, target, of_round)


def advance(shard: Shard, level: int, of_round: int, packs: list[Pack]) -> Advance:
    """Run `Shard.advance` as a task."""
    return shard.advance(level, of_round, packs)


def finish(shard: Shard, level: int, is_complete: bool, place: Part) -> tuple[Part, Builder]:
    """Finish the part of the table of a shard, and write it if this worker sees the folder of the build.

    `place` is that of the whole table.
    """
    shard.finish(level, is_complete)
    return place.part(shard.first_byte, shard.entries.size).write(shard.entries), _builder(get_worker())


def _builder(worker: Worker) -> Builder:
    return Builder(worker.address, platform.node(), worker.state.nthreads, peak_memory())


def _wanted(worker: Worker) -> Callable[[], bool]:
    """Return a function that says whether a client still waits for the task that is running now."""
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state in ("executing", "long-running")

    return is_wanted
