"""The client of a Dask cluster: started, connected to, refused."""

import os
import sys
from typing import Any, cast

import dask
import pytest
import typer
from distributed import Client, Security

from pdb_cli import cluster as cli_cluster
from pdb_cli.cluster import (
    check_cluster_options,
    check_workers,
    cluster_client,
    start_local_cluster,
    wait_for_workers,
    worker_version,
)
from pdb_cli.solve_cluster import ClusterDisplay
from pdb_cluster.solve_boards import ClusterProgress
from pdb_core.errors import ClusterError, InputError
from solver import Iteration
from tests.pdb_cluster.two_workers import N_WORKERS, client, cluster, kill, wait_until, worker_pids

__all__ = ["client", "cluster"]


def test_workers_are_counted_and_run_what_the_client_runs(client: Client) -> None:
    assert check_workers(client) == N_WORKERS


def test_cluster_of_our_own_is_frugal_and_others_are_not(client: Client) -> None:
    def settings() -> list[object]:
        return [dask.config.get(name) for name in cli_cluster._FRUGAL]

    assert list(client.run(settings).values()) == N_WORKERS * [list(cli_cluster._FRUGAL.values())]
    assert all(mine != frugal for mine, frugal in zip(settings(), cli_cluster._FRUGAL.values(), strict=True))


def test_worker_that_is_killed_is_replaced(client: Client) -> None:
    before = worker_pids(client)
    kill(before[0])
    wait_until(lambda: len(set(worker_pids(client)) - {before[0]}) == N_WORKERS, "a new worker")
    assert check_workers(client) == N_WORKERS


def test_workers_of_another_version_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    real = worker_version()

    def other() -> tuple[str, str]:
        return (real[0], "0" * 64) if os.getpid() != pid else real

    pid = os.getpid()
    monkeypatch.setattr(cli_cluster, "worker_version", other)
    with pytest.raises(ClusterError, match=r"runs tile-pdb .* \(kernels 00000000\), this command .*install the same"):
        check_workers(client)


@pytest.mark.parametrize("protocol", ["tcp", "tls", "tls of another cluster"])
def test_cluster_of_our_own_takes_code_from_its_client_only(client: Client, protocol: str) -> None:
    """Neither the scheduler nor a worker answers a process without the key of the run."""
    security = Security.temporary() if "another" in protocol else None
    addresses = [client.scheduler.address, *client.nthreads()]
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    for address in addresses:
        with pytest.raises((OSError, TypeError, ValueError)):
            Client(address.replace("tls", protocol[:3]), security=security, set_as_default=False, timeout=1)
    assert client.submit(os.getpid).result() in worker_pids(client)


def test_missing_cryptography_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(InputError, match=r"cryptography is not installed; pip install 'tile-pdb\[dask\]'"):
        start_local_cluster(1)


def test_scheduler_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_cluster, "_CONNECT_S", 1)
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"),
        cluster_client("tcp://127.0.0.1:9", None),
    ):
        pass


@pytest.mark.parametrize(
    "address",
    ["nonsense", "http://127.0.0.1:8787", "tcp://host", "tcp://host:x", "", "tcp://a..b:8786", "tls://127.0.0.1:9"],
)
def test_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(ClusterError, match="name its address as it is shown there"), cluster_client(address, None):
        pass


def test_missing_certificates_are_told() -> None:
    """Before a client is made, which would print a traceback at its end."""
    with pytest.raises(ClusterError, match=r"names no certificates for TLS"), cluster_client("tls://host:8786", None):
        pass
    names = {"distributed.comm.tls.client.cert": "/no/such/file", "distributed.comm.tls.ca-file": "/no/such/file"}
    with (
        dask.config.set(names),
        pytest.raises(ClusterError, match="No such file"),
        cluster_client("tls://host:8786", None),
    ):
        pass


class EmptyClient:
    """Of a cluster whose first worker comes after a while, or whose scheduler goes away before."""

    def __init__(self, *n_workers: int) -> None:
        self._n_workers = list(n_workers)
        self.scheduler = self
        self.address = "tcp://here:8786"

    def nthreads(self) -> dict[str, int]:
        if not self._n_workers:
            raise OSError("gone")
        return dict.fromkeys(map(str, range(self._n_workers.pop(0))), 1)


def test_first_worker_is_waited_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli_cluster, "_POLL_S", 0)
    wait_for_workers(cast(Any, EmptyClient(2)))
    assert capsys.readouterr().err == ""
    wait_for_workers(cast(Any, EmptyClient(0, 0, 0, 1)))
    with pytest.raises(ClusterError, match="the scheduler at tcp://here:8786 cannot be reached any more"):
        wait_for_workers(cast(Any, EmptyClient(0, 0)))
    assert capsys.readouterr().err.splitlines() == 2 * [
        "pdb: waiting for workers ... (dask worker tcp://here:8786 starts some)"
    ]


def test_scheduler_and_local_cluster_are_not_given_together() -> None:
    with pytest.raises(typer.BadParameter, match="goes without --scheduler"):
        check_cluster_options("tcp://127.0.0.1:9", 2)


def test_cluster_of_a_command_ends_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    with cluster_client(None, 1) as own:
        pids = worker_pids(own)
    assert "1 thread on a cluster of this command's own; dashboard http" in capsys.readouterr().err
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_progress_of_a_batch_is_logged_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    display = ClusterDisplay(["a", "b"])
    for seconds in (0.5, 2.0, 6.0, 7.0, 12.0):
        at = Iteration(50, 1_000_000, 400_000, seconds)
        display.show(ClusterProgress(1, 2, int(seconds * 3e6), seconds, seconds, 4, ((1, at),)))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: 1 of 2 boards, 4 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 6 s",
        "pdb: 1 of 2 boards, 4 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 12 s",
    ]


def test_workers_that_are_gone_are_waited_for_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    display = ClusterDisplay(["a"])
    for seconds, n_threads in enumerate((2, 0, 0, 0, 0, 0, 0, 0, 1, 1)):
        display.show(ClusterProgress(0, 1, 0, seconds, seconds, n_threads, ()))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: all workers are gone; waiting for workers ...",
        "pdb: 1 thread again, going on",
        "pdb: 0 of 1 boards, 1 thread, 0.0 million/s",
    ]
