"""Search of one pattern on workers, level by level, and its table in the unfinished file.

Each shard is the result of a task and stays on its worker. Further tasks, which depend on it, call its methods. At a
level every shard packs rows for every other one, and then advances with what the others packed for it. Dask carries
packs from worker to worker; the client sees only counts. A pattern that fits a worker has one shard.
"""

import asyncio
import concurrent.futures
import hashlib
import os
import platform
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from distributed import Client, Future, KilledWorker

from pdb_build.level_search import Table
from pdb_build.search import NO_ENTRIES, PatternTable, Progress
from pdb_build.word_layout import word_layout
from pdb_cluster.build_plan import PatternTask, Worker
from pdb_cluster.connect import failure
from pdb_cluster.shard import Counts, LostError, Shard, divide
from pdb_core import system
from pdb_core.durable_files import digest_of, write_all, write_and_sync, writing_errors
from pdb_core.encoding import UNREACHED
from pdb_core.errors import LimitReachedError, OutputError
from pdb_core.resources import peak_memory
from pdb_core.table_spec import TableSpec

# Fetched at a time.
PIECE_BYTES = 16 * 1024 * 1024
# A task of the only shard of a pattern begins no level after this time.
_TASK_S = 0.25
# Rounds under way at a time: one is advanced while the next is packed.
_ROUNDS_AHEAD = 2
_MAX_ROUNDS = 4096


@dataclass(frozen=True)
class Place:
    """Place of a table in the unfinished file. Workers recognise the folder of the build by `text` in its token.

    `file` and `token` are paths as the client sees them.
    """

    file: str
    token: str
    text: str
    offset: int

    def write(self, entries: Table, first: int) -> str | None:
        """Write entries from byte `first` of the table on. Return their SHA-256, or None if the folder is not seen.

        Raises `DiskFullError`, `OutputError`.
        """
        try:
            # Only written, never read: NFS then sends just these bytes of a page that two shards share.
            descriptor = os.open(self.file, os.O_WRONLY | system.BINARY)
        except OSError:
            return None
        try:
            # The token is read after the file was opened. A later build has another token, and this file has no name
            # by then.
            if not self._is_seen():
                return None
            with writing_errors(Path(self.file)):
                return write_and_sync(descriptor, entries, self.offset + first, cancelled=lambda: False)
        finally:
            os.close(descriptor)

    def _is_seen(self) -> bool:
        try:
            return Path(self.token).read_text(encoding="ascii") == self.text
        except OSError:
            return False


@dataclass(frozen=True)
class Part:
    """Entries of a shard in the file. `sha256` is None if they are not written yet; `offset` is that in the file."""

    offset: int
    n_bytes: int
    sha256: str | None
    host: str
    peak_memory_bytes: int


def finish(shard: Shard, level: int, is_complete: bool, place: Place) -> Part:
    """Finish a shard, and write its entries if this worker sees the folder of the build. Runs on the worker."""
    entries = shard.finish(level, is_complete)
    sha256 = place.write(entries, shard.first_byte)
    return Part(place.offset + shard.first_byte, entries.size, sha256, platform.node(), peak_memory())


def digest_of_parts(path: Path, parts: Sequence[Part]) -> str:
    """Return the SHA-256 of the table that consecutive parts form. Raises `OutputError` if a part has changed."""
    if len(parts) == 1 and parts[0].sha256:
        return parts[0].sha256  # the writer compares it with the file
    with writing_errors(path), path.open("rb") as file:
        for part in parts:
            if digest_of(file.fileno(), part.offset, part.n_bytes) != part.sha256:
                raise OutputError(
                    f"{path} does not hold what a worker wrote: the shared storage or its cache is faulty; build "
                    "again at another place"
                )
        return digest_of(file.fileno(), parts[0].offset, sum(part.n_bytes for part in parts))


@dataclass(frozen=True)
class BuiltTable:
    """Table of a pattern that is in the file. `built_by` is for the report."""

    table: PatternTable
    sha256: str
    built_by: dict[str, Any]


