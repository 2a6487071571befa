"""Search of one pattern in shards on many workers, level by level.

Each shard is the result of a task and stays on its worker. Further tasks, which depend on it, work on it. At a level
every shard packs rows for every other one, and then advances with what the others packed for it. Dask carries packs
from worker to worker; the client sees only counts.

A lost worker takes its shards along. The search then begins again on the workers that are left.
"""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, KilledWorker

from pdb_build.search import NO_ENTRIES, PatternTable, Progress
from pdb_cluster import build_tasks as tasks
from pdb_cluster.build_plan import layout_bytes
from pdb_cluster.build_workers import Worker
from pdb_cluster.failures import LostError, failure
from pdb_cluster.shard import Advance, ShardedPattern, ShardSize
from pdb_cluster.table_parts import Part
from pdb_core.encoding import UNREACHED
from pdb_core.errors import ClusterError, LimitReachedError, MemoryLimitError
from pdb_core.messages import format_bytes

_ATTEMPTS = 5
# Interval at which workers that ended silently are noticed.
_POLL_S = 0.5
# Rounds under way at a time: one is advanced while the next is packed.
_ROUNDS_AHEAD = 2
_MAX_ROUNDS = 4096
SHARDS_ADVICE = "give --shards a larger number, or start larger workers"


@dataclass(frozen=True)
class ShardedTable:
    """Table of a pattern that was searched in shards. All parts are in the file.

    sent_bytes  bytes sent between shards at each depth from 1
    """

    table: PatternTable
    parts: tuple[Part, ...]
    sent_bytes: tuple[int, ...]
    n_rounds: int
    builders: tuple[tasks.Builder, ...]


def search_on_shards(
    client: Client,
    prepare: Callable[[], tuple[ShardedPattern, tuple[Worker, ...], int]],
    place: Part,
    *,
    say: Callable[[str], None],
    progress: Progress | None = None,
) -> ShardedTable:
    """Search a pattern with the memory of all workers. The table does not depend on their number.

    `prepare` is called before each attempt. It returns the shards, the workers and the most bytes of the halo, or
    raises. `place` is that of the table in the file.

    Raises `MemoryLimitError` if a shard does not fit its worker, `LimitReachedError` as `search_pattern` does, and
    `ClusterError` if workers are lost in every attempt.
    """
    for _attempt in range(_ATTEMPTS):
        pattern, workers, halo_bytes = prepare()
        search = _Attempt(client, pattern, workers, place, progress, halo_bytes)
        try:
            return search.run()
        except LostError as lost:
            at = f"pattern {pattern.spec.pattern}: at depth {search.depth}"
            say(f"{at} {lost}; the search of this pattern begins again")
        finally:
            search.close()
    raise ClusterError(
        f"workers were lost {_ATTEMPTS} times during the search of pattern {pattern.spec.pattern}; see their logs; "
        f"most often they ran out of memory: {SHARDS_ADVICE}"
    )


