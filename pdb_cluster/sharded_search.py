"""The search of one pattern by many workers, level by level.

Each shard is the result of a task on its worker, and stays there; what is done to it are tasks that depend on it. At a
level every shard packs for every other one, and then advances with what the others packed for it: Dask carries packs
from worker to worker. The client sees counts alone.

A worker that is lost takes its shards along. The search is then begun again on those that are left. A task that Dask
runs anew on a shard that has been made anew notices that it is at another level.
"""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdb_build.search import PatternTable, Progress
from pdb_cluster import build_tasks as tasks
from pdb_cluster.build_failures import failed
from pdb_cluster.build_workers import Worker
from pdb_cluster.fetch import WorkerGoneError, fetch_part
from pdb_cluster.shard import Advance, ShardedPattern, ShardLostError, ShardSize
from pdb_cluster.shard_plan import layout_bytes
from pdb_cluster.table_parts import Part, PartsFolder
from pdb_core.encoding import UNREACHED
from pdb_core.errors import ClusterError, LimitReachedError, MemoryLimitError, PdbError
from pdb_core.messages import format_bytes

if TYPE_CHECKING:
    from distributed import Client, Future

_ATTEMPTS = 5
# How long until a worker that died in silence is missed.
_POLL_S = 0.5
# Rounds under way at a time: while one is advanced, the next one is packed.
_ROUNDS_AHEAD = 2
_MAX_ROUNDS = 4096


@dataclass(frozen=True)
class ShardedTable:
    """A pattern's table, in parts, and who built them.

    sent_bytes  what went from shard to shard at each depth from 1
    """

    table: PatternTable
    parts: tuple[Part, ...]
    sent_bytes: tuple[int, ...]
    n_rounds: int
    builders: tuple[tasks.Builder, ...]


class _WorkersLostError(Exception):
    """Workers that hold shards are gone."""


def search_on_shards(
    client: "Client",
    prepare: Callable[[], tuple[ShardedPattern, tuple[Worker, ...], int]],
    folder: PartsFolder,
    *,
    say: Callable[[str], None],
    progress: Progress | None = None,
) -> ShardedTable:
    """Search a pattern with the memory of all workers. The table does not depend on their number.

    `prepare` is asked before each attempt how to share out the pattern, among which workers, and with how large a halo;
    or it raises.

    Raises `MemoryLimitError` where a shard does not fit its worker, `LimitReachedError` as `search_pattern`,
    `ClusterError` where workers are lost again and again.
    """
    for _attempt in range(_ATTEMPTS):
        pattern, workers, halo_bytes = prepare()
        search = _Attempt(client, pattern, workers, folder, progress, halo_bytes)
        try:
            return search.run()
        except _WorkersLostError as lost:
            say(
                f"pattern {pattern.spec.pattern}: at depth {search.depth} {lost}, and its part of the search with it; "
                "the search of this pattern begins again"
            )
        finally:
            search.close()
    raise ClusterError(
        f"workers were lost {_ATTEMPTS} times while pattern {pattern.spec.pattern} was searched; see their logs, "
        "most often they ran out of memory: give --shards a larger number"
    )


