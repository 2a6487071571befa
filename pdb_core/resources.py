"""Available memory, disk and cores of this machine, within the limits of control groups and of the process."""

import functools
import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from pdb_core.system import optional_module

_resource = optional_module("resource")

_CGROUP_ROOT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
# A cgroup v1 without a limit states a number near 2^63.
_NO_LIMIT = 1 << 60
# macOS refuses more open files than this, also if it states no limit.
_OPEN_FILES = 10_240


def available_memory() -> int | None:
    """Return the bytes that this process may still take: the minimum of free memory, cgroup limits and RLIMIT_AS.

    Return None if they are unknown.
    """
    offers = [_free_memory(), *_cgroup_offers(), _free_addresses()]
    known = [offer for offer in offers if offer is not None]
    return max(0, min(known)) if known else None


def available_disk(folder: Path) -> int:
    """Return the free bytes for this user on the disk of `folder`, or of its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def available_cores() -> int:
    """Return the number of cores that this process may use, within the quotas of its control groups, rounded up.

    On macOS these are all cores.
    """
    n_cores = os.cpu_count() or 1
    with suppress(AttributeError, OSError, psutil.Error):
        n_cores = len(psutil.Process().cpu_affinity() or ()) or 1
    return min([n_cores, *_cgroup_cores()])


def peak_memory() -> int:
    """Return the peak memory of this process, in bytes; the present memory if the system does not report its peak."""
    # psutil knows the peak only on Windows. ru_maxrss begins with the size of the parent process, so it comes after
    # /proc; it is in bytes on macOS.
    with suppress(OSError):
        peak = re.search(r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
        if peak is not None:
            return int(peak[1]) * 1024
    if _resource is not None:
        return int(_resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
    memory = psutil.Process().memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))


def raise_file_limit() -> None:
    """Raise the limit of open files, and so of connections, to the highest that the system allows.

    Windows has no such limit.
    """
    if _resource is None:
        return
    soft, hard = _resource.getrlimit(_resource.RLIMIT_NOFILE)
    for limit in (hard, max(soft, _OPEN_FILES)):
        with suppress(ValueError, OSError):
            _resource.setrlimit(_resource.RLIMIT_NOFILE, (limit, hard))
            return


def _free_memory() -> int | None:
    try:
        return int(psutil.virtual_memory().available)
    except (psutil.Error, OSError, RuntimeError, ValueError, KeyError):  # such as a container without /proc
        return None


def has_addresses(n_bytes: int) -> bool:
    """Return whether RLIMIT_AS allows this process to map `n_bytes` more."""
    free = _free_addresses()
    return free is None or free >= n_bytes


def _free_addresses() -> int | None:
    """Return the bytes that RLIMIT_AS still allows, None without such a limit."""
    if _resource is None or not hasattr(_resource, "RLIMIT_AS"):
        return None
    soft, _hard = _resource.getrlimit(_resource.RLIMIT_AS)
    if soft == _resource.RLIM_INFINITY:
        return None
    with suppress(psutil.Error, OSError):
        return int(soft) - int(psutil.Process().memory_info().vms)
    return None


def _cgroup_folders(controller: str) -> list[Path]:
    """Return the folders of the control groups of this process, from its own up to the root, of both versions."""
    try:
        lines = _MEMBERSHIP.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    folders: set[Path] = set()
    for line in lines:
        _number, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            base = _CGROUP_ROOT / controller if controllers else _CGROUP_ROOT
            group = base / path.lstrip("/")
            # In a container the path is often that of the host. The group is then the root of the mount.
            folders |= {base, group, *(parent for parent in group.parents if base in parent.parents)}
    return sorted(folders)


def _cgroup_offers() -> list[int]:
    """Return the bytes that each control group of this process still allows."""
    offers: list[int] = []
    for folder in _cgroup_folders("memory"):
        for names in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            # Of version 2 without a limit, the limit is `max`.
            with suppress(OSError, ValueError):
                limit, usage = (int((folder / name).read_text("ascii")) for name in names)
                counts = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
                if limit < _NO_LIMIT:
                    # Pages of files count as used, but the system frees them when memory is requested.
                    cached = sum(int(counts.get(name, "0")) for name in ("active_file", "inactive_file"))
                    offers.append(limit - usage + cached)
    return offers


@functools.cache  # reading the files takes as long as looking up thousands of boards
def _cgroup_cores() -> list[int]:
    """Return the cores that each control group of this process allows, at least 1."""
    cores: list[int] = []
    for folder in _cgroup_folders("cpu"):
        for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            # Of version 2 without a limit, the first word is `max`; of version 1, it is -1.
            with suppress(OSError, ValueError):
                quota, period = map(int, " ".join((folder / name).read_text("ascii") for name in names).split())
                if quota > 0:
                    cores.append(-(-quota // period))
    return cores
