"""Standard streams of the command, which may be closed, full, or of a terminal that was closed."""

import io
import os
import select
import signal
import stat
import sys
from typing import Any

from pdb_core.errors import PdbError, writing_error

_STDIN, _STDOUT, _STDERR = range(3)


class ReaderGoneError(PdbError):
    """The process that reads stdout has ended. The command ends without a message."""

    exit_code = 128 + signal.SIGPIPE


def open_standard_streams() -> None:
    """Replace `sys.stdout` and `sys.stderr` by streams for which errors of writing are defined.

    Results that cannot be written raise `OutputError`, `DiskFullError` or `ReaderGoneError`, and the rest is discarded.
    Messages that cannot be written are discarded. Characters that the encoding lacks are escaped. Streams are
    kept if a calling program has replaced them.

    Descriptors of closed streams are occupied: otherwise the first file that the command opens would get one.
    """
    # As stdopen of gnulib does: opened for the wrong direction, reading stdin and writing stdout fail.
    for descriptor, flags in ((_STDIN, os.O_WRONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        if not _is_usable(descriptor):
            null = os.open(os.devnull, flags)
            os.dup2(null, descriptor)
            if null != descriptor:
                os.close(null)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Results(_STDOUT, "wb", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Messages(_STDERR, "wb", closefd=False), sys.stderr, line_buffering=True)


def _is_usable(descriptor: int) -> bool:
    try:
        return not stat.S_ISDIR(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _discard_results() -> None:
    """Discard all further output to stdout, also when Python flushes it at the end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, _STDOUT)
    os.close(null)


def _text(raw: io.FileIO, before: Any, *, line_buffering: bool = False) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if before is None else before.encoding,
        errors="backslashreplace",
        line_buffering=line_buffering or raw.isatty(),
    )


def _write_waiting(raw: io.FileIO, data: Any) -> int:
    """Write to a file; wait for a full pipe, also in non-blocking mode, which another process may have set."""
    while True:
        n_written: int | None = io.FileIO.write(raw, data)
        if n_written is not None:
            return n_written
        select.select([], [raw], [])


class _Results(io.FileIO):
    """Standard output."""

    def write(self, data: Any) -> int:
        try:
            return _write_waiting(self, data)
        except BrokenPipeError as error:
            _discard_results()
            raise ReaderGoneError from error
        except OSError as error:
            _discard_results()
            raise writing_error(error, "standard output", "write it to another place") from error


class _Messages(io.FileIO):
    """Standard error. Its errors are ignored: exit code and results do not depend on it."""

    def write(self, data: Any) -> int:
        try:
            return _write_waiting(self, data)
        except OSError:
            return memoryview(data).nbytes
