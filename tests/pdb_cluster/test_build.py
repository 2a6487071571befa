"""Builds on a cluster of processes: the bytes of a local build, also if workers are killed."""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from distributed import Client, Scheduler

from pdb_build import BuildPlan, BuildProgress, PatternTable, build_database, search_pattern
from pdb_cluster import build, build_on_cluster, check_cluster_plan, connect, tasks
from pdb_cluster.connect import RightWorkers, Worker
from pdb_core.encoding import Encoding
from pdb_core.errors import ClusterError, DiskFullError, LimitReachedError, MemoryLimitError
from pdb_core.table_spec import TableSpec
from tests import wait_until
from tests.command_line import pdb, start
from tests.pdb_cluster.two_workers import N_WORKERS, WAIT_S, fail, kill, started_cluster, worker_pids
from tests.tables import SMALL, small_plan, stopped, table_file

# Its first pattern takes about a second on one core.
LARGE = "1,2,3,4,5,6,7/8,9,10,11,12,13/14,15"


def check_same_as_local(out: Path, partition: str, size: str = "3x3", encoding: Encoding = "bits") -> None:
    """Check that the file has the bytes of a local build, and that beside it there is only the report."""
    assert out.read_bytes() == table_file(partition, size, encoding=encoding).read_bytes()
    assert set(out.parent.iterdir()) == {out, out.with_name(f"{out.name}.build.json")}


def is_idle(client: Client) -> bool:
    """Return whether no worker has tasks or results."""
    held = client.run(_n_held, on_error="ignore")
    return len(held) > 0 and all(n == 0 for n in held.values())


def _n_held(dask_worker: Any) -> int:
    return len(dask_worker.state.tasks) + len(dask_worker.data)


def gated_search(folder: Path, spec: TableSpec, *, n_threads: int) -> PatternTable:
    """Search a pattern when the file `gate` is there. Runs on a worker."""
    (folder / f"busy-{os.getpid()}").touch()
    wait_until((folder / "gate").exists)
    return search_pattern(spec, n_threads=n_threads)


