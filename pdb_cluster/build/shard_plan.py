"""Plan of a build on a cluster: the memory of the workers, and the number of shards of each pattern."""

import concurrent.futures
import platform
import uuid
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from distributed import Client

from pdb_build.plan import PROCESS_BYTES, BuildPlan, PatternPlan, layout_bytes
from pdb_build.word_layout import row_bytes
from pdb_cluster.connect import ANSWER_S, ask
from pdb_core.errors import MemoryLimitError
from pdb_core.messages import format_bytes
from pdb_core.resources import available_memory
from pdb_core.table_spec import TableSpec

# Most bytes of rows of other shards that a shard holds at a time, see `shard`. Rows on their way take about four times
# that.
HALO_BYTES = 512_000_000
_SENT_PER_HALO = 4
_LEAST_HALO_BYTES = 4_000_000
_MAX_SHARDS = 4096
# Of a worker whose system does not report its available memory: no search is too large for it.
_UNKNOWN_BYTES = 1 << 62


@dataclass(frozen=True)
class Worker:
    """A worker. `memory_bytes` is what a search may take: its share of the machine, within the worker's own limit."""

    address: str
    n_threads: int
    memory_bytes: int
    machine: str = ""


@dataclass(frozen=True)
class PatternTask:
    """Way in which one pattern is built: by one of `workers`, or by all of them if there are several shards.

    Attributes
    ----------
    index
        Index of the pattern in the plan.
    n_shards
        Number of shards; 1 if one worker searches the pattern.
    memory_bytes
        Most bytes that a worker takes.
    workers
        Workers that have enough memory.
    halo_bytes
        Most bytes of the halo of each shard, see `shard`.
    """

    index: int
    n_shards: int
    memory_bytes: int
    workers: tuple[Worker, ...]
    halo_bytes: int


def workers_of(client: Client, addresses: Collection[str], kept: Collection[Worker] = ()) -> tuple[Worker, ...]:
    """Return the workers at some addresses, ordered by address. Those that are about to end or hang are left out.

    `kept` are other workers, with which they share their machines.
    """
    asked = {address: ask(client, _memory_of, address) for address in addresses}
    concurrent.futures.wait(asked.values(), timeout=ANSWER_S)
    found = {address: answer.result() for address, answer in asked.items() if answer.done()}
    answers = {address: answer for address, answer in found.items() if isinstance(answer, tuple)}
    n_on = Counter([*(machine for machine, *_ in answers.values()), *(worker.machine for worker in kept)])
    return tuple(
        Worker(address, n_threads, max(0, min(available // n_on[machine], limit)), machine)
        for address, (machine, n_threads, available, limit) in sorted(answers.items())
    )


def _memory_of(dask_worker: Any) -> tuple[str, int, int, int]:
    """Return the machine, the threads, the available bytes and those within the worker's limit. Runs on a worker."""
    manager = dask_worker.memory_manager
    known = available_memory()
    available = limit = _UNKNOWN_BYTES if known is None else known
    if manager.memory_limit:
        # Above the pause fraction a worker starts no task. A result above the target fraction is written to the disk
        # at once; a shard cannot be.
        fractions = (manager.memory_pause_fraction, manager.memory_target_fraction, 0.95)
        usable = manager.memory_limit * min(fraction for fraction in fractions if fraction)
        limit = int(usable) - dask_worker.monitor.get_process_memory()
    # Containers on one machine may share a name, but not an address.
    return f"{platform.node()} {uuid.getnode()}", dask_worker.state.nthreads, available, limit


def by_size(plan: BuildPlan) -> list[int]:
    """Return the patterns that have a table of their own, the largest first."""
    searched = (index for index, entry in enumerate(plan.patterns) if entry.use is None)
    return sorted(searched, key=lambda index: -plan.patterns[index].spec.n_states)


def plan_task(plan: BuildPlan, index: int, workers: tuple[Worker, ...], n_shards: int | None = None) -> PatternTask:
    """Return how the pattern at `index` is built.

    With `n_shards` None, a pattern too large for each worker has one shard for each worker that has enough memory for
    it. If memory is short, the halo is smaller. Raises `MemoryLimitError` if no workers have enough together.
    """
    entry = plan.patterns[index]
    needed = entry.memory_bytes + PROCESS_BYTES
    fitting = tuple(worker for worker in workers if worker.memory_bytes >= needed)
    if fitting and n_shards in (None, 1):
        return PatternTask(index, 1, needed, fitting, 0)
    # If the smallest workers have too little, the others may be enough.
    by_memory = sorted(workers, key=lambda worker: -worker.memory_bytes)
    tasks = (_divided(entry, index, tuple(by_memory[:n]), n_shards) for n in range(len(workers), 0, -1))
    if task := next(filter(None, tasks), None):
        return task

    def needed_of(n: int) -> int:
        """Return the memory that each of `n` workers needs at least."""
        return _shards_bytes(entry, n_shards or n, n, _LEAST_HALO_BYTES)

    # The workers that lack least.
    n = min(range(1, len(workers) + 1), key=lambda n: needed_of(n) - by_memory[n - 1].memory_bytes)
    least = by_memory[n - 1].memory_bytes
    raise MemoryLimitError(
        f"pattern {entry.pattern} needs {format_bytes(needed_of(n))} of memory of each of {n} workers, "
        f"{format_bytes(least)} are available at the one that has least; {_advice(entry, least)}"
    )


def _divided(entry: PatternPlan, index: int, workers: tuple[Worker, ...], n_shards: int | None) -> PatternTask | None:
    """Return how a pattern is divided among all of some workers; None if one of them has too little memory."""
    number, halo_bytes = n_shards or len(workers), HALO_BYTES
    # A small halo takes many portions, each of which costs a message or two between any two shards.
    while (needed := _shards_bytes(entry, number, len(workers), halo_bytes)) > workers[-1].memory_bytes:
        if halo_bytes <= _LEAST_HALO_BYTES:
            return None
        halo_bytes //= 2
    return PatternTask(index, number, needed, tuple(sorted(workers, key=lambda worker: worker.address)), halo_bytes)


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


def shard_bytes(spec: TableSpec, n_shards: int, halo_bytes: int) -> int:
    """Return an upper bound of the memory of the largest of several shards."""
    row, own_blocks, own_sets = row_bytes(spec.n_tiles), -(-spec.n_blocks // n_shards), -(-spec.n_sets // n_shards)
    rows = 2 * own_blocks * row
    if spec.encoding == "bytes":
        rows = (own_blocks + own_sets) * row + own_sets * spec.n_orders
    halo = min(halo_bytes, (spec.n_blocks - own_blocks) * row)
    # 64 bytes for each transition, of which the cell sets of a shard may have more than others.
    transitions = round(64 * 1.5 * spec.n_transitions * own_blocks / spec.n_blocks)
    return rows + halo * (1 + _SENT_PER_HALO) + layout_bytes(spec, transitions)
