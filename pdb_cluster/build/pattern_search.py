"""Search of one pattern on workers, level by level, and its table in the unfinished file.

Each shard is the result of a task and stays on its worker. Further tasks, which depend on it, call its methods. These
are the tasks of a portion of the cell sets at one level, for two shards A and B; see `shard`:

    worker of A    A.rows_for(B) ---.   .--> A.advance ---> counts
                                     \\ /
                                      X                       the client adds the counts, and begins the next level
                                     / \
    worker of B    B.rows_for(A) ---'   '--> B.advance ---> counts

Dask carries rows from worker to worker; the client sees only counts. At the end, it fetches the entries in pieces, and
writes them into the file. A pattern that fits a worker has one shard, which sends nothing.
"""

import asyncio
import concurrent.futures
import hashlib
import os
import platform
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import numpy as np
from distributed import Client, Future, KilledWorker
from distributed.comm import CommClosedError

from pdb_build.search import NO_ENTRIES, PatternTable, Progress, too_far
from pdb_build.word_layout import row_bytes
from pdb_build.writer import TableFileWriter
from pdb_cluster.build.shard import LostError, PatternShard, divide
from pdb_cluster.build.shard_plan import PatternTask, Worker
from pdb_cluster.connect import failure, scheduler_lost, while_reachable
from pdb_core.durable_files import write_all
from pdb_core.encoding import UNREACHED
from pdb_core.resources import peak_memory
from pdb_core.table_spec import TableSpec

# Bytes of a piece, and pieces that are fetched at a time.
_PIECE_BYTES, _PIECES = 16 * 1024 * 1024, 3
# A task of the only shard of a pattern begins no level after this time.
_TASK_S = 0.25
# Portions under way at a time: one is advanced while rows for the next are sent.
_PORTIONS_AHEAD = 2
_MAX_PORTIONS = 4096

# Tasks that a search waits for; it is sent their results. What it returns at the end.
Steps = Generator[list[Future], list[Any], Any]


def finish(shard: PatternShard, level: int) -> tuple[int, str, int]:
    """Finish a shard. Return the bytes of its entries, the host, and the peak memory. Runs on the worker."""
    return shard.finish(level).size, platform.node(), peak_memory()


