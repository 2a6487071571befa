"""Plan of a build on a cluster: which patterns one worker searches, which are searched in shards, and the memory."""

from dataclasses import dataclass

import numpy as np

from pdb_build.plan import PROCESS_BYTES, BuildPlan, PatternPlan
from pdb_build.word_layout import row_bytes
from pdb_cluster.build_workers import Worker
from pdb_cluster.shard import ShardedPattern
from pdb_core.errors import DiskFullError, MemoryLimitError
from pdb_core.layout import jump_positions, pattern_blocks
from pdb_core.messages import format_bytes
from pdb_core.table_spec import TableSpec

# Most bytes of rows of other shards that a shard holds at a time. Its packs take about four times that.
HALO_BYTES = 512_000_000
_PACKS_PER_HALO = 4
_LEAST_HALO_BYTES = 4_000_000
_MAX_SHARDS = 4096


@dataclass(frozen=True)
class PatternTask:
    """Way in which one pattern is built.

    n_shards      0 if one of `workers` searches it; all of them have enough memory
    memory_bytes  most bytes that a worker takes
    halo_bytes    most bytes of the halo of each shard
    """

    index: int
    n_shards: int
    memory_bytes: int
    workers: tuple[Worker, ...]
    halo_bytes: int = 0


def plan_tasks(
    plan: BuildPlan, workers: tuple[Worker, ...], n_shards: int | None = None, *, halo_bytes: int = HALO_BYTES
) -> tuple[PatternTask, ...]:
    """Return a task for each pattern that has its own table. The largest pattern comes first.

    `n_shards` applies to all patterns. With None, a pattern too large for each worker has one shard per worker. The
    halo has at most `halo_bytes`, and less if memory is short.

    Raises `MemoryLimitError` if all workers together have too little memory.
    """
    searched = [index for index, entry in enumerate(plan.patterns) if entry.use is None]
    by_size = sorted(searched, key=lambda index: -plan.patterns[index].n_states)
    return tuple(_plan_task(plan, index, workers, n_shards, halo_bytes) for index in by_size)


def check_disk(plan: BuildPlan) -> None:
    """Raise `DiskFullError` if the file does not fit."""
    if plan.disk_bytes > plan.available_disk:
        raise DiskFullError(
            f"{plan.out} needs {format_bytes(plan.disk_bytes)}, {format_bytes(plan.available_disk)} are free there; "
            "make room or choose another place with --out"
        )


def _plan_task(
    plan: BuildPlan, index: int, workers: tuple[Worker, ...], n_shards: int | None, halo_bytes: int
) -> PatternTask:
    entry = plan.patterns[index]
    if n_shards is None:
        # A worker may hold a table that is not fetched yet while it searches the next pattern.
        others = [other.n_bytes for at, other in enumerate(plan.patterns) if at != index]
        waiting = max(others, default=0) if len(plan.patterns) > len(workers) else 0
        needed = entry.memory_bytes + waiting + PROCESS_BYTES
        fitting = tuple(worker for worker in workers if worker.memory_bytes >= needed)
        if fitting:
            return PatternTask(index, 0, needed, fitting)
    number = n_shards or len(workers)
    least = min(worker.memory_bytes for worker in workers)
    # A small halo takes many rounds, each of which costs a message or two between any two shards.
    while (needed := _shards_bytes(entry, number, len(workers), halo_bytes)) > least:
        if halo_bytes <= _LEAST_HALO_BYTES:
            raise MemoryLimitError(
                f"pattern {entry.pattern} needs {format_bytes(needed)} of memory of each of {len(workers)} workers, "
                f"{format_bytes(least)} are available at the one that has least; {_advice(entry, least)}"
            )
        halo_bytes //= 2
    return PatternTask(index, number, needed, workers, halo_bytes)


def _shards_bytes(entry: PatternPlan, n_shards: int, n_workers: int, halo_bytes: int) -> int:
    """Return the memory of the shards of one worker."""
    return -(-n_shards // n_workers) * shard_bytes(entry.spec, n_shards, halo_bytes) + PROCESS_BYTES


def _advice(entry: PatternPlan, memory: int) -> str:
    """Return how many workers of `memory` bytes would be enough."""
    n_workers = 2
    while n_workers <= _MAX_SHARDS and _shards_bytes(entry, n_workers, n_workers, _LEAST_HALO_BYTES) > memory:
        n_workers += max(1, n_workers // 16)
    if n_workers > _MAX_SHARDS:
        return "larger workers are needed"
    return f"about {n_workers} workers of that size would do"


def divide(spec: TableSpec, n_shards: int) -> ShardedPattern:
    """Divide a pattern into shards of about as many blocks each, in whole cell sets."""
    first_block = pattern_blocks(spec.size, spec.n_tiles, spec.cost).first_block
    wanted = np.arange(n_shards + 1) * int(first_block[-1]) // n_shards
    bounds = tuple(int(bound) for bound in np.searchsorted(first_block, wanted))
    return ShardedPattern(spec, bounds)


def shard_bytes(spec: TableSpec, n_shards: int, halo_bytes: int = HALO_BYTES) -> int:
    """Return the memory of the largest shard, before it is laid out: exact except for the exchange, an upper bound."""
    row = row_bytes(spec.n_tiles)
    own_blocks, own_sets = -(-spec.n_blocks // n_shards), -(-spec.n_sets // n_shards)
    rows = 2 * own_blocks * row
    if spec.encoding == "bytes":
        rows = (own_blocks + own_sets) * row + own_sets * spec.n_orders
    halo = min(halo_bytes, (spec.n_blocks - own_blocks) * row) if n_shards > 1 else 0
    return rows + halo * (1 + _PACKS_PER_HALO) + layout_bytes(spec, own_blocks)


def layout_bytes(spec: TableSpec, own_blocks: int) -> int:
    """Return the memory of the lists of a shard: all blocks, the words, and the transitions to its own blocks."""
    size, n_tiles, n_sets = spec.size, spec.n_tiles, spec.n_sets
    # A transition is a pair of neighbouring cells. One is free; the other holds a tile, or, if every move counts, is
    # free too. This is the average per cell set; the cell sets of a shard may have more.
    n_free = size.n_cells - n_tiles
    n_others = n_tiles + (n_free - 1 if spec.cost == "every-move" else 0)
    n_pairs = sum(len(near) for near in size.neighbours)
    per_set = n_pairs * n_free * n_others / (size.n_cells * (size.n_cells - 1))
    n_transitions = round(1.5 * per_set * own_blocks * n_sets / spec.n_blocks)
    return (
        n_sets * (32 + size.n_cells) + spec.n_blocks * 24
        + len(jump_positions(n_tiles, size.width)) * row_bytes(n_tiles) * 12
        + spec.n_orders * (16 * n_tiles + 64)
        + n_transitions * 64
    )  # fmt: skip
