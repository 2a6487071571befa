"""What runs on the workers."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from pdb_build.frontier import Table
from pdb_build.search import PatternTable, search_pattern
from pdb_cluster.shard import Advance, Pack, Shard, ShardedPattern, ShardSize
from pdb_cluster.table_parts import Part, Token, pieces_of, write_part
from pdb_core.resources import peak_memory
from pdb_core.sent_size import ReportsSize
from pdb_core.table_spec import TableSpec

if TYPE_CHECKING:
    from distributed import Worker

# A worker of several threads is given several tasks, but a search takes all its threads and most of its memory.
_searching = Lock()


class AbandonedError(Exception):
    """The task is no longer wanted: it was cancelled, or the client is gone."""


@dataclass(frozen=True)
class SearchRequest(ReportsSize):
    """A pattern that one worker is to search. `topic`: where it tells how far it is."""

    index: int
    spec: TableSpec
    token: Token
    topic: str


@dataclass(frozen=True)
class Builder(ReportsSize):
    """Who built a table or a part of it."""

    address: str
    host: str
    n_threads: int
    peak_memory_bytes: int


@dataclass(frozen=True, eq=False)
class Found(ReportsSize):
    """What a worker has: its table, until it is fetched; or, where it sees the folder of parts, a part there."""

    table: PatternTable
    part: Part | None
    builder: Builder

    def without_entries(self) -> "Found":
        """All but the entries."""
        return Found(self.table.without_entries(), self.part, self.builder)


@dataclass(frozen=True)
class FoundPart(ReportsSize):
    """The same of a shard."""

    n_bytes: int
    part: Part | None
    builder: Builder


def search(request: SearchRequest) -> Found:
    """Search a pattern with all threads of this worker. Raises `AbandonedError` soon after it is no longer wanted."""
    worker, is_wanted = _this_worker()
    with _searching:

        def report_depth(depth: int, n_reached: int, n_states: int) -> None:
            if not is_wanted():
                raise AbandonedError(f"the search of pattern {request.spec.pattern} is no longer wanted")
            worker.log_event(request.topic, (request.index, depth, n_reached, n_states))

        report_depth(0, 1, 1)
        table = search_pattern(request.spec, n_threads=worker.state.nthreads, progress=report_depth)
        part = _write(request.token, table.table)
    return Found(table if part is None else table.without_entries(), part, _builder(worker))


def lay_out(pattern: ShardedPattern, number: int) -> Shard:
    """Begin a shard, which stays with this worker."""
    worker, _is_wanted = _this_worker()
    return Shard(pattern, number, worker.state.nthreads)


def set_rounds(shard: Shard, n_rounds: int) -> ShardSize:
    """`Shard.set_rounds` as a task; so the four that follow."""
    return shard.set_rounds(n_rounds)


def start(shard: Shard) -> Advance:
    """Take the memory of a shard."""
    return shard.start()


def pack(shard: Shard, level: int, target: int, of_round: int) -> Pack:
    """Pack rows for another shard."""
    return shard.pack(level, target, of_round)


def advance(shard: Shard, level: int, of_round: int, packs: list[Pack]) -> Advance:
    """Advance a shard, with what the others packed for it."""
    return shard.advance(level, of_round, packs)


def finish(shard: Shard, level: int, is_complete: bool, token: Token) -> FoundPart:
    """Finish the table of a shard, and write it where the folder of parts is seen."""
    worker, _is_wanted = _this_worker()
    n_bytes = shard.finish(level, is_complete)
    return FoundPart(n_bytes, _write(token, shard.table), _builder(worker))


def describe(key: str, dask_worker: "Worker") -> Found:
    """What a finished search has found, without its entries. Not a task: a task would wait for the next search."""
    found: Found = dask_worker.data[key]
    return found.without_entries()


def piece(key: str, first: int, last: int, dask_worker: "Worker") -> Table:
    """Entries of a finished search or shard. Not a task."""
    holder = dask_worker.data[key]
    table: Table = holder.table if isinstance(holder, Shard) else holder.table.table
    return table[first:last]


def _write(token: Token, table: Table) -> Part | None:
    return write_part(token, pieces_of(table), table.size) if token.is_seen() else None


def _builder(worker: "Worker") -> Builder:
    import platform

    return Builder(worker.address, platform.node(), worker.state.nthreads, peak_memory())


def _this_worker() -> tuple["Worker", Callable[[], bool]]:
    """The worker that runs this task, and whether somebody still waits for it."""
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state in ("executing", "long-running")

    return worker, is_wanted
