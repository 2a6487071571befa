"""What a checkpoint says: which build it is of, which tables are done, and where the search of the next one stands."""

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pdb_build.plan import BuildPlan
from pdb_build.search import PatternTable, SearchPosition
from pdb_build.writer import WrittenTable
from pdb_core import __version__

_FORMAT = "tile-pdb checkpoint 1"


@dataclass(frozen=True)
class KeptFile:
    """A file beside the manifest."""

    name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class KeptSearch:
    """The search of the pattern at `index`, and the files that hold its arrays, by their names in the search."""

    index: int
    position: SearchPosition
    files: dict[str, KeptFile]


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a build that another run can go on from.

    number   of the checkpoint; the newest has the largest
    build    what must agree in the run that goes on, see `identity`
    tables   those that are in the table file, by the numbers of their patterns
    search   the search under way, if there was one
    seconds  the build took so far, in `n_runs` runs
    """

    number: int
    build: dict[str, Any]
    tables: dict[int, WrittenTable]
    search: KeptSearch | None
    seconds: float
    n_runs: int

    def place(self, n_patterns: int) -> str:
        """How far it is, for people."""
        if self.search is not None:
            return f"level {self.search.position.level} of pattern {self.search.index + 1} of {n_patterns}"
        return f"the end of pattern {max(self.tables, default=-1) + 1} of {n_patterns}"

    def to_json(self) -> str:
        """The manifest: a line of JSON, and its digest below."""
        content = {
            "format": _FORMAT,
            "build": self.build,
            "tables": {index: _table_record(table) for index, table in self.tables.items()},
            "search": None if self.search is None else asdict(self.search),
            "seconds": self.seconds,
            "runs": self.n_runs,
        }
        text = json.dumps(content)
        return f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}\n"


def read_manifest(path: Path, number: int, plan: BuildPlan) -> Checkpoint | None:
    """The checkpoint that a manifest tells of; None where it is damaged. Raises `OSError`.

    What it says of tables is for `plan` alone: compare `build` first.
    """
    lines = path.read_bytes().split(b"\n")
    if len(lines) != 3 or hashlib.sha256(lines[0]).hexdigest().encode() != lines[1]:
        return None
    # From here on it is what a builder wrote, if not of this version.
    content = json.loads(lines[0])
    if content["format"] != _FORMAT or content["build"] != identity(plan):
        return Checkpoint(number, {"format": content["format"]} | content["build"], {}, None, 0.0, 1)
    search = content["search"]
    return Checkpoint(
        number,
        content["build"],
        {int(index): _table_of(record, int(index), plan) for index, record in content["tables"].items()},
        None if search is None else _search_of(search),
        content["seconds"],
        content["runs"],
    )


def _search_of(record: dict[str, Any]) -> KeptSearch:
    position: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in dict(record["position"]).items()
    }
    files = {name: KeptFile(**file) for name, file in record["files"].items()}
    return KeptSearch(record["index"], SearchPosition(**position), files)


def identity(plan: BuildPlan) -> dict[str, Any]:
    """What two runs must have in common for one to go on where the other stopped. The keys are for people too."""
    return {
        "size": str(plan.size),
        "partition": str(plan.partition),
        "name of the partition": plan.partition.name,
        "goal": " ".join(map(str, plan.goal)),
        "encoding": plan.encoding,
        "cost": plan.partition.cost,
        "sharing of tables": " ".join(f"{use.index}:{','.join(map(str, use.cell_map))}" for use in plan.uses),
        "version of tile-pdb": f"{__version__} {_builder_digest()[:12]}",
        "version of HDF5": h5py.version.hdf5_version,
        "byte order": sys.byteorder,
    }


@lru_cache(maxsize=1)
def _builder_digest() -> str:
    """Digest of the sources that decide what a search holds at each moment."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for path in sorted([*root.glob("pdb_core/*.py"), *root.glob("pdb_build/*.py")]):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _table_record(written: WrittenTable) -> dict[str, Any]:
    table = written.table
    return {
        "offset": written.offset,
        "sha256": written.sha256,
        "histogram": table.histogram,
        "states_per_depth": table.states_per_depth,
        "seconds": table.seconds,
    }


def _table_of(record: dict[str, Any], index: int, plan: BuildPlan) -> WrittenTable:
    table = PatternTable(
        plan.patterns[index].spec,
        np.empty(0, dtype=np.uint8),
        tuple(record["histogram"]),
        tuple(record["states_per_depth"]),
        record["seconds"],
    )
    return WrittenTable(table, record["offset"], record["sha256"])