class PatternSearch:
    """Search of one pattern under way.

    depth    level that is searched
    waiting  done when `resume` can be called
    """

    def __init__(
        self, client: Client, spec: TableSpec, task: PatternTask, workers: Sequence[Worker], place: Place,
        progress: Progress,
    ) -> None:  # fmt: skip
        """Begin a search on some of the workers of `task`. Its table has the same bytes for any number of shards."""
        self._client, self._spec, self._place, self._progress = client, spec, place, progress
        self._halo_bytes = task.halo_bytes
        self._futures: WeakSet[Future] = WeakSet()
        self._workers = [workers[number % len(workers)] for number in range(task.n_shards)]
        bounds = divide(spec, task.n_shards)
        self._shards = [
            self._submit(number, Shard, spec, bounds, number, worker.n_threads)
            for number, worker in enumerate(self._workers)
        ]
        self.depth = 0
        self._steps = self._run()
        self.waiting = self._gather(next(self._steps))

    @property
    def addresses(self) -> set[str]:
        """Workers that hold shards."""
        return {worker.address for worker in self._workers}

    def resume(self) -> BuiltTable | None:
        """Go on after `waiting`. Return the table if it is in the file.

        Raises `LostError`, `LimitReachedError` as `search_pattern` does, `DiskFullError`, `OutputError` and
        `ClusterError`.
        """
        try:
            results = self.waiting.result()
        except (LostError, KilledWorker, concurrent.futures.CancelledError, asyncio.CancelledError) as error:
            raise LostError(str(error)) from error
        except OSError:  # the disk is full, or the scheduler is gone
            raise
        except Exception as error:
            what = f"the search of pattern {self._spec.pattern} failed on a worker at depth {self.depth}"
            raise failure(what, error) from error
        try:
            self.waiting = self._gather(self._steps.send(results))
        except StopIteration as end:
            built: BuiltTable = end.value
            return built
        return None

    def close(self) -> None:
        """Let the workers free the shards."""
        self._steps.close()
        # Futures are released, not cancelled: then the scheduler stumbles over tasks that no client waits for, but
        # others need (seen with distributed 2026.8), and drops the client.
        for future in list(self._futures):
            future.release()

    def _run(self) -> Generator[list[Future], list[Any], BuiltTable]:
        """Search. Yields tasks, and is sent their results."""
        spec, begun = self._spec, time.perf_counter()
        taken = yield from self._choose_rounds()
        reached = yield self._on_all(Shard.start)
        levels = [np.sum(reached, axis=0)]
        while levels[-1][0]:
            if self.depth == UNREACHED - 1:
                raise LimitReachedError(
                    f"pattern {spec.pattern} has distances over {UNREACHED - 1}, more than a byte can hold"
                )
            if len(self._shards) == 1:
                (done,) = yield self._on_all(Shard.advance_levels, self.depth + 1, _TASK_S)
            else:
                reached = yield from self._advance(self.depth + 1, taken, [counts[0] > 0 for counts in reached])
                done = [np.sum(reached, axis=0)]
            for counts in done:
                self.depth += 1
                levels.append(counts)
                if counts[0]:
                    self._progress(self.depth, int(sum(level[0] for level in levels)), spec.n_states)
        states, entries, sent = np.array(levels[:-1]).T.tolist()
        parts = yield self._on_all(finish, self.depth, sum(entries) == spec.n_entries, self._place)
        for number, part in enumerate(parts):
            if part.sha256 is None:
                parts[number] = yield from self._fetch(number, part)
        while entries[-1] == 0:  # as in `search_pattern`
            entries.pop()
        table = PatternTable(spec, NO_ENTRIES, tuple(entries), tuple(states), time.perf_counter() - begun)
        builders = [
            {"address": worker.address, "host": part.host, "n_threads": worker.n_threads}
            | {"peak_memory_bytes": part.peak_memory_bytes}
            for worker, part in zip(self._workers, parts, strict=True)
        ]
        built_by = {"shards": builders, "rounds": len(taken[0]), "sent_bytes_per_depth": sent[1:]}
        return BuiltTable(table, digest_of_parts(Path(self._place.file), parts), built_by)

    def _choose_rounds(self) -> Generator[list[Future], list[Any], list[Any]]:
        """Choose enough rounds for a small halo. Return the rows of `Shard.set_rounds` for each shard."""
        row_bytes, n_rounds = word_layout(self._spec.n_tiles, self._spec.size.width).row_bytes, 1
        while True:
            taken = yield self._on_all(Shard.set_rounds, n_rounds)
            largest = max(int(rows.sum(axis=2).max()) for rows in taken) * row_bytes
            if largest <= self._halo_bytes or n_rounds >= _MAX_ROUNDS:
                return taken
            n_rounds = min(_MAX_ROUNDS, max(n_rounds + 1, round(1.2 * n_rounds * largest / self._halo_bytes)))

    def _advance(
        self, level: int, taken: list[Any], gives: list[bool]
    ) -> Generator[list[Future], list[Any], list[Counts]]:
        """Do all rounds of a level. Return the counts of each shard. `gives`: shards with states."""
        n_rounds, n_shards = len(taken[0]), len(taken)
        under_way: deque[list[Future]] = deque()
        counts = [np.zeros(3, dtype=np.int64)] * n_shards
        for of_round in range(n_rounds):
            under_way.append([
                self._on_shard(target, Shard.advance, level, of_round, [
                    self._on_shard(source, Shard.pack, level, target, of_round)
                    for source, n_rows in enumerate(taken[target][of_round, level % 2])
                    if gives[source] and n_rows > 0
                ])
                for target in range(n_shards)
            ])  # fmt: skip
            while len(under_way) >= (_ROUNDS_AHEAD if of_round < n_rounds - 1 else 1):
                done = yield under_way.popleft()
                counts = [np.add(*pair) for pair in zip(counts, done, strict=True)]
        return counts

    def _fetch(self, number: int, part: Part) -> Generator[list[Future], list[Any], Part]:
        """Write the entries of a shard into the file. Return the part with its digest."""
        path, digest = Path(self._place.file), hashlib.sha256()
        with writing_errors(path), path.open("r+b") as file:
            for first in range(0, part.n_bytes, PIECE_BYTES):
                (piece,) = yield [self._on_shard(number, Shard.piece, first, first + PIECE_BYTES)]
                write_all(file.fileno(), piece.data, part.offset + first)
                digest.update(piece.data)
            os.fsync(file.fileno())
        return replace(part, sha256=digest.hexdigest())

    def _on_all(self, task: Any, *arguments: Any) -> list[Future]:
        return [self._on_shard(number, task, *arguments) for number in range(len(self._shards))]

    def _on_shard(self, number: int, task: Any, *arguments: Any) -> Future:
        return self._submit(number, task, self._shards[number], *arguments)

    def _submit(self, number: int, task: Any, *arguments: Any) -> Future:
        """Submit a task to the worker of a shard, and to no other."""
        address = self._workers[number].address
        future = self._client.submit(task, *arguments, workers=[address], allow_other_workers=False, pure=False)
        self._futures.add(future)
        return future

    def _gather(self, futures: list[Future]) -> "concurrent.futures.Future[list[Any]]":
        gathering = self._client.gather(futures, asynchronous=True)
        return asyncio.run_coroutine_threadsafe(gathering, self._client.loop.asyncio_loop)
