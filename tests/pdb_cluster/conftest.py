"""Cluster of two worker processes for all tests of this folder."""

import time
from collections.abc import Iterator

import pytest
from distributed import Client, LocalCluster

from tests.pdb_cluster.two_workers import N_WORKERS, WAIT_S, started_cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[LocalCluster]:
    """Two worker processes. Those that a test kills are replaced."""
    with started_cluster(N_WORKERS) as started:
        yield started


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    """A client of `cluster` with both workers."""
    with Client(cluster, set_as_default=False, timeout=WAIT_S) as connected:
        try:
            connected.wait_for_workers(N_WORKERS, timeout=WAIT_S / 3)
        except TimeoutError:
            # Dask gives a worker up that restarts while the name of the killed one is still taken.
            replace_workers(cluster)
            connected.wait_for_workers(N_WORKERS, timeout=WAIT_S)
        yield connected


def replace_workers(cluster: LocalCluster) -> None:
    """Replace all workers of the cluster by new ones."""
    cluster.scale(0)
    end = time.monotonic() + WAIT_S
    while cluster.workers and time.monotonic() < end:
        time.sleep(0.05)
    cluster.scale(N_WORKERS)
