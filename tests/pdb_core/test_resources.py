"""Available memory and threads, within the limits of control groups and of the process."""

import resource
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pdb_core import resources
from pdb_core.threads import thread_pool

pytestmark = pytest.mark.tiny


@pytest.mark.parametrize("version", [1, 2])
def test_limits_of_control_groups_count(tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a group, and of the groups that it is in. Quotas of cores are rounded up, to at least one core."""
    membership = tmp_path / "cgroup"
    monkeypatch.setattr(resources, "_MEMBERSHIP", membership)
    monkeypatch.setattr(resources, "_CGROUP_ROOT", tmp_path / "fs")
    membership.write_text("0::/user/job\n" if version == 2 else "4:cpu,cpuacct:/user/job\n9:memory:/user/job\n")
    controllers = ("", "") if version == 2 else ("memory", "cpu")
    parents = [tmp_path / "fs" / controller / "user" for controller in controllers]

    def found(*groups: tuple[str, str]) -> tuple[list[int], list[int]]:
        """Return the bytes and the cores that are left, by the limits and quotas of a group and of its parent."""
        for name, (limit, quota) in zip(("job", "."), groups, strict=True):
            memory, cpu = (parent / name for parent in parents)
            texts = {memory / "memory.stat": "anon 5\ninactive_file 60\nactive_file 40"}
            if version == 2:
                texts |= {memory / "memory.max": limit or "max", memory / "memory.current": "700"}
                texts |= {cpu / "cpu.max": f"{quota or 'max'} 100000"}
            else:
                texts |= {memory / "memory.limit_in_bytes": limit or f"{1 << 62}"}
                texts |= {memory / "memory.usage_in_bytes": "700"}
                texts |= {cpu / "cpu.cfs_quota_us": quota or "-1", cpu / "cpu.cfs_period_us": "100000"}
            for path, text in texts.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{text}\n")
        resources._cgroup_cores.cache_clear()
        return sorted(resources._cgroup_offers()), sorted(resources._cgroup_cores())

    assert found(("", ""), ("", "")) == ([], [])
    assert found(("", ""), ("1000", "250000")) == ([400], [3])
    assert found(("800", "250000"), ("1000", "1000")) == ([200, 400], [1, 3])


def test_available_cores_are_within_the_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_cgroup_cores", lambda: [3, 1])
    assert resources.available_cores() == 1


def test_system_without_proc_is_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (resources.available_memory() or 0) > 0
    monkeypatch.setattr(resources, "_MEMBERSHIP", tmp_path / "none")
    assert resources._cgroup_offers() == []
    monkeypatch.setattr(resources.re, "search", lambda *_: None)
    assert resources.peak_memory() > 1_000_000
    monkeypatch.setattr(resources, "_resource", None)
    assert resources.peak_memory() > 1_000_000
    monkeypatch.setattr(resources, "_cgroup_offers", list)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "none"))
    assert resources.available_memory() is None


def test_limit_of_the_address_space_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (psutil.Process().memory_info().vms + 12_345, -1))
    assert resources.available_memory() in range(12_346)


@pytest.mark.parametrize(("n_allowed", "n_wanted", "n_used"), [(3, 8, 3), (0, 4, 1), (9, 2, 2)])
def test_pool_has_the_threads_that_the_system_starts(
    limit_threads: Callable[[int], None], n_allowed: int, n_wanted: int, n_used: int
) -> None:
    limit_threads(n_allowed)
    if n_allowed < n_wanted:
        with pytest.warns(RuntimeWarning, match="the system starts no more threads, so fewer are used"):
            pool = thread_pool(n_wanted)
    else:
        pool = thread_pool(n_wanted)
    limit_threads(n_used)
    with pool:
        assert list(pool.map(abs, range(-20, 0))) == list(range(20, 0, -1))
