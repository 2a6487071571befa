"""Available memory, disk and cores, within the limits of control groups."""

import os
import resource
from pathlib import Path

import psutil
import pytest

from pdb_core import resources

pytestmark = pytest.mark.tiny


def test_cgroup_limits_are_counted(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("0::/user/job\n", encoding="utf-8")
    group = tmp_path / "fs" / "user" / "job"
    group.mkdir(parents=True)

    def describe(folder: Path, limit: str, usage: int, inactive: int) -> None:
        (folder / "memory.max").write_text(limit, encoding="ascii")
        (folder / "memory.current").write_text(str(usage), encoding="ascii")
        (folder / "memory.stat").write_text(f"anon 5\ninactive_file {inactive}\n", encoding="ascii")

    describe(group, "max\n", 700, 100)
    describe(group.parent, "1000\n", 700, 100)
    assert resources._cgroup_offers(tmp_path / "fs", membership) == [400]
    describe(group, "800\n", 700, 0)
    assert sorted(resources._cgroup_offers(tmp_path / "fs", membership)) == [100, 400]


def test_cgroup_version_1_limits_are_counted(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("4:cpu,cpuacct:/job\n9:memory:/job\n", encoding="utf-8")
    group = tmp_path / "fs" / "memory" / "job"
    group.mkdir(parents=True)
    for folder, limit in ((group, 5000), (group.parent, 1 << 62)):
        (folder / "memory.limit_in_bytes").write_text(str(limit), encoding="ascii")
        (folder / "memory.usage_in_bytes").write_text("2000", encoding="ascii")
        (folder / "memory.stat").write_text("inactive_file 0\n", encoding="ascii")
    assert resources._cgroup_offers(tmp_path / "fs", membership) == [3000]


def test_resources_of_this_machine_are_positive(tmp_path: Path) -> None:
    assert (resources.available_memory() or 0) > 0
    assert resources.available_cores() >= 1
    assert resources.available_disk(tmp_path / "not" / "there") > 0
    assert resources.peak_memory() > 1_000_000


def test_system_without_proc_is_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resources._cgroup_offers(tmp_path, tmp_path / "none") == []
    monkeypatch.setattr(resources.re, "search", lambda *_: None)
    assert resources.peak_memory() > 1_000_000
    monkeypatch.setattr(resources, "_resource", None)
    assert resources.peak_memory() > 1_000_000
    monkeypatch.setattr(resources, "_cgroup_offers", list)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "none"))
    assert resources.available_memory() is None
    resources.raise_file_limit()


def test_limit_of_the_address_space_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (psutil.Process().memory_info().vms + 12_345, -1))
    available = resources.available_memory()
    assert available is not None
    assert 0 <= available <= 12_345


def test_cores_of_a_system_without_affinity_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resources.available_cores() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(psutil.Process, "cpu_affinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 77)
    assert resources.available_cores() == 77


@pytest.mark.parametrize(("soft", "tried"), [(256, [1 << 60, 10_240]), (20_000, [1 << 60])])
def test_limit_of_open_files_that_is_refused(monkeypatch: pytest.MonkeyPatch, soft: int, tried: list[int]) -> None:
    """macOS states no limit, and refuses more than a number that Python does not know."""
    limits = []

    def set_limit(_which: int, limit: tuple[int, int]) -> None:
        limits.append(limit[0])
        if limit[0] > 10_240:
            raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _which: (soft, 1 << 60))
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    resources.raise_file_limit()
    assert limits == tried
