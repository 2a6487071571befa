"""What a build on a cluster takes: which patterns are shared out, what is refused."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from pdb_build import BuildPlan, plan_build
from pdb_build.search import search_pattern
from pdb_cluster.build_plan import check_disk, plan_tasks
from pdb_cluster.build_workers import Worker
from pdb_cluster.shard import Shard
from pdb_cluster.shard_plan import layout_bytes, plan_shards, share_out
from pdb_cluster.table_parts import PartsFolder, pieces_of, write_part
from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import DiskFullError, MemoryLimitError, OutputError
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.table_spec import TableSpec

GB = 10**9


def workers(*memory: float) -> tuple[Worker, ...]:
    return tuple(Worker(f"tcp://{n}", "host", 1, int(gb * GB)) for n, gb in enumerate(memory))


def plan(partition: str, size: BoardSize, encoding: Encoding = "bits") -> BuildPlan:
    goal = blank_last(size)
    return plan_build(size, goal, parse_partition(partition, size, goal), Path("x.h5"), encoding=encoding)


def test_patterns_that_fit_a_worker_are_tasks_the_largest_first() -> None:
    tasks = plan_tasks(plan("78", BoardSize(4, 4)), workers(8, 8))
    assert [(task.index, task.n_shards) for task in tasks] == [(0, 0), (1, 0)]


def test_patterns_that_fit_some_workers_are_for_those() -> None:
    tasks = plan_tasks(plan("78", BoardSize(4, 4)), workers(0.4, 8, 0.4))
    assert [worker.address for worker in tasks[0].workers] == ["tcp://1"]
    assert len(tasks[1].workers) == 3


def test_pattern_that_fits_no_worker_is_shared_out() -> None:
    alone = plan_tasks(plan("78", BoardSize(4, 4)), workers(8))[0].memory_bytes / GB
    tasks = plan_tasks(plan("78", BoardSize(4, 4)), workers(*[alone - 0.05] * 8))
    assert [(task.index, task.n_shards) for task in tasks] == [(0, 8), (1, 0)]
    assert tasks[0].memory_bytes < (alone - 0.05) * GB


def test_pattern_that_fits_not_even_all_workers_is_refused() -> None:
    with pytest.raises(MemoryLimitError, match=r"each of 2 workers, 300.0 MB .* about \d+ workers of that size"):
        plan_tasks(plan("78", BoardSize(4, 4)), workers(0.3, 0.35))
    with pytest.raises(MemoryLimitError, match="larger workers are needed"):
        plan_tasks(plan("78", BoardSize(4, 4)), workers(0.1, 0.1))


def test_disk_for_the_parts_is_planned() -> None:
    small = plan("663", BoardSize(4, 4))
    check_disk(replace(small, available_disk=2 * small.disk_bytes))
    with pytest.raises(DiskFullError, match="while it is built on a cluster"):
        check_disk(replace(small, available_disk=2 * small.disk_bytes - 1))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_planned_memory_covers_what_shards_tell(encoding: Encoding, n_shards: int) -> None:
    spec = TableSpec(BoardSize(4, 4), blank_last(BoardSize(4, 4)), Pattern((1, 2, 3, 4, 5, 6)), encoding)
    planned = plan_shards(spec, n_shards, halo_bytes=200_000).memory_bytes
    shared = share_out(spec, n_shards)
    layout = layout_bytes(spec, -(-16_412 // n_shards))
    for number in range(n_shards):
        shard = Shard(shared, number)
        told = next(
            found for n in range(1, 50) if (found := shard.set_rounds(n)).n_taken.sum(axis=2).max() * 96 <= 200_000
        )
        assert told.row_bytes == 96
        assert layout + told.rows_bytes + told.exchange_bytes <= 1.05 * planned


def test_part_that_changed_on_the_way_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "x.h5"
    table = search_pattern(
        TableSpec(BoardSize(3, 3), blank_last(BoardSize(3, 3)), Pattern((1, 2)), "bytes"), n_threads=1
    ).table
    with PartsFolder(out) as folder:
        parts = [write_part(folder.token, pieces_of(table), table.size) for _ in range(2)]
        assert folder.join(parts).tobytes() == table.tobytes() * 2
        part = write_part(folder.token, pieces_of(table), table.size)
        folder.token.path(part.name.partition(".")[2]).write_bytes(b"\0" * table.size)
        with pytest.raises(OutputError, match="is not what a worker wrote"):
            folder.join([part])
    assert list(tmp_path.iterdir()) == []


def test_folders_of_two_builds_do_not_disturb_each_other(tmp_path: Path) -> None:
    with PartsFolder(tmp_path / "x.h5") as one:
        with PartsFolder(tmp_path / "x.h5") as other:
            assert one.token.is_seen()
            assert other.token.is_seen()
        assert one.token.is_seen()
        assert not other.token.is_seen()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_build_left_is_removed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, folder = tmp_path / "x.h5", tmp_path / "x.h5.partial"
    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 8)
        dead = PartsFolder(out)
        dead.__enter__()
        patch.setattr("platform.node", lambda: "elsewhere")
        elsewhere = PartsFolder(out)
        elsewhere.__enter__()
    with PartsFolder(out, said.append) as alive:
        alive.token.path("part").touch()
        assert len(said) == 1
        assert "another build of" in said[0]
        for left in (dead, elsewhere):
            left.token.path("part").touch()
            assert left._locked is not None
            left._locked.close()  # as the system does for a process that is killed
        (folder / "checkpoint").touch()
        with PartsFolder(out, said.append) as now:
            assert sorted(folder.iterdir()) == sorted(
                [
                    folder / "checkpoint",
                    now.token.path("token"),
                    *(of.token.path(name) for of in (alive, elsewhere) for name in ("token", "part")),
                ]
            )
        assert "removed what a build of" in said[1]
        assert "killed on another machine" in said[2]