class _Attempt:
    """One attempt: its shards, and the futures it waits for."""

    def __init__(
        self,
        client: "Client",
        pattern: ShardedPattern,
        workers: tuple[Worker, ...],
        folder: PartsFolder,
        progress: Progress | None,
        halo_bytes: int,
    ) -> None:
        self._client, self._pattern, self._folder = client, pattern, folder
        self._progress, self._halo_bytes = progress, halo_bytes
        self._workers = [workers[number % len(workers)] for number in range(pattern.n_shards)]
        self._shards: list[Future] = []
        self._waiting: deque[list[Future]] = deque()
        self._gatherer = ThreadPoolExecutor(1)
        self.depth = 0

    def close(self) -> None:
        """Drop the shards, and what is still under way."""
        futures = [*self._shards, *(future for futures in self._waiting for future in futures)]
        self._shards, self._waiting = [], deque()
        # Released, not cancelled: the scheduler trips over a cancelled task that others, which nobody waits for, need
        # (seen with distributed 2026.8), and drops the client.
        for future in futures:
            future.release()
        self._gatherer.shutdown(wait=False)

    def run(self) -> ShardedTable:
        """Lay out, search, finish."""
        begun = time.perf_counter()
        pattern, n_shards = self._pattern, self._pattern.n_shards
        self._shards = [self._submit(n, tasks.lay_out, pattern, n) for n in range(n_shards)]
        sizes = self._choose_rounds()
        n_rounds = len(sizes[0].n_given)
        reached = self._results([self._on_shard(n, tasks.start) for n in range(n_shards)])
        states, entries, sent = [1], [1], list[int]()
        spec = pattern.spec
        for level in range(1, UNREACHED):
            self.depth = level
            reached = self._advance(level, sizes, [shard.n_reached > 0 for shard in reached])
            if not any(shard.n_reached for shard in reached):
                break
            states.append(sum(shard.n_reached for shard in reached))
            entries.append(sum(shard.n_written for shard in reached))
            sent.append(sum(shard.n_bytes for shard in reached))
            if self._progress is not None:
                self._progress(level, sum(states), spec.n_states)
        else:
            raise LimitReachedError(
                f"pattern {pattern.spec.pattern} has distances over {UNREACHED - 1}, more than a byte can hold"
            )
        found = self._finish(self.depth, sum(entries) == spec.n_entries)
        while entries[-1] == 0:  # as in `search_pattern`
            entries.pop()
        table = PatternTable(
            spec, np.empty(0, dtype=np.uint8), tuple(entries), tuple(states), time.perf_counter() - begun
        )
        return ShardedTable(
            table, tuple(part for part, _ in found), tuple(sent), n_rounds, tuple(builder for _, builder in found)
        )

    def _choose_rounds(self) -> list[ShardSize]:
        """As many rounds as keep the halo small, and a check of the memory that the shards then take."""
        n_rounds = 1
        while True:
            sizes = self._results([self._on_shard(n, tasks.set_rounds, n_rounds) for n in range(len(self._shards))])
            largest = max(int(size.n_taken.sum(axis=2).max(initial=0)) * size.row_bytes for size in sizes)
            if largest <= self._halo_bytes or n_rounds >= _MAX_ROUNDS:
                break
            n_rounds = min(_MAX_ROUNDS, max(n_rounds + 1, round(1.2 * n_rounds * largest / self._halo_bytes)))
        self._check_memory(sizes)
        return sizes

    def _check_memory(self, sizes: list[ShardSize]) -> None:
        spec = self._pattern.spec
        layout = layout_bytes(spec, -(-spec.n_blocks // len(sizes)))
        for worker in set(self._workers):
            own = [size for size, on in zip(sizes, self._workers, strict=True) if on == worker]
            needed = layout + sum(size.rows_bytes + size.exchange_bytes for size in own)
            if needed > worker.memory_bytes:
                raise MemoryLimitError(
                    f"pattern {spec.pattern} in {len(sizes)} shards needs {format_bytes(needed)} of memory of the "
                    f"worker at {worker.address}, {format_bytes(worker.memory_bytes)} are available; more workers or "
                    "larger ones would do"
                )

    def _advance(self, level: int, sizes: list[ShardSize], gives: list[bool]) -> list[Advance]:
        """One level: of each shard, what all its rounds did."""
        numbers = range(len(self._shards))
        done: list[list[Advance]] = []
        for of_round in range(len(sizes[0].n_given)):
            futures = []
            for target in numbers:
                n_taken = sizes[target].n_taken[of_round, level % 2]
                packs = [
                    self._on_shard(source, tasks.pack, level, target, of_round)
                    for source in numbers
                    if gives[source] and n_taken[source] > 0
                ]
                futures.append(self._on_shard(target, tasks.advance, level, of_round, packs))
            self._waiting.append(futures)
            if len(self._waiting) == _ROUNDS_AHEAD:
                done.append(self._results(self._waiting[0]))
                self._waiting.popleft()
        while self._waiting:
            done.append(self._results(self._waiting[0]))
            self._waiting.popleft()
        return [
            Advance(
                sum(advance.n_reached for advance in of_shard),
                sum(advance.n_written for advance in of_shard),
                sum(advance.n_bytes for advance in of_shard),
            )
            for of_shard in zip(*done, strict=True)
        ]

    def _finish(self, level: int, is_complete: bool) -> list[tuple[Part, tasks.Builder]]:
        """The parts of the table, in order."""
        token = self._folder.token
        finished: list[tasks.FoundPart] = self._results(
            [self._on_shard(n, tasks.finish, level, is_complete, token) for n in range(len(self._shards))]
        )
        parts = []
        for shard, worker, found in zip(self._shards, self._workers, finished, strict=True):
            part = found.part
            if part is None:
                try:
                    part = fetch_part(self._client, shard, worker.address, found.n_bytes, self._folder)
                except (WorkerGoneError, ShardLostError) as error:
                    raise _WorkersLostError(str(error)) from error
            parts.append((part, found.builder))
        return parts

    def _on_shard(self, number: int, task: Any, *arguments: Any) -> "Future":
        return self._submit(number, task, self._shards[number], *arguments)

    def _submit(self, number: int, task: Any, *arguments: Any) -> "Future":
        """A task on the worker of a shard, and nowhere else."""
        address = self._workers[number].address
        return self._client.submit(task, *arguments, workers=[address], allow_other_workers=False, pure=False)

    def _results(self, futures: "list[Future]") -> list[Any]:
        """The results of tasks, in order. Raises `_WorkersLostError` where a worker with a shard is gone."""
        from distributed import KilledWorker

        gathering = self._gatherer.submit(self._client.gather, futures)
        while True:
            try:
                results: list[Any] = gathering.result(timeout=_POLL_S)
                return results
            except TimeoutError:
                self._check_workers()
            except (ShardLostError, KilledWorker, CancelledError) as error:
                self._check_workers()
                raise _WorkersLostError(str(error)) from error
            except PdbError:
                raise
            except Exception as error:
                self._check_workers()
                what = f"the search of pattern {self._pattern.spec.pattern} failed in a shard at depth {self.depth}"
                raise failed(what, error) from error

    def _check_workers(self) -> None:
        present = self._client.nthreads()
        gone = sorted({worker.address for worker in self._workers} - set(present))
        if gone:
            raise _WorkersLostError(f"the worker at {gone[0]} is gone")
