"""A Dask cluster of two processes for the tests, and what is done to it."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from distributed import Client, LocalCluster

from pdb_cli.cluster import start_local_cluster

N_WORKERS = 2
_WAIT_S = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A `LocalCluster` of two processes, for all tests of a module. Import it by its name.

    Commands that the module starts find its certificates in their environment.
    """
    with start_local_cluster(N_WORKERS) as started:
        prefix = "DASK_DISTRIBUTED__COMM__TLS__"
        os.environ[f"{prefix}CA_FILE"] = started.security.tls_ca_file
        for name in ("cert", "key"):
            os.environ[f"{prefix}CLIENT__{name.upper()}"] = getattr(started.security, f"tls_client_{name}")
        yield started


@pytest.fixture
def client(cluster: Any) -> Iterator[Client]:
    """A client of it, both workers there."""
    with Client(cluster, set_as_default=False, timeout=_WAIT_S) as connected:
        connected.wait_for_workers(N_WORKERS, timeout=_WAIT_S)
        yield connected


def one_worker(*, memory_limit: int = 0) -> LocalCluster:
    """A cluster of one worker in a thread of this process, which starts sooner."""
    return LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        memory_limit=memory_limit,
        dashboard_address="127.0.0.1:0",
    )


def worker_pids(client: Client) -> list[int]:
    """The processes of the workers."""
    found = client.run(os.getpid, on_error="ignore")  # one may just be going
    return sorted(pid for pid in found.values() if isinstance(pid, int))


def kill(pid: int) -> None:
    """Kill a worker process as the kernel does that is out of memory; its nanny starts another."""
    os.kill(pid, signal.SIGKILL)


def wait_until(is_so: Callable[[], bool], what: str, timeout_s: float = _WAIT_S) -> None:
    """Wait, not forever."""
    end = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
