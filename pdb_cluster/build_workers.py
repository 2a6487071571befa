"""What the workers of a cluster have to offer: memory, threads, and on which machine."""

import platform
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdb_cluster.build_failures import while_reachable
from pdb_core.errors import ClusterError
from pdb_core.resources import available_memory

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Worker:
    """A worker. `memory_bytes`: what a task may take there, its share of the machine, within the limit set to it."""

    address: str
    host: str
    n_threads: int
    memory_bytes: int


def ask_workers(client: "Client") -> tuple[Worker, ...]:
    """All workers, in the order of their addresses. Raises `ClusterError` where there is none."""
    # One that is just going fails: what comes back in place of its answer is left out.
    with while_reachable():
        answers = client.run(_offer, on_error="return")
    found = {address: answer for address, answer in answers.items() if isinstance(answer, _Offer)}
    if not found:
        raise ClusterError("the cluster has no workers; start some with dask worker, and build again")
    machines = [offer.machine for offer in found.values()]
    workers = []
    for address, offer in sorted(found.items()):
        share = offer.available_bytes // machines.count(offer.machine)
        memory = share if offer.within_limit_bytes is None else min(share, offer.within_limit_bytes)
        workers.append(Worker(address, offer.host, offer.n_threads, max(0, memory)))
    return tuple(workers)


@dataclass(frozen=True)
class _Offer:
    host: str
    machine: str
    n_threads: int
    available_bytes: int
    within_limit_bytes: int | None


def _offer(dask_worker: Any) -> _Offer:
    """Runs on a worker, which Dask passes."""
    manager = dask_worker.memory_manager
    within = None
    if manager.memory_limit:
        # A worker with more than the one gets no tasks until it has less: a search would wait forever. A result larger
        # than the other is written to the disk at once, and a shard, which stays in memory, fails.
        fractions = (manager.memory_pause_fraction, manager.memory_target_fraction, 0.95)
        usable = manager.memory_limit * min(fraction for fraction in fractions if fraction)
        within = int(usable) - dask_worker.monitor.get_process_memory()
    # Containers of one machine may have the name of each other, but not its address.
    machine = f"{platform.node()} {uuid.getnode()}"
    return _Offer(platform.node(), machine, dask_worker.state.nthreads, available_memory(), within)
