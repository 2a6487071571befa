"""Clusters that are started, clients that connect to them, and what is refused."""

import errno
import os
import re
import sys
from concurrent.futures import CancelledError
from typing import Any, cast

import dask
import pytest
import typer
from distributed import Client, LocalCluster, Security
from distributed.comm import CommClosedError

from pdb_cluster import connect
from pdb_cluster.connect import check_scheduler, check_workers, connected, event_loop, wait_for_workers, while_reachable
from pdb_cluster.solve_boards import ClusterProgress
from pdb_core.errors import ClusterError, InputError
from pdb_core.jit import program_version
from solver import Iteration
from tests.pdb_cluster.two_workers import worker_pids
from tilepdb.commands.options import ClusterOptions
from tilepdb.commands.progress import ClusterDisplay


def test_no_event_loop_is_started_by_dask(client: Client, cluster: LocalCluster) -> None:
    """On a loaded machine `LoopRunner` of Dask waits 10 s for the thread of its loop, and then fails."""
    assert client.loop is cluster.loop is event_loop()


def test_workers_of_another_version_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_workers(client) == client.nthreads()
    real, pid = program_version(), os.getpid()

    def other() -> tuple[str, str]:
        return (real[0], "0" * 64) if os.getpid() != pid else real

    monkeypatch.setattr(connect, "program_version", other)
    match = r"worker at tls://.* runs tile-pdb .* \(kernels 00000000\), this command .*gets no tasks; install the same"
    with pytest.raises(ClusterError, match=match):
        check_workers(client)


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (CommClosedError("in <TCP>: Stream is closed"), "cannot be reached any more"),
        (OSError("Timed out trying to connect to tcp://127.0.0.1:9"), "cannot be reached any more"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), "cannot be reached any more"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "cannot be reached any more"),
        (CancelledError(), "dropped the tasks"),
        (OSError(errno.EIO, "Input/output error", "a.h5"), "Input/output error: 'a.h5'"),
        (PermissionError(errno.EACCES, "Permission denied", "a.h5.partial"), "Permission denied: 'a.h5.partial'"),
    ],
)
def test_only_errors_of_the_connection_are_those_of_the_scheduler(error: BaseException, match: str) -> None:
    expected = ClusterError if "reached" in match or "dropped" in match else type(error)
    with pytest.raises(expected, match=match), while_reachable():
        raise error


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_local_cluster_accepts_only_clients_with_its_key(
    client: Client, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    """Neither the scheduler nor a worker answers a process without the key."""
    monkeypatch.setattr(connect, "_CONNECT_S", 1)
    addresses = [client.scheduler.address, *client.nthreads()]
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    for address in addresses:
        check_scheduler(address, client.security)
        other = Security.temporary() if protocol == "tls" else Security(require_encryption=False)
        with pytest.raises(OSError, match=r"certificate does not match|[Tt]imed out|closed"):
            check_scheduler(address.replace("tls", protocol), other)


def test_missing_cryptography_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with (
        pytest.raises(InputError, match=r"cryptography is not installed; run pip install 'tile-pdb\[dask\]'"),
        ClusterOptions(None, 1).connect(),
    ):
        pass


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:9", "nonsense", "http://127.0.0.1:8787", "tcp://host", "tcp://host:x", "", "tcp://a..b:8786"],
)
def test_scheduler_that_does_not_answer_is_reported(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_CONNECT_S", 1)
    match = f"no Dask scheduler at {re.escape(address)}: .* give the address that it shows"
    with pytest.raises(ClusterError, match=match), connected(address, 1, print):
        pass


def test_missing_certificates_are_reported() -> None:
    with pytest.raises(ClusterError, match="names no certificates for TLS"), connected("tls://host:8786", 1, print):
        pass
    names = {"distributed.comm.tls.client.cert": "/no/such/file", "distributed.comm.tls.ca-file": "/no/such/file"}
    with (
        dask.config.set(names),
        pytest.raises(ClusterError, match="No such file"),
        connected("tls://host:8786", 1, print),
    ):
        pass


class EmptyClient:
    """Client of a cluster whose first worker comes after a while, or whose scheduler ends before."""

    def __init__(self, *n_workers: int) -> None:
        self._n_workers = list(n_workers)
        self.scheduler = self
        self.address = "tcp://here:8786"

    def nthreads(self) -> dict[str, int]:
        if not self._n_workers:
            raise OSError("gone")
        return dict.fromkeys(map(str, range(self._n_workers.pop(0))), 1)


def test_first_worker_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_POLL_S", 0)
    said: list[str] = []
    wait_for_workers(cast(Any, EmptyClient(2, 2)), said.append)
    assert said == []
    wait_for_workers(cast(Any, EmptyClient(0, 0, 0, 1)), said.append)
    with pytest.raises(ClusterError, match="cannot be reached any more; start the command again"):
        wait_for_workers(cast(Any, EmptyClient(0, 0)), said.append)
    assert said == 2 * ["waiting for workers ... (dask worker tcp://here:8786 starts some)"]


def test_scheduler_and_local_cluster_exclude_each_other() -> None:
    with pytest.raises(typer.BadParameter, match="cannot be combined with --scheduler"):
        ClusterOptions("tcp://127.0.0.1:9", 2).check(None)


def settings() -> list[object]:
    return [dask.config.get(name) for name in connect._FRUGAL]


def test_local_cluster_has_its_own_settings_and_ends_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with ClusterOptions(None, 1).connect() as own:
        pids = worker_pids(own)
        assert list(own.run(settings).values()) == [list(connect._FRUGAL.values())]
    assert settings() != list(connect._FRUGAL.values())
    assert "1 thread on a cluster of this command's own; dashboard http" in capsys.readouterr().err
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_progress_is_logged_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.0
    monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda: seconds)
    display = ClusterDisplay(["a", "b"])
    for seconds in (0.5, 2.0, 6.0, 7.0, 12.0):
        at = Iteration(50, 1_000_000, 400_000, seconds)
        display.show_batch(ClusterProgress(1, 2, int(seconds * 3e6), seconds, 4, ((1, at),)))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: 1 of 2 boards, 4 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 6 s",
        "pdb: 1 of 2 boards, 4 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 12 s",
    ]


def test_lost_workers_are_awaited_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    display = ClusterDisplay(["a"])
    for seconds, n_threads in enumerate((2, 0, 0, 0, 0, 0, 0, 0, 1, 1)):
        display.show_batch(ClusterProgress(0, 1, 0, seconds, n_threads, ()))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: all workers are gone; waiting for workers ...",
        "pdb: 1 thread again, continuing",
    ]
