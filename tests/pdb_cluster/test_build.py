"""Builds on a cluster of processes: the bytes of a local build, also if workers are killed."""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from distributed import Client, Scheduler

from pdb_build import BuildPlan, BuildProgress, build_database
from pdb_cluster import build_on_cluster, check_cluster_plan
from pdb_cluster.build import fitting_workers
from pdb_cluster.connect import program_sources
from pdb_cluster.tasks import Worker
from pdb_core.encoding import Encoding
from pdb_core.errors import DiskFullError, MemoryLimitError
from pdb_core.table_spec import TableSpec
from tests import wait_until
from tests.command_line import pdb, start
from tests.pdb_cluster.two_workers import N_WORKERS, OTHER_VERSION, kill, worker_process
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


@dataclass(frozen=True)
class GatedSpec(TableSpec):
    """Description of a table that workers search when the file `gate` is there."""

    gate: Path = Path()
    client: int = field(default_factory=os.getpid)

    @property
    def n_blocks(self) -> int:
        if os.getpid() != self.client:
            (self.gate.parent / f"busy-{os.getpid()}").touch()
            wait_until(self.gate.exists)
        return super().n_blocks


@pytest.fixture
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file without which no search of `gated_plan` ends."""
    return tmp_path_factory.mktemp("gate") / "gate"


def gated_plan(out: Path, gate: Path) -> BuildPlan:
    plan = small_plan(out)
    gated = [replace(entry, spec=GatedSpec(**vars(entry.spec), gate=gate)) for entry in plan.patterns]
    return replace(plan, patterns=tuple(gated))


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
    build_on_cluster(gated_plan(tmp_path / "a.h5", gate), client, say=said.append)
    thread.join()
    begun = [
        text for text in said if re.search("the worker at .* is gone; the search of pattern .* begins again", text)
    ]
    assert len(begun) == n_killed, said
    check_same_as_local(tmp_path / "a.h5", SMALL)


def test_late_worker_of_another_version_is_left_out(client: Client, tmp_path: Path, gate: Path) -> None:
    said = list[str]()

    def start_one(_pids: list[int]) -> None:
        with worker_process(client.scheduler.address, first_line=OTHER_VERSION):
            wait_until(lambda: any("runs tile-pdb" in text for text in said))

    thread = when_busy(gate, start_one)
    build_on_cluster(gated_plan(tmp_path / "a.h5", gate), client, say=said.append)
    thread.join()
    check_same_as_local(tmp_path / "a.h5", SMALL)
    version, sources = program_sources()
    shown = rf"\(sources {sources[:8]}\)"
    assert re.fullmatch(
        rf"the worker at tcp://.* runs tile-pdb 0\.2\.0 {shown}, this command {version} {shown}, so it gets no tasks; "
        "install the same version on both",
        said[0],
    )


def test_error_of_a_callback_is_not_taken_for_a_lost_scheduler(client: Client, tmp_path: Path) -> None:
    def fail_always(_progress: BuildProgress) -> None:
        raise FileNotFoundError("of the callback")

    with pytest.raises(FileNotFoundError, match="of the callback"):
        build_on_cluster(small_plan(tmp_path / "a.h5"), client, progress=fail_always)


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


def test_plan_needs_memory_on_one_worker_and_disk() -> None:
    plan = small_plan(Path("x.h5"), "78", "4x4")
    small = {"tcp://1": Worker(1, 400_000_000)}
    large = {"tcp://0": Worker(1, 8_000_000_000)}
    assert fitting_workers(plan, large | small) == {0: ["tcp://0"], 1: ["tcp://0", "tcp://1"]}
    with pytest.raises(MemoryLimitError, match=r"pattern 1,2,3,4,5,6,7,8 needs .* on one worker, 400.0 MB are avail"):
        fitting_workers(plan, small)
    with pytest.raises(DiskFullError, match="are free there; make room"):
        check_cluster_plan(replace(plan, available_disk=plan.disk_bytes - 1), None)
