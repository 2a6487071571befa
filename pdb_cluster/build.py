"""Build of a database on a Dask cluster, as a whole. Start reading here.

plan     which patterns one worker can search, which need shards      build_plan.py, build_workers.py
search   each pattern as a task on one worker                         build_tasks.py
         or in shards on all workers, level by level                  sharded_search.py, shard.py
write    workers write tables into the file, or the client does       table_parts.py
finish   the header, a check of all tables, the name                  pdb_build/writer.py
report   as for a local build, with the workers that built each table  pdb_build/report.py

The file has the bytes of a local build.
"""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import asdict
from queue import SimpleQueue
from typing import Any

from distributed import Client, Future

from pdb_build.build import BuildProgress
from pdb_build.checkpoint import refuse_checkpoint
from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan
from pdb_build.report import BuildResult, report_path, write_report
from pdb_build.search import PatternTable
from pdb_build.writer import TableFileWriter
from pdb_cluster.build_plan import HALO_BYTES, PatternTask, check_disk, divide, plan_tasks
from pdb_cluster.build_tasks import Found, SearchRequest, describe, search
from pdb_cluster.build_workers import Worker, workers_of
from pdb_cluster.failures import LostError, failure, while_reachable
from pdb_cluster.shard import ShardedPattern
from pdb_cluster.sharded_search import search_on_shards
from pdb_cluster.table_parts import Part, digest_of_parts, run_on, write_token
from pdb_core.errors import ClusterError, MemoryLimitError
from pdb_core.resources import peak_memory

_POLL_S = 0.2
_DONE = ("finished", "error", "cancelled")
# Time for lost workers to be replaced, if the others have too little memory for a search in shards.
_REPLACEMENT_S = 30.0

Show = Callable[[BuildProgress], None]
Say = Callable[[str], None]


def check_cluster_plan(plan: BuildPlan, client: Client, *, n_shards: int | None = None) -> tuple[PatternTask, ...]:
    """Return how each pattern would be built. Raises `MemoryLimitError`, `DiskFullError`, `ClusterError`."""
    check_disk(plan)
    return plan_tasks(plan, workers_of(client), n_shards)


def build_on_cluster(
    plan: BuildPlan,
    client: Client,
    *,
    n_shards: int | None = None,
    progress: Show | None = None,
    say: Say | None = None,
    halo_bytes: int = HALO_BYTES,
    fresh: bool = False,
) -> BuildResult:
    """Build `plan` on a cluster, at `plan.out`, with the bytes that `build_database` writes.

    One worker searches each pattern. Patterns that are too large for each worker are searched in shards on all
    workers; with `n_shards`, all patterns are. `say` is called with sentences about lost workers.

    After any error `plan.out` is as it was before, and the workers are free. Raises `MemoryLimitError`,
    `DiskFullError`, `OutputError`, `BuildRunningError`, `ClusterError` if workers are lost again and again, and
    `CheckpointMismatchError` if a local build left a checkpoint, which `fresh` removes.
    """
    tasks = check_cluster_plan(plan, client, n_shards=n_shards)
    start = time.perf_counter()
    with PartialFolder(plan.out) as folder, while_reachable("start it again, and build again"):
        refuse_checkpoint(folder, fresh=fresh)
        writer = TableFileWriter(folder, plan.spec, plan.uses)
        build = _Build(plan, client, folder, writer, progress or (lambda _: None), say or (lambda _: None))
        for task in tasks:
            if task.n_shards:
                build.search_in_shards(task, n_shards, halo_bytes)
        build.search_whole([task for task in tasks if not task.n_shards])
        header = writer.close()
    seconds = time.perf_counter() - start
    result = BuildResult(plan.out, report_path(plan.out), header, writer.searches, seconds, peak_memory())
    write_report(result, plan, built_by=[build.built_by[use.index] for use in plan.uses])
    return result


