"""Process of a command: what it refuses to overwrite, and its errors and signals as exit codes (docs/files.md)."""

import functools
import inspect
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

from pdb_core.errors import LimitReachedError, MemoryLimitError, OutputError, PdbError, system_error
from tilepdb.commands.output import SIGNALLED, check_plot, message, write_result

# Signals that end a command in good order, and what is said then.
_ENDINGS = {
    signal.SIGHUP: "the terminal was closed", signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"
}  # fmt: skip


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function as a Typer command. Parameters that are option groups become an option for each field.

    Signals end the command in good order. Before and afterwards, they end it at once.
    """
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {at.name: at.annotation for at in parameters if is_dataclass(at.annotation)}

    @functools.wraps(function)
    def call(**options: Any) -> None:
        caught = signal.SIGINT

        def end(number: int, _frame: object) -> None:
            nonlocal caught
            caught = signal.Signals(number)
            raise KeyboardInterrupt

        _import_libraries()
        # An ignored signal stays ignored: nohup ignores SIGHUP.
        numbers = [number for number in _ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
        for number in numbers:
            # asyncio takes over from Python's handler of Ctrl-C, and from no other.
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else end)
        try:
            _refuse_overwriting(options)
            if options.get("plot") is not None:
                check_plot(options["plot"])
            for name, group in groups.items():
                options[name] = group(**{field.name: options.pop(field.name) for field in fields(group)})
            function(**options)
        except KeyboardInterrupt:  # Typer would drop the signal
            message(_ENDINGS[caught])
            raise SystemExit(SIGNALLED + caught) from None
        finally:
            for number in numbers:
                signal.signal(number, signal.SIG_DFL)

    options: list[inspect.Parameter] = []
    for parameter in parameters:
        group = groups.get(parameter.name)
        options += [parameter] if group is None else inspect.signature(group).parameters.values()
    for option in options:
        for info in get_args(option.annotation)[1:]:
            info.readable = False  # the function that reads a file says what is wrong with it
    options = [option.replace(kind=option.KEYWORD_ONLY) for option in options]
    call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {}
    return call


def _import_libraries() -> None:
    """Import numba and NumPy, which every command needs, and announce the compilation of kernels.

    Their modules in C make an ImportError of the exception by which a signal ends a command in good order.
    """
    # OpenBLAS would start threads when NumPy is imported, and send SIGINT if it cannot. No command needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = lambda text, *_args, **_kwargs: message(f"warning: {text}")
    from pdb_core import jit

    def announce() -> None:
        once = ", once" if jit.keeps_compiled_kernels() else ""
        message(f"compiling kernels{once}; about 10 s on an idle machine ...")

    jit.announce_compilation(announce)


def _refuse_overwriting(options: Mapping[str, Any]) -> None:
    """Raise `OutputError` if an output is `-`, or one of the inputs or outputs of a command, under any name."""
    given = [*options.values(), [Path("/dev/stdin"), Path(options.get("instances") or os.devnull)]]
    files = [path for value in given for path in (value if isinstance(value, list) else [value])]
    for name in ("log", "out", "plot"):
        path = options.get(name)
        if path is not None:
            if path == Path("-"):
                raise OutputError(f"--{name} - is no file; choose the name of one with --{name}")
            if sum(isinstance(other, Path) and _is_same_file(path, other) for other in files) > 1:
                raise OutputError(
                    f"--{name} {path} would overwrite another file of this command; choose another place with --{name}"
                )


def _is_same_file(path: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, which may not exist yet. A device may be input and output."""
    try:
        return path.samefile(other) and path.is_file()
    except OSError:  # one of them does not exist, or has no valid name
        return not path.exists() and os.path.realpath(path) == os.path.realpath(other)


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Turn errors into one line on stderr and an exit code."""
    error: PdbError
    try:
        yield
        return
    except PdbError as refusal:
        error = refusal
    except OSError as refusal:
        error = system_error(refusal)
    except MemoryError:
        error = MemoryLimitError("not enough memory; pdb build --dry-run prints the memory that a build needs")
    except RuntimeError as refusal:
        if "start new thread" not in str(refusal):
            raise
        error = LimitReachedError(
            "the system starts no more threads; raise its limit (ulimit -u), or give fewer --threads"
        )
    message(str(error))
    raise SystemExit(error.exit_code)


def run_process(program: Callable[[], None]) -> None:
    """Run a program whose commands are made by `command`, and end the process as they say.

    After a signal the process ends by the signal itself, so that a loop of a shell stops.
    """
    try:
        with errors_as_exit_codes():
            _open_streams()
            program()
    except SystemExit as end:
        number = end.code - SIGNALLED if isinstance(end.code, int) else 0
        if number in _ENDINGS:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
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
    # With a buffer also if PYTHONUNBUFFERED is set: without one, Python ignores that a full disk took only a part.
    with suppress(OSError):  # a text in memory, in a program that calls the command
        sys.stdout = os.fdopen(
            sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False
        )
