"""Cluster of two worker processes for all tests of this folder."""

import os
import time
from collections.abc import Iterator

import pytest
from distributed import Client, LocalCluster

from pdb_cluster.connect import local_cluster
from tests.pdb_cluster.two_workers import N_WORKERS, WAIT_S


@pytest.fixture(scope="package")
def package_cluster() -> Iterator[LocalCluster]:
    """Two worker processes. Those that a test kills are replaced."""
    with local_cluster(N_WORKERS) as started:
        yield started


@pytest.fixture(scope="module")
def cluster(package_cluster: LocalCluster) -> LocalCluster:
    """The cluster. Commands that the module starts find its certificates in their environment."""
    security, prefix = package_cluster.security, "DASK_DISTRIBUTED__COMM__TLS__"
    os.environ[f"{prefix}CA_FILE"] = security.tls_ca_file
    for name in ("cert", "key"):
        os.environ[f"{prefix}CLIENT__{name.upper()}"] = getattr(security, f"tls_client_{name}")
    return package_cluster


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