class _Attempt:
    """One attempt: its shards, and the futures that it waits for."""

    def __init__(
        self, client: Client, pattern: ShardedPattern, workers: tuple[Worker, ...], place: Part,
        progress: Progress | None, halo_bytes: int,
    ) -> None:  # fmt: skip
        self._client, self._pattern, self._place = client, pattern, place
        self._progress, self._halo_bytes = progress, halo_bytes
        self._workers = [workers[number % len(workers)] for number in range(pattern.n_shards)]
        self._shards: list[Future] = []
        self._waiting: deque[list[Future]] = deque()
        self._gatherer = ThreadPoolExecutor(1)
        self.depth = 0

    def close(self) -> None:
        """Let the workers free the shards."""
        futures = [*self._shards, *(future for futures in self._waiting for future in futures)]
        self._shards.clear()
        self._waiting.clear()
        # Not cancelled: then the scheduler stumbles over tasks that no client waits for, but others need (seen with
        # distributed 2026.8), and drops the client.
        for future in futures:
            future.release()
        self._gatherer.shutdown(wait=False)

    def run(self) -> ShardedTable:
        """Lay out, search, finish."""
        begun = time.perf_counter()
        pattern, spec = self._pattern, self._pattern.spec
        self._shards = [self._submit(n, tasks.lay_out, pattern, n) for n in range(pattern.n_shards)]
        sizes = self._choose_rounds()
        levels = self._search(sizes)
        states, entries, sent = ([getattr(level, name) for level in levels] for name in Advance.__annotations__)
        found = self._finish(sum(entries) == spec.n_entries)
        while entries[-1] == 0:  # as in `search_pattern`
            entries.pop()
        parts, builders = zip(*found, strict=True)
        seconds = time.perf_counter() - begun
        table = PatternTable(spec, NO_ENTRIES, tuple(entries), tuple(states), seconds)
        return ShardedTable(table, parts, tuple(sent[1:]), len(sizes[0].n_given), builders)

    def _search(self, sizes: list[ShardSize]) -> list[Advance]:
        """Advance level by level until nothing is reached. Return the sum over all shards for each level."""
        reached = self._results([self._on_shard(n, tasks.start) for n in range(len(self._shards))])
        levels = [_sum(reached)]
        for self.depth in range(1, UNREACHED):
            reached = self._advance(self.depth, sizes, [shard.n_reached > 0 for shard in reached])
            level = _sum(reached)
            if not level.n_reached:
                return levels
            levels.append(level)
            if self._progress is not None:
                self._progress(self.depth, sum(level.n_reached for level in levels), self._pattern.spec.n_states)
        raise LimitReachedError(
            f"pattern {self._pattern.spec.pattern} has distances over {UNREACHED - 1}, more than a byte can hold"
        )

    def _choose_rounds(self) -> list[ShardSize]:
        """Choose enough rounds for a small halo, and check that the shards then fit their workers."""
        n_rounds = 1
        while True:
            sizes = self._results([self._on_shard(n, tasks.set_rounds, n_rounds) for n in range(len(self._shards))])
            largest = max(size.halo_bytes for size in sizes)
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
                    f"worker at {worker.address}, {format_bytes(worker.memory_bytes)} are available; start more or "
                    "larger workers"
                )

    def _advance(self, level: int, sizes: list[ShardSize], gives: list[bool]) -> list[Advance]:
        """Do all rounds of a level. Return the sum over the rounds for each shard. `gives`: shards with states."""
        n_rounds = len(sizes[0].n_given)
        done: list[list[Advance]] = []
        for of_round in range(n_rounds):
            self._waiting.append([
                self._on_shard(target, tasks.advance, level, of_round, [
                    self._on_shard(source, tasks.pack, level, target, of_round)
                    for source, n_rows in enumerate(sizes[target].n_taken[of_round, level % 2])
                    if gives[source] and n_rows > 0
                ])
                for target in range(len(self._shards))
            ])  # fmt: skip
            while len(self._waiting) >= (_ROUNDS_AHEAD if of_round < n_rounds - 1 else 1):
                done.append(self._results(self._waiting[0]))
                self._waiting.popleft()
        return [_sum(of_shard) for of_shard in zip(*done, strict=True)]

    def _finish(self, is_complete: bool) -> list[tuple[Part, tasks.Builder]]:
        """Write the parts of the table that the workers cannot write. Return all parts in order."""
        found = self._results(
            [self._on_shard(n, tasks.finish, self.depth, is_complete, self._place) for n in range(len(self._shards))]
        )
        return [
            (part if part.sha256 else part.fetch(self._client, worker.address, shard.key), builder)
            for shard, worker, (part, builder) in zip(self._shards, self._workers, found, strict=True)
        ]

    def _on_shard(self, number: int, task: Any, *arguments: Any) -> Future:
        return self._submit(number, task, self._shards[number], *arguments)

    def _submit(self, number: int, task: Any, *arguments: Any) -> Future:
        """Submit a task to the worker of a shard, and to no other."""
        address = self._workers[number].address
        return self._client.submit(task, *arguments, workers=[address], allow_other_workers=False, pure=False)

    def _results(self, futures: list[Future]) -> list[Any]:
        """Return the results of tasks, in order. Raises `LostError` if a worker with a shard is gone."""
        gathering = self._gatherer.submit(self._client.gather, futures)
        while True:
            try:
                results: list[Any] = gathering.result(timeout=_POLL_S)
                return results
            except TimeoutError:
                self._check_workers()
            except (LostError, KilledWorker, CancelledError) as error:
                self._check_workers()
                raise LostError(str(error)) from error
            except Exception as error:
                self._check_workers()
                what = f"the search of pattern {self._pattern.spec.pattern} failed in a shard at depth {self.depth}"
                raise failure(what, error, SHARDS_ADVICE) from error

    def _check_workers(self) -> None:
        gone = sorted({worker.address for worker in self._workers} - set(self._client.nthreads()))
        if gone:
            raise LostError(f"the worker at {gone[0]} is gone, and its shards with it")


def _sum(advances: "list[Advance] | tuple[Advance, ...]") -> Advance:
    """Add up counts."""
    return Advance(
        sum(advance.n_reached for advance in advances),
        sum(advance.n_written for advance in advances),
        sum(advance.n_bytes for advance in advances),
    )
