"""Outputs of a command that would overwrite its own files."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdb_core.errors import OutputError

_OUTPUTS = ("log", "out", "plot")


def refuse_overwriting(options: Mapping[str, Any]) -> None:
    """Raise `OutputError` if an output is `-`, or one of the inputs or outputs of a command, under any name."""
    used: list[tuple[str, Path]] = [("the table file of --db", path) for path in options.get("db") or ()]
    if "file" in options:
        used.append(("the table file", options["file"]))
    if isinstance(options.get("boards"), list):
        used += [("the file of boards", path) for path in options["boards"] if isinstance(path, Path)]
    used.append(("the boards of --instances", Path(options.get("instances") or "-")))
    used.append(("the file that standard input comes from", Path("/dev/stdin")))
    for name in _OUTPUTS:
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
