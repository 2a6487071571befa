"""Process of a command: its errors and signals as exit codes, and standard streams that may be closed, full or gone."""

import atexit
import contextlib
import functools
import io
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar, cast

from pdb_core import system
from pdb_core.errors import LimitReachedError, MemoryLimitError, PdbError, system_error, writing_error
from tilepdb.commands.output import message
from tilepdb.commands.overwriting import refuse_overwriting

Function = TypeVar("Function", bound=Callable[..., None])

# A shell shows the end by a signal as an exit code that is greater than its number by this.
_SIGNALLED = 128
_ENDINGS: dict[int, str] = {
    system.HANGUP: "the terminal was closed", signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"
}  # fmt: skip
_AGAIN_S = 0.1
# Address space that a command takes to load its libraries.
_LIBRARY_BYTES = 350_000_000
_STDIN, _STDOUT, _STDERR = range(3)


class ReaderGoneError(PdbError):
    """The process that reads stdout has ended. The command ends without a message."""

    exit_code = _SIGNALLED + system.PIPE_SIGNAL


class _SignalledExit(SystemExit):
    """End of a command after a signal, with the exit code that a shell shows for it."""

    def __init__(self, number: int) -> None:
        super().__init__(_SIGNALLED + number)
        self.number = number


class _Terminated(KeyboardInterrupt):
    """SIGTERM, or SIGHUP of a terminal that is closed. It ends a command in good order, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def command(function: Function) -> Function:
    """Return a function as a command, with its errors and signals as messages and exit codes."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        with errors_as_exit_codes():
            for number in _ENDINGS:
                # An ignored signal stays ignored: nohup ignores SIGHUP.
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, _terminate)
            with _resent_interrupts():
                _prepare_libraries()
                refuse_overwriting(kwargs)
                function(*args, **kwargs)

    return cast(Function, wrapped)


def _prepare_libraries() -> None:
    """Raise `MemoryLimitError` if the address space is too small for the libraries: some would abort the process."""
    # OpenBLAS would start threads when NumPy is imported, and send SIGINT if it cannot. No command needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pdb_core.resources import has_addresses

    if not has_addresses(_LIBRARY_BYTES):
        raise MemoryLimitError(
            "the limit of the address space is too small to load NumPy and Numba; raise it (ulimit -v 400000)"
        )


def _terminate(number: int, _frame: object) -> None:
    raise _Terminated(number)


@contextlib.contextmanager
def _resent_interrupts() -> Iterator[None]:
    """Send interrupts again that Python loses: it prints and ignores those that come while an object is finalised."""
    before = sys.unraisablehook

    def send_again(lost: "sys.UnraisableHookArgs") -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            number = getattr(lost.exc_value, "number", signal.SIGINT)
            # Later: an interrupt before this hook has returned would be lost too.
            threading.Timer(_AGAIN_S, system.send_signal, (number,)).start()
        else:
            before(lost)

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Turn errors into one line on stderr and an exit code (docs/exit-codes.md). Flush stdout at the end."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except ReaderGoneError as error:
        raise SystemExit(error.exit_code) from None
    except PdbError as error:
        _fail(error)
    except KeyboardInterrupt as ending:
        number = getattr(ending, "number", signal.SIGINT)
        message(f"pdb: {_ENDINGS[number]}")
        raise _SignalledExit(number) from None
    except OSError as error:
        _fail(system_error(error))
    except MemoryError:
        _fail(MemoryLimitError("not enough memory; pdb build --dry-run prints the memory that a build needs"))
    except (ImportError, RuntimeError) as error:
        _fail(_shortage(error))


def _shortage(error: Exception) -> PdbError:
    """Return the error for a library or a thread that cannot be had. Raises other errors again."""
    text = str(error)
    if "failed to map segment" in text or "annot allocate memory" in text:
        return MemoryLimitError("not enough memory to load a library; raise the limit of the system (ulimit -v)")
    if "start new thread" in text:
        return LimitReachedError(
            "the system starts no more threads; raise its limits (ulimit -u and -v), or give fewer --threads"
        )
    raise error


@contextlib.contextmanager
def ends_by_signals() -> Iterator[None]:
    """Let the process end by the signal that ended the command, after all else is done: a loop of a shell stops then.

    On Windows it ends with an exit code.
    """
    ended_by: list[int] = []

    @atexit.register  # the handler that is registered first is called last
    def end() -> None:
        for number in ended_by:
            system.end_by_signal(number)

    try:
        yield
    except _SignalledExit as signalled:
        ended_by.append(signalled.number)
        raise


def _fail(error: PdbError) -> NoReturn:
    message(f"pdb: {error}")
    raise SystemExit(error.exit_code) from None


def open_standard_streams() -> None:
    """Replace `sys.stdout` and `sys.stderr` by streams for which errors of writing are defined.

    Results that cannot be written raise `OutputError`, `DiskFullError` or `ReaderGoneError`, and the rest is discarded.
    Messages that cannot be written are discarded. Characters that the encoding lacks are escaped. Streams are
    kept if a calling program has replaced them, and if they are a Windows console.

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
        sys.stdout = _text(_Results, _STDOUT, sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Messages, _STDERR, sys.stderr, line_buffering=True)


def _is_usable(descriptor: int) -> bool:
    try:
        return not stat.S_ISDIR(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _text(kind: "type[_Messages]", descriptor: int, before: Any, *, line_buffering: bool = False) -> io.TextIOWrapper:
    """Return a stream of a kind in place of `before`; for a Windows console `before`, with escapes."""
    if system.is_windows_console(before):
        before.reconfigure(errors="backslashreplace")
        return cast(io.TextIOWrapper, before)
    raw = io.FileIO(descriptor, "wb", closefd=False)
    return io.TextIOWrapper(
        kind(raw),
        encoding=system.text_encoding(before),
        errors="backslashreplace",
        line_buffering=line_buffering or raw.isatty(),
    )


class _Messages(io.BufferedWriter):
    """Standard error. Its errors are ignored: exit code and results do not depend on it.

    The raw file is a plain `io.FileIO`. If its write was a method in Python, Ctrl-C could come after the bytes are
    written and before the method returns, and the buffer would write them again.
    """

    def write(self, data: Any) -> int:
        n_taken = 0
        while n_taken < len(data):
            try:
                n_taken += super().write(data[n_taken:])
            except BlockingIOError as error:
                # A full pipe is waited for, also in non-blocking mode, which another process may have set.
                n_taken += error.characters_written
                system.wait_until_writable(self.fileno())
            except OSError as error:
                self.fail(error)
                break
        return len(data)

    def flush(self) -> None:
        while True:
            try:
                return super().flush()
            except BlockingIOError:
                system.wait_until_writable(self.fileno())
            except OSError as error:
                return self.fail(error)

    def fail(self, error: OSError) -> None:
        """Handle an error of writing."""


class _Results(_Messages):
    """Standard output."""

    def fail(self, error: OSError) -> NoReturn:
        """Raise an error, and discard all further output, also when Python flushes it at the end."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, _STDOUT)
        os.close(null)
        if system.has_no_reader(error):
            raise ReaderGoneError from error
        raise writing_error(error, "standard output", "write it to another place") from error
