"""Result of a build, and its report: a JSON file beside the table file.

The report holds all that depends on the clock, the machine or the versions. The table file depends on none of them.
"""

import json
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numba
import numpy as np

from pdb_build.partial_folder import PartialFolder, report_path
from pdb_build.plan import BuildPlan
from pdb_build.search import PatternTable
from pdb_core.durable_files import writing_errors
from pdb_core.errors import OutputError, TableFileError, TableFileForeignError
from pdb_core.messages import ShortRepr
from pdb_core.schema import FORMAT_VERSION, Header, read_header
from pdb_core.version import version_text


@dataclass(frozen=True, repr=False)
class BuildResult(ShortRepr):
    """Result of a build.

    Attributes
    ----------
    plan
        The plan of the build.
    header
        Header of the table file.
    searches
        One for each pattern, without its table; 0 seconds if the pattern uses the table of another.
    seconds
        Time of the run that finished the file.
    peak_memory_bytes
        Peak memory of this process.
    """

    plan: BuildPlan
    header: Header
    searches: tuple[PatternTable, ...]
    seconds: float
    peak_memory_bytes: int

    @property
    def path(self) -> Path:
        """Path of the table file."""
        return self.plan.out

    @property
    def report(self) -> Path:
        """Path of the report."""
        return report_path(self.path)


def check_replaced(out: Path) -> None:
    """Raise `OutputError` if a build of `out` would replace a file that no build has written.

    A table file of another format version, a damaged one and an empty file may be replaced.
    """
    for path, kind, is_ours in ((out, "table file", _is_table), (report_path(out), "build report", _is_report)):
        with writing_errors(out):
            is_replaced = path.is_file() and path.stat().st_size > 0
            if is_replaced and not is_ours(path):
                raise OutputError(
                    f"{path} is no {kind} of pdb build and would be replaced; choose another place, or replace it "
                    "with --force (force=True)"
                )


def _is_table(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            read_header(file, str(path))
    except TableFileForeignError:
        return False
    except TableFileError:
        pass
    return True


def _is_report(path: Path) -> bool:
    return b'"header_sha256": "' in path.read_bytes()


def write_report(result: BuildResult, folder: PartialFolder) -> None:
    """Write the report of a build, whole or not at all. Raises `DiskFullError`, `OutputError`."""
    content = _content(result)
    tables = content.pop("tables")
    # A line for each key, and one for each table.
    rows = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    listed = ",\n".join(f"    {json.dumps(table)}" for table in tables)
    text = ",\n".join([*rows, f'  "tables": [\n{listed}\n  ]'])
    with writing_errors(result.report):
        folder.write(f"{{\n{text}\n}}\n".encode(), result.report)


def _content(result: BuildResult) -> dict[str, Any]:
    plan = result.plan
    return {
        "file": result.path.name,
        "partition": plan.spec.partition.name,
        "patterns": str(plan.spec.partition),
        "size": str(plan.spec.size),
        "goal": list(plan.spec.goal),
        "encoding": plan.spec.encoding,
        "cost": plan.spec.cost,
        "format_version": FORMAT_VERSION,
        "header_sha256": result.header.digest(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(result.seconds, 3),
        "peak_memory_bytes": result.peak_memory_bytes,
        "planned_memory_bytes": plan.memory_bytes,
        "threads": plan.n_threads,
        "versions": {
            "tile-pdb": version_text(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
            "h5py": h5py.__version__,
            "hdf5": h5py.version.hdf5_version,
        },
        "machine": {"system": platform.system(), "architecture": platform.machine()},
        "tables": [
            {
                "tiles": list(search.spec.pattern.tiles),
                "same_as": None if entry.use is None else entry.use.index,
                "entries": entry.n_entries,
                "sha256": entry.sha256,
                "seconds": round(search.seconds, 3),
                "maximum": entry.maximum,
                "mean": entry.mean,
                "entries_per_depth": list(entry.histogram),
                "states_per_depth": list(search.states_per_depth),
            }
            for search, entry in zip(result.searches, result.header.patterns, strict=True)
        ],
    }
