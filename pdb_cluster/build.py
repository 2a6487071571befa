"""Build of a database on a Dask cluster: one worker searches each pattern, the largest first; the client writes.

The file has the bytes of a local build. If the search of a pattern is lost with its worker, it begins again on another
one. Finished tables are kept as in a local build, which may continue this one, and the other way round.
"""

import time
from typing import Any

from pdb_build.build import BuildProgress, Show, unfinished_file
from pdb_build.plan import BuildPlan, PatternPlan, check_disk
from pdb_build.report import BuildResult
from pdb_build.search import PatternTable, search_pattern
from pdb_build.writer import Say, TableFileWriter
from pdb_cluster.tasks import Task, Tasks, Worker
from pdb_core.arguments import as_function
from pdb_core.errors import ClusterError, MemoryLimitError
from pdb_core.messages import format_bytes

# Interval at which results and workers are looked for.
_POLL_S = 0.05


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
    workers = Tasks(client, lambda _: None).present()
    if not workers:
        raise ClusterError("the cluster has no workers; start some with dask worker, and build again")
    return fitting_workers(plan, workers)


def fitting_workers(plan: BuildPlan, workers: dict[str, Worker]) -> dict[int, list[str]]:
    """Return the addresses of `check_cluster_plan`. Raises `MemoryLimitError` if no worker fits a pattern."""
    searched = [index for index, entry in enumerate(plan.patterns) if entry.use is None]
    fitting = {}
    for index in sorted(searched, key=lambda index: -plan.patterns[index].spec.n_states):
        entry = plan.patterns[index]
        fitting[index] = _fitting(entry, workers)
        if not fitting[index]:
            most = max(worker.memory_bytes for worker in workers.values())
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
    by_size = check_cluster_plan(plan, client)
    say, progress = as_function(say, "say"), as_function(progress, "progress")
    with unfinished_file(plan, say, fresh=fresh, force=force) as writer:
        queue = [index for index in by_size if index in writer.missing]
        _search_and_write(plan, queue, Tasks(client, say), writer, progress, say)
        return writer.finish()


def _fitting(entry: PatternPlan, workers: dict[str, Worker]) -> list[str]:
    """Return the workers that have enough memory for a pattern."""
    return [address for address, worker in workers.items() if worker.memory_bytes >= entry.worker_bytes]


def _search_and_write(
    plan: BuildPlan, queue: list[int], tasks: Tasks, writer: TableFileWriter, show: Show, say: Say
) -> None:
    """Search the patterns of a queue, one at a time on each worker, and write their tables.

    Raises `ClusterError`, and what a search and the writer raise.
    """
    busy: dict[str, int] = {}
    waits = False

    def take(task: Task, table: PatternTable | None) -> None:
        """Write the table of a search that is finished. Begin a search again if its worker is gone."""
        index = busy.pop(task.worker)
        entry = plan.patterns[index]
        if table is None:
            say(f"the worker at {task.worker} is gone; the search of pattern {entry.pattern} begins again")
            queue.insert(0, index)
            return
        writer.write(index, table)
        n_states = entry.spec.n_states
        show(BuildProgress(index, entry.pattern, len(table.states_per_depth) - 1, n_states, n_states))

    try:
        while queue or busy:
            workers = tasks.present()
            for index in list(queue):
                entry = plan.patterns[index]
                if idle := [address for address in _fitting(entry, workers) if address not in busy]:
                    queue.remove(index)
                    busy[idle[0]] = index
                    n_threads = workers[idle[0]].n_threads
                    tasks.submit(search_pattern, entry.spec, take, worker=idle[0], n_threads=n_threads)
            if not busy and not waits:
                needed = format_bytes(plan.patterns[queue[0]].worker_bytes)
                say(f"waiting for a worker that has {needed} of memory ...")
            elif busy and waits:
                say("workers came, continuing")
            waits = not busy
            if not tasks.handle_results():
                time.sleep(_POLL_S)
    finally:
        tasks.cancel_all()
