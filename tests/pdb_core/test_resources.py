"""Available memory and threads, within the limits of control groups and of the process."""

import resource
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pdb_core import resources
from pdb_core.threads import thread_pool

pytestmark = pytest.mark.tiny


@pytest.mark.parametrize(
    ("line", "folder", "limit_name", "usage_name", "no_limit"),
    [
        ("0::/user/job", "user/job", "memory.max", "memory.current", "max"),
        ("9:memory:/user/job", "memory/user/job", "memory.limit_in_bytes", "memory.usage_in_bytes", str(1 << 62)),
    ],
    ids=["version 2", "version 1"],
)
def test_cgroup_limits_are_counted(
    tmp_path: Path, line: str, folder: str, limit_name: str, usage_name: str, no_limit: str
) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text(f"4:cpu,cpuacct:/job\n{line}\n")
    group = tmp_path / "fs" / folder
    group.mkdir(parents=True)

    def offers(limit: str, limit_of_parent: str) -> list[int]:
        for at, text in ((group, limit), (group.parent, limit_of_parent)):
            (at / limit_name).write_text(text, encoding="ascii")
            (at / usage_name).write_text("700\n", encoding="ascii")
            (at / "memory.stat").write_text("anon 5\ninactive_file 100\n", encoding="ascii")
        return sorted(resources._cgroup_offers(tmp_path / "fs", membership))

    assert offers(no_limit, "1000\n") == [400]
    assert offers("800\n", "1000") == [200, 400]
    assert offers(no_limit, no_limit) == []


@pytest.mark.parametrize(
    ("line", "folder", "unlimited", "limited"),
    [
        ("0::/user/job", "user/job", {"cpu.max": "max 100000\n"}, {"cpu.max": "250000 100000\n"}),
        (
            "3:cpu,cpuacct:/user/job", "cpu/user/job", {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"},
            {"cpu.cfs_quota_us": "250000\n", "cpu.cfs_period_us": "100000\n"},
        ),
    ],
    ids=["version 2", "version 1"],
)  # fmt: skip
def test_quotas_of_cgroups_limit_the_cores(
    tmp_path: Path, line: str, folder: str, unlimited: dict[str, str], limited: dict[str, str]
) -> None:
    """They are rounded up, to at least one core; a group of a group counts too."""
    membership = tmp_path / "cgroup"
    membership.write_text(f"4:memory:/job\n{line}\n")
    group = tmp_path / "fs" / folder
    group.mkdir(parents=True)

    def cores(own: dict[str, str], of_parent: dict[str, str]) -> list[int]:
        for at, texts in ((group, own), (group.parent, of_parent)):
            for name, text in texts.items():
                (at / name).write_text(text, encoding="ascii")
        resources._cgroup_cores.cache_clear()
        return sorted(resources._cgroup_cores(tmp_path / "fs", membership))

    assert cores(unlimited, unlimited) == []
    assert cores(unlimited, limited) == [3]
    tiny = {name: text.replace("250000", "1000") for name, text in limited.items()}
    assert cores(limited, tiny) == [1, 3]


def test_available_cores_are_within_the_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_cgroup_cores", lambda: [3, 1])
    assert resources.available_cores() == 1


def test_system_without_proc_is_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (resources.available_memory() or 0) > 0
    assert resources._cgroup_offers(tmp_path, tmp_path / "none") == []
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
