"""Available memory, disk and cores of this machine, within the limits of control groups."""

import os
import resource
import shutil
from pathlib import Path

_CGROUP_ROOT = Path("/sys/fs/cgroup")
# A cgroup v1 without a limit states a number near 2^63.
_NO_LIMIT = 1 << 60


def available_memory() -> int:
    """Return the bytes that this process may still take: the minimum of free memory, cgroup limits and RLIMIT_AS."""
    offers = [_kilobytes(Path("/proc/meminfo"), "MemAvailable:"), *_cgroup_offers()]
    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        offers.append(soft - _address_space())
    known = [offer for offer in offers if offer is not None]
    return max(0, min(known)) if known else 0


def available_disk(folder: Path) -> int:
    """Return the free bytes for this user on the disk of `folder`, or of its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_memory() -> int:
    """Return the peak memory of this process, in bytes."""
    # ru_maxrss begins with the size of the parent process: only if there is no /proc.
    held = _kilobytes(Path("/proc/self/status"), "VmHWM:")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 if held is None else held


def _kilobytes(path: Path, field: str) -> int | None:
    """Return a field of a file of /proc, stated in kB, in bytes. Return None if there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return None


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _cgroup_offers(root: Path = _CGROUP_ROOT, membership: Path = Path("/proc/self/cgroup")) -> list[int]:
    """Return the bytes that each control group of this process still allows, from its own up to the root."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    offers: list[int] = []
    for line in lines:
        _number, controllers, path = line.split(":", 2)
        if controllers == "":
            base, limit_name, usage_name = root, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit_name, usage_name = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        # In a container the path is often that of the host. The group is then the root of the mount.
        for folder in {base, group, *(parent for parent in group.parents if base in parent.parents)}:
            offer = _cgroup_offer(folder, limit_name, usage_name)
            if offer is not None:
                offers.append(offer)
    return offers


def _cgroup_offer(folder: Path, limit_name: str, usage_name: str) -> int | None:
    try:
        limit = (folder / limit_name).read_text(encoding="ascii").strip()
        usage = int((folder / usage_name).read_text(encoding="ascii"))
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return None
    if limit == "max" or int(limit) >= _NO_LIMIT:
        return None
    # Inactive pages of files count as used, but the system frees them when memory is requested.
    return int(limit) - usage + int(statistics.get("inactive_file", "0"))
