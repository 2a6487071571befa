"""Memory and threads of the workers of a cluster."""

import platform
import uuid
from dataclasses import dataclass
from typing import Any

from distributed import Client

from pdb_cluster.failures import while_reachable
from pdb_core.errors import ClusterError
from pdb_core.resources import available_memory


@dataclass(frozen=True)
class Worker:
    """A worker. `memory_bytes` is what a task may take: its share of the machine, within the worker's own limit."""

    address: str
    memory_bytes: int


def workers_of(client: Client) -> tuple[Worker, ...]:
    """Return all workers, ordered by address. Raises `ClusterError` if there is none."""
    # A worker that is about to end returns an error, and is left out.
    with while_reachable("start it again, and build again"):
        answers = client.run(_memory_of, on_error="return")
    found = {address: answer for address, answer in answers.items() if isinstance(answer, tuple)}
    if not found:
        raise ClusterError("the cluster has no workers; start some with dask worker, and build again")
    machines = [machine for machine, _available, _limit in found.values()]
    return tuple(
        Worker(address, max(0, min(available // machines.count(machine), limit)))
        for address, (machine, available, limit) in sorted(found.items())
    )


def _memory_of(dask_worker: Any) -> tuple[str, int, int]:
    """Return the machine, its available bytes and the bytes within the worker's limit. Runs on a worker."""
    manager = dask_worker.memory_manager
    available = limit = available_memory()
    if manager.memory_limit:
        # Above the pause fraction a worker starts no task. A result above the target fraction is written to the disk
        # at once; a shard cannot be.
        fractions = (manager.memory_pause_fraction, manager.memory_target_fraction, 0.95)
        usable = manager.memory_limit * min(fraction for fraction in fractions if fraction)
        limit = int(usable) - dask_worker.monitor.get_process_memory()
    # Containers on one machine may share a name, but not an address.
    return f"{platform.node()} {uuid.getnode()}", available, limit
