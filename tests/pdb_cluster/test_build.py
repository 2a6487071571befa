"""Builds on a cluster of processes: the bytes of a local build, also if workers are killed."""

import json
import os
import re
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from distributed import Client

from pdb_build import BuildPlan, BuildProgress
from pdb_cluster import build_on_cluster, connect
from pdb_cluster.build import pattern_search, shard_plan
from pdb_core.encoding import Encoding
from pdb_core.errors import ClusterError
from tests import wait_until
from tests.command_line import pdb
from tests.pdb_cluster.two_workers import N_WORKERS, WAIT_S, fail, kill, started_cluster, worker_pids
from tests.tables import SMALL, interrupt_at, small_plan, table_file

LARGE = "1,2,3,4,5/6,7,8"


def check_same_as_local(out: Path, partition: str, encoding: Encoding = "bits") -> list[dict[str, Any]]:
    """Check that the file has the bytes of a local build, beside it only the report, whose tables are returned."""
    assert out.read_bytes() == table_file(partition, "3x3", encoding=encoding).read_bytes()
    report = out.with_name(f"{out.name}.build.json")
    assert set(out.parent.iterdir()) == {out, report}
    tables: list[dict[str, Any]] = json.loads(report.read_text())["tables"]
    return tables


def is_idle(client: Client) -> bool:
    """Return whether no worker has tasks or results."""
    held = client.run(_n_held, on_error="ignore")
    return len(held) > 0 and all(n == 0 for n in held.values())


def _n_held(dask_worker: Any) -> int:
    return len(dask_worker.state.tasks) + len(dask_worker.data)


def test_pattern_that_fits_is_built_by_one_worker_and_a_shared_table_once(client: Client, tmp_path: Path) -> None:
    partition = "1,2/3,6/4,7/5,8"
    result = build_on_cluster(small_plan(tmp_path / "small.h5", partition), client)
    tables = check_same_as_local(tmp_path / "small.h5", partition)
    assert [entry.use is None for entry in result.header.patterns] == [True, False, False, True]
    assert [search.seconds > 0 for search in result.searches] == [True, False, False, True]
    assert [search.pattern for search in result.searches] == list(result.plan.spec.partition.patterns)
    assert [table["built_by"] == tables[0]["built_by"] for table in tables] == [True, True, True, False]
    for table in tables:
        (builder,) = table["built_by"]["shards"]
        assert builder["address"] in client.nthreads()
    wait_until(lambda: is_idle(client))


