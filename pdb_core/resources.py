"""Available memory, disk and cores of this machine, within the limits of control groups."""

import functools
import os
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

# Where /proc and /sys are.
_ROOT = Path("/")
# Files of control groups, of version 2 and of version 1: limit and usage of the memory, quota and period of cores.
_CGROUP_FILES = {
    "memory": (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    "cpu": (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")),
}


def available_memory(root: Path = _ROOT) -> int:
    """Return the bytes that this process may still take: the minimum of free memory and the limits of cgroups."""
    offers: list[int] = [psutil.virtual_memory().available]
    for folder, limit, usage in _cgroup_limits("memory", root):
        with suppress(OSError):
            counts = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
            # Pages of files count as used, but the system frees them when memory is requested.
            offers.append(limit - usage + int(counts["active_file"]) + int(counts["inactive_file"]))
    return max(0, min(offers))


def available_disk(folder: Path) -> int:
    """Return the free bytes for this user on the disk of `folder`, or of its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def available_cores(root: Path = _ROOT) -> int:
    """Return the number of cores that this process may use, within the quotas of its control groups, rounded up.

    On macOS these are all cores.
    """
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([n_cores, *_cgroup_cores(root)])


def peak_memory() -> int:
    """Return the peak memory of this process, in bytes. It is at least that of the process that started it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def raise_file_limit() -> None:
    """Raise the limit of open files, and so of connections, to the highest that the system allows."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS refuses a limit that it states itself
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@functools.cache  # reading the files takes as long as looking up thousands of boards
def _cgroup_cores(root: Path) -> list[int]:
    """Return the cores that each control group of this process allows, at least 1."""
    # Without a limit, the quota of version 1 is -1.
    return [-(-quota // period) for _folder, quota, period in _cgroup_limits("cpu", root) if quota > 0]


def _cgroup_limits(controller: str, root: Path) -> Iterator[tuple[Path, int, int]]:
    """Yield the folder and the two numbers of each control group of this process that has a limit."""
    for folder in _cgroup_folders(controller, root):
        for names in _CGROUP_FILES[controller]:
            # Without a limit, the first word of version 2 is `max`, and the number of version 1 is near 2^63.
            with suppress(OSError, ValueError):
                first, second = map(int, " ".join((folder / name).read_text("ascii") for name in names).split())
                yield folder, first, second


def _cgroup_folders(controller: str, root: Path) -> set[Path]:
    """Return the folders of the control groups of this process, from its own up to the root, of both versions."""
    folders: set[Path] = set()
    with suppress(OSError):  # macOS
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _number, controllers, path = line.split(":", 2)
            if controllers == "" or controller in controllers.split(","):
                base = root / "sys/fs/cgroup" / (controllers and controller)
                group = base / path.lstrip("/")
                # In a container the path is often that of the host. The group is then the root of the mount.
                folders |= {base, group, *(parent for parent in group.parents if base in parent.parents)}
    return folders
