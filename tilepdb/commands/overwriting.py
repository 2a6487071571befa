"""Outputs of a command that would overwrite its own files."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from pdb_core.errors import OutputError
from tilepdb.commands.board_input import STDIN, split_arguments

_OUTPUTS = ("log", "out", "plot")


def refuse_overwriting(parameters: Mapping[str, Any]) -> None:
    """Raise `OutputError` if an output of a command is one of its inputs, or another output, under any name."""
    options: dict[str, Any] = {}
    for name, value in parameters.items():
        options |= vars(value) if is_dataclass(value) else {name: value}
    outputs = {name: options[name] for name in _OUTPUTS if options.get(name) is not None}
    used = list(_inputs(options)) if outputs else []
    for name, path in outputs.items():
        for what, other in used:
            if _is_same_file(path, other):
                raise OutputError(f"--{name} {path} would overwrite {what}; choose another place with --{name}")
        used.append((f"the file of --{name}", path))


def _inputs(options: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Yield the files that a command reads, each with its description."""
    from pdb_query.instances import instance_sets

    for path in options.get("db") or ():
        yield "the table file of --db", path
    if "file" in options:
        yield "the table file", options["file"]
    if isinstance(options.get("boards"), list):
        for path in split_arguments(options["boards"])[0]:
            yield "the file of boards", path
    source = options.get("instances")
    if source is not None and source != STDIN:
        yield "the boards of --instances", instance_sets().get(source) or Path(source)
    yield "the file that standard input comes from", Path("/dev/stdin")


def _is_same_file(first: Path, second: Path) -> bool:
    """Return whether two paths lead to one file, which may not exist yet. A device may be input and output."""
    try:
        status, other = first.stat(), second.stat()
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)
    return stat.S_ISREG(status.st_mode) and os.path.samestat(status, other)
