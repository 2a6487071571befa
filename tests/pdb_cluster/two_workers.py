"""Dask clusters for the tests, and functions that watch and kill their workers."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster

from pdb_cluster.connect import event_loop

N_WORKERS = 2
WAIT_S = 60


@contextmanager
def started_cluster(n_workers: int, *, processes: bool = True, memory_limit: int = 0) -> Iterator[LocalCluster]:
    """Start a cluster of worker processes of one thread each; or in this process, which is faster."""
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        silence_logs=logging.CRITICAL,
        memory_limit=memory_limit,
        dashboard_address="127.0.0.1:0",  # a free port
        loop=event_loop(),
    ) as started:
        yield started


def worker_pids(client: Client) -> list[int]:
    """Return the processes of the workers."""
    found = client.run(os.getpid, on_error="ignore")  # a worker may be about to end
    return sorted(pid for pid in found.values() if isinstance(pid, int))


def kill(pid: int) -> None:
    """Kill a worker process, as the system does if memory runs out. Its nanny starts another."""
    os.kill(pid, signal.SIGKILL)


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
    """Wait until a condition holds, for a limited time."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"no {what} within {timeout_s} s"
        time.sleep(0.02)
