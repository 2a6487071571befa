"""Output of the commands: results on stdout in one of four formats, and messages on stderr."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pdb_core.messages import one_line

Record = Mapping[str, Any]


class Format(StrEnum):
    """Format of the records on stdout."""

    text = "text"
    json = "json"
    ndjson = "ndjson"
    csv = "csv"


def message(text: str) -> None:
    """Print a line on stderr. Names of files and what files contain may have control characters: they are escaped."""
    print(one_line(text), file=sys.stderr, flush=True)


def print_line(text: str) -> None:
    """Print a line on stdout, with escapes as in `message`."""
    print(one_line(text), flush=True)


def count(n: int) -> str:
    """Return a number with commas between thousands."""
    return f"{n:,}"


def plural(n: int, noun: str) -> str:
    """Return a number and a noun: `1 board`, `2 boards`."""
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"


def joined(numbers: Iterable[int]) -> str:
    """Return numbers separated by commas: the tiles of a pattern."""
    return ",".join(map(str, numbers))


def bar_chart(counts: Sequence[int], width: int) -> list[str]:
    """Return a line for each index: the index, its count in a column of `width` characters, and a bar."""
    largest = max(counts)
    return [f"  {i:>3} {count(n):>{width}} {'#' * round(50 * n / largest)}".rstrip() for i, n in enumerate(counts)]


def write_records(
    records: Iterable[Record],
    output: Format,
    *,
    columns: Sequence[str],
    text: Callable[[Any], Iterable[str]],
) -> None:
    """Write each record to stdout at once, or all of them at the end as `json`.

    `columns` are those of CSV, where the items of a list are separated by spaces; `text` returns the lines of a record.
    """
    if output is Format.json:
        # One record per line, for readers.
        print("[" + ",\n ".join(json.dumps(record) for record in records) + "]")
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if output is Format.csv:
        writer.writerow(columns)
    for record in records:
        if output is Format.csv:
            writer.writerow([_csv_field(record.get(column)) for column in columns])
        elif output is Format.ndjson:
            print(json.dumps(record))
        else:
            sys.stdout.writelines(f"{one_line(line)}\n" for line in text(record))
        sys.stdout.flush()


def _csv_field(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list | tuple):
        plain = all(isinstance(item, int | str) for item in value)
        return one_line(" ".join(map(str, value))) if plain else json.dumps(value)
    return value


def prepare() -> None:
    """Set up warnings and messages before kernels are imported."""
    import warnings

    warnings.showwarning = lambda text, *_args, **_kwargs: message(f"pdb: warning: {text}")
    from pdb_core import jit

    jit.announce_compilation(lambda: message("pdb: compiling kernels: some seconds, once after each update ..."))
