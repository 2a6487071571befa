"""Builds on a cluster of processes: the bytes of a local build, also if workers are killed."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from pdb_build import BuildPlan, BuildProgress, plan_build
from pdb_cluster import build_on_cluster, build_plan, connect, pattern_search
from pdb_cluster.pattern_search import PatternSearch
from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import ClusterError
from pdb_core.jit import program_version
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import blank_last, parse_size
from tests.command_line import pdb
from tests.pdb_cluster.two_workers import N_WORKERS, kill, wait_until, worker_pids
from tests.tables import table_file


def plan_of(out: Path, partition: str, size_text: str, encoding: Encoding = "bits") -> BuildPlan:
    size = parse_size(size_text)
    goal = blank_last(size)
    return plan_build(size, goal, parse_partition(partition, size, goal), out, encoding=encoding)


def check_same_as_local(out: Path, partition: str, size_text: str, encoding: Encoding = "bits") -> None:
    """Check that the file has the bytes of a local build, and that only the report is beside it."""
    local = table_file(partition, size_text, encoding=encoding)
    assert hashlib.sha256(out.read_bytes()).digest() == hashlib.sha256(local.read_bytes()).digest()
    assert sorted(path.name for path in out.parent.iterdir()) == [out.with_suffix(".build.json").name, out.name]


def is_idle(client: Client) -> bool:
    """Return whether no worker has tasks or results."""
    held = client.run(_n_held, on_error="ignore")
    return len(held) > 0 and all(n == 0 for n in held.values())


def _n_held(dask_worker: Any) -> int:
    return len(dask_worker.state.tasks) + len(dask_worker.data)


def fail(*_arguments: Any) -> None:
    raise RuntimeError("unknown\nand more")


SMALL = "1,2,5/3,4,6/7,8"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_patterns_on_one_worker_make_the_file_of_a_local_build(
    client: Client, tmp_path: Path, encoding: Encoding
) -> None:
    out = tmp_path / "small.h5"
    plan = plan_of(out, SMALL, "3x3", encoding)
    result = build_on_cluster(plan, client)
    check_same_as_local(out, SMALL, "3x3", encoding)
    assert [search.pattern for search in result.searches] == list(plan.spec.partition.patterns)
    for table in json.loads(result.report.read_text())["tables"]:
        (builder,) = table["built_by"]["shards"]
        assert builder["address"] in client.nthreads()
    wait_until(lambda: is_idle(client), "the workers to hold nothing")


def test_shared_table_is_built_once(client: Client, tmp_path: Path) -> None:
    out = tmp_path / "small.h5"
    result = build_on_cluster(plan_of(out, "1,2/3,6/4,7/5,8", "3x3"), client)
    check_same_as_local(out, "1,2/3,6/4,7/5,8", "3x3")
    assert [entry.use is None for entry in result.header.patterns] == [True, False, False, True]
    assert [search.seconds > 0 for search in result.searches] == [True, False, False, True]
    tables = json.loads(result.report.read_text())["tables"]
    assert [table["built_by"] == tables[0]["built_by"] for table in tables] == [True, True, True, False]


@pytest.mark.parametrize(("encoding", "n_shards", "halo_bytes"), [("bits", 2, 10**8), ("bytes", 3, 1_000)])
def test_shards_make_the_file_of_a_local_build(
    client: Client, tmp_path: Path, encoding: Encoding, n_shards: int, halo_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(build_plan, "HALO_BYTES", halo_bytes)
    out = tmp_path / "small.h5"
    monkeypatch.setattr(pattern_search, "_PIECE_BYTES", 1_000)
    seen: list[BuildProgress] = []
    plan = plan_of(out, "1,2,3,4,5/6,7,8", "3x3", encoding)
    result = build_on_cluster(plan, client, n_shards=n_shards, progress=seen.append)
    check_same_as_local(out, "1,2,3,4,5/6,7,8", "3x3", encoding)
    deepest = {progress.pattern_index: progress.depth for progress in seen}
    assert deepest == {index: len(found.states_per_depth) - 1 for index, found in enumerate(result.searches)}
    table = json.loads(result.report.read_text())["tables"][0]
    assert len(table["built_by"]["shards"]) == n_shards
    assert len({shard["address"] for shard in table["built_by"]["shards"]}) == N_WORKERS
    assert (table["built_by"]["portions"] > 1) == (halo_bytes == 1_000)
    assert all(n > 0 for n in table["built_by"]["sent_bytes_per_depth"][2:])
    wait_until(lambda: is_idle(client), "the workers to hold nothing")


@pytest.mark.parametrize("n_shards", [None, 3])
def test_search_begins_again_if_workers_are_killed(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    """One worker of a search in shards is killed; else all workers, and the client waits for others."""
    killed: list[int] = []
    said: list[str] = []

    def kill_some(progress: BuildProgress) -> None:
        if progress.depth == 7 and not killed:
            killed.extend(worker_pids(client)[: 1 if n_shards else N_WORKERS])
            for pid in killed:
                kill(pid)

    out = tmp_path / "killed.h5"
    build_on_cluster(
        plan_of(out, "1,2,3,4,5/6,7,8", "3x3"), client, n_shards=n_shards, progress=kill_some, say=said.append
    )
    assert killed
    assert any(re.search("at depth .* is gone; the search of this pattern begins again", text) for text in said), said
    check_same_as_local(out, "1,2,3,4,5/6,7,8", "3x3")


def test_table_lost_before_it_is_fetched_is_searched_again(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []

    def fetch(search: PatternSearch, n_bytes: Sequence[int]) -> Any:
        if not killed:
            killed.extend(worker_pids(client))
            for pid in killed:
                kill(pid)
        return real(search, n_bytes)

    real, out = PatternSearch._fetch, tmp_path / "small.h5"
    monkeypatch.setattr(PatternSearch, "_fetch", fetch)
    build_on_cluster(plan_of(out, "8", "3x3"), client)
    assert killed
    check_same_as_local(out, "8", "3x3")


@pytest.mark.parametrize("n_shards", [None, 2])
def test_late_worker_of_another_version_is_left_out(
    client: Client, tmp_path: Path, n_shards: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed, and the one in its place runs another version."""
    real, known = program_version(), {os.getpid(), *worker_pids(client)}
    lost, kept = client.nthreads()
    said: list[str] = []

    def version() -> tuple[str, str]:
        return real if os.getpid() in known else ("0.0", "0" * 64)

    def kill_one(progress: BuildProgress) -> None:
        if progress.depth == 2 and lost in client.nthreads():
            kill(client.run(os.getpid, workers=[lost])[lost])
            wait_until(lambda: lost not in client.nthreads() and len(client.nthreads()) == N_WORKERS, "another worker")

    monkeypatch.setattr(connect, "program_version", version)
    out = tmp_path / "small.h5"
    result = build_on_cluster(plan_of(out, SMALL, "3x3"), client, n_shards=n_shards, progress=kill_one, say=said.append)
    check_same_as_local(out, SMALL, "3x3")
    builders = [table["built_by"]["shards"] for table in json.loads(result.report.read_text())["tables"]]
    assert kept in {shard["address"] for shards in builders for shard in shards} <= {lost, kept}
    (late,) = client.nthreads().keys() - {kept}
    assert [text for text in said if "runs tile-pdb" in text] == [
        f"the worker at {late} runs tile-pdb 0.0 (kernels 00000000), this command {real[0]} (kernels {real[1][:8]}), "
        "so it gets no tasks; install the same version on both"
    ]


