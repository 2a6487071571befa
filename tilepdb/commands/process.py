"""Process of a command: what it refuses to overwrite, and its errors and signals as exit codes (docs/files.md)."""

import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from pdb_core.errors import LimitReachedError, MemoryLimitError, OutputError, PdbError, system_error
from tilepdb.commands.output import ReaderGoneError, message, write_result
from tilepdb.commands.plots import check_plot

# A shell shows the end by a signal as an exit code that is greater than its number by this.
_SIGNALLED = 128
_ENDINGS: dict[int, str] = {
    signal.SIGHUP: "the terminal was closed", signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"
}  # fmt: skip


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function as a command that a signal ends in good order, with a message and an exit code."""

    @functools.wraps(function)
    def wrapped(**options: Any) -> None:
        _import_libraries()
        with _signals_as_exit_codes():
            _refuse_overwriting(options)
            if options.get("plot") is not None:
                check_plot(options["plot"])
            function(**options)

    return wrapped


def _refuse_overwriting(options: Mapping[str, Any]) -> None:
    """Raise `OutputError` if an output is `-`, or one of the inputs or outputs of a command, under any name."""
    used: list[tuple[str, Path]] = [("the table file of --db", path) for path in options.get("db") or ()]
    if "file" in options:
        used.append(("the table file", options["file"]))
    if isinstance(options.get("boards"), list):
        used += [("the file of boards", path) for path in options["boards"] if isinstance(path, Path)]
    used.append(("the boards of --instances", Path(options.get("instances") or "-")))
    used.append(("the file that standard input comes from", Path("/dev/stdin")))
    for name in ("log", "out", "plot"):
        path = options.get(name)
        if path is not None:
            if path == Path("-"):
                raise OutputError(f"--{name} - is no file; choose the name of one with --{name}")
            for what, other in used:
                if _is_same_file(path, other):
                    raise OutputError(f"--{name} {path} would overwrite {what}; choose another place with --{name}")
            used.append((f"the file of --{name}", path))


def _is_same_file(path: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, which may not exist yet. A device may be input and output."""
    try:
        return path.samefile(other) and path.is_file()
    except OSError:  # one of them does not exist, or has no valid name
        return not path.exists() and os.path.realpath(path) == os.path.realpath(other)


def _import_libraries() -> None:
    """Import numba and NumPy, which every command needs, while a signal still ends the process at once.

    Their modules in C make an ImportError of the exception by which a signal ends a command in good order.
    """
    # OpenBLAS would start threads when NumPy is imported, and send SIGINT if it cannot. No command needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = lambda text, *_args, **_kwargs: message(f"warning: {text}")
    from pdb_core import jit  # noqa: F401


@contextmanager
def _signals_as_exit_codes() -> Iterator[None]:
    """Let a command end in good order. Before and afterwards, a signal ends the process at once."""
    # An ignored signal stays ignored: nohup ignores SIGHUP.
    numbers = [number for number in _ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        # asyncio takes over from Python's handler of Ctrl-C, and from no other.
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _terminate)
    try:
        yield
    except KeyboardInterrupt as ending:  # Typer would drop the signal
        # Libraries raise it with texts.
        number = next((number for number in ending.args if number in _ENDINGS), signal.SIGINT)
        message(_ENDINGS[number])
        raise SystemExit(_SIGNALLED + number) from None
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _frame: object) -> None:
    """End a command in good order, as Ctrl-C does."""
    raise KeyboardInterrupt(number)


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Turn errors into one line on stderr and an exit code."""
    try:
        yield
    except ReaderGoneError as error:
        raise SystemExit(error.exit_code) from None
    except PdbError as error:
        _fail(error)
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


def _fail(error: PdbError) -> NoReturn:
    message(str(error))
    raise SystemExit(error.exit_code) from None


def run_process(program: Callable[[], None]) -> None:
    """Run a program whose commands are made by `command`, and end the process as they say.

    After a signal the process ends by the signal itself, so that a loop of a shell stops.
    """
    try:
        with errors_as_exit_codes():
            _open_streams()
            program()
    except SystemExit as end:
        if isinstance(end.code, int) and end.code - _SIGNALLED in _ENDINGS:
            signal.signal(end.code - _SIGNALLED, signal.SIG_DFL)
            signal.raise_signal(end.code - _SIGNALLED)
        raise
    finally:
        with suppress(PdbError):
            write_result()  # what Typer has left, which Python would try to write again


def _open_streams() -> None:
    """Prepare stdout for any text. Raises `OutputError` if it is closed; a closed stderr is ignored."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (as long as the process)
    if sys.stdout is None:
        sys.stdout = sys.stderr
        raise OutputError("there is no standard output; write it to another place")
    try:
        descriptor = sys.stdout.fileno()
    except OSError:  # a text in memory, in a program that calls the command
        return
    # With a buffer also if PYTHONUNBUFFERED is set: without one, Python ignores that a full disk took only a part.
    sys.stdout = os.fdopen(descriptor, "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)
