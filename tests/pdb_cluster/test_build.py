"""Building on a cluster of processes: the bytes of a build on one machine, whatever happens to workers."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from pdb_build import BuildPlan, BuildProgress, plan_build
from pdb_cluster import build_on_cluster
from pdb_cluster.table_parts import Part
from pdb_core.encoding import Encoding
from pdb_core.errors import ClusterError, DiskFullError
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import blank_last, parse_size
from tests.command_line import pdb
from tests.pdb_cluster.two_workers import N_WORKERS, client, cluster, kill, wait_until, worker_pids
from tests.tables import table_file

__all__ = ["client", "cluster"]


def plan_of(out: Path, partition: str, size_text: str, encoding: Encoding = "bits") -> BuildPlan:
    size = parse_size(size_text)
    goal = blank_last(size)
    return plan_build(size, goal, parse_partition(partition, size, goal), out, encoding=encoding)


def same_as_local(out: Path, partition: str, size_text: str, encoding: Encoding = "bits") -> None:
    """The file has the bytes of a local build, and nothing but its report is left beside it."""
    local = table_file(partition, size_text, encoding=encoding)
    assert hashlib.sha256(out.read_bytes()).digest() == hashlib.sha256(local.read_bytes()).digest()
    assert sorted(path.name for path in out.parent.iterdir()) == [out.with_suffix(".build.json").name, out.name]


def is_idle(client: Client) -> bool:
    """No worker has anything to do, or holds anything."""
    held = client.run(_n_held, on_error="ignore")
    return len(held) > 0 and all(n == 0 for n in held.values())


def _n_held(dask_worker: Any) -> int:
    return len(dask_worker.state.tasks) + len(dask_worker.data)


@contextmanager
def replaced_on_workers(client: Client, name: str, replacement: Callable[..., Any] | None) -> Iterator[None]:
    """Replace a method of `Part` or a function of `build_tasks` in the processes of the workers; None: do not."""

    def swap(function: Callable[..., Any]) -> Callable[..., Any]:
        from pdb_cluster import build_tasks, table_parts

        holder = table_parts.Part if hasattr(table_parts.Part, name) else build_tasks
        before = getattr(holder, name)
        setattr(holder, name, function)
        return before  # type: ignore[no-any-return]

    if replacement is None:
        yield
        return
    before = client.run(swap, replacement)
    try:
        yield
    finally:
        for address in set(before) & set(client.nthreads()):
            client.run(swap, before[address], workers=[address])


def see_nothing(_part: Any) -> bool:
    return False


def search_slowly(*arguments: Any, progress: Callable[[int, int, int], None], **options: Any) -> Any:
    from pdb_build.search import search_pattern

    def wait(*at: int) -> None:
        progress(*at)
        time.sleep(0.2)

    return search_pattern(*arguments, progress=wait, **options)


def fill_the_disk(*_arguments: Any) -> None:
    raise DiskFullError("the disk is full")


def fail(*_arguments: Any) -> None:
    raise RuntimeError("unknown\nand more")


SMALL = "1,2,5/3,4,6/7,8"


@pytest.mark.parametrize("encoding", ["bits", "bytes"])
@pytest.mark.parametrize("shared", [True, False])
def test_patterns_as_tasks_make_the_file_of_a_local_build(
    client: Client, tmp_path: Path, encoding: Encoding, shared: bool
) -> None:
    out = tmp_path / "small.h5"
    plan = plan_of(out, SMALL, "3x3", encoding)
    with replaced_on_workers(client, "_is_seen", None if shared else see_nothing):
        result = build_on_cluster(plan, client)
    same_as_local(out, SMALL, "3x3", encoding)
    assert [search.pattern for search in result.searches] == list(plan.partition.patterns)
    for table in json.loads(result.report.read_text())["tables"]:
        assert table["built_by"]["worker"]["address"] in client.nthreads()
    wait_until(lambda: is_idle(client), "the workers to hold nothing")


@pytest.mark.parametrize("n_shards", [None, 2])
def test_a_table_that_patterns_share_is_built_once(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    out = tmp_path / "small.h5"
    result = build_on_cluster(plan_of(out, "1,2/3,6/4,7/5,8", "3x3"), client, n_shards=n_shards)
    same_as_local(out, "1,2/3,6/4,7/5,8", "3x3")
    assert [entry.use is None for entry in result.header.patterns] == [True, False, False, True]
    assert [search.seconds > 0 for search in result.searches] == [True, False, False, True]
    tables = json.loads(result.report.read_text())["tables"]
    assert [table["built_by"] == tables[0]["built_by"] for table in tables] == [True, True, True, False]


@pytest.mark.parametrize("encoding", ["bits", "bytes"])
@pytest.mark.parametrize(("n_shards", "shared", "halo_bytes"), [(2, True, 10**8), (3, False, 1_000)])
def test_shards_make_the_file_of_a_local_build(
    client: Client, tmp_path: Path, encoding: Encoding, n_shards: int, shared: bool, halo_bytes: int
) -> None:
    out = tmp_path / "small.h5"
    seen: list[BuildProgress] = []
    with replaced_on_workers(client, "_is_seen", None if shared else see_nothing):
        result = build_on_cluster(
            plan_of(out, "1,2,3,4,5/6,7,8", "3x3", encoding),
            client,
            n_shards=n_shards,
            progress=seen.append,
            halo_bytes=halo_bytes,
        )
    same_as_local(out, "1,2,3,4,5/6,7,8", "3x3", encoding)
    assert seen[-1].depth == len(result.searches[1].states_per_depth) - 1
    table = json.loads(result.report.read_text())["tables"][0]
    assert len(table["built_by"]["shards"]) == n_shards
    assert len({shard["address"] for shard in table["built_by"]["shards"]}) == N_WORKERS
    assert (table["built_by"]["rounds"] > 1) == (halo_bytes == 1_000)
    assert all(n > 0 for n in table["built_by"]["sent_bytes_per_depth"][2:])
    wait_until(lambda: is_idle(client), "the workers to hold nothing")


def test_worker_killed_in_a_task_is_made_good(client: Client, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_all(progress: BuildProgress) -> None:
        if progress.depth >= 2 and not killed:
            killed.extend(worker_pids(client))
            for pid in killed:
                kill(pid)

    out = tmp_path / "killed.h5"
    with replaced_on_workers(client, "search_pattern", search_slowly):
        build_on_cluster(plan_of(out, "1,2,3,4,5/6,7,8", "3x3"), client, progress=kill_all)
    assert len(killed) == N_WORKERS
    same_as_local(out, "1,2,3,4,5/6,7,8", "3x3")


def test_table_lost_before_it_is_fetched_is_searched_again(client: Client, tmp_path: Path) -> None:
    """The worker ends after the search, before the client has fetched its table."""
    killed: list[int] = []
    said: list[str] = []

    def fetch(part: Part, *arguments: Any) -> Part:
        if not killed:
            killed.extend(worker_pids(client))
            for pid in killed:
                kill(pid)
        return real(part, *arguments)

    real, out = Part.fetch, tmp_path / "small.h5"
    with pytest.MonkeyPatch.context() as patch, replaced_on_workers(client, "_is_seen", see_nothing):
        patch.setattr(Part, "fetch", fetch)
        build_on_cluster(plan_of(out, "8", "3x3"), client, say=said.append)
    assert killed
    assert "pattern 1,2,3,4,5,6,7,8: the worker that held its table is gone; it is searched again" in said
    same_as_local(out, "8", "3x3")


def test_worker_killed_in_a_search_of_shards_is_made_good(client: Client, tmp_path: Path) -> None:
    killed: list[int] = []
    said: list[str] = []
    depths: list[int] = []

    def kill_one(progress: BuildProgress) -> None:
        depths.append(progress.depth)
        if progress.depth == 7 and not killed:
            killed.append(worker_pids(client)[0])
            kill(killed[0])

    out = tmp_path / "killed.h5"
    build_on_cluster(plan_of(out, "1,2,3,4,5/6,7,8", "3x3"), client, n_shards=3, progress=kill_one, say=said.append)
    assert len(killed) == 1
    assert len(said) == 1, said
    assert "is gone, and its shards with it; the search of this pattern begins again" in said[0]
    assert depths[7] == 1
    same_as_local(out, "1,2,3,4,5/6,7,8", "3x3")


@pytest.mark.parametrize("n_shards", [None, 2])
def test_interrupted_build_leaves_nothing_behind(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    def interrupt(progress: BuildProgress) -> None:
        if progress.depth >= 3:
            raise KeyboardInterrupt

    with replaced_on_workers(client, "search_pattern", search_slowly):
        with pytest.raises(KeyboardInterrupt):
            build_on_cluster(
                plan_of(tmp_path / "never.h5", "1,2,3,4,5/6,7,8", "3x3"),
                client,
                n_shards=n_shards,
                progress=interrupt,
            )
        assert list(tmp_path.iterdir()) == []
        begun = time.monotonic()
        wait_until(lambda: is_idle(client), "the workers to hold nothing")
        # A search hears of its end at the next level, not when it is through.
        assert time.monotonic() - begun < 3


@pytest.mark.parametrize("n_shards", [None, 2])
def test_full_disk_of_a_worker_ends_the_build(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    with (
        replaced_on_workers(client, "write", fill_the_disk),
        pytest.raises(DiskFullError, match="the disk is full"),
    ):
        build_on_cluster(plan_of(tmp_path / "never.h5", SMALL, "3x3"), client, n_shards=n_shards)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_shards", [None, 2])
def test_unknown_error_of_a_worker_is_told(client: Client, tmp_path: Path, n_shards: int | None) -> None:
    with (
        replaced_on_workers(client, "write", fail),
        pytest.raises(ClusterError, match=r"the search of pattern .*\(RuntimeError: unknown\); the logs of"),
    ):
        build_on_cluster(plan_of(tmp_path / "never.h5", SMALL, "3x3"), client, n_shards=n_shards)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_is_no_longer_seen_is_done_without(client: Client, tmp_path: Path) -> None:
    def remove(_progress: BuildProgress) -> None:
        for path in tmp_path.glob("*.partial/token"):
            path.unlink()

    out = tmp_path / "small.h5"
    build_on_cluster(plan_of(out, "8", "3x3"), client, n_shards=2, progress=remove)
    same_as_local(out, "8", "3x3")


def test_workers_lost_again_and_again_end_the_build(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pdb_cluster.sharded_search._ATTEMPTS", 2)
    said: list[str] = []

    def kill_one(progress: BuildProgress) -> None:
        if progress.depth == 2:
            kill(worker_pids(client)[0])

    with pytest.raises(ClusterError, match="workers were lost 2 times"):
        build_on_cluster(
            plan_of(tmp_path / "never.h5", SMALL, "3x3"), client, n_shards=2, progress=kill_one, say=said.append
        )
    assert len(said) == 2
    assert list(tmp_path.iterdir()) == []


def test_command_builds_on_a_cluster_of_its_own(tmp_path: Path) -> None:
    result = pdb("build", "8", "--local-cluster", "2", "--shards", "2", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "written in" in result.stdout
    assert "dashboard http" in result.stderr
    same_as_local(tmp_path / "8.h5", "8", "3x3")


def test_command_says_how_it_would_build(client: Client, tmp_path: Path) -> None:
    address = client.scheduler.address
    result = pdb("build", "663", "8", "--scheduler", address, "--shards", "3", "--dry-run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "pattern 2,3,4 in 3 shards on 2 workers" in result.stderr
    assert "8.h5: pattern 1,2,3,4,5,6,7,8 in 3 shards on 2 workers" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_shards_without_a_cluster_are_refused(tmp_path: Path) -> None:
    result = pdb("build", "8", "--shards", "2", cwd=tmp_path)
    assert result.returncode == 2
    assert "goes with --scheduler or --local-cluster" in result.stderr
