"""Output of the commands: results on stdout in one of four formats, and messages on stderr."""

import csv
import importlib.util
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pdb_core.errors import InputError, writing_error
from pdb_core.messages import how_to_install, one_line

if TYPE_CHECKING:
    from pdb_study.plots import Draw
    from solver.answers.requests import Request

Record = Mapping[str, Any]
# A shell shows the end by a signal as an exit code that is greater than its number by this.
SIGNALLED = 128
_PLOT_ADVICE = "choose another place with --plot"


def message(text: str) -> None:
    """Print a line on stderr, after `pdb: `.

    Names of files and what files contain may have control characters: they are escaped. A message that cannot be
    written is dropped: the exit code and the results do not depend on it.
    """
    try:
        print(one_line(f"pdb: {text}"), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def print_line(text: str) -> None:
    """Print a line on stdout, with escapes as in `message`. Raises as `write_result`."""
    write_result(f"{one_line(text)}\n")


def write_result(text: str = "") -> None:
    """Write text to stdout at once, and what is waiting there.

    Raises `OutputError`, `DiskFullError`. If the process that reads stdout has ended, exit without a message.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise SystemExit(SIGNALLED + signal.SIGPIPE) from None
        raise writing_error(error, "standard output", "write it to another place") from error


def discard(stream: TextIO) -> None:
    """Discard what is waiting in a stream that cannot be written: Python would try again when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def plural(n: int, noun: str) -> str:
    """Return a number and a noun: `1 board`, `2 boards`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def joined(numbers: Iterable[int]) -> str:
    """Return numbers separated by commas: the tiles of a pattern."""
    return ",".join(map(str, numbers))


def bar_chart(counts: Sequence[int], width: int) -> list[str]:
    """Return a line for each index: the index, its count in a column of `width` characters, and a bar."""
    largest = max(counts)
    return [f"  {i:>3} {n:>{width},} {'#' * round(50 * n / largest)}".rstrip() for i, n in enumerate(counts)]


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the header of a table, and a line for each row as soon as it is there.

    `columns` has the name and the format of each column, which begins with its width, such as `8.3f`, or `<20` for text
    at the left. Cells are numbers, text, or None for nothing.
    """
    # Numbers are on the right, text where its format says.
    widths = [re.sub(r"^(?=\d)", ">", re.findall(r"<?\d+", form)[0]) for _, form in columns]

    def line(cells: Sequence[Any]) -> str:
        shown = (
            format(cell, form) if isinstance(cell, int | float) else format(cell or "", width)
            for cell, (_, form), width in zip(cells, columns, widths, strict=False)
        )
        return " ".join(shown).rstrip()

    yield line([name for name, _ in columns])
    yield from map(line, rows)


def board_record(request: "Request") -> dict[str, Any]:
    """Return the first fields of the record of a board."""
    return {
        "id": request.id, "size": str(request.size), "board": list(request.board), "goal": list(request.goal)
    }  # fmt: skip


def write_records(
    records: Iterable[Record],
    output: str,
    text: Callable[[Any], Iterable[str]],
    columns: Sequence[str] | None = None,
) -> None:
    """Write each record to stdout at once as `text`, `csv` or `ndjson`, or all of them at the end as `json`.

    `text` returns the lines of a record. `columns` are those of CSV, by default all keys of the first record. There,
    spaces separate the items of a list, and slashes the lists in a list.
    """
    if output == "json":
        # One record per line, for readers.
        write_result("[" + ",\n ".join(json.dumps(record) for record in records) + "]\n")
        return
    rows = csv.writer(_Results(), lineterminator="\n")
    if output == "csv" and columns is not None:
        rows.writerow(columns)
    for record in records:
        if output == "csv":
            if columns is None:
                columns = tuple(record)
                rows.writerow(columns)
            rows.writerow([_csv_field(record.get(column)) for column in columns])
        elif output == "ndjson":
            write_result(json.dumps(record) + "\n")
        else:
            write_result("".join(f"{one_line(line)}\n" for line in text(record)))


def write_study(
    records: Iterable[Record],
    output: str,
    lines: Callable[[Iterable[Record]], Iterable[str]],
) -> None:
    """Write records as `write_records`, but as text the lines of all of them, each as soon as it is there."""
    if output != "text":
        write_records(records, output, lambda _: ())
        return
    for line in lines(records):
        print_line(line)


def check_plot(path: Path) -> None:
    """Check before the work begins that a plot can be drawn. Raises `InputError`, `OutputError`."""
    if path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise InputError(
            f"{path}: unknown suffix {path.suffix or '(none)'}; give --plot a file that ends in .svg, .png or .pdf"
        )
    from pdb_core.durable_files import check_output

    check_output(path, _PLOT_ADVICE)
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(f"--plot needs matplotlib, which is not installed; {how_to_install('plot')}")


def write_plot(path: Path | None, draw: "Draw") -> None:
    """Write the plot of a study to the file of --plot, if given. Raises `OutputError`."""
    if path is None:
        return
    from pdb_core.durable_files import written_safely
    from pdb_study.plots import save_plot

    with written_safely(path, _PLOT_ADVICE, is_text=False) as file:
        save_plot(draw, file, path.suffix.lower()[1:])
    message(f"plot written to {path}")


class _Results:
    """Stdout, as `csv` writes to it."""

    write = staticmethod(write_result)


def _csv_field(value: Any) -> Any:
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return _csv_field(list(value.values()))
    if isinstance(value, list | tuple):
        is_nested = any(isinstance(item, Mapping | list | tuple) for item in value)
        return ("/" if is_nested else " ").join(str(_csv_field(item)) for item in value)
    return value


def clock() -> float:
    """Return the seconds of a clock that stands still while kernels are compiled."""
    from pdb_core.jit import seconds_compiling

    return time.perf_counter() - seconds_compiling()
