"""What goes to the terminal: data on stdout in one of four formats; messages, progress and errors on stderr."""

import contextlib
import csv
import functools
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NoReturn, TypeVar, cast

from pdb_cli.streams import ReaderGoneError
from pdb_core.errors import MemoryLimitError, PdbError, system_error
from pdb_core.messages import one_line

Function = TypeVar("Function", bound=Callable[..., None])
Record = Mapping[str, Any]

# Exit codes of a command that a signal has ended are greater than its number by this.
_SIGNALLED = 128
_ENDINGS: dict[int, str] = {signal.SIGTERM: "pdb: terminated", signal.SIGHUP: "pdb: the terminal was closed"}
_AGAIN_S = 0.01
_COLUMNS = 80


class Format(StrEnum):
    """How records are written to stdout."""

    text = "text"
    json = "json"
    ndjson = "ndjson"
    csv = "csv"


def message(text: str) -> None:
    """Tell the user something that is not data."""
    print(text, file=sys.stderr, flush=True)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, as build servers and systemd send it, or SIGHUP of a terminal that is closed: it ends a command in good
    order, as Ctrl-C does.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _terminate(number: int, _frame: object) -> None:
    raise _Terminated(number)


@contextlib.contextmanager
def _nothing_swallows_interrupts() -> Iterator[None]:
    """An interrupt that comes while an object is finalised, as Dask's futures are, is printed by Python and forgotten.
    Here it comes again.
    """
    before = sys.unraisablehook

    def come_again(lost: "sys.UnraisableHookArgs") -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            number = lost.exc_value.number if isinstance(lost.exc_value, _Terminated) else signal.SIGINT
            threading.Thread(target=send, args=(number, threading.get_ident())).start()
        else:
            before(lost)

    def send(number: int, thread: int) -> None:
        # One that came before the hook has returned would be lost with it.
        while come_again.__code__ in (frame.f_code for frame, _ in traceback.walk_stack(sys._current_frames()[thread])):
            time.sleep(_AGAIN_S)
        os.kill(os.getpid(), number)

    sys.unraisablehook = come_again
    try:
        yield
    finally:
        sys.unraisablehook = before


def command(function: Function) -> Function:
    """Make a function a command whose errors are one sentence on stderr and the exit code of docs/exit-codes.md."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        with errors_as_exit_codes():
            for number in _ENDINGS:
                # One that is ignored stays so: nohup does that to SIGHUP.
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, _terminate)
            with _nothing_swallows_interrupts():
                function(*args, **kwargs)

    return cast(Function, wrapped)


@contextlib.contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Turn errors into one sentence on stderr and the exit code of docs/exit-codes.md. Flush stdout at the end."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except ReaderGoneError as error:
        raise SystemExit(error.exit_code) from None
    except PdbError as error:
        _fail(error)
    except _Terminated as ending:
        message(_ENDINGS[ending.number])
        raise SystemExit(_SIGNALLED + ending.number) from None
    except KeyboardInterrupt:
        message("pdb: interrupted")
        raise SystemExit(_SIGNALLED + signal.SIGINT) from None
    except OSError as error:
        _fail(system_error(error))
    except MemoryError:
        _fail(MemoryLimitError("not enough memory; pdb build --dry-run tells what a build takes"))


def _fail(error: PdbError) -> NoReturn:
    message(f"pdb: {one_line(str(error))}")
    raise SystemExit(error.exit_code) from None


def write_records(
    records: Iterable[Record],
    output: Format,
    *,
    columns: Sequence[str],
    text: Callable[[Iterable[Record]], Iterator[str]],
) -> None:
    """Write records to stdout as they come (`json` needs them all). `columns` are those of CSV; lists are joined by
    blanks.
    """
    if output is Format.json:
        # One record a line: to be read by people too.
        print("[" + ",\n ".join(json.dumps(record) for record in records) + "]")
    elif output is Format.ndjson:
        for record in records:
            print(json.dumps(record), flush=True)
    elif output is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        for record in records:
            writer.writerow([_csv_field(record.get(column)) for column in columns])
            sys.stdout.flush()
    else:
        for line in text(records):
            print(line, flush=True)


def _csv_field(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        plain = all(isinstance(item, int | str) for item in value)
        return " ".join(map(str, value)) if plain else json.dumps(value)
    return value


def on_terminal() -> bool:
    """Whether stderr is a terminal. Rich would believe FORCE_COLOR, and write control codes into a log."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _terminal_columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:  # it was closed meanwhile
        return _COLUMNS


class ProgressLine:
    """Progress on stderr: one line, rewritten, on a terminal; nothing or rare plain lines in a log."""

    def __init__(self) -> None:
        self._live = on_terminal()
        self._width = 0

    def show(self, text: str) -> None:
        """Replace the line, on a terminal; nothing in a log."""
        if self._live:
            if self._width == 0:
                self._width = _terminal_columns()
            sys.stderr.write("\r\x1b[K" + text[: self._width - 1])
            sys.stderr.flush()

    def log(self, text: str) -> None:
        """A line that stays, on a terminal and in a log."""
        self.clear()
        message(text)

    def clear(self) -> None:
        """Take the line away before something else is written."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def prepare() -> None:
    """To be called by every command that runs kernels, before it imports them."""
    import warnings

    warnings.showwarning = lambda text, *_args, **_kwargs: message(f"pdb: warning: {text}")
    from pdb_core import jit

    jit.announce_compilation(lambda: message("pdb: compiling kernels: some seconds, once after each update ..."))


def count(n: int) -> str:
    """A number with its thousands marked."""
    return f"{n:,}"


def plural(n: int, noun: str) -> str:
    """`1 board`, `2 boards`."""
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"
