"""Building a database on a Dask cluster, as a whole. Read this first.

plan     which patterns one worker can search, which are shared out     plan.py, shard_plan.py, workers.py
search   whole patterns, each a task                                    tasks.py
         patterns in shards, level by level                             sharded_search.py, shard.py
fetch    what workers cannot write where the client reads it            fetch.py, parts.py
write    each table, as it comes, into the one file                     pdb_build/writer.py
report   as of every build, and who built what                          pdb_build/report.py

The file is the one that a build on one machine makes, to the byte.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import asdict, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pdb_build.build import BuildProgress, BuildResult
from pdb_build.checkpoint_files import refuse_checkpoints
from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan
from pdb_build.report import report_path, write_report
from pdb_build.search import PatternTable
from pdb_build.writer import TableFileWriter
from pdb_cluster.build_failures import failed, while_reachable
from pdb_cluster.build_plan import PatternTask, check_disk, plan_tasks
from pdb_cluster.build_tasks import SearchRequest, search
from pdb_cluster.build_workers import Worker, ask_workers
from pdb_cluster.fetch import WorkerGoneError, fetch_search
from pdb_cluster.shard import ShardedPattern
from pdb_cluster.shard_plan import HALO_BYTES, share_out
from pdb_cluster.sharded_search import search_on_shards
from pdb_cluster.table_parts import Part, PartsFolder
from pdb_core.errors import ClusterError, MemoryLimitError, PdbError
from pdb_core.resources import peak_memory

if TYPE_CHECKING:
    from distributed import Client, Future

_POLL_S = 0.2
# How long workers that were lost may take to come back, where the others have not the memory.
_REPLACEMENT_S = 30.0

Show = Callable[[BuildProgress], None]
Say = Callable[[str], None]


def check_cluster_plan(plan: BuildPlan, client: "Client", *, n_shards: int | None = None) -> tuple[PatternTask, ...]:
    """How each pattern would be built. Raises `MemoryLimitError`, `DiskFullError`, `ClusterError`."""
    check_disk(plan)
    return plan_tasks(plan, ask_workers(client), n_shards)


def build_on_cluster(
    plan: BuildPlan,
    client: "Client",
    *,
    n_shards: int | None = None,
    progress: Show | None = None,
    say: Say | None = None,
    halo_bytes: int = HALO_BYTES,
    fresh: bool = False,
) -> BuildResult:
    """Build what `plan` says on a cluster, at `plan.out`: the same bytes as `build_database`.

    Each pattern is searched by one worker; those that no worker has the memory for, or all where `n_shards` is given,
    by shards on all of them. `say` is called with sentences about what happens to workers.

    Whatever goes wrong, `plan.out` is left as it was before, and the cluster with nothing to do. Raises
    `MemoryLimitError`, `DiskFullError`, `OutputError`, `BuildRunningError`, `ClusterError` where workers are lost again
    and again, and `CheckpointMismatchError` where a local build has left a checkpoint, which `fresh` removes.
    """
    tasks = check_cluster_plan(plan, client, n_shards=n_shards)
    start = time.perf_counter()
    say = say or (lambda _: None)
    with PartialFolder(plan.out) as partial, PartsFolder(plan.out, say) as folder, while_reachable():
        refuse_checkpoints(partial, fresh=fresh)
        writer = TableFileWriter(partial, plan.size, plan.goal, plan.partition, plan.encoding, plan.uses)
        build = _Build(plan, client, writer, folder, progress or (lambda _: None), say)
        for task in tasks:
            if task.n_shards:
                build.in_shards(task, n_shards, halo_bytes)
        build.whole([task for task in tasks if not task.n_shards])
        header = writer.close()
    searches = tuple(build.search_of(index) for index in range(len(plan.patterns)))
    result = BuildResult(plan.out, report_path(plan.out), header, searches, time.perf_counter() - start, peak_memory())
    write_report(result, plan, built_by=[build.built_by[use.index] for use in plan.uses])
    return result


class _Build:
    """A build under way: what is done of it."""

    def __init__(
        self, plan: BuildPlan, client: "Client", writer: TableFileWriter, folder: PartsFolder, show: Show, say: Say
    ) -> None:
        self._plan, self._client, self._writer, self._folder = plan, client, writer, folder
        self._show, self._say = show, say
        self.searches: dict[int, PatternTable] = {}
        self.built_by: dict[int, dict[str, Any]] = {}

    def search_of(self, index: int) -> PatternTable:
        """The search of a pattern; of one that uses the table of another, the other's, in no time."""
        use = self._plan.patterns[index].use
        if use is None:
            return self.searches[index]
        return replace(self.searches[use.index], spec=self._plan.patterns[index].spec, seconds=0.0)

    def in_shards(self, task: PatternTask, n_shards: int | None, halo_bytes: int) -> None:
        """Search a pattern in shards, and write it."""
        plan, pattern = self._plan, self._plan.patterns[task.index].pattern

        def prepare() -> tuple[ShardedPattern, tuple[Worker, ...], int]:
            now = self._plan_again(task.index, n_shards, halo_bytes)
            shared = share_out(plan.patterns[task.index].spec, now.n_shards)
            return shared, now.workers, now.halo_bytes

        def report_depth(depth: int, n_reached: int, n_states: int) -> None:
            self._show(BuildProgress(task.index, pattern, depth, n_reached, n_states))

        found = search_on_shards(self._client, prepare, self._folder, say=self._say, progress=report_depth)
        self._write(task.index, found.table, list(found.parts))
        self.built_by[task.index] = {
            "shards": [asdict(builder) for builder in found.builders],
            "rounds": found.n_rounds,
            "sent_bytes_per_depth": list(found.sent_bytes),
        }

    def whole(self, tasks: list[PatternTask]) -> None:
        """Search patterns, each on one worker, all at once; write each as it comes."""
        plan, client = self._plan, self._client
        topic = f"tile-pdb-build-{self._folder.token.text[:16]}"
        events: SimpleQueue[tuple[int, int, int, int]] = SimpleQueue()
        futures: dict[int, Future] = {}
        restricted: dict[int, set[str]] = {}
        with ExitStack() as stack:
            client.subscribe_topic(topic, lambda event: events.put(event[1]))
            stack.callback(client.unsubscribe_topic, topic)
            stack.callback(lambda: client.cancel(list(futures.values())))
            for task in tasks:
                request = SearchRequest(task.index, plan.patterns[task.index].spec, self._folder.token, topic)
                # Where every worker has room, one that comes later may have a part in it.
                able = {worker.address for worker in task.workers}
                restricted[task.index] = set() if able >= set(client.nthreads()) else able
                futures[task.index] = client.submit(
                    search, request, workers=sorted(restricted[task.index]) or None, pure=False
                )
            had_workers = True
            while futures:
                self._show_events(events)
                present = set(client.nthreads())
                if bool(present) != had_workers:
                    had_workers = bool(present)
                    self._say("workers came, going on" if present else "all workers are gone; waiting for workers ...")
                _check_workers(present, (restricted[index] for index in futures))
                for index, future in list(futures.items()):
                    if future.done() and self._merge(index, future):
                        del futures[index]
                time.sleep(0 if any(future.done() for future in futures.values()) else _POLL_S)
            self._show_events(events)

    def _merge(self, index: int, future: "Future") -> bool:
        """Write what a task found; False where it has to be found again."""
        from distributed import KilledWorker

        pattern = self._plan.patterns[index].pattern
        if future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker):
                raise ClusterError(
                    f"several workers died while they searched pattern {pattern}; see their logs, most often they ran "
                    "out of memory: give --shards to share it out"
                ) from error
            if isinstance(error, PdbError):
                raise error
            raise failed(f"the search of pattern {pattern} failed on a worker", error) from error
        # One that was lost with its worker since is searched again: nobody holds it.
        if future.status == "cancelled":
            raise ClusterError(f"the scheduler no longer knows of pattern {pattern}: it was restarted; build again")
        try:
            found, part = fetch_search(self._client, future, self._folder)
        except (WorkerGoneError, CancelledError):
            self._say(f"pattern {pattern}: the worker that had its table is gone; it is searched again")
            return False
        self._write(index, found.table, [part])
        self.built_by[index] = {"worker": asdict(found.builder)}
        return True

    def _write(self, index: int, table: PatternTable, parts: list[Part]) -> None:
        self._writer.write(index, table.with_entries(self._folder.join(parts)))
        self.searches[index] = table

    def _show_events(self, events: "SimpleQueue[tuple[int, int, int, int]]") -> None:
        while True:
            try:
                index, depth, n_reached, n_states = events.get_nowait()
            except Empty:
                return
            if depth:
                pattern = self._plan.patterns[index].pattern
                self._show(BuildProgress(index, pattern, depth, n_reached, n_states))

    def _plan_again(self, index: int, n_shards: int | None, halo_bytes: int) -> PatternTask:
        """The plan of a pattern that is shared out, for the workers that are left, or that came back."""
        end = time.monotonic() + _REPLACEMENT_S
        while True:
            try:
                workers = ask_workers(self._client)
                tasks = plan_tasks(self._plan, workers, n_shards or len(workers), halo_bytes=halo_bytes)
                return next(task for task in tasks if task.index == index)
            except (MemoryLimitError, ClusterError):
                if time.monotonic() > end:
                    raise
                time.sleep(_POLL_S)


def _check_workers(present: set[str], restricted: Iterable[set[str]]) -> None:
    """Raise `ClusterError` where only workers that are gone have room for a pattern."""
    for addresses in restricted:
        if addresses and not addresses & present:
            raise ClusterError(
                f"the workers that have the memory for a pattern are gone, {sorted(addresses)[0]} among them; "
                "start them again and build again, or give --shards to share the pattern out"
            )
