"""Available memory and cores, within the limits of control groups."""

from pathlib import Path

import pytest

from pdb_core.resources import available_cores, available_memory

pytestmark = pytest.mark.tiny


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("group", "parent", "memory", "cores"),
    [
        (("", ""), ("", ""), None, None),
        (("", ""), ("1000", "100000"), 400, 1),
        (("800", "250000"), ("1000", ""), 200, 3),
        (("", "250000"), ("", "1000"), None, 1),
    ],
)
def test_limits_of_control_groups_count(
    tmp_path: Path,
    version: int,
    group: tuple[str, str],
    parent: tuple[str, str],
    memory: int | None,
    cores: int | None,
) -> None:
    """Those of a group, and of the groups that it is in. Quotas of cores are rounded up, to at least one core."""
    controllers = ("", "") if version == 2 else ("memory", "cpu")
    membership = "0::/user/job" if version == 2 else "4:cpu,cpuacct:/user/job\n9:memory:/user/job"
    texts = {tmp_path / "proc" / "self" / "cgroup": membership}
    for name, (limit, quota) in (("job", group), (".", parent)):
        of_memory, of_cores = (tmp_path / "sys/fs/cgroup" / controller / "user" / name for controller in controllers)
        texts[of_memory / "memory.stat"] = "anon 5\ninactive_file 60\nactive_file 40"
        if version == 2:
            texts |= {of_memory / "memory.max": limit or "max", of_memory / "memory.current": "700"}
            texts |= {of_cores / "cpu.max": f"{quota or 'max'} 100000"}
        else:
            texts |= {of_memory / "memory.limit_in_bytes": limit or f"{1 << 62}"}
            texts |= {of_memory / "memory.usage_in_bytes": "700"}
            texts |= {of_cores / "cpu.cfs_quota_us": quota or "-1", of_cores / "cpu.cfs_period_us": "100000"}
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    # Without the limits of this machine's own control groups.
    n_cores = available_cores(tmp_path / "empty")
    assert available_cores(tmp_path) == min(n_cores, cores or n_cores)
    assert available_memory(tmp_path) == memory if memory else available_memory(tmp_path) > 1000
