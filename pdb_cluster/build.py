"""Build of a database on a Dask cluster: one worker searches each pattern, the largest first; the client writes.

The file has the bytes of a local build. If the search of a pattern is lost with its worker, it begins again on another
one. Finished tables are kept as in a local build, which may continue this one, and the other way round.
"""

import asyncio
import concurrent.futures
import contextlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from distributed import KilledWorker

from pdb_build.build import BuildProgress, unfinished_file
from pdb_build.plan import BuildPlan, check_disk
from pdb_build.report import BuildResult
from pdb_build.search import PatternTable, search_pattern
from pdb_build.writer import TableFileWriter
from pdb_cluster.connect import RightWorkers, Worker, failure, while_reachable
from pdb_core.errors import ClusterError, MemoryLimitError
from pdb_core.messages import format_bytes

_ATTEMPTS = 5
# Interval at which workers that came or ended are noticed.
_POLL_S = 0.5
# Time for lost workers to be replaced, if the others have too little memory for a pattern.
_REPLACEMENT_S = 30.0

Show = Callable[[BuildProgress], None]
Say = Callable[[str], None]


def check_cluster_plan(plan: BuildPlan, client: Any) -> dict[int, list[str]]:
    """Return the workers that have enough memory for each pattern, the largest pattern first.

    Parameters
    ----------
    plan
        The build, as `plan_build` returns it.
    client
        A `distributed.Client`.

    Returns
    -------
    dict
        Addresses, by the index of the pattern.

    Raises
    ------
    MemoryLimitError, DiskFullError
        If the workers have too little memory, or the disk too little room.
    ClusterError
        If there are no workers of this version.
    """
    check_disk(plan, plan.disk_bytes)
    workers = RightWorkers(client, lambda _: None).present()
    if not workers:
        raise ClusterError("the cluster has no workers; start some with dask worker, and build again")
    return {index: _fitting(plan, index, workers) for index in _by_size(plan)}


def build_on_cluster(
    plan: BuildPlan,
    client: Any,
    *,
    progress: Show | None = None,
    say: Say | None = None,
    fresh: bool = False,
    force: bool = False,
) -> BuildResult:
    """Build a table file on a cluster. It has the bytes that `build_database` writes.

    Workers of other versions are left out. After any error `plan.out` is as it was before; a search that has begun on a
    worker goes on to its end, and its result is dropped.

    Parameters
    ----------
    plan, client
        As in `check_cluster_plan`.
    progress
        Called when a pattern is finished.
    say
        Called with sentences about finished tables that are kept, and about workers that are lost or left out.
    fresh, force
        As in `build_database`.

    Returns
    -------
    BuildResult
        The plan, the header of the file, and the searches.

    Raises
    ------
    MemoryLimitError, DiskFullError, OutputError, BuildRunningError, CheckpointMismatchError, LimitReachedError
        As `build_database` does.
    ClusterError
        If workers are lost again and again, or the scheduler is.
    """
    check_cluster_plan(plan, client)
    say = say or (lambda _: None)
    with unfinished_file(plan, say, fresh=fresh, force=force) as writer:
        _Build(plan, client, writer, progress or (lambda _: None), say).run()
        return writer.finish()


def _by_size(plan: BuildPlan) -> list[int]:
    """Return the patterns that have a table of their own, the largest first."""
    searched = (index for index, entry in enumerate(plan.patterns) if entry.use is None)
    return sorted(searched, key=lambda index: -plan.patterns[index].spec.n_states)


def _fitting(plan: BuildPlan, index: int, workers: dict[str, Worker]) -> list[str]:
    """Return the workers that have enough memory for a pattern. Raises `MemoryLimitError` if there are none."""
    entry = plan.patterns[index]
    fitting = [address for address, worker in workers.items() if worker.memory_bytes >= entry.worker_bytes]
    if not fitting:
        most = max(worker.memory_bytes for worker in workers.values())
        raise MemoryLimitError(
            f"pattern {entry.pattern} needs {format_bytes(entry.worker_bytes)} of memory on one worker, "
            f"{format_bytes(most)} are available on the largest; start larger workers, or build on one machine, which "
            "may keep bits in a file"
        )
    return fitting


