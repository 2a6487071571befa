"""Builds that fail at each call that uses the disk in turn, or whose machine loses power before and after each sync.

    python -m tests.faults.failing_builds [--every 1]

A small build with several tables is repeated. In each run one call that uses the disk fails: the first
call in the first run, then the second, and so on. A full disk stays full, and a disk error comes once. A kill (SIGKILL)
ends the builder before the call.

If the machine loses power, a disk keeps what was synced: the bytes of a file at its last sync, and the names in a
folder at the folder's last sync. Later changes may be lost. Two disks are simulated at each moment. One loses all that
was not synced. The other keeps the newest names; the files have the bytes of their last sync, or are empty without one.

A fault is survived if the build ended with `DiskFullError` or `OutputError`, or continued, and only the right file was
ever under the final name. A later build on a sound disk must make that file, from the checkpoint if there is one, and
leave nothing else.
"""

import argparse
import errno
import io
import itertools
import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from pdb_build import BuildPlan, build_database
from pdb_core.errors import DiskFullError, OutputError
from tests.faults.driver import Tally, in_child, main
from tests.tables import small_plan

_KILL = 0
# The number of the error, and the exceptions by which the build may end.
_FAULTS: dict[str, tuple[int, Any]] = {
    "builder killed before a call": (_KILL, ()),
    "disk full, from a call on": (errno.ENOSPC, DiskFullError),
    "disk error, at one call": (errno.EIO, OutputError),
}
# Calls that fail on a full disk. All calls may fail on a broken one.
_TAKES_ROOM = ("write", "pwrite", "posix_fallocate", "fsync", "mkdir", "rename", "replace", "create")
_CALLS = (
    "open", "pwrite", "posix_fallocate", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir", "pread", "preadv",
    "ftruncate", "stat", "scandir",
)  # fmt: skip
# Disks of the last moments, when the file gets its name, are always tried.
_LAST = 20


def plan_in(folder: Path) -> BuildPlan:
    """Return the plan of a build whose last search keeps its bits in a file."""
    plan = small_plan(folder / "a.h5", "1,2/3,4/5", "2x3")
    *others, last = plan.patterns
    return replace(plan, patterns=(*others, replace(last, spilled_bytes=last.memory_bytes)))


def build_again(folder: Path, expected: bytes) -> str | None:
    """Build after a fault, from a checkpoint if there is one. Return what was lost, if anything."""
    plan = plan_in(folder)
    was_there = plan.out.exists()
    if was_there and plan.out.read_bytes() != expected:
        return "a wrong file under the final name"
    continues = (folder / "a.h5.partial" / "checkpoint").exists()
    said: list[str] = []
    try:
        build_database(plan, say=said.append)
    except Exception as error:
        return f"the next build ended with {type(error).__name__}: {error}"
    if plan.out.read_bytes() != expected:
        return "the next build made another file"
    if continues and not was_there and "continues" not in said[0]:
        return "the checkpoint could not be used"
    names = sorted(path.name for path in folder.iterdir())
    return None if names == ["a.h5", "a.h5.build.json"] else f"left behind: {names}"


