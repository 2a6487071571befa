"""Builds that fail at each call that uses the disk in turn: the disk is full or broken, or the builder is killed.

    python -m tests.faults.failing_builds [--every 1]

A small build with a checkpoint at every level is repeated. In each run one call that uses the disk fails: the first
call in the first run, then the second, and so on. A disk fails in two ways: only that call fails, or all later ones
too. A kill (SIGKILL) ends the builder before the call. The same is done with a build that continues from a checkpoint.
A fault is survived if the build ended with `DiskFullError` or `OutputError`, or continued, and only the right file was
ever under the final name. A later build on a sound disk must make that file, from the checkpoint if there is one, and
leave nothing else.
"""

import argparse
import errno
import io
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from pdb_build import BuildPlan, build_database
from pdb_core.errors import DiskFullError, OutputError
from tests.faults.driver import Tally, in_child, main
from tests.tables import small_plan, stopped

_KILL = 0
_ERRORS: dict[int, tuple[str, type[Exception]]] = {
    errno.ENOSPC: ("disk full", DiskFullError),
    errno.EIO: ("disk error", OutputError),
}
# Calls that fail on a full disk. All calls may fail on a broken one.
_TAKES_ROOM = ("write", "pwrite", "fsync", "mkdir", "rename", "replace", "create")
_CALLS = (
    "open", "pwrite", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir", "pread", "ftruncate", "stat", "scandir",
)  # fmt: skip


def plan_in(folder: Path) -> BuildPlan:
    return small_plan(folder / "a.h5", "1,2/3,4,5", "2x3")


def expected_file() -> bytes:
    """Return the file of a build without a fault."""
    with TemporaryDirectory() as folder:
        return build_database(plan_in(Path(folder))).path.read_bytes()


def has_checkpoint(folder: Path) -> bool:
    return (folder / "a.h5.partial" / "checkpoint").exists()


def build_again(folder: Path, expected: bytes) -> str | None:
    """Build after a fault, from a checkpoint if there is one. Return what was lost, if anything."""
    plan = plan_in(folder)
    was_there = plan.out.exists()
    if was_there and plan.out.read_bytes() != expected:
        return "a wrong file under the final name"
    continues = has_checkpoint(folder)
    try:
        result = build_database(plan)
    except Exception as error:
        return f"the next build ended with {type(error).__name__}: {error}"
    if plan.out.read_bytes() != expected:
        return "the next build made another file"
    if continues and not was_there and result.n_runs == 1:
        return "the checkpoint could not be used"
    names = sorted(path.name for path in folder.iterdir())
    return None if names == ["a.h5", "a.h5.build.json"] else f"left behind: {names}"


@dataclass
class Disk:
    """Layer between the builder and the system, for files below `folder`.

    Call `fails_at` fails with `number`, and later ones if it `stays_broken`. With `_KILL` it ends the process.
    """

    folder: Path
    number: int
    fails_at: int
    stays_broken: bool = False
    n_calls: int = 0

    def check(self, call: str) -> None:
        """Count a call, and fail if it is time."""
        if self.number == errno.ENOSPC and call not in _TAKES_ROOM:
            return
        self.n_calls += 1
        if self.n_calls == self.fails_at or (self.stays_broken and self.n_calls > self.fails_at):
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
    """Let every `options.every`-th call fail in each way, in a new build and in one that continues."""
    expected = expected_file()
    with TemporaryDirectory(prefix="tile-pdb-faults-") as name:
        folder = Path(name)
        half = stopped(plan_in(folder), n_calls=14).rename(folder / "half")
        for start, what in ((None, "a build"), (half, "a build that continues")):
            for number, stays_broken in ((_KILL, False), *((n, stays) for n in _ERRORS for stays in (False, True))):
                if number == _KILL:
                    fault = f"builder killed before a call of {what}"
                else:
                    fault = f"{_ERRORS[number][0]}, {'from a call on' if stays_broken else 'at one call'} of {what}"
                call, has_failed = 1, True
                while has_failed:
                    disk = Disk(folder / "trial", number, call, stays_broken)
                    has_failed, loss = _try(disk, start, expected)
                    if has_failed:
                        tally.count(fault, None if loss is None else f"call {call}: {loss}")
                    call += options.every


def _try(disk: Disk, start: Path | None, expected: bytes) -> tuple[bool, str | None]:
    """Build on the disk, then on a sound one. Return whether a call failed, and what was lost, if anything."""
    shutil.rmtree(disk.folder, ignore_errors=True)
    disk.folder.mkdir()
    if start is not None:
        shutil.copytree(start, disk.folder / "a.h5.partial")
    if disk.number == _KILL:
        ended = in_child(lambda: _build_on(disk) or "built")
        has_failed = ended == "lost: crash: SIGKILL"
        loss = None if has_failed or ended == "built" else ended
    else:
        loss = _build_on(disk)
        has_failed = disk.n_calls >= disk.fails_at
    if start is not None and not has_checkpoint(disk.folder) and not (disk.folder / "a.h5").exists():
        loss = loss or "the checkpoint is gone"
    return has_failed, loss or build_again(disk.folder, expected)


def _build_on(disk: Disk) -> str | None:
    """Build on the disk. Return what is wrong, if anything."""
    plan = plan_in(disk.folder)
    expected = _ERRORS[disk.number][1] if disk.number else ()
    try:
        with disk.mounted():
            build_database(plan, checkpoint_every_s=0)
    except expected:
        return None
    except Exception as error:
        return f"ended with {type(error).__name__}: {error}"
    return None if plan.out.exists() else "no error, and no file"


if __name__ == "__main__":
    main(attack, every=1)
