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

from pdb_build import build_database
from pdb_core.errors import DiskFullError, OutputError
from tests.faults.counting import Tally, build_again
from tests.tables import small_plan, stopped

_PARTITION, _SIZE = "1,2/3,4,5", "2x3"
_KILL = 0
_ERRORS: dict[int, tuple[str, type[Exception]]] = {
    errno.ENOSPC: ("disk full", DiskFullError),
    errno.EIO: ("disk error", OutputError),
}
_WAYS = ((_KILL, False), *((number, stays_broken) for number in _ERRORS for stays_broken in (False, True)))
# Calls that fail on a full disk. All calls may fail on a broken one.
_TAKES_ROOM = ("write", "pwrite", "fsync", "mkdir", "rename", "replace", "create")
_CALLS = (
    "open", "pwrite", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir", "pread", "ftruncate", "stat", "scandir",
)  # fmt: skip


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


def fail_builds(every: int, folder: Path) -> Tally:
    """Let every `every`-th call fail in each way, in a new build and in one that continues."""
    tally = Tally()
    expected = build_database(small_plan(folder / "whole.h5", _PARTITION, _SIZE)).path.read_bytes()
    half = stopped(small_plan(folder / "half.h5", _PARTITION, _SIZE), n_calls=14)
    for start, what in ((None, "a build"), (half, "a build that continues")):
        for number, stays_broken in (
            (_KILL, False),
            *((number, stays) for number in _ERRORS for stays in (False, True)),
        ):
            if number == _KILL:
                fault = f"builder killed before a call of {what}"
            else:
                fault = f"{_ERRORS[number][0]}, {'from a call on' if stays_broken else 'at one call'} of {what}"
            call = 1
            while True:
                disk = Disk(folder / "trial", number, call, stays_broken)
                has_failed, loss = _try(disk, start, expected)
                if not has_failed:
                    break
                tally.count(fault, None if loss is None else f"call {call}: {loss}")
                call += every
    return tally


def _try(disk: Disk, start: Path | None, expected: bytes) -> tuple[bool, str | None]:
    """Build on the disk, then on a sound one. Return whether a call failed, and what was lost, if anything."""
    shutil.rmtree(disk.folder, ignore_errors=True)
    disk.folder.mkdir()
    if start is not None:
        shutil.copytree(start, disk.folder / "a.h5.partial")
    if disk.number == _KILL:
        child = os.fork()
        if child == 0:
            os._exit(0 if _build_on(disk) is None else 1)
        status = os.waitpid(child, 0)[1]
        has_failed, loss = os.WIFSIGNALED(status), "the build failed by itself" if os.WEXITSTATUS(status) else None
    else:
        loss = _build_on(disk)
        has_failed = disk.n_calls >= disk.fails_at
    return has_failed, loss or build_again(small_plan(disk.folder / "a.h5", _PARTITION, _SIZE), expected)


def _build_on(disk: Disk) -> str | None:
    """Build on the disk. Return what is wrong, if anything."""
    plan = small_plan(disk.folder / "a.h5", _PARTITION, _SIZE)
    expected = _ERRORS[disk.number][1] if disk.number else ()
    try:
        with disk.mounted():
            build_database(plan, checkpoint_every_s=0)
    except expected:
        return None
    except Exception as error:
        return f"ended with {type(error).__name__}: {error}"
    return None if plan.out.exists() else "no error, and no file"


def main() -> None:
    """Fail builds and print the results."""
    parser = argparse.ArgumentParser(description="Let calls of builds fail.")
    parser.add_argument("--every", type=int, default=1, help="try every so many calls")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="tile-pdb-faults-") as folder:
        print(fail_builds(arguments.every, Path(folder)).to_json())


if __name__ == "__main__":
    main()