@pytest.mark.parametrize("n_shards", [None, 2])
def test_interrupted_build_leaves_nothing_behind(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    def interrupt(progress: BuildProgress) -> None:
        if progress.depth >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_on_cluster(
            plan_of(tmp_path / "never.h5", "1,2,3,4,5/6,7,8", "3x3"), client, n_shards=n_shards, progress=interrupt
        )
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: is_idle(client), "the workers to hold nothing")


def test_error_on_a_worker_ends_the_build(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_search, "finish", fail)
    with pytest.raises(ClusterError, match=r"the search of pattern .*\(RuntimeError: unknown\); the logs of"):
        build_on_cluster(plan_of(tmp_path / "never.h5", SMALL, "3x3"), client)
    assert list(tmp_path.iterdir()) == []


def test_build_ends_if_workers_are_lost_in_every_attempt(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pdb_cluster.build._ATTEMPTS", 2)
    said: list[str] = []

    def kill_one(progress: BuildProgress) -> None:
        if progress.depth == 2:
            kill(worker_pids(client)[0])

    with pytest.raises(ClusterError, match="workers were lost 2 times"):
        build_on_cluster(
            plan_of(tmp_path / "never.h5", SMALL, "3x3"), client, n_shards=2, progress=kill_one, say=said.append
        )
    assert sum("begins again" in text for text in said) == 2
    assert list(tmp_path.iterdir()) == []


def test_command_reports_shards_and_builds_them(client: Client, tmp_path: Path) -> None:
    command = ["build", "8", "--scheduler", client.scheduler.address, "--shards", "3"]
    result = pdb(*command, "--dry-run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "8.h5: pattern 1,2,3,4,5,6,7,8 in 3 shards on 2 workers" in result.stderr
    assert list(tmp_path.iterdir()) == []
    result = pdb(*command, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "written in" in result.stdout
    assert "dashboard http" in result.stderr
    check_same_as_local(tmp_path / "data" / "8.h5", "8", "3x3")


def test_shards_need_a_cluster(tmp_path: Path) -> None:
    result = pdb("build", "8", "--shards", "2", cwd=tmp_path)
    assert result.returncode == 2
    assert "needs a cluster; give --scheduler" in result.stderr
