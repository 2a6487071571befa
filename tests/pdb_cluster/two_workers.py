"""Clusters of worker processes for the tests, and functions that watch and kill workers."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
main([*sys.argv[1:], "--no-nanny", "--no-dashboard", "--nthreads", "1"])
"""
# First lines of workers on whose machines tile-pdb is not installed, or is another version.
NO_PACKAGE = 'import sys; sys.modules["pdb_core"] = None'
OTHER_VERSION = 'import pdb_core; pdb_core.__version__ = "0.2.0"'


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


@contextmanager
def worker_process(*arguments: str, first_line: str = "") -> Iterator[None]:
    """Start a worker without a nanny. The first argument is the address of the scheduler."""
    words = [sys.executable, "-c", first_line + _WORKER, *arguments]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        yield
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