@dataclass(frozen=True)
class _Search:
    """Search of a pattern on a worker. `table` is done when the result has arrived."""

    index: int
    address: str
    future: Any
    table: "concurrent.futures.Future[PatternTable]"


@dataclass
class _Build:
    """Searches of the patterns of a plan whose tables are missing. A worker searches one pattern at a time."""

    plan: BuildPlan
    client: Any
    writer: TableFileWriter
    show: Show
    say: Say
    running: list[_Search] = field(default_factory=list)
    n_lost: Counter[int] = field(default_factory=Counter)

    def run(self) -> None:
        """Search and write all patterns."""
        right, has_workers = RightWorkers(self.client, self.say), True
        missing = self.writer.missing
        self._queue = [index for index in _by_size(self.plan) if index in missing]
        self._idle_since = time.monotonic()
        try:
            while self._queue or self.running:
                workers = right.present()
                if bool(workers) != has_workers:
                    has_workers = not has_workers
                    self.say("workers came, continuing" if workers else "all workers are gone; waiting for workers ...")
                for search in list(self.running):
                    self._continue(search, is_gone=search.address not in workers)
                self._start(workers)
                waiting = [search.table for search in self.running] or [concurrent.futures.Future()]
                concurrent.futures.wait(waiting, _POLL_S, concurrent.futures.FIRST_COMPLETED)
        finally:
            for search in self.running:
                self._drop(search)

    def _start(self, workers: dict[str, Worker]) -> None:
        """Start as many searches as idle workers have memory for. Raises `MemoryLimitError`."""
        if self.running or not workers:
            self._idle_since = time.monotonic()
        idle = {address: workers[address] for address in workers.keys() - {search.address for search in self.running}}
        for index in list(self._queue) if idle else []:
            try:
                address = next(iter(_fitting(self.plan, index, idle)))
            except MemoryLimitError:
                if self.running or time.monotonic() < self._idle_since + _REPLACEMENT_S:
                    continue
                raise
            self._queue.remove(index)
            spec, n_threads = self.plan.patterns[index].spec, idle.pop(address).n_threads
            with while_reachable(self.client):
                future = self.client.submit(
                    search_pattern, spec, n_threads=n_threads, workers=[address], allow_other_workers=False, pure=False
                )
            # Not `future.result()`, which would wait for ever if the worker is gone.
            gathering = self.client.gather(future, asynchronous=True)
            table = asyncio.run_coroutine_threadsafe(gathering, self.client.loop.asyncio_loop)
            self.running.append(_Search(index, address, future, table))
            if not idle:
                return

    def _continue(self, search: _Search, *, is_gone: bool) -> None:
        """Write the table of a search that is finished. Begin a search again if its worker is gone."""
        index, entry = search.index, self.plan.patterns[search.index]
        if not is_gone and not search.table.done():
            return
        self.running.remove(search)
        table = None
        if not is_gone:
            try:
                with while_reachable(self.client):
                    table = search.table.result()
            except KilledWorker:
                pass
            except Exception as error:
                raise failure(f"the search of pattern {entry.pattern} failed on a worker", error) from error
        self._drop(search)
        if table is not None:
            self.writer.write(index, table)
            n_states = entry.spec.n_states
            self.show(BuildProgress(index, entry.pattern, len(table.states_per_depth) - 1, n_states, n_states))
            return
        self.say(f"the worker at {search.address} is gone; the search of pattern {entry.pattern} begins again")
        self._queue.insert(0, index)
        self.n_lost[index] += 1
        if self.n_lost[index] == _ATTEMPTS:
            raise ClusterError(
                f"workers were lost {_ATTEMPTS} times during the search of pattern {entry.pattern}; see their logs; "
                "most often they ran out of memory: start larger workers"
            )

    def _drop(self, search: _Search) -> None:
        """Let a worker drop the result of a search, also if the scheduler is gone."""
        search.table.cancel()
        with contextlib.suppress(Exception):
            self.client.cancel([search.future], force=True)