class _Build:
    """A build under way, with the patterns that are done."""

    def __init__(
        self, plan: BuildPlan, client: Client, folder: PartialFolder, writer: TableFileWriter, show: Show, say: Say
    ) -> None:
        self._plan, self._client, self._folder, self._writer = plan, client, folder, writer
        self._show, self._say = show, say
        self._token = write_token(folder)
        self.built_by: dict[int, dict[str, Any]] = {}

    def search_in_shards(self, task: PatternTask, n_shards: int | None, halo_bytes: int) -> None:
        """Search a pattern on all workers."""
        plan, pattern = self._plan, self._plan.patterns[task.index].pattern

        def prepare() -> tuple[ShardedPattern, tuple[Worker, ...], int]:
            now = self._plan_again(task.index, n_shards, halo_bytes)
            return divide(plan.patterns[task.index].spec, now.n_shards), now.workers, now.halo_bytes

        def report_depth(depth: int, n_reached: int, n_states: int) -> None:
            self._show(BuildProgress(task.index, pattern, depth, n_reached, n_states))

        found = search_on_shards(self._client, prepare, self._place(task.index), say=self._say, progress=report_depth)
        self._add(task.index, found.table, found.parts)
        self.built_by[task.index] = {
            "shards": [asdict(builder) for builder in found.builders],
            "rounds": found.n_rounds,
            "sent_bytes_per_depth": list(found.sent_bytes),
        }

    def search_whole(self, tasks: list[PatternTask]) -> None:
        """Search patterns at the same time, each on one worker."""
        client, topic = self._client, f"tile-pdb-build-{self._token}"
        events: SimpleQueue[tuple[int, int, int, int]] = SimpleQueue()
        # The addresses of the workers with enough memory. If all have enough, those that come later may search too.
        present = set(client.nthreads())
        able = {task.index: {worker.address for worker in task.workers} for task in tasks}
        able = {index: set() if addresses >= present else addresses for index, addresses in able.items()}
        futures: dict[int, Future] = {}
        with ExitStack() as stack:
            client.subscribe_topic(topic, lambda event: events.put(event[1]))
            stack.callback(client.unsubscribe_topic, topic)
            stack.callback(lambda: client.cancel(list(futures.values())))
            for index in able:
                futures[index] = self._submit(index, able[index], topic)
            had_workers = True
            while futures:
                self._show_events(events)
                had_workers = self._check_workers([able[index] for index in futures], had_workers)
                done = [index for index, future in futures.items() if future.status in _DONE]
                for index in done:
                    if self._take(index, futures[index]):
                        del futures[index]
                    else:
                        futures[index] = self._submit(index, able[index], topic)
                if not done:
                    time.sleep(_POLL_S)
            self._show_events(events)

    def _submit(self, index: int, able: set[str], topic: str) -> Future:
        """Submit the search of a pattern to workers; to any if `able` is empty."""
        request = SearchRequest(index, self._plan.patterns[index].spec, self._place(index), topic)
        return self._client.submit(search, request, workers=sorted(able) or None, pure=False)

    def _take(self, index: int, future: Future) -> bool:
        """Record the table of a finished search. Return False if the table was lost with its worker."""
        pattern = self._plan.patterns[index].pattern
        if future.status == "cancelled":
            raise ClusterError(f"the scheduler restarted and lost the search of pattern {pattern}; build again")
        if future.status == "error":
            error = future.exception()
            what = f"the search of pattern {pattern} failed on a worker"
            raise failure(what, error, "give --shards to divide it among workers") from error
        try:
            address = next(iter(self._client.who_has([future]).get(future.key, ())), None)
            if address is None:
                raise LostError("no worker holds the table")
            found: Found = run_on(self._client, address, describe, future.key)
            part = found.part if found.part.sha256 else found.part.fetch(self._client, address, future.key)
        except (LostError, CancelledError):
            self._say(f"pattern {pattern}: the worker that held its table is gone; it is searched again")
            return False
        self._add(index, found.table, (part,))
        self.built_by[index] = {"worker": asdict(found.builder)}
        return True

    def _place(self, index: int) -> Part:
        """Return the place of a table in the file."""
        n_bytes = self._plan.patterns[index].spec.n_bytes
        return Part.of_table(self._folder, self._token, self._writer.offset(index), n_bytes)

    def _add(self, index: int, table: PatternTable, parts: tuple[Part, ...]) -> None:
        self._writer.add(index, table, digest_of_parts(parts))

    def _show_events(self, events: "SimpleQueue[tuple[int, int, int, int]]") -> None:
        while not events.empty():
            index, depth, n_reached, n_states = events.get()
            if depth:
                pattern = self._plan.patterns[index].pattern
                self._show(BuildProgress(index, pattern, depth, n_reached, n_states))

    def _check_workers(self, able: list[set[str]], had_workers: bool) -> bool:
        """Return whether there are workers, and report a change.

        Raises `ClusterError` if a pattern fits only workers that are gone. `able` is as for `_submit`.
        """
        present = set(self._client.nthreads())
        if bool(present) != had_workers:
            self._say("workers came, continuing" if present else "all workers are gone; waiting for workers ...")
        for addresses in able:
            if addresses and not addresses & present:
                raise ClusterError(
                    f"the workers with enough memory for a pattern are gone, such as {min(addresses)}; start them "
                    "again and build again, or give --shards to divide the pattern among workers"
                )
        return bool(present)

    def _plan_again(self, index: int, n_shards: int | None, halo_bytes: int) -> PatternTask:
        """Plan a search in shards for the workers that are left, or that came back."""
        end = time.monotonic() + _REPLACEMENT_S
        while True:
            try:
                workers = workers_of(self._client)
                tasks = plan_tasks(self._plan, workers, n_shards or len(workers), halo_bytes=halo_bytes)
                return next(task for task in tasks if task.index == index)
            except (MemoryLimitError, ClusterError):
                if time.monotonic() > end:
                    raise
                time.sleep(_POLL_S)