@pytest.fixture
def gate(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file without which no search on a worker ends."""
    folder = tmp_path_factory.mktemp("gate")
    monkeypatch.setattr(build, "search_pattern", partial(gated_search, folder))
    return folder / "gate"


def when_busy(gate: Path, call: Callable[[list[int]], object]) -> Thread:
    """Start a thread that calls a function with the processes of the workers when all are busy, then opens the gate."""

    def run() -> None:
        wait_until(lambda: len(list(gate.parent.glob("busy-*"))) == N_WORKERS)
        call([int(path.name.removeprefix("busy-")) for path in gate.parent.glob("busy-*")])
        gate.touch()

    thread = Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("partition", "encoding"), [("1,2/3,6/4,7/5,8", "bits"), ("1,2,3,4,5/6,7,8", "bytes"), (SMALL, "bits")]
)
def test_cluster_makes_the_file_of_a_local_build(
    client: Client, tmp_path: Path, partition: str, encoding: Encoding
) -> None:
    """The first partition has patterns that share a table."""
    seen: list[BuildProgress] = []
    plan = small_plan(tmp_path / "a.h5", partition, encoding=encoding)
    result = build_on_cluster(plan, client, progress=seen.append)
    check_same_as_local(plan.out, partition, encoding=encoding)
    searched = [index for index, entry in enumerate(plan.patterns) if entry.use is None]
    assert sorted(progress.pattern_index for progress in seen) == searched
    assert [search.seconds > 0 for search in result.searches] == [entry.use is None for entry in plan.patterns]
    wait_until(lambda: is_idle(client))


def test_cluster_continues_a_local_build_and_the_other_way_round(client: Client, tmp_path: Path) -> None:
    said: list[str] = []
    plan = small_plan(tmp_path / "a.h5")
    stopped(plan)
    build_on_cluster(plan, client, say=said.append)
    check_same_as_local(plan.out, SMALL)
    plan.out.unlink()

    def stop(_progress: BuildProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_on_cluster(plan, client, progress=stop)
    build_database(plan, say=said.append)
    assert said == [f"{plan.out} continues: 1 of 3 tables are finished"] * 2
    check_same_as_local(plan.out, SMALL)
    wait_until(lambda: is_idle(client))


@pytest.mark.parametrize("n_killed", [1, N_WORKERS])
def test_search_begins_again_if_workers_are_killed(client: Client, tmp_path: Path, gate: Path, n_killed: int) -> None:
    said: list[str] = []
    thread = when_busy(gate, lambda pids: [kill(pid) for pid in pids[:n_killed]])
    build_on_cluster(small_plan(tmp_path / "a.h5"), client, say=said.append)
    thread.join()
    begun = [
        text for text in said if re.search("the worker at .* is gone; the search of pattern .* begins again", text)
    ]
    assert len(begun) == n_killed, said
    check_same_as_local(tmp_path / "a.h5", SMALL)


def test_search_begins_again_if_a_worker_is_retired(tmp_path: Path, gate: Path) -> None:
    """It ends only when the search on it has ended."""
    with started_cluster(N_WORKERS) as scheduler, Client(scheduler.address, set_as_default=False) as client:
        client.wait_for_workers(N_WORKERS, timeout=WAIT_S)
        retired = Thread(target=lambda: client.retire_workers(list(client.nthreads())[:1]))

        def retire(_pids: list[int]) -> None:
            retired.start()
            wait_until(lambda: any("is gone; the search of pattern" in text for text in said))

        said: list[str] = []
        thread = when_busy(gate, retire)
        build_on_cluster(small_plan(tmp_path / "a.h5"), client, say=said.append)
        thread.join()
        retired.join(WAIT_S)
        assert not retired.is_alive()
        check_same_as_local(tmp_path / "a.h5", SMALL)


def test_late_worker_of_another_version_is_left_out(
    client: Client, tmp_path: Path, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed, and the one in its place runs another version."""
    real, known = connect._report, {os.getpid(), *worker_pids(client)}

    def report(dask_worker: Any) -> Any:
        sources, *memory = real(dask_worker)
        return (sources if os.getpid() in known else (sources[0], "0" * 64), *memory)

    monkeypatch.setattr(connect, "_report", report)
    before, said = client.nthreads().keys(), list[str]()

    def kill_one(pids: list[int]) -> None:
        kill(pids[0])
        wait_until(lambda: any("runs tile-pdb" in text for text in said))

    thread = when_busy(gate, kill_one)
    build_on_cluster(small_plan(tmp_path / "a.h5"), client, say=said.append)
    thread.join()
    check_same_as_local(tmp_path / "a.h5", SMALL)
    (late,) = client.nthreads().keys() - before
    version, sources = connect.program_sources()
    assert [text for text in said if "runs tile-pdb" in text] == [
        f"the worker at {late} runs tile-pdb {version} (sources 00000000), this command {version} (sources "
        f"{sources[:8]}), so it gets no tasks; install the same version on both"
    ]


def test_error_of_a_callback_is_not_taken_for_a_lost_scheduler(client: Client, tmp_path: Path) -> None:
    def fail_always(_progress: BuildProgress) -> None:
        raise FileNotFoundError("of the callback")

    with pytest.raises(FileNotFoundError, match="of the callback"):
        build_on_cluster(small_plan(tmp_path / "a.h5"), client, progress=fail_always)


def test_error_on_a_worker_ends_the_build(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "search_pattern", fail)
    with pytest.raises(ClusterError, match=r"a task failed on the cluster \(RuntimeError: unknown\); the logs of"):
        build_on_cluster(small_plan(tmp_path / "a.h5"), client)
    assert not list(tmp_path.iterdir())


def die(*_arguments: Any, **_options: Any) -> None:
    os._exit(1)


def test_build_ends_if_workers_are_lost_in_every_attempt(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_MAX_LOSSES", 2)
    monkeypatch.setattr(build, "search_pattern", die)
    said: list[str] = []
    with pytest.raises(ClusterError, match="a task failed on the cluster: several workers died"):
        build_on_cluster(small_plan(tmp_path / "a.h5"), client, say=said.append)
    assert any("begins again" in text for text in said)
    assert not list(tmp_path.iterdir())


def test_command_that_is_killed_continues(cluster: Scheduler, tmp_path: Path) -> None:
    command = ("build", LARGE, "--out", "a.h5", "--scheduler", cluster.address)
    with start(*command, cwd=tmp_path) as process:
        wait_until(lambda: (tmp_path / "a.h5.partial" / "checkpoint").exists())
        process.send_signal(signal.SIGKILL)
    assert " of 3 tables are finished" in pdb(*command, code=0, cwd=tmp_path).stderr
    check_same_as_local(tmp_path / "a.h5", LARGE, "4x4")


def test_command_reports_the_workers_of_each_pattern(client: Client, tmp_path: Path) -> None:
    command = ["build", SMALL, "--size", "3x3", "--out", "a.h5", "--scheduler", client.scheduler.address]
    told = pdb(*command, "--dry-run", code=0, cwd=tmp_path).stderr
    assert "a.h5: pattern 1,2,5 by one of 2 workers, 235.0 MB of memory each" in told
    assert "dashboard http" in told
    assert not list(tmp_path.iterdir())
    assert "written in" in pdb(*command, code=0, cwd=tmp_path).stdout
    check_same_as_local(tmp_path / "a.h5", SMALL)


def test_plan_needs_memory_on_one_worker_and_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small_plan(Path("x.h5"), "78", "4x4")

    def present(memory: float) -> None:
        workers = {"tcp://0": Worker(1, int(memory)), "tcp://1": Worker(1, 400_000_000)}
        monkeypatch.setattr(RightWorkers, "present", lambda _self: workers)

    present(8e9)
    assert check_cluster_plan(plan, None) == {0: ["tcp://0"], 1: ["tcp://0", "tcp://1"]}
    present(0.3e9)
    refused: list[tuple[BuildPlan, type[LimitReachedError], str]] = [
        (plan, MemoryLimitError, r"pattern 1,2,3,4,5,6,7,8 needs .* on one worker, 400.0 MB are available"),
        (replace(plan, available_disk=plan.disk_bytes - 1), DiskFullError, "are free there; make room"),
    ]
    for given, error, match in refused:
        with pytest.raises(error, match=match):
            check_cluster_plan(given, None)
