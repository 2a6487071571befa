"""Build of a database on a Dask cluster: one worker searches each pattern, the largest first; the client writes.

The file has the bytes of a local build. If the search of a pattern is lost with its worker, it begins again on another
one. Finished tables are kept as in a local build, which may continue this one, and the other way round.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

from pdb_build.build import BuildProgress, unfinished_file
from pdb_build.plan import BuildPlan, check_disk
from pdb_build.report import BuildResult
from pdb_build.search import PatternTable, search_pattern
from pdb_build.writer import TableFileWriter
from pdb_cluster.connect import RightWorkers, Worker
from pdb_cluster.tasks import Task, Tasks
from pdb_core.errors import ClusterError, MemoryLimitError
from pdb_core.messages import format_bytes

# Interval at which results and workers are looked for.
_POLL_S = 0.05

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
    fitting = {index: _fitting(plan, index, workers) for index in _by_size(plan)}
    for index, addresses in fitting.items():
        if not addresses:
            entry, most = plan.patterns[index], max(worker.memory_bytes for worker in workers.values())
            raise MemoryLimitError(
                f"pattern {entry.pattern} needs {format_bytes(entry.worker_bytes)} of memory on one worker, "
                f"{format_bytes(most)} are available on the largest; start larger workers, or build on one machine, "
                "which may keep bits in a file"
            )
    return fitting


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
        _Build(plan, Tasks(client, say), writer, progress or (lambda _: None), say).run()
        return writer.finish()


def _by_size(plan: BuildPlan) -> list[int]:
    """Return the patterns that have a table of their own, the largest first."""
    searched = (index for index, entry in enumerate(plan.patterns) if entry.use is None)
    return sorted(searched, key=lambda index: -plan.patterns[index].spec.n_states)


def _fitting(plan: BuildPlan, index: int, workers: dict[str, Worker]) -> list[str]:
    """Return the workers that have enough memory for a pattern."""
    needed = plan.patterns[index].worker_bytes
    return [address for address, worker in workers.items() if worker.memory_bytes >= needed]


class _Build:
    """Searches of the patterns of a plan whose tables are missing. A worker searches one pattern at a time."""

    def __init__(self, plan: BuildPlan, tasks: Tasks, writer: TableFileWriter, show: Show, say: Say) -> None:
        self._plan, self._tasks, self._writer, self._show, self._say = plan, tasks, writer, show, say
        self._queue = [index for index in _by_size(plan) if index in writer.missing]
        self._busy: set[str] = set()

    def run(self) -> None:
        """Search and write all patterns. Raises `ClusterError`, and what a search and the writer raise."""
        waits = False
        try:
            while self._queue or self._busy:
                self._start()
                if waits == bool(self._busy):
                    waits = not waits
                    entry = self._plan.patterns[self._queue[0]] if waits else None
                    self._say(
                        f"waiting for a worker that has {format_bytes(entry.worker_bytes)} of memory ..."
                        if entry
                        else "workers came, continuing"
                    )
                if not self._tasks.handle_results():
                    time.sleep(_POLL_S)
        finally:
            self._tasks.cancel_all()

    def _start(self) -> None:
        """Start as many searches as idle workers have memory for."""
        workers = self._tasks.present()
        for index in list(self._queue):
            idle = {address: worker for address, worker in workers.items() if address not in self._busy}
            for address in _fitting(self._plan, index, idle)[:1]:
                self._queue.remove(index)
                self._busy.add(address)
                self._tasks.submit(
                    search_pattern,
                    [self._plan.patterns[index].spec],
                    functools.partial(self._take, index),
                    worker=address,
                    n_threads=workers[address].n_threads,
                )

    def _take(self, index: int, task: Task, table: PatternTable | None) -> None:
        """Write the table of a search that is finished. Begin a search again if its worker is gone."""
        entry = self._plan.patterns[index]
        self._busy.remove(task.worker)
        if table is None:
            self._say(f"the worker at {task.worker} is gone; the search of pattern {entry.pattern} begins again")
            self._queue.insert(0, index)
            return
        self._writer.write(index, table)
        n_states = entry.spec.n_states
        self._show(BuildProgress(index, entry.pattern, len(table.states_per_depth) - 1, n_states, n_states))