@pytest.mark.parametrize(("encoding", "n_shards", "halo_bytes"), [("bits", 2, 10**8), ("bytes", 3, 1_000)])
def test_shards_make_the_file_of_a_local_build(
    client: Client, tmp_path: Path, encoding: Encoding, n_shards: int, halo_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(shard_plan, "HALO_BYTES", halo_bytes)
    monkeypatch.setattr(pattern_search, "_PIECE_BYTES", 1_000)
    out, seen = tmp_path / "small.h5", list[BuildProgress]()
    plan = small_plan(out, LARGE, encoding=encoding)
    result = build_on_cluster(plan, client, n_shards=n_shards, progress=seen.append)
    built_by = check_same_as_local(out, LARGE, encoding)[0]["built_by"]
    deepest = {progress.pattern_index: progress.depth for progress in seen}
    assert deepest == {index: len(found.states_per_depth) - 1 for index, found in enumerate(result.searches)}
    assert len(built_by["shards"]) == n_shards
    assert len({shard["address"] for shard in built_by["shards"]}) == N_WORKERS
    assert (built_by["portions"] > 1) == (halo_bytes == 1_000)
    assert all(n > 0 for n in built_by["sent_bytes_per_depth"][2:])
    wait_until(lambda: is_idle(client))


@pytest.mark.parametrize("n_shards", [None, 3])
def test_search_begins_again_if_workers_are_killed(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    """One worker of a search in shards is killed; else all workers, before a table is fetched."""
    killed: list[int] = []
    said: list[str] = []

    def kill_some(progress: BuildProgress) -> None:
        if progress.depth == 7 and not killed:
            killed.extend(worker_pids(client)[: 1 if n_shards else N_WORKERS])
            for pid in killed:
                kill(pid)

    plan = small_plan(tmp_path / "killed.h5", LARGE)
    build_on_cluster(plan, client, n_shards=n_shards, progress=kill_some, say=said.append)
    assert killed
    assert any(re.search("at depth .* is gone; the search of this pattern begins again", text) for text in said), said
    check_same_as_local(plan.out, LARGE)


def test_late_worker_of_another_version_is_left_out(
    client: Client, plan: BuildPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed, and the one in its place runs another version."""
    real, known = connect.program_sources(), {os.getpid(), *worker_pids(client)}
    lost, kept = client.nthreads()
    said: list[str] = []

    def version() -> tuple[str, str]:
        return real if os.getpid() in known else (real[0], "0" * 64)

    def kill_one(progress: BuildProgress) -> None:
        if progress.depth == 2 and lost in client.nthreads():
            kill(client.run(os.getpid, workers=[lost])[lost])
            wait_until(lambda: lost not in client.nthreads() and len(client.nthreads()) == N_WORKERS)

    monkeypatch.setattr(connect, "_own_sources", version)
    build_on_cluster(plan, client, n_shards=2, progress=kill_one, say=said.append)
    builders = [table["built_by"]["shards"] for table in check_same_as_local(plan.out, SMALL)]
    assert kept in {shard["address"] for shards in builders for shard in shards} <= {lost, kept}
    (late,) = client.nthreads().keys() - {kept}
    assert [text for text in said if "runs tile-pdb" in text] == [
        f"the worker at {late} runs tile-pdb {real[0]} (sources 00000000), this command {real[0]} (sources "
        f"{real[1][:8]}), so it gets no tasks; install the same version on both"
    ]


@pytest.mark.parametrize("n_shards", [None, 2])
def test_search_begins_again_if_a_worker_is_retired(tmp_path: Path, n_shards: int | None) -> None:
    """Dask cannot move its shard, so it ends only when the search has left it."""
    with started_cluster(N_WORKERS) as scheduler, Client(scheduler.address, set_as_default=False) as client:
        client.wait_for_workers(N_WORKERS, timeout=WAIT_S)
        retired: list[Thread] = []

        def retire(progress: BuildProgress) -> None:
            if progress.depth == 5 and not retired:
                busy = [address for address, tasks in client.has_what().items() if tasks]
                retired.append(Thread(target=client.retire_workers, args=(busy[:1],)))
                retired[0].start()
                wait_until(lambda: len(connect._present(client)) < N_WORKERS)

        plan, said = small_plan(tmp_path / "a.h5", LARGE), list[str]()
        build_on_cluster(plan, client, n_shards=n_shards, progress=retire, say=said.append)
        retired[0].join(WAIT_S)
        assert not retired[0].is_alive()
        assert any("is gone; the search of this pattern begins again" in text for text in said), said
        check_same_as_local(plan.out, LARGE)


def test_error_of_a_callback_is_not_taken_for_a_lost_scheduler(client: Client, tmp_path: Path) -> None:
    def fail_always(_progress: BuildProgress) -> None:
        raise FileNotFoundError("of the callback")

    with pytest.raises(FileNotFoundError, match="of the callback"):
        build_on_cluster(small_plan(tmp_path / "a.h5"), client, progress=fail_always)


@pytest.mark.parametrize("n_shards", [None, 2])
def test_interrupted_build_leaves_nothing_behind(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_on_cluster(small_plan(tmp_path / "a.h5", LARGE), client, n_shards=n_shards, progress=interrupt_at(4))
    assert not list(tmp_path.iterdir())
    wait_until(lambda: is_idle(client))


def test_error_on_a_worker_ends_the_build(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_search, "finish", fail)
    with pytest.raises(ClusterError, match=r"the search of pattern .*\(RuntimeError: unknown\); the logs of"):
        build_on_cluster(small_plan(tmp_path / "a.h5"), client)
    assert not list(tmp_path.iterdir())


def test_build_ends_if_workers_are_lost_in_every_attempt(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pdb_cluster.build.patterns._ATTEMPTS", 2)
    said: list[str] = []

    def kill_all(progress: BuildProgress) -> None:
        if progress.depth == 2:
            for pid in worker_pids(client):  # one that has just been restarted may hold no shard
                kill(pid)

    with pytest.raises(ClusterError, match="workers were lost 2 times"):
        build_on_cluster(small_plan(tmp_path / "a.h5"), client, n_shards=2, progress=kill_all, say=said.append)
    assert sum("begins again" in text for text in said) == 2
    assert not list(tmp_path.iterdir())


def test_command_reports_shards_and_builds_them(client: Client, tmp_path: Path) -> None:
    command = ["build", "1,2,3,4,5/6,7,8", "--size", "3x3", "--out", "a.h5", "--shards", "3"]
    command += ["--scheduler", client.scheduler.address]
    told = pdb(*command, "--dry-run", code=0, cwd=tmp_path).stderr
    assert "a.h5: pattern 1,2,3,4,5 in 3 shards on 2 workers" in told
    assert "dashboard http" in told
    assert not list(tmp_path.iterdir())
    assert "written in" in pdb(*command, code=0, cwd=tmp_path).stdout
    check_same_as_local(tmp_path / "a.h5", LARGE)
