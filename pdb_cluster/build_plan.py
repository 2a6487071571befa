"""What building on a cluster takes: which patterns one worker can search, which have to be shared out, and whether
there is room.
"""

from dataclasses import dataclass

from pdb_build.plan import PROCESS_BYTES, BuildPlan, PatternPlan
from pdb_cluster.build_workers import Worker
from pdb_cluster.shard_plan import HALO_BYTES, plan_shards
from pdb_core.errors import DiskFullError, MemoryLimitError
from pdb_core.messages import format_bytes

_MAX_SHARDS = 4096
_LEAST_HALO_BYTES = 4_000_000


@dataclass(frozen=True)
class PatternTask:
    """A pattern of a build.

    n_shards      0 where one worker searches it alone: one of `workers`, which have room
    memory_bytes  of a worker, at most
    halo_bytes    of each shard: see `shard_plan`
    """

    index: int
    n_shards: int
    memory_bytes: int
    workers: tuple[Worker, ...]
    halo_bytes: int = 0


def plan_tasks(
    plan: BuildPlan, workers: tuple[Worker, ...], n_shards: int | None = None, *, halo_bytes: int = HALO_BYTES
) -> tuple[PatternTask, ...]:
    """How each pattern that has a table of its own is built: the largest first.

    `n_shards`: all in so many shards; None: in shards, one a worker, where no worker has the memory for it alone. The
    halo is at most `halo_bytes`, less where memory is short.

    Raises `MemoryLimitError` where the workers together have not enough either.
    """
    searched = [index for index, entry in enumerate(plan.patterns) if entry.use is None]
    by_size = sorted(searched, key=lambda index: -plan.patterns[index].n_states)
    return tuple(_plan_task(plan, index, workers, n_shards, halo_bytes) for index in by_size)


def check_disk(plan: BuildPlan) -> None:
    """Raise `DiskFullError` where there is no room for the file and, beside it, for its parts."""
    needed = 2 * plan.disk_bytes
    if needed > plan.available_disk:
        raise DiskFullError(
            f"{plan.out} needs {format_bytes(needed)} while it is built on a cluster, "
            f"{format_bytes(plan.available_disk)} are free there; make room or choose another place with --out"
        )


def _plan_task(
    plan: BuildPlan, index: int, workers: tuple[Worker, ...], n_shards: int | None, halo_bytes: int
) -> PatternTask:
    entry = plan.patterns[index]
    if n_shards is None:
        # A table that is not fetched yet may be there while the next pattern is searched.
        others = [other.n_bytes for at, other in enumerate(plan.patterns) if at != index]
        waiting = max(others, default=0) if len(plan.patterns) > len(workers) else 0
        needed = entry.memory_bytes + waiting + PROCESS_BYTES
        fitting = tuple(worker for worker in workers if worker.memory_bytes >= needed)
        if fitting:
            return PatternTask(index, 0, needed, fitting)
    number = n_shards or len(workers)
    least = min(worker.memory_bytes for worker in workers)
    # A small halo takes many rounds, each of which costs a message or two between any two shards.
    while True:
        needed = _shards_bytes(entry, number, len(workers), halo_bytes)
        if needed <= least:
            return PatternTask(index, number, needed, workers, halo_bytes)
        if halo_bytes <= _LEAST_HALO_BYTES:
            break
        halo_bytes //= 2
    raise MemoryLimitError(
        f"pattern {entry.pattern} needs {format_bytes(needed)} of memory of each of {len(workers)} workers, "
        f"{format_bytes(least)} are available at the one that has least; {_what_would_do(entry, least)}"
    )


def _shards_bytes(entry: PatternPlan, n_shards: int, n_workers: int, halo_bytes: int) -> int:
    """Memory of the shards of one worker."""
    shards = plan_shards(entry.spec, n_shards, halo_bytes)
    return -(-n_shards // n_workers) * shards.memory_bytes + PROCESS_BYTES


def _what_would_do(entry: PatternPlan, memory: int) -> str:
    n_workers = 2
    while n_workers <= _MAX_SHARDS and _shards_bytes(entry, n_workers, n_workers, _LEAST_HALO_BYTES) > memory:
        n_workers += max(1, n_workers // 16)
    if n_workers > _MAX_SHARDS:
        return "larger workers are needed"
    return f"about {n_workers} workers of that size would do"