@dataclass
class Disk:
    """Layer between the builder and the system, for files below `folder`.

    Call `fails_at` fails with `number`, and later ones if the disk is full. With `_KILL` it ends the process.
    """

    folder: Path
    number: int
    fails_at: int
    n_calls: int = 0

    def check(self, call: str) -> None:
        """Count a call, and fail if it is time."""
        is_full = self.number == errno.ENOSPC
        if is_full and call not in _TAKES_ROOM:
            return
        self.n_calls += 1
        if self.n_calls == self.fails_at or (is_full and self.n_calls > self.fails_at):
            if self.number == _KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(self.number, os.strerror(self.number))

    def holds(self, target: Any) -> bool:
        """Return whether a path or a descriptor is of a file in the folder."""
        path = Path(f"/proc/self/fd/{target}").readlink() if isinstance(target, int) else target
        return str(path).startswith(str(self.folder))

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """Let all calls of this process go through the disk."""
        with ExitStack() as stack:
            for name in _CALLS:
                stack.enter_context(patch.object(os, name, self._checked(name, getattr(os, name))))
            stack.enter_context(patch.object(io, "open", self._opened(io.open)))
            yield

    def _checked(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(target: Any, *args: Any, **options: Any) -> Any:
            if self.holds(target):
                self.check("create" if name == "open" and args[0] & os.O_CREAT else name)
                if name == "fsync":
                    return None  # no power is lost here, and a sync takes its time
            return real(target, *args, **options)

        return call

    def _opened(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(target: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if not self.holds(target):
                return real(target, mode, *args, **options)
            self.check("open" if mode.startswith("r") else "create")
            return _File(self, real(target, mode, *args, **options))

        return call


class _File:
    """Open file whose reads and writes may fail."""

    def __init__(self, disk: Disk, file: Any) -> None:
        self._disk, self._file = disk, file

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._file, name)
        if name not in ("read", "readline", "readinto", "write", "flush"):
            return call

        def checked(*args: Any) -> Any:
            self._disk.check("write" if name == "flush" else name)
            return call(*args)

        return checked


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Let every `options.every`-th call fail in each way, and lose power at every `options.every`-th moment."""
    with TemporaryDirectory(prefix="tile-pdb-faults-") as name:
        folder = Path(name).resolve()
        (folder / "sound").mkdir()
        expected = build_database(plan_in(folder / "sound")).path.read_bytes()
        for fault, (number, errors) in _FAULTS.items():
            for call in itertools.count(1, options.every):
                disk = Disk(folder / f"{number} {call}", number, call)
                disk.folder.mkdir()
                if number == _KILL:
                    loss = in_child(lambda disk=disk, errors=errors: _build_on(disk, errors))
                    has_failed = loss == "lost: crash: SIGKILL"
                    loss = None if has_failed else loss
                else:
                    loss = _build_on(disk, errors)
                    has_failed = disk.n_calls >= call
                loss = loss or build_again(disk.folder, expected)
                if not has_failed:
                    break
                tally.count(fault, None if loss is None else f"call {call}: {loss}")
        _lose_power(tally, folder, options.every, expected)


def _build_on(disk: Disk, errors: Any) -> str | None:
    """Build on the disk. Return what is wrong, if anything."""
    plan = plan_in(disk.folder)
    try:
        with disk.mounted():
            build_database(plan)
    except errors:
        return None
    except Exception as error:
        return f"ended with {type(error).__name__}: {error}"
    return None if plan.out.exists() else "no error, and no file"


class SyncedDisk:
    """Synced content of a disk: bytes by the number of the file, and the names in each folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._bytes: dict[int, bytes] = {}
        self._names: dict[Path, dict[str, int]] = {}

    def sync(self, descriptor: int) -> None:
        """Sync a file or folder, in place of os.fsync."""
        state = os.fstat(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if stat.S_ISDIR(state.st_mode):
            self._names[path] = names_in(path)
        else:
            self._bytes[state.st_ino] = path.read_bytes()

    def write_to(self, target: Path, *, newest_names: bool, folder: Path | None = None) -> None:
        """Write the content of `folder` that is on the disk after the power loss, by default of all."""
        folder = folder or self._root
        target.mkdir()
        known = self._names.get(folder, {})
        for name, number in (names_in(folder) if newest_names and folder.exists() else known).items():
            if (folder / name) in self._names or (folder / name).is_dir():
                self.write_to(target / name, newest_names=newest_names, folder=folder / name)
            else:
                (target / name).write_bytes(self._bytes.get(number, b""))


def names_in(folder: Path) -> dict[str, int]:
    """Return the names in a folder, with the numbers of the files."""
    return {path.name: path.lstat().st_ino for path in folder.iterdir()}


def _lose_power(tally: Tally, root: Path, every: int, expected: bytes) -> None:
    """Lose power at moments of a build, on both disks."""
    (root / "built").mkdir()
    disk = SyncedDisk(root / "built")
    back: list[tuple[Path, str]] = []

    def at_moment() -> None:
        for newest_names, kept in ((False, "nothing"), (True, "names")):
            back.append((root / str(len(back)), f"power lost, of what was not synced {kept} is kept"))
            disk.write_to(back[-1][0], newest_names=newest_names)

    def sync(descriptor: int) -> None:
        at_moment()
        disk.sync(descriptor)
        at_moment()

    with patch.object(os, "fsync", sync):
        build_database(plan_in(root / "built"))
    for number, (folder, fault) in enumerate(back):
        if number // 2 % every == 0 or number >= len(back) - _LAST:
            loss = build_again(folder, expected)
            tally.count(fault, None if loss is None else f"{number} of {len(back)}: {loss}")


if __name__ == "__main__":
    main(attack, every=1)
