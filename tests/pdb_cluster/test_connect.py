"""Clients that connect to clusters, and what is refused."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from pdb_cluster import build_on_cluster, connect
from pdb_cluster.boards import ClusterProgress
from pdb_cluster.connect import RightWorkers, connected
from pdb_core.errors import ClusterError
from pdb_core.puzzle import Board
from solver import Iteration
from solver.answers.requests import Request
from tests.command_line import BOARD, start
from tests.pdb_cluster.two_workers import (
    started_cluster,
    worker_without_package,
)
from tests.tables import small_plan
from tilepdb.commands.progress import ClusterDisplay


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "http://127.0.0.1:8787", "tcp://host:x", "", "tcp://a..b:8786"]
)
def test_scheduler_that_does_not_answer_is_reported(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_CONNECT_S", 1)
    match = f"no Dask scheduler at {re.escape(address)}: .* give the address that it shows"
    with pytest.raises(ClusterError, match=match), connected(address, print):
        pass


def test_command_waits_for_workers_and_ends_if_all_are_refused(small_table: str) -> None:
    with (
        started_cluster(0) as scheduler,
        start("solve", "--db", small_table, BOARD, "--scheduler", scheduler.address) as process,
    ):
        first = f"pdb: waiting for workers ... (dask worker {scheduler.address} starts some)"
        assert process.stderr.readline().strip() == first
        with worker_without_package(scheduler.address):
            told = process.stderr.read()
        assert process.wait() == 1
    found, *rest = told.splitlines()
    assert found.startswith("pdb: 1 thread on tcp://")
    assert re.fullmatch(r"pdb: the worker at tcp://.* has no tile-pdb of this version .*; install the .*", *rest)


@pytest.mark.parametrize("is_same", [True, False])
def test_other_process_at_the_address_of_a_worker_is_asked(
    client: Client, monkeypatch: pytest.MonkeyPatch, is_same: bool
) -> None:
    right = RightWorkers(client, print)
    workers = right.present()
    replaced = {process._replace(folder="other"): 1 for process in connect._present(client)}
    monkeypatch.setattr(connect, "_present", lambda _client: replaced)
    sources = connect.program_sources() if is_same else ("0.1.0", "0")
    monkeypatch.setattr(connect, "_report", lambda: (sources, 10**12, 10**12))
    with (
        nullcontext() if is_same else pytest.raises(ClusterError, match=r"the new worker at tcp.* runs tile-pdb 0.1.0")
    ):
        assert right.present().keys() == workers.keys()


def test_memory_of_a_worker_is_its_share_of_the_machine_and_of_its_limit(client: Client) -> None:
    def offered(dask_worker: Any) -> Any:
        """Runs on a worker."""
        manager = dask_worker.memory_manager
        limit, manager.memory_limit = manager.memory_limit, 10**10
        try:
            return connect._report(dask_worker)[1:]
        finally:
            manager.memory_limit = limit

    shares = sorted(worker.memory_bytes for worker in RightWorkers(client, print).present().values())
    for available, limited in client.run(offered).values():
        assert 0.3 * available < shares[0] <= shares[-1] < 0.7 * available
        assert 0.5 * 10**10 < limited < 0.6 * 10**10


def test_build_without_workers_is_refused(tmp_path: Path) -> None:
    with started_cluster(0) as scheduler, Client(scheduler.address, set_as_default=False) as client:
        with pytest.raises(ClusterError, match="the cluster has no workers; start some"):
            build_on_cluster(small_plan(tmp_path / "a.h5"), client)
        assert not list(tmp_path.iterdir())


def test_progress_and_lost_workers_are_logged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.0
    monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda: seconds)
    display, board = ClusterDisplay(), Request("b", Board("1 2 3 0"), (1, 2, 3, 0))
    for seconds, n_threads in ((1.0, 4), (2.0, 0), (61.0, 0), (62.0, 1), (121.0, 1)):
        at = Iteration(50, 1_000_000, 400_000, seconds)
        display.show_progress(ClusterProgress(1, 2, int(seconds * 3e6), seconds, n_threads, ((board, at),)))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: all workers are gone; waiting for workers ...",
        "pdb: 1 of 2 boards, 0 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 61 s",
        "pdb: 1 thread again, continuing",
        "pdb: 1 of 2 boards, 1 thread, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 121 s",
    ]
