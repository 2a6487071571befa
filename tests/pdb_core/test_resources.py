"""Available memory and cores, within the limits of control groups."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pdb_core import resources

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

    def found(*groups: tuple[str, str]) -> tuple[int, list[int]]:
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
        return resources.available_memory(), sorted(resources._cgroup_cores())

    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=5000))
    assert found(("", ""), ("", "")) == (5000, [])
    assert found(("", ""), ("1000", "250000")) == (400, [3])
    assert found(("800", "250000"), ("1000", "1000")) == (200, [1, 3])


def test_available_cores_are_within_the_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_cgroup_cores", lambda: [3, 1])
    assert resources.available_cores() == 1
