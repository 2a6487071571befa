"""Clients that connect to clusters, and what is refused."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from distributed import Client, Scheduler

from pdb_cluster import build_on_cluster
from pdb_cluster.boards import ClusterProgress
from pdb_cluster.connect import connected
from pdb_cluster.tasks import Tasks
from pdb_core.errors import ClusterError
from pdb_core.puzzle import Board
from pdb_core.resources import available_memory
from solver.answers.requests import Request
from solver.progress import Iteration
from tests import wait_until
from tests.command_line import BOARD, start
from tests.pdb_cluster.two_workers import NO_PACKAGE, OTHER_VERSION, started_cluster, worker_process
from tests.tables import small_plan
from tilepdb.commands.progress import ClusterDisplay


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "http://127.0.0.1:8787", "tcp://host:x", "", "tcp://a..b:8786"]
)
def test_scheduler_that_does_not_answer_is_reported(address: str) -> None:
    match = f"no Dask scheduler at {re.escape(address)}: .* give the address that it shows"
    with pytest.raises(ClusterError, match=match), connected(address, print, timeout_s=1):
        pass


def test_command_waits_for_workers_and_ends_if_all_are_refused(small_table: str) -> None:
    with (
        started_cluster(0) as scheduler,
        start("solve", "--db", small_table, BOARD, "--scheduler", scheduler.address) as process,
    ):
        first = f"pdb: waiting for workers ... (dask worker {scheduler.address} starts some)"
        assert process.stderr.readline().strip() == first
        with worker_process(scheduler.address, first_line=NO_PACKAGE):
            told = process.stderr.read()
        assert process.wait() == 1
    found, *rest = told.splitlines()
    assert found.startswith("pdb: 1 thread on tcp://")
    assert re.fullmatch(r"pdb: the worker at tcp://.* has no tile-pdb of this version .*; install the .*", *rest)


def test_worker_of_another_version_at_the_address_of_a_worker_ends_the_run() -> None:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with started_cluster(0) as scheduler, Client(scheduler.address, set_as_default=False) as client:
        tasks = Tasks(client)
        with worker_process(scheduler.address, "--worker-port", port):
            wait_until(lambda: bool(tasks.present()))
        with (
            worker_process(scheduler.address, "--worker-port", port, first_line=OTHER_VERSION),
            pytest.raises(ClusterError, match=r"the new worker at tcp.* runs tile-pdb 0\.2\.0 .* start again"),
        ):
            wait_until(lambda: tasks.present() is None)


def test_memory_of_a_worker_is_its_share_of_the_machine(client: Client) -> None:
    for worker in Tasks(client).present().values():
        assert 0.3 * available_memory() < worker.memory_bytes < 0.7 * available_memory()


def failed(client: Client, function: Callable[..., None], **options: Any) -> None:
    """Send a task that fails, and check that it has no result."""
    tasks = Tasks(client, **options)
    tasks.submit(function, 0, lambda *_: pytest.fail("it has a result"))
    wait_until(lambda: tasks.handle_results() is None)  # until it raises an error


def fail(_argument: int) -> None:
    raise RuntimeError("unknown\nand more")


def test_failed_task_ends_the_run(client: Client) -> None:
    with pytest.raises(ClusterError, match=r"a task failed on the cluster \(RuntimeError: unknown\); the logs"):
        failed(client, fail)


def die(_argument: int) -> None:
    os._exit(1)


@pytest.mark.parametrize(("most_deaths", "max_losses"), [(1, 100), (100, 2)])
def test_task_that_kills_its_workers_again_and_again_ends_the_run(
    client: Client, cluster: Scheduler, most_deaths: int, max_losses: int
) -> None:
    """Dask counts the deaths as long as a worker is left to which the task was sent."""
    cluster.allowed_failures, usual = most_deaths, cluster.allowed_failures
    try:
        with pytest.raises(ClusterError, match="a task failed on the cluster: several workers died, most often"):
            failed(client, die, max_losses=max_losses)
    finally:
        cluster.allowed_failures = usual


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
    for seconds, n_threads in ((1.0, 4), (2.0, 0), (11.0, 0), (12.0, 1), (71.0, 1)):
        at = Iteration(50, 1_000_000, 400_000, seconds)
        display.show_progress(ClusterProgress(1, 2, int(seconds * 3e6), seconds, n_threads, ((board, at),)))
    assert capsys.readouterr().err.splitlines() == [
        "pdb: all workers are gone; waiting for workers ...",
        "pdb: after 10 s: 1 of 2 boards, 0 threads, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 11 s",
        "pdb: 1 thread again, continuing",
        "pdb: after 70 s: 1 of 2 boards, 1 thread, 3.0 million/s; board b: threshold 50, 1,000,000 nodes, 71 s",
    ]
