"""Plans of cluster builds, memory of workers and shards, and parts of tables."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed import Client

from pdb_build import BuildPlan, plan_build
from pdb_build.partial_folder import PartialFolder
from pdb_build.search import PatternTable
from pdb_cluster.build_plan import check_disk, divide, layout_bytes, plan_tasks, shard_bytes
from pdb_cluster.build_tasks import Builder, Found
from pdb_cluster.build_workers import Worker, workers_of
from pdb_cluster.shard import Pack, Shard, ShardedPattern
from pdb_cluster.table_parts import Part, digest_of_parts, write_token
from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import DiskFullError, MemoryLimitError, OutputError
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.table_spec import TableSpec
from tests.pdb_cluster.two_workers import one_worker

GB = 10**9


def workers(*memory: float) -> tuple[Worker, ...]:
    return tuple(Worker(f"tcp://{n}", int(gb * GB)) for n, gb in enumerate(memory))


def plan(partition: str, size: BoardSize, encoding: Encoding = "bits") -> BuildPlan:
    goal = blank_last(size)
    return plan_build(size, goal, parse_partition(partition, size, goal), Path("x.h5"), encoding=encoding)


def test_largest_pattern_comes_first() -> None:
    tasks = plan_tasks(plan("78", BoardSize(4, 4)), workers(8, 8))
    assert [(task.index, task.n_shards) for task in tasks] == [(0, 0), (1, 0)]


def test_pattern_goes_to_workers_with_enough_memory() -> None:
    tasks = plan_tasks(plan("78", BoardSize(4, 4)), workers(0.4, 8, 0.4))
    assert [worker.address for worker in tasks[0].workers] == ["tcp://1"]
    assert len(tasks[1].workers) == 3


def test_pattern_too_large_for_each_worker_is_divided() -> None:
    alone = plan_tasks(plan("78", BoardSize(4, 4)), workers(8))[0].memory_bytes / GB
    tasks = plan_tasks(plan("78", BoardSize(4, 4)), workers(*[alone - 0.05] * 8))
    assert [(task.index, task.n_shards) for task in tasks] == [(0, 8), (1, 0)]
    assert tasks[0].memory_bytes < (alone - 0.05) * GB


def test_pattern_too_large_for_all_workers_is_refused() -> None:
    with pytest.raises(MemoryLimitError, match=r"each of 2 workers, 300.0 MB .* about \d+ workers of that size"):
        plan_tasks(plan("78", BoardSize(4, 4)), workers(0.3, 0.35))
    with pytest.raises(MemoryLimitError, match="larger workers are needed"):
        plan_tasks(plan("78", BoardSize(4, 4)), workers(0.1, 0.1))


def test_disk_for_the_file_is_planned() -> None:
    small = plan("663", BoardSize(4, 4))
    check_disk(replace(small, available_disk=small.disk_bytes))
    with pytest.raises(DiskFullError, match="are free there; make room"):
        check_disk(replace(small, available_disk=small.disk_bytes - 1))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_planned_memory_covers_the_laid_out_shards(encoding: Encoding, n_shards: int) -> None:
    spec = TableSpec(BoardSize(4, 4), blank_last(BoardSize(4, 4)), Pattern((1, 2, 3, 4, 5, 6)), encoding)
    planned = shard_bytes(spec, n_shards, halo_bytes=200_000)
    shared = divide(spec, n_shards)
    layout = layout_bytes(spec, -(-16_412 // n_shards))
    for number in range(n_shards):
        shard = Shard(shared, number)
        size_of = next(found for n in range(1, 50) if (found := shard.set_rounds(n)).halo_bytes <= 200_000)
        assert size_of.row_bytes == 96
        assert layout + size_of.rows_bytes + size_of.exchange_bytes <= 1.05 * planned


def test_part_that_storage_changed_is_refused(tmp_path: Path) -> None:
    table = np.arange(200, dtype=np.uint8)
    with PartialFolder(tmp_path / "x.h5") as folder:
        folder.table.write_bytes(bytes(1000))
        whole = Part.of_table(folder, write_token(folder), 100, 200)
        parts = [whole.part(first, 100).write(table[first : first + 100]) for first in (0, 100)]
        assert folder.table.read_bytes()[100:300] == table.tobytes()
        assert digest_of_parts(parts) == hashlib.sha256(table.tobytes()).hexdigest()
        folder.table.write_bytes(bytes(1000))
        with pytest.raises(OutputError, match="does not hold what a worker wrote"):
            digest_of_parts(parts)
    assert list(tmp_path.iterdir()) == []


def test_worker_of_a_killed_build_does_not_write_into_the_next(tmp_path: Path) -> None:
    left = tmp_path / "x.h5.partial"
    left.mkdir()
    (left / "token").write_text("killed")
    late = Part(str(left / "table.h5"), str(left / "token"), "killed", 100, 200)
    with PartialFolder(tmp_path / "x.h5") as folder:
        folder.table.write_bytes(bytes(1000))
        assert late.write(np.ones(200, dtype=np.uint8)) == late
        write_token(folder)
        assert late.write(np.ones(200, dtype=np.uint8)) == late
        assert folder.table.read_bytes() == bytes(1000)
    assert list(tmp_path.iterdir()) == []


def test_sizes_for_dask_include_arrays() -> None:
    table = np.zeros(1000, dtype=np.uint8)
    spec = TableSpec(BoardSize(3, 3), blank_last(BoardSize(3, 3)), Pattern((1, 2, 3, 4, 5, 6)), "bits")
    part = Part("file", "token", "text", 0, 1000)
    found = Found(PatternTable(spec, table, (1,), (1,), 1.0), part, Builder("tls://1", "host", 1, 1))
    marks = np.zeros(100, dtype=np.uint64)
    pack = Pack(0, np.zeros(100, dtype=np.int32), marks[50:], marks[50:])
    assert 1000 < sizeof(found) < 1200
    assert 1200 < sizeof(pack) < 1400
    shard = Shard(ShardedPattern(spec, (0, 40, 84)), 1)
    before = sizeof(shard)
    assert before >= shard.set_rounds(1).rows_bytes
    shard.start()
    assert sizeof(shard) == before


def test_memory_of_a_worker_is_what_dask_leaves_to_results() -> None:
    with one_worker(memory_limit=10**12) as cluster, Client(cluster, set_as_default=False) as client:
        (worker,) = cluster.workers.values()
        memory = worker.memory_manager
        assert memory.memory_target_fraction < memory.memory_pause_fraction
        for fraction in (memory.memory_target_fraction, 0.01, False):
            memory.memory_target_fraction = fraction
            memory.memory_limit = 10**10
            (offered,) = workers_of(client)
            assert offered.memory_bytes < 10**10 * (fraction or memory.memory_pause_fraction)
