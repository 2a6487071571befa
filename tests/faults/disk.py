"""Disk that fails at one call, or from one call on: a layer between the builder and the system."""

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

# Calls that fail on a full disk. All calls may fail on a broken one.
_TAKES_ROOM = ("write", "pwrite", "fsync", "mkdir", "rename", "replace", "create")
_CALLS = (
    "pwrite", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir", "pread", "ftruncate", "stat", "scandir",
)  # fmt: skip


@dataclass
class Disk:
    """Disk that fails with `number` at call `fails_at` on files below `folder`, and later if it `stays_broken`."""

    folder: Path
    number: int
    fails_at: int
    stays_broken: bool
    n_calls: int = 0
    descriptors: set[int] = field(default_factory=set)

    def check(self, call: str) -> None:
        """Count a call, and fail if it is time."""
        if self.number == errno.ENOSPC and call not in _TAKES_ROOM:
            return
        self.n_calls += 1
        if self.n_calls == self.fails_at or (self.stays_broken and self.n_calls > self.fails_at):
            raise OSError(self.number, os.strerror(self.number))

    def is_ours(self, target: Any) -> bool:
        """Return whether a path or a descriptor is of a file in the folder."""
        if isinstance(target, int):
            return target in self.descriptors
        return str(target).startswith(str(self.folder))


class _File:
    """Open file whose reads and writes may fail."""

    def __init__(self, disk: Disk, file: Any) -> None:
        self._disk, self._file = disk, file

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        self._disk.check("write")
        return int(self._file.write(data))

    def readinto(self, buffer: Any) -> int:
        self._disk.check("read")
        return int(self._file.readinto(buffer))

    def read(self, *size: int) -> Any:
        self._disk.check("read")
        return self._file.read(*size)

    def flush(self) -> None:
        self._disk.check("write")
        self._file.flush()

    def fileno(self) -> int:
        number = int(self._file.fileno())
        self._disk.descriptors.add(number)
        return number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def mounted(disk: Disk) -> Iterator[Disk]:
    """Let all calls of this process go through the disk. Calls outside its folder never fail."""
    with ExitStack() as stack:
        for name in _CALLS:
            stack.enter_context(patch.object(os, name, _checked(disk, name, getattr(os, name))))
        stack.enter_context(patch.object(os, "open", _opened(disk, os.open)))
        stack.enter_context(patch.object(os, "close", _closed(disk, os.close)))
        stack.enter_context(patch.object(io, "open", _opened_file(disk, io.open)))
        yield disk


def _checked(disk: Disk, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(target: Any, *args: Any, **options: Any) -> Any:
        if disk.is_ours(target):
            disk.check(name)
            if name == "fsync":
                return None  # no power is lost here, and a sync takes its time
        return real(target, *args, **options)

    return call


def _opened(disk: Disk, real: Callable[..., int]) -> Callable[..., int]:
    def call(target: Any, flags: int, *args: Any, **options: Any) -> int:
        is_ours = disk.is_ours(target)
        if is_ours:
            disk.check("create" if flags & os.O_CREAT else "open")
        descriptor = real(target, flags, *args, **options)
        if is_ours:
            disk.descriptors.add(descriptor)
        return descriptor

    return call


def _closed(disk: Disk, real: Callable[[int], None]) -> Callable[[int], None]:
    def call(descriptor: int) -> None:
        disk.descriptors.discard(descriptor)
        real(descriptor)

    return call


def _opened_file(disk: Disk, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(target: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if not disk.is_ours(target):
            return real(target, mode, *args, **options)
        disk.check("open" if mode.startswith("r") else "create")
        return _File(disk, real(target, mode, *args, **options))

    return call
