"""Calls that differ between Linux, macOS and Windows: locks, files, signals, priorities.

A call is looked up by its name in the modules of Python. Each function states what it does on systems without the call.
Amounts of memory and numbers of cores are in `resources`.
"""

import errno
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


def optional_module(name: str) -> Any:
    """Return a module of Python; None on a system without it, such as `resource` on Windows."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# Windows refuses to open a folder, and to remove or rename an open file and its folder.
OPENS_FOLDERS = REMOVES_OPEN_FILES = hasattr(os, "O_DIRECTORY")
# Flag of os.open: without it, Windows replaces ends of lines.
BINARY: int = getattr(os, "O_BINARY", 0)
# Signal of a closed terminal: SIGBREAK on Windows, which Ctrl-Break sends too.
HANGUP: int = getattr(signal, "SIGHUP", getattr(signal, "SIGBREAK", signal.SIGTERM))
# Windows has no signal when the reader of a pipe ends; exit codes are the same on all systems.
PIPE_SIGNAL: int = getattr(signal, "SIGPIPE", 13)

# macOS and Windows refuse reads and writes of 2 GiB and more.
_MOST_BYTES = 1 << 30
_WILL_NEED: int = getattr(os, "POSIX_FADV_WILLNEED", 0)
_position_lock = threading.Lock()


def lock(descriptor: int) -> None:
    """Lock an open file, until the descriptor is closed or the process ends.

    On Windows the lock keeps other processes from reading byte 0 of the file.

    Raises `BlockingIOError` if another process holds the lock, and `OSError`, also on file systems without locks.
    """
    from filelock import lock_descriptor  # takes milliseconds, and few commands lock

    if not lock_descriptor(descriptor, blocking=False):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def write_at(descriptor: int, data: memoryview, offset: int) -> int:
    """Write bytes at `offset`, and return how many were written. Without os.pwrite, one thread writes at a time."""
    if hasattr(os, "pwrite"):
        return int(os.pwrite(descriptor, data[:_MOST_BYTES], offset))
    with _position(descriptor, offset):
        return os.write(descriptor, data[:_MOST_BYTES])


def read_at(descriptor: int, n_bytes: int, offset: int) -> bytes:
    """Return up to `n_bytes` from `offset` on. Without os.pread, one thread reads at a time."""
    if hasattr(os, "pread"):
        return bytes(os.pread(descriptor, min(n_bytes, _MOST_BYTES), offset))
    with _position(descriptor, offset):
        return os.read(descriptor, min(n_bytes, _MOST_BYTES))


def read_into(descriptor: int, view: memoryview, offset: int) -> int:
    """Read bytes from `offset` on into `view`, and return how many. Without os.preadv, they are copied once more."""
    if hasattr(os, "preadv"):
        return int(os.preadv(descriptor, [view[:_MOST_BYTES]], offset))
    data = read_at(descriptor, len(view), offset)
    view[: len(data)] = data
    return len(data)


@contextmanager
def _position(descriptor: int, offset: int) -> Iterator[None]:
    """Move the position of a file, and back at the end."""
    with _position_lock:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, offset, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


def reserve(descriptor: int, n_bytes: int) -> None:
    """Give an empty file its size, and reserve the disk for it. On macOS the disk can still be full later.

    Raises `OSError`.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, n_bytes)
    else:
        os.ftruncate(descriptor, n_bytes)


def read_ahead(descriptor: int, offset: int, n_bytes: int) -> None:
    """Let the system read bytes of a file before they are needed. Do nothing if it cannot. Raises `OSError`."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, offset, n_bytes, _WILL_NEED)


def disk_bytes(status: os.stat_result) -> int:
    """Return the bytes that a file takes on the disk; its size if the system does not report them."""
    n_blocks: int | None = getattr(status, "st_blocks", None)
    return status.st_size if n_blocks is None else n_blocks * 512


def user_number() -> int | None:
    """Return the number of the user of this process. None on Windows, where owners and modes of files say nothing."""
    return getattr(os, "geteuid", lambda: None)()


def lower_thread_priority(niceness: int) -> None:
    """Lower the priority of the calling thread. Only Linux has priorities of threads; elsewhere do nothing."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


def end_by_signal(number: int) -> None:
    """End this process by a signal. Do nothing on Windows, where processes end with exit codes only."""
    if OPENS_FOLDERS:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back the signals that Python handles until the end. Only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    numbers = [number for number in {HANGUP, signal.SIGINT, signal.SIGTERM} if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda number, _frame: held.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held:
            signal.raise_signal(number)


def has_no_reader(error: OSError) -> bool:
    """Return whether a write failed because the reader of the pipe has ended. Windows reports EINVAL then."""
    return isinstance(error, BrokenPipeError) or (not OPENS_FOLDERS and error.errno == errno.EINVAL)


def text_encoding(stream: Any) -> str:
    """Return the encoding of results and messages: that of Python's stream; UTF-8 on Windows, or without a stream."""
    return str(stream.encoding) if OPENS_FOLDERS and stream is not None else "utf-8"
