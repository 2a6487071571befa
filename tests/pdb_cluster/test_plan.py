"""What a build on a cluster takes: which patterns are shared out, what is refused."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pdb_build import BuildPlan, plan_build
from pdb_build.partial_folder import PartialFolder
from pdb_cluster.build_plan import check_disk, divide, layout_bytes, plan_tasks, shard_bytes
from pdb_cluster.build_workers import Worker
from pdb_cluster.shard import Shard
from pdb_cluster.table_parts import Part, digest_of_parts, write_token
from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import DiskFullError, MemoryLimitError, OutputError
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.table_spec import TableSpec

GB = 10**9


def workers(*memory: float) -> tuple[Worker, ...]:
    return tuple(Worker(f"tcp://{n}", int(gb * GB)) for n, gb in enumerate(memory))


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


def test_disk_for_the_file_is_planned() -> None:
    small = plan("663", BoardSize(4, 4))
    check_disk(replace(small, available_disk=small.disk_bytes))
    with pytest.raises(DiskFullError, match="are free there; make room"):
        check_disk(replace(small, available_disk=small.disk_bytes - 1))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_planned_memory_covers_what_shards_tell(encoding: Encoding, n_shards: int) -> None:
    spec = TableSpec(BoardSize(4, 4), blank_last(BoardSize(4, 4)), Pattern((1, 2, 3, 4, 5, 6)), encoding)
    planned = shard_bytes(spec, n_shards, halo_bytes=200_000)
    shared = divide(spec, n_shards)
    layout = layout_bytes(spec, -(-16_412 // n_shards))
    for number in range(n_shards):
        shard = Shard(shared, number)
        told = next(found for n in range(1, 50) if (found := shard.set_rounds(n)).halo_bytes <= 200_000)
        assert told.row_bytes == 96
        assert layout + told.rows_bytes + told.exchange_bytes <= 1.05 * planned


def test_part_that_changed_on_the_way_is_refused(tmp_path: Path) -> None:
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


def test_folder_of_another_build_is_not_written_to(tmp_path: Path) -> None:
    """A worker still has a part of a build that was killed; the same file is built again."""
    with PartialFolder(tmp_path / "x.h5") as folder:
        folder.table.write_bytes(bytes(1000))
        late = Part.of_table(folder, write_token(folder), 100, 200)
        write_token(folder)
        assert late.write(np.ones(200, dtype=np.uint8)) == late
        assert folder.table.read_bytes() == bytes(1000)
