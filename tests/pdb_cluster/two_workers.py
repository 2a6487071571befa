"""Clusters of worker processes for the tests, and functions that watch and kill workers."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import dask
from distributed import Client, Nanny, Scheduler

from pdb_cluster.connect import event_loop

# A process that has imported Dask forks the workers, which then start in half of the time.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
N_WORKERS = 2
WAIT_S = 120
_WORKER = """
import sys
from distributed.cli.dask_worker import main
main([sys.argv[1], "--no-nanny", "--no-dashboard", "--nthreads", "1"])
"""
# On whose machine tile-pdb is not installed.
_NO_PACKAGE = f"""
import sys
sys.modules["pdb_core"] = None
{_WORKER}"""


@contextmanager
def started_cluster(n_workers: int) -> Iterator[Scheduler]:
    """Start a scheduler in this process, and worker processes of one thread each. Those that die are replaced."""

    async def start() -> tuple[Scheduler, list[Nanny]]:
        scheduler = await Scheduler(host="127.0.0.1", dashboard_address="127.0.0.1:0")  # free ports
        # Without names, unlike those of a LocalCluster: Dask gives up a worker that restarts while the name of the
        # killed one is still taken.
        nannies = [
            Nanny(scheduler.address, nthreads=1, memory_limit=0, silence_logs=logging.CRITICAL)
            for _ in range(n_workers)
        ]
        return scheduler, list(await asyncio.gather(*nannies))

    async def close() -> None:
        await asyncio.gather(*(nanny.close() for nanny in nannies))
        await scheduler.close()

    scheduler, nannies = run_on_loop(start())
    try:
        yield scheduler
    finally:
        run_on_loop(close())


def run_on_loop(coroutine: Any) -> Any:
    """Return the result of a coroutine in the event loop of the clusters."""
    return asyncio.run_coroutine_threadsafe(coroutine, event_loop().asyncio_loop).result(WAIT_S)  # type: ignore[attr-defined]


def worker_without_package(address: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Start a worker that cannot import tile-pdb."""
    return worker_process(address, _NO_PACKAGE)


@contextmanager
def worker_process(address: str, program: str = _WORKER) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker without a nanny."""
    process = subprocess.Popen([sys.executable, "-c", program, address], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def worker_pids(client: Client) -> list[int]:
    """Return the processes of the workers."""
    found = client.run(os.getpid, on_error="ignore")  # a worker may be about to end
    return sorted(pid for pid in found.values() if isinstance(pid, int))


def kill(pid: int) -> None:
    """Kill a worker process, as the system does if memory runs out. Its nanny starts another."""
    os.kill(pid, signal.SIGKILL)


def fail(*_arguments: Any, **_options: Any) -> None:
    raise RuntimeError("unknown\nand more")
