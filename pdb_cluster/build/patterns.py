"""Build of a database on a Dask cluster, as a whole. Start reading here.

plan     the shards of each pattern: one if it fits a worker             shard_plan.py
search   level by level; patterns at the same time on different workers  pattern_search.py, shard.py
write    the client fetches tables in pieces, and writes them            pattern_search.py

The file has the bytes of a local build, and `pdb_build` finishes it.
"""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from distributed import Client

from pdb_build.build import BuildProgress
from pdb_build.checkpoint import refuse_checkpoint
from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan, check_disk
from pdb_build.report import BuildResult, check_replaced, write_report
from pdb_build.writer import TableFileWriter
from pdb_cluster.build.pattern_search import PatternSearch
from pdb_cluster.build.shard import LostError
from pdb_cluster.build.shard_plan import PatternTask, Worker, by_size, plan_task, workers_of
from pdb_cluster.connect import RightWorkers, check_workers
from pdb_core.errors import ClusterError, MemoryLimitError
from pdb_core.resources import peak_memory

_ATTEMPTS = 5
# Interval at which workers that ended silently are noticed.
_POLL_S = 0.5
# Time for lost workers to be replaced, if the others have too little memory for a pattern.
_REPLACEMENT_S = 30.0

Show = Callable[[BuildProgress], None]
Say = Callable[[str], None]


def check_cluster_plan(plan: BuildPlan, client: Client, *, n_shards: int | None = None) -> list[PatternTask]:
    """Plan how a cluster would build each pattern.

    Parameters
    ----------
    plan
        The build, as `plan_build` returns it.
    client
        A `distributed.Client`.
    n_shards
        Number of shards of each pattern. By default only patterns that are too large for each worker have shards.

    Returns
    -------
    list of PatternTask
        The tasks, the largest pattern first.

    Raises
    ------
    MemoryLimitError, DiskFullError
        If the workers have too little memory, or the disk too little room.
    ClusterError
        If there are no workers of this version.
    """
    check_disk(plan, plan.disk_bytes)
    workers = workers_of(client, check_workers(client))
    if not workers:
        raise ClusterError("the cluster has no workers; start some with dask worker, and build again")
    return [plan_task(plan, index, workers, n_shards) for index in by_size(plan)]


def build_on_cluster(
    plan: BuildPlan,
    client: Client,
    *,
    n_shards: int | None = None,
    progress: Show | None = None,
    say: Say | None = None,
    fresh: bool = False,
    force: bool = False,
) -> BuildResult:
    """Build a table file on a cluster. It has the bytes that `build_database` writes.

    One worker searches each pattern. Patterns that are too large for each worker are searched in shards, on all workers
    that have enough memory for one. Workers of other versions are left out. After any error `plan.out` is as it was
    before, and the workers are free.

    Parameters
    ----------
    plan, client, n_shards
        As in `check_cluster_plan`.
    progress
        Called with the progress at each depth.
    say
        Called with sentences about workers that are lost or left out.
    fresh
        Remove the checkpoint that a local build left.
    force
        Replace a file that no build has written.

    Returns
    -------
    BuildResult
        The plan, the header of the file, and the searches.

    Raises
    ------
    MemoryLimitError, DiskFullError, OutputError, BuildRunningError
        As `build_database` does.
    ClusterError
        If workers are lost again and again, or the scheduler is.
    CheckpointMismatchError
        If a local build left a checkpoint.
    """
    check_cluster_plan(plan, client, n_shards=n_shards)
    if not force:
        check_replaced(plan.out)
    start = time.perf_counter()
    with PartialFolder(plan.out) as folder:
        refuse_checkpoint(folder, fresh=fresh)
        writer = TableFileWriter(folder, plan)
        build = _Build(plan, client, writer, n_shards, progress or (lambda _: None), say or (lambda _: None))
        built_by = build.run()
        header = writer.close()
        result = BuildResult(plan, header, writer.searches, time.perf_counter() - start, peak_memory())
        write_report(result, folder, built_by=[built_by[use.index] for use in header.uses])
    return result


