"""Output of the commands: results on stdout in one of four formats; messages, progress and errors on stderr."""

import contextlib
import csv
import functools
import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NoReturn, TypeVar, cast

from pdb_cli.standard_streams import ReaderGoneError
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
    """Format of the records on stdout."""

    text = "text"
    json = "json"
    ndjson = "ndjson"
    csv = "csv"


def message(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, or SIGHUP of a terminal that is closed. It ends a command in good order, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _terminate(number: int, _frame: object) -> None:
    raise _Terminated(number)


@contextlib.contextmanager
def _resent_interrupts() -> Iterator[None]:
    """Send interrupts again that Python loses: it prints and ignores those that come while an object is finalised."""
    before = sys.unraisablehook

    def send_again(lost: "sys.UnraisableHookArgs") -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            number = lost.exc_value.number if isinstance(lost.exc_value, _Terminated) else signal.SIGINT
            threading.Thread(target=send, args=(number, threading.get_ident())).start()
        else:
            before(lost)

    def send(number: int, thread: int) -> None:
        # An interrupt before the hook has returned would be lost too.
        while send_again.__code__ in (frame.f_code for frame, _ in traceback.walk_stack(sys._current_frames()[thread])):
            time.sleep(_AGAIN_S)
        os.kill(os.getpid(), number)

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = before


def command(function: Function) -> Function:
    """Return a function as a command, with its errors as messages and exit codes."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        with errors_as_exit_codes():
            for number in _ENDINGS:
                # An ignored signal stays ignored: nohup ignores SIGHUP.
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, _terminate)
            with _resent_interrupts():
                function(*args, **kwargs)

    return cast(Function, wrapped)


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
    except _Terminated as ending:
        message(_ENDINGS[ending.number])
        raise SystemExit(_SIGNALLED + ending.number) from None
    except KeyboardInterrupt:
        message("pdb: interrupted")
        raise SystemExit(_SIGNALLED + signal.SIGINT) from None
    except OSError as error:
        _fail(system_error(error))
    except MemoryError:
        _fail(MemoryLimitError("not enough memory; pdb build --dry-run prints the memory that a build needs"))


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
    """Write each record to stdout at once, or all of them at the end as `json`.

    `columns` are those of CSV, where the items of a list are separated by spaces; `text` yields the lines of text.
    """
    if output is Format.json:
        # One record per line, for readers.
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
    """Return True if stderr is a terminal. Rich would follow FORCE_COLOR, and write control codes into a log."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _terminal_columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:  # it was closed
        return _COLUMNS


class ProgressLine:
    """Progress on stderr: one line that is rewritten on a terminal, occasional lines in a log."""

    def __init__(self, *, log_every_s: float = math.inf) -> None:
        """Without a terminal, a line is printed every `log_every_s` seconds."""
        self._live = on_terminal()
        self._width = 0
        self._log_every_s = log_every_s
        self._logged_at = time.monotonic()

    def show(self, text: str) -> None:
        """Replace the line on a terminal, or print it in a log if it is time."""
        if self._live:
            if self._width == 0:
                self._width = _terminal_columns()
            sys.stderr.write("\r\x1b[K" + text[: self._width - 1])
            sys.stderr.flush()
        elif time.monotonic() - self._logged_at >= self._log_every_s:
            self._logged_at = time.monotonic()
            message(f"pdb: {text}")

    def log(self, text: str) -> None:
        """Print a line that stays, on a terminal and in a log."""
        self.clear()
        message(text)

    def clear(self) -> None:
        """Remove the line before something else is written."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def prepare() -> None:
    """Set up warnings and messages before kernels are imported."""
    import warnings

    warnings.showwarning = lambda text, *_args, **_kwargs: message(f"pdb: warning: {text}")
    from pdb_core import jit

    jit.announce_compilation(lambda: message("pdb: compiling kernels: some seconds, once after each update ..."))


def count(n: int) -> str:
    """Return a number with commas between thousands."""
    return f"{n:,}"


def plural(n: int, noun: str) -> str:
    """Return a number and a noun: `1 board`, `2 boards`."""
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"
