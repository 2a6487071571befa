"""Clients that connect to clusters, and what is refused."""

import os
import re
from concurrent.futures import CancelledError
from typing import Any, cast

import dask
import pytest
from distributed import Client
from distributed.comm import CommClosedError

from pdb_cluster import connect
from pdb_cluster.connect import check_workers, connected, wait_for_workers, while_reachable
from pdb_cluster.solve_boards import ClusterProgress
from pdb_core.errors import ClusterError
from pdb_core.jit import program_version
from pdb_core.puzzle import Board
from solver import Iteration
from solver.requests import Request
from tilepdb.commands.progress import ClusterDisplay


def test_workers_of_another_version_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_workers(client) == client.nthreads()
    real, pid = program_version(), os.getpid()

    def other() -> tuple[str, str]:
        return (real[0], "0" * 64) if os.getpid() != pid else real

    monkeypatch.setattr(connect, "program_version", other)
    match = r"worker at tcp://.* runs tile-pdb .* \(kernels 00000000\), this command .*gets no tasks; install the same"
    with pytest.raises(ClusterError, match=match):
        check_workers(client)


@pytest.mark.parametrize("error", [CommClosedError("in <TCP>: Stream is closed"), CancelledError()])
def test_lost_scheduler_is_reported(error: BaseException) -> None:
    with pytest.raises(ClusterError, match="dropped the tasks or cannot be reached any more"), while_reachable():
        raise error


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:9", "nonsense", "http://127.0.0.1:8787", "tcp://host", "tcp://host:x", "", "tcp://a..b:8786"],
)
def test_scheduler_that_does_not_answer_is_reported(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_CONNECT_S", 1)
    match = f"no Dask scheduler at {re.escape(address)}: .* give the address that it shows"
    with pytest.raises(ClusterError, match=match), connected(address, print):
        pass


def test_missing_certificates_are_reported() -> None:
    with pytest.raises(ClusterError, match="names no certificates for TLS"), connected("tls://host:8786", print):
        pass
    names = {"distributed.comm.tls.client.cert": "/no/such/file", "distributed.comm.tls.ca-file": "/no/such/file"}
    with (
        dask.config.set(names),
        pytest.raises(ClusterError, match="No such file"),
        connected("tls://host:8786", print),
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


def test_progress_is_logged_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.0
    monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda: seconds)
    display, board = ClusterDisplay(), Request("b", Board("1 2 3 0"), (1, 2, 3, 0))
    for seconds in (0.5, 2.0, 6.0, 7.0, 12.0):
        at = Iteration(50, 1_000_000, 400_000, seconds)
        display.show_progress(ClusterProgress(1, 2, int(seconds * 3e6), seconds, 4, ((board, at),)))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: 1 of 2 boards, 4 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 6 s",
        "pdb: 1 of 2 boards, 4 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 12 s",
    ]


def test_lost_workers_are_awaited_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    display = ClusterDisplay()
    for seconds, n_threads in enumerate((2, 0, 0, 0, 0, 0, 0, 0, 1, 1)):
        display.show_progress(ClusterProgress(0, 1, 0, seconds, n_threads, ()))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: all workers are gone; waiting for workers ...",
        "pdb: 1 thread again, continuing",
    ]