@dataclass
class _Build:
    """Searches of all patterns of a plan. A worker searches one pattern at a time, or shards of one."""

    plan: BuildPlan
    client: Client
    writer: TableFileWriter
    n_shards: int | None
    show: Show
    say: Say

    def __post_init__(self) -> None:
        self._queue = by_size(self.plan)
        self._searches: dict[int, PatternSearch] = {}
        self._built_by: dict[int, dict[str, Any]] = {}
        self._n_lost = Counter[int]()
        self._right = RightWorkers(self.client, self.say)
        self._asked = set(self._right.threads())
        self._workers = workers_of(self.client, self._asked)
        self._updated_at = self._idle_since = time.monotonic()

    def run(self) -> dict[int, dict[str, Any]]:
        """Search all patterns. Return which workers built each, for the report."""
        try:
            while self._queue or self._searches:
                self._start_searches()
                waiting = [search.waiting for search in self._searches.values()] or [Future()]
                wait(waiting, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                if time.monotonic() >= self._updated_at + _POLL_S or not self._searches:
                    self._update_workers()
                for index, search in list(self._searches.items()):
                    self._continue(index, search)
        finally:
            for search in self._searches.values():
                search.close()
        return self._built_by

    def _start_searches(self) -> None:
        """Start as many searches as idle workers have memory for. Raises `MemoryLimitError`."""
        if self._searches or not self._workers:
            self._idle_since = time.monotonic()
        busy = {address for search in self._searches.values() for address in search.addresses}
        for index in list(self._queue) if self._workers else []:
            try:
                task = plan_task(self.plan, index, self._workers, self.n_shards)
            except MemoryLimitError:
                if self._searches or time.monotonic() < self._idle_since + _REPLACEMENT_S:
                    continue
                raise
            free = [worker for worker in task.workers if worker.address not in busy]
            if len(free) >= min(task.n_shards, len(task.workers)):
                self._queue.remove(index)
                self._searches[index] = search = self._search(task, free[: task.n_shards])
                busy |= search.addresses

    def _search(self, task: PatternTask, workers: list[Worker]) -> PatternSearch:
        index, entry = task.index, self.plan.patterns[task.index]
        return PatternSearch(
            self.client, entry.spec, task, workers, self.writer,
            lambda *at: self.show(BuildProgress(index, entry.pattern, *at)),
        )  # fmt: skip

    def _continue(self, index: int, search: PatternSearch) -> None:
        """Continue a search, or begin it again if one of its workers is gone. Raises as `PatternSearch.resume`."""
        try:
            gone = sorted(search.addresses - {worker.address for worker in self._workers})
            if gone:
                raise LostError(f"the worker at {gone[0]} is gone")
            built = search.resume() if search.waiting.done() else None
        except LostError as lost:
            search.close()
            del self._searches[index]
            self._queue.insert(0, index)
            self._n_lost[index] += 1
            pattern = self.plan.patterns[index].pattern
            self.say(f"pattern {pattern}: at depth {search.depth} {lost}; the search of this pattern begins again")
            if self._n_lost[index] == _ATTEMPTS:
                raise ClusterError(
                    f"workers were lost {_ATTEMPTS} times during the search of pattern {pattern}; see their logs; "
                    "most often they ran out of memory: divide it into more shards, or start larger workers"
                ) from lost
            return
        if built is not None:
            search.close()
            del self._searches[index]
            self.writer.add(index, built, built.sha256)
            self._built_by[index] = search.built_by

    def _update_workers(self) -> None:
        """Measure the memory of new workers, or of all while no search is under way."""
        self._updated_at = time.monotonic()
        present = set(self._right.threads())
        if bool(present) != bool(self._workers):
            self.say("workers came, continuing" if present else "all workers are gone; waiting for workers ...")
        if present != self._asked or not self._searches:
            kept = [worker for worker in self._workers if worker.address in present] if self._searches else []
            # Workers whose memory is not known are asked again when no search is under way.
            new = workers_of(self.client, present - self._asked if self._searches else present, kept)
            self._workers = tuple(sorted([*kept, *new], key=lambda worker: worker.address))
        self._asked = present