@dataclass
class PatternSearch:
    """Search of one pattern on some workers. Its table has the same bytes for any number of shards.

    free          workers of `task` that take shards
    writer        of the file that gets the table
    depth         level that is searched
    waiting       done when `resume` can be called
    built_by      for the report, once the table is in the file
    """

    client: Client
    spec: TableSpec
    task: PatternTask
    free: Sequence[Worker]
    writer: TableFileWriter
    progress: Progress

    def __post_init__(self) -> None:
        task, spec = self.task, self.spec
        self._futures: WeakSet[Future] = WeakSet()
        self._workers = [self.free[number % len(self.free)] for number in range(task.n_shards)]
        bounds = divide(spec, task.n_shards)
        self._shards = [
            self._submit(number, PatternShard, spec, bounds, number, worker.n_threads)
            for number, worker in enumerate(self._workers)
        ]
        self.depth = 0
        self.built_by: dict[str, Any] = {}
        self._steps = self._run()
        self.waiting = self._gather(next(self._steps))

    @property
    def addresses(self) -> set[str]:
        """Workers that hold shards."""
        return {worker.address for worker in self._workers}

    def resume(self) -> PatternTable | None:
        """Go on after `waiting`. Return the table, without its entries, if it is in the file.

        Raises `LostError`, `LimitReachedError` as `search_pattern` does, `DiskFullError`, `OutputError`,
        `ClusterError`.
        """
        try:
            results = self.waiting.result()
        except (LostError, KilledWorker, concurrent.futures.CancelledError, asyncio.CancelledError) as error:
            raise LostError(str(error)) from error
        except CommClosedError as error:
            raise scheduler_lost() from error
        except Exception as error:
            what = f"the search of pattern {self.spec.pattern} failed on a worker at depth {self.depth}"
            raise failure(what, error) from error
        try:
            self.waiting = self._gather(self._steps.send(results))
        except StopIteration as end:
            built: PatternTable = end.value
            return built
        return None

    def close(self) -> None:
        """Let the workers free the shards."""
        self._steps.close()
        # Futures are released, not cancelled: then the scheduler stumbles over tasks that no client waits for, but
        # others need (seen with distributed 2026.8), and drops the client.
        for future in list(self._futures):
            future.release()

    def _run(self) -> Steps:
        """Search, and return the table."""
        spec, begun = self.spec, time.perf_counter()
        n_rows = yield from self._choose_portions()
        reached = yield self._on_all(PatternShard.start)
        levels = [np.sum(reached, axis=0)]
        while levels[-1][0]:
            if self.depth == UNREACHED - 1:
                raise too_far(spec)
            if len(self._shards) == 1:
                (done,) = yield self._on_all(PatternShard.advance_levels, self.depth + 1, _TASK_S)
            else:
                reached = yield from self._advance(self.depth + 1, n_rows, [counts[0] > 0 for counts in reached])
                done = [np.sum(reached, axis=0)]
            for counts in done:
                self.depth += 1
                levels.append(counts)
                if counts[0]:
                    self.progress(self.depth, int(sum(level[0] for level in levels)), spec.n_states)
        states, entries, sent = np.array(levels[:-1]).T.tolist()
        ends = yield self._on_all(finish, self.depth)
        sha256 = yield from self._fetch([n_bytes for n_bytes, _host, _peak in ends])
        while entries[-1] == 0:  # as in `search_pattern`
            entries.pop()
        shards = [
            {"address": worker.address, "host": host, "n_threads": worker.n_threads, "peak_memory_bytes": peak}
            for worker, (_n_bytes, host, peak) in zip(self._workers, ends, strict=True)
        ]
        self.built_by = {"shards": shards, "portions": len(n_rows[0]), "sent_bytes_per_depth": sent[1:]}
        seconds = time.perf_counter() - begun
        return PatternTable(spec, NO_ENTRIES, tuple(entries), tuple(states), seconds, sha256=sha256)

    def _choose_portions(self) -> Steps:
        """Choose enough portions for a small halo. Return the result of `PatternShard.set_portions` of each shard."""
        n_portions = 1
        while True:
            n_rows = yield self._on_all(PatternShard.set_portions, n_portions)
            largest = max(int(of_shard.sum(axis=2).max()) for of_shard in n_rows) * row_bytes(self.spec.n_tiles)
            if largest <= self.task.halo_bytes or n_portions >= _MAX_PORTIONS:
                return n_rows
            n_portions = min(
                _MAX_PORTIONS, max(n_portions + 1, round(1.2 * n_portions * largest / self.task.halo_bytes))
            )

    def _advance(self, level: int, n_rows: list[Any], has_states: list[bool]) -> Steps:
        """Advance all portions to a level. Return the counts of each shard. `has_states`: of the shards, before."""
        n_portions, n_shards = len(n_rows[0]), len(n_rows)
        # A shard advances one portion after another, and receives rows for the next one meanwhile.
        advanced: list[list[Any]] = [[None] * _PORTIONS_AHEAD for _ in range(n_shards)]
        for portion in range(n_portions):
            for target, before in enumerate(advanced):
                received = [
                    self._on_shard(source, PatternShard.rows_for, target, level, portion, before[-_PORTIONS_AHEAD])
                    for source, n in enumerate(n_rows[target][portion, level % 2])
                    if has_states[source] and n > 0
                ]
                before.append(self._on_shard(target, PatternShard.advance, level, portion, received, before[-1]))
        done = yield [future for before in advanced for future in before[_PORTIONS_AHEAD:]]
        return list(np.reshape(done, (n_shards, n_portions, -1)).sum(axis=1))

    def _fetch(self, n_bytes: Sequence[int]) -> Steps:
        """Write the entries of all shards into the file, one after another. Return their SHA-256."""
        digest, offset = hashlib.sha256(), self.writer.offsets[self.task.index]
        starts = [(number, first) for number, n in enumerate(n_bytes) for first in range(0, n, _PIECE_BYTES)]
        with self.writer.opened() as descriptor:
            for at in range(0, len(starts), _PIECES):
                pieces = yield [
                    self._on_shard(number, PatternShard.piece, first, first + _PIECE_BYTES)
                    for number, first in starts[at : at + _PIECES]
                ]
                for piece in pieces:
                    write_all(descriptor, piece.data, offset)
                    digest.update(piece.data)
                    offset += piece.size
            os.fsync(descriptor)
        return digest.hexdigest()

    def _on_all(self, task: Any, *arguments: Any) -> list[Future]:
        return [self._on_shard(number, task, *arguments) for number in range(len(self._shards))]

    def _on_shard(self, number: int, task: Any, *arguments: Any) -> Future:
        return self._submit(number, task, self._shards[number], *arguments)

    def _submit(self, number: int, task: Any, *arguments: Any) -> Future:
        """Submit a task to the worker of a shard, and to no other."""
        address = self._workers[number].address
        with while_reachable(self.client):
            future = self.client.submit(task, *arguments, workers=[address], allow_other_workers=False, pure=False)
        self._futures.add(future)
        return future

    def _gather(self, futures: list[Future]) -> "concurrent.futures.Future[list[Any]]":
        gathering = self.client.gather(futures, asynchronous=True)
        return asyncio.run_coroutine_threadsafe(gathering, self.client.loop.asyncio_loop)
