"""Plans of cluster builds, and the memory of workers and shards."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from distributed import Client

from pdb_build.plan import check_disk
from pdb_build.word_layout import row_bytes
from pdb_cluster.build.shard import PatternShard, divide
from pdb_cluster.build.shard_plan import PatternTask, Worker, _memory_of, by_size, plan_task, shard_bytes, workers_of
from pdb_core.encoding import Encoding
from pdb_core.errors import DiskFullError, MemoryLimitError
from tests.tables import small_plan, spec_of

GB = 10**9
OUT = Path("x.h5")


def workers(*memory: float) -> tuple[Worker, ...]:
    return tuple(Worker(f"tcp://{n}", 1, int(gb * GB)) for n, gb in enumerate(memory))


def tasks_of(*memory: float) -> list[PatternTask]:
    plan = small_plan(OUT, "78", "4x4")
    return [plan_task(plan, index, workers(*memory)) for index in by_size(plan)]


def test_pattern_goes_to_workers_with_enough_memory() -> None:
    tasks = tasks_of(0.4, 8, 0.4)
    assert [(task.index, task.n_shards) for task in tasks] == [(0, 1), (1, 1)]
    assert [worker.address for worker in tasks[0].workers] == ["tcp://1"]
    assert len(tasks[1].workers) == 3


def test_pattern_too_large_for_each_worker_is_divided() -> None:
    alone = tasks_of(8)[0].memory_bytes / GB
    tasks = tasks_of(*[alone - 0.05] * 8)
    assert [(task.index, task.n_shards) for task in tasks] == [(0, 8), (1, 1)]
    assert tasks[0].memory_bytes < (alone - 0.05) * GB


def test_worker_too_small_for_a_shard_gets_none() -> None:
    alone = tasks_of(8)[0].memory_bytes / GB
    task = tasks_of(alone - 0.05, 0.05, alone - 0.05)[0]
    assert task.n_shards == 2
    assert [worker.address for worker in task.workers] == ["tcp://0", "tcp://2"]


def test_worker_of_unknown_memory_takes_any_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_cluster.build.shard_plan.available_memory", lambda: None)
    dask_worker = SimpleNamespace(memory_manager=SimpleNamespace(memory_limit=None), state=SimpleNamespace(nthreads=1))
    *_, available, limit = _memory_of(dask_worker)
    worker = Worker("tcp://0", 1, min(available, limit))
    assert plan_task(small_plan(OUT, "78", "4x4"), 0, (worker,)).n_shards == 1


def test_pattern_too_large_for_all_workers_is_refused() -> None:
    with pytest.raises(MemoryLimitError, match=r"each of 2 workers, 300.0 MB .* about \d+ workers of that size"):
        tasks_of(0.3, 0.35)
    with pytest.raises(MemoryLimitError, match="larger workers are needed"):
        tasks_of(0.1, 0.1)


def test_disk_for_the_file_is_planned() -> None:
    small = small_plan(OUT)
    check_disk(replace(small, available_disk=small.disk_bytes), small.disk_bytes)
    with pytest.raises(DiskFullError, match="are free there; make room"):
        check_disk(replace(small, available_disk=small.disk_bytes - 1), small.disk_bytes)


@pytest.mark.parametrize(("encoding", "n_shards"), [("bits", 2), ("bytes", 2), ("bits", 5)])
def test_planned_memory_covers_the_shards(encoding: Encoding, n_shards: int) -> None:
    spec = spec_of("4x4", "blank-last", "1 2 3 4 5 6", encoding)
    planned, row = shard_bytes(spec, n_shards, 200_000), row_bytes(6)
    for number in range(n_shards):
        shard = PatternShard(spec, divide(spec, n_shards), number)
        taken = next(rows for n in range(1, 50) if (rows := shard.set_portions(n)).sum(axis=2).max() * row <= 200_000)
        shard.start()
        held = sum(array.nbytes for array in shard._search.arrays()) - shard._search.n_active.nbytes
        halo = int(taken.sum(axis=2).max()) * row
        layout = sum(array.nbytes for array in vars(shard._part).values() if isinstance(array, np.ndarray))
        assert held + layout + halo * 4 <= 1.05 * planned


def test_new_worker_shares_its_machine_with_those_that_are_there(client: Client) -> None:
    addresses = sorted(client.nthreads())
    both = workers_of(client, addresses)
    new = workers_of(client, addresses[1:], kept=both[:1])
    assert [worker.address for worker in (*both[:1], *new)] == addresses
    assert 0.5 * both[1].memory_bytes < new[0].memory_bytes < 1.5 * both[1].memory_bytes


def test_memory_of_a_worker_is_what_dask_leaves_to_results(client: Client) -> None:
    def offered(dask_worker: Any) -> Any:
        """Runs on a worker."""
        manager = dask_worker.memory_manager
        limit, manager.memory_limit = manager.memory_limit, 10**10
        try:
            return _memory_of(dask_worker)[-1], manager.memory_target_fraction
        finally:
            manager.memory_limit = limit

    for memory, target in client.run(offered).values():
        assert 0.5 * 10**10 < memory < target * 10**10
