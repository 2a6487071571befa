"""Available memory and cores, within the limits of control groups."""

from pathlib import Path

import pytest

from pdb_core.resources import available_cores, available_memory
from tests import rows

pytestmark = pytest.mark.tiny

# Version of control groups | group that has limits, `-` without limits | file | content, with `;` for line ends.
FILES = """
1 | all | proc/self/cgroup | 4:cpu,cpuacct:/user/job;9:memory:/user/job
1 | - | sys/fs/cgroup/memory/user/job/memory.limit_in_bytes | 4611686018427387904
1 | - | sys/fs/cgroup/memory/user/job/memory.usage_in_bytes | 700
1 | - | sys/fs/cgroup/cpu/user/job/cpu.cfs_quota_us | -1
1 | - | sys/fs/cgroup/cpu/user/job/cpu.cfs_period_us | 100000
1 | user | sys/fs/cgroup/memory/user/memory.limit_in_bytes | 1000
1 | user | sys/fs/cgroup/memory/user/memory.usage_in_bytes | 700
1 | user | sys/fs/cgroup/memory/user/memory.stat | anon 5;inactive_file 60;active_file 40
1 | user | sys/fs/cgroup/cpu/user/cpu.cfs_quota_us | 1000
1 | user | sys/fs/cgroup/cpu/user/cpu.cfs_period_us | 100000
1 | job | sys/fs/cgroup/memory/user/job/memory.limit_in_bytes | 800
1 | job | sys/fs/cgroup/memory/user/job/memory.usage_in_bytes | 700
1 | job | sys/fs/cgroup/memory/user/job/memory.stat | anon 5;inactive_file 60;active_file 40
1 | job | sys/fs/cgroup/cpu/user/job/cpu.cfs_quota_us | 250000
1 | job | sys/fs/cgroup/cpu/user/job/cpu.cfs_period_us | 100000
2 | all | proc/self/cgroup | 0::/user/job
2 | - | sys/fs/cgroup/user/job/memory.max | max
2 | - | sys/fs/cgroup/user/job/memory.current | 700
2 | - | sys/fs/cgroup/user/job/cpu.max | max 100000
2 | user | sys/fs/cgroup/user/memory.max | 1000
2 | user | sys/fs/cgroup/user/memory.current | 700
2 | user | sys/fs/cgroup/user/memory.stat | anon 5;inactive_file 60;active_file 40
2 | user | sys/fs/cgroup/user/cpu.max | 1000 100000
2 | job | sys/fs/cgroup/user/job/memory.max | 800
2 | job | sys/fs/cgroup/user/job/memory.current | 700
2 | job | sys/fs/cgroup/user/job/memory.stat | anon 5;inactive_file 60;active_file 40
2 | job | sys/fs/cgroup/user/job/cpu.max | 250000 100000
"""


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize(("group", "memory", "cores"), [("-", None, 1024), ("user", 400, 1), ("job", 200, 3)])
def test_limits_of_control_groups_count(
    tmp_path: Path, version: str, group: str, memory: int | None, cores: int
) -> None:
    """Those of a group, and of the groups that it is in. Quotas of cores are rounded up, to at least one core."""
    for of_version, of_group, name, content in rows(FILES):
        if of_version == version and of_group in ("all", group):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content.replace(";", "\n") + "\n")
    # Without the limits of this machine's own control groups.
    assert available_cores(tmp_path) == min(available_cores(tmp_path / "empty"), cores)
    assert available_memory(tmp_path) == memory if memory else available_memory(tmp_path) > 1000
