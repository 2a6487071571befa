"""Checkpoints of a build: their content, when they are written, and how a later run finds them.

A checkpoint has a file for each array of the search, and a manifest with the digests of these files. It is written
between two levels of a search, or after the last pattern. The manifest gets its name when all files are synced; files
without a manifest are ignored. Two checkpoints are kept: if the newest is damaged, the other one serves. The older one
is removed before a new one is written, which bounds the disk space.
"""

import errno
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from pdb_build.frontier import Arrays
from pdb_build.partial_folder import PartialFolder, held_table_bytes
from pdb_build.plan import BuildPlan
from pdb_build.search import PatternTable, SearchPosition
from pdb_build.writer import WrittenTable
from pdb_core import __version__
from pdb_core.durable_files import digest_of, sync, write_and_sync, writing_errors
from pdb_core.errors import CheckpointMismatchError, OutputError, PdbError
from pdb_core.messages import format_bytes, shorten
from pdb_core.resources import available_disk

Say = Callable[[str], None]
Tables = dict[int, WrittenTable]

_FORMAT = "tile-pdb checkpoint 2"
_PIECE_BYTES = 16 * 1024 * 1024
# Checkpoints are at least 20 times as far apart as one takes, so that they cost a twentieth of the time. They are at
# most 10 times as far apart as requested: on very slow disks they cost more.
_TIMES_COST = 20
_TIMES_INTERVAL = 10
# Assumed speed of the disk until the first checkpoint is written.
_DISK_BYTES_PER_S = 500_000_000


@dataclass(frozen=True)
class KeptSearch:
    """Search of the pattern at `index` between two levels. `files` has the SHA-256 of the file of each array."""

    index: int
    position: SearchPosition
    files: dict[str, str]


@dataclass(frozen=True)
class Checkpoint:
    """State of a build that another run can continue from.

    number   the newest checkpoint has the largest
    build    what must be the same in the run that continues, see `identity`
    tables   tables in the table file, by the index of their pattern
    search   the search under way, if any
    seconds  time of the build so far, in `n_runs` runs
    """

    number: int
    build: dict[str, str]
    tables: Tables
    search: KeptSearch | None
    seconds: float
    n_runs: int

    def describe(self, n_patterns: int) -> str:
        """Return the progress in words."""
        if self.search is not None:
            return f"level {self.search.position.level} of pattern {self.search.index + 1} of {n_patterns}"
        return f"the end of pattern {max(self.tables, default=-1) + 1} of {n_patterns}"

    def to_manifest(self) -> bytes:
        """Return the manifest: a line of JSON, and a line with its SHA-256."""
        content = asdict(replace(self, tables={})) | {
            "format": _FORMAT,
            "tables": {index: _table_record(table) for index, table in self.tables.items()},
        }
        text = json.dumps(content).encode()
        return text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n"


def _table_record(written: WrittenTable) -> dict[str, Any]:
    table = written.table
    return {
        "offset": written.offset,
        "sha256": written.sha256,
        "histogram": table.histogram,
        "states_per_depth": table.states_per_depth,
        "seconds": table.seconds,
    }


def _read_manifest(path: Path, plan: BuildPlan) -> Checkpoint | None:
    """Return the checkpoint of a manifest, None if it is damaged. Raises `OSError`, `CheckpointMismatchError`."""
    lines = path.read_bytes().split(b"\n")
    if len(lines) != 3 or hashlib.sha256(lines[0]).hexdigest().encode() != lines[1]:
        return None
    # A builder wrote the rest, maybe of another version.
    content = json.loads(lines[0])
    _check_identity(content, plan, path.parent)
    tables = {}
    for index, record in content["tables"].items():
        table = PatternTable(
            plan.patterns[int(index)].spec,
            np.empty(0, dtype=np.uint8),
            tuple(record["histogram"]),
            tuple(record["states_per_depth"]),
            record["seconds"],
        )
        tables[int(index)] = WrittenTable(table, record["offset"], record["sha256"])
    search = content["search"]
    if search is not None:
        position = search["position"]
        entries, states = (tuple(position[name]) for name in ("entries_per_depth", "states_per_depth"))
        search = KeptSearch(search["index"], SearchPosition(entries, states, position["seconds"]), search["files"])
    return Checkpoint(content["number"], content["build"], tables, search, content["seconds"], content["n_runs"])


def identity(plan: BuildPlan) -> dict[str, str]:
    """Return what two runs must have in common for one to continue the other. The keys appear in messages."""
    return {
        "size": str(plan.spec.size),
        "partition": str(plan.spec.partition),
        "name of the partition": plan.spec.partition.name,
        "goal": " ".join(map(str, plan.spec.goal)),
        "encoding": plan.spec.encoding,
        "cost": plan.spec.cost,
        "sharing of tables": " ".join(f"{use.index}:{','.join(map(str, use.cell_map))}" for use in plan.uses),
        "version of tile-pdb": f"{__version__} {_builder_digest()[:12]}",
        "version of HDF5": h5py.version.hdf5_version,
        "byte order": sys.byteorder,
    }


@lru_cache(maxsize=1)
def _builder_digest() -> str:
    """Return the digest of the sources that decide what the arrays of a search hold."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for path in sorted([*root.glob("pdb_core/*.py"), *root.glob("pdb_build/*.py")]):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _check_identity(content: dict[str, Any], plan: BuildPlan, folder: Path) -> None:
    """Raise `CheckpointMismatchError` if a manifest is of another build."""
    kept = content.get("build", {}) if content.get("format") == _FORMAT else {}
    differences = [
        f"its {key} is {shorten(str(kept.get(key, 'unknown')))}, not {shorten(value)}"
        for key, value in identity(plan).items()
        if kept.get(key) != value
    ]
    if differences:
        raise CheckpointMismatchError(
            f"{folder} has a checkpoint of another build: {'; '.join(differences)}. Give the same options to continue "
            "it, or --fresh to remove it and start over"
        )


def refuse_checkpoints(folder: PartialFolder, *, fresh: bool) -> None:
    """Raise `CheckpointMismatchError` if there is a checkpoint, for builds that cannot use one; remove it if `fresh`.

    Raises `OutputError`.
    """
    with writing_errors(folder.out):
        has_checkpoint = bool(folder.manifests())
    if has_checkpoint and not fresh:
        raise CheckpointMismatchError(
            f"{folder.path} has a checkpoint of a build on one machine, which a cluster cannot continue: "
            "build without a cluster, or give --fresh to remove it and start over"
        )
    folder.clear()


def _find_checkpoint(folder: PartialFolder, plan: BuildPlan, say: Say) -> Checkpoint | None:
    """Return the newest checkpoint whose files are whole, else one of whole tables only, else None.

    Raises `CheckpointMismatchError`, `OSError`.
    """
    if not folder.table.exists():
        folder.clear()  # the table file had got its name; only this folder was left to be removed
        return None
    best = None
    for path in folder.manifests().values():
        checkpoint = _read_manifest(path, plan)
        if checkpoint is None:
            say(f"{path} is damaged")
            continue
        tables = {index: table for index, table in checkpoint.tables.items() if _is_whole_table(folder.table, table)}
        files = {} if checkpoint.search is None else checkpoint.search.files
        is_whole = len(tables) == len(checkpoint.tables)
        if is_whole and all(
            _is_whole(folder.checkpoint_file(checkpoint.number, name), sha256) for name, sha256 in files.items()
        ):
            return checkpoint
        say(f"{path} or a file it names is damaged")
        if tables and (best is None or len(tables) > len(best.tables)):
            best = replace(checkpoint, tables=tables, search=None)
    return best


def _is_whole(path: Path, sha256: str) -> bool:
    if not path.exists():
        return False
    with path.open("rb") as file:
        return digest_of(file.fileno(), 0, path.stat().st_size) == sha256


def _is_whole_table(path: Path, written: WrittenTable) -> bool:
    with path.open("rb") as file:
        return digest_of(file.fileno(), written.offset, written.table.n_bytes) == written.sha256


def _write_arrays(folder: PartialFolder, number: int, arrays: Arrays) -> dict[str, str]:
    """Write and sync the arrays of a search, two at a time. Return their digests. Raises `OSError`."""
    cancelled = Event()

    def write(name: str) -> str:
        descriptor = os.open(folder.checkpoint_file(number, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            return write_and_sync(descriptor, arrays[name], cancelled=cancelled.is_set) or ""
        finally:
            os.close(descriptor)

    with ThreadPoolExecutor(2) as pool:
        try:
            return dict(zip(arrays, pool.map(write, arrays), strict=True))
        except BaseException:
            cancelled.set()
            raise


def _write_manifest(folder: PartialFolder, checkpoint: Checkpoint) -> None:
    """Give a checkpoint its manifest. When this returns, it will survive a crash. Raises `OSError`."""
    new = folder.checkpoint_file(checkpoint.number, "new")
    with new.open("xb") as file:
        file.write(checkpoint.to_manifest())
        file.flush()
        os.fsync(file.fileno())
    sync(folder.path)
    new.rename(folder.checkpoint_file(checkpoint.number))
    sync(folder.path)
    sync(folder.path.parent)


class BuildCheckpoints:
    """Checkpoints of one build: the one that it continues from, and those that it writes, `every_s` seconds apart.

    found  the checkpoint of an earlier run; None if there is none. With `fresh` it is removed.

    Raises `CheckpointMismatchError`, `OutputError`.
    """

    def __init__(self, folder: PartialFolder, plan: BuildPlan, every_s: float, say: Say, *, fresh: bool) -> None:
        self._folder, self._plan, self._every_s, self._say = folder, plan, every_s, say
        # Computed now: the sources may change while the build runs.
        self._identity = identity(plan)
        if fresh:
            folder.clear()
        try:
            self.found = _find_checkpoint(folder, plan, say)
            if self.found is not None:
                folder.remove_checkpoints(but=self.found.number)
                say(f"{plan.out} continues from {self.found.describe(len(plan.patterns))}")
            elif folder.manifests():
                say(f"{plan.out} starts over: nothing in {folder.path} is whole")
        except OSError as error:
            # The fault may be over soon: nothing is removed.
            raise OutputError(
                f"the checkpoint in {folder.path} cannot be read: {error.strerror}; try again, or start over with "
                "--fresh"
            ) from error
        if self.found is None:
            folder.clear()
        self._newest = self.found
        self._start = time.monotonic()
        self._cost = plan.checkpoint_bytes / 2 / _DISK_BYTES_PER_S
        self._due = self._start + self._interval()
        self._has_failed = False

    @property
    def n_runs(self) -> int:
        """Number of runs of the build, this one included."""
        return 1 if self.found is None else self.found.n_runs + 1

    def seconds(self) -> float:
        """Return the time of the build, in all runs."""
        return (0.0 if self.found is None else self.found.seconds) + time.monotonic() - self._start

    def is_due(self) -> bool:
        """Return whether it is time for a checkpoint."""
        return time.monotonic() >= self._due

    def is_long(self) -> bool:
        """Return whether this run is so long that an interrupt should write a checkpoint."""
        return time.monotonic() - self._start >= max(self._every_s, self._cost)

    def _interval(self) -> float:
        """Return the seconds to the next checkpoint."""
        return max(self._every_s, min(_TIMES_COST * self._cost, _TIMES_INTERVAL * self._every_s))

    def keep(self, tables: Tables, search: tuple[int, SearchPosition, Arrays] | None = None) -> None:
        """Write a checkpoint: the tables in the file, and the search of a pattern.

        If it cannot be written, the build continues without; this is reported once.
        """
        begin, number = time.monotonic(), 1 if self._newest is None else self._newest.number + 1
        try:
            self._folder.remove_checkpoints(but=None if self._newest is None else self._newest.number)
            kept = None
            if search is not None:
                index, position, arrays = search
                self._check_disk(arrays)
                kept = KeptSearch(index, position, _write_arrays(self._folder, number, arrays))
            checkpoint = Checkpoint(number, self._identity, tables, kept, self.seconds(), self.n_runs)
            _write_manifest(self._folder, checkpoint)
            self._newest, self._has_failed = checkpoint, False
        except OSError as error:
            self._folder.remove_checkpoints(
                but=None if self._newest is None else self._newest.number, suppresses_errors=True
            )
            if not self._has_failed:
                self._say(f"no checkpoint of {self._plan.out}: {error.strerror}; the build continues without")
            self._has_failed = True
        self._cost = time.monotonic() - begin
        self._due = begin + self._cost + self._interval()

    def keep_tables(self, tables: Tables) -> None:
        """Write a checkpoint of all tables before the file is closed, if the build is so long that it writes any."""
        if self._newest is not None or self.is_due():
            self.keep(tables)

    def restore(self, index: int, arrays: Arrays) -> SearchPosition:
        """Fill the arrays of the search of a pattern from the checkpoint that was found. Return the position.

        Return the start, with the arrays unchanged, if the checkpoint is of another pattern. Raises `OutputError` if a
        file is no longer what it was when the checkpoint was found.
        """
        search = None if self.found is None else self.found.search
        if self.found is None or search is None or search.index != index:
            return SearchPosition()
        for name, array in arrays.items():
            path = self._folder.checkpoint_file(self.found.number, name)
            if not _fill(path, array, search.files.get(name, "")):
                raise OutputError(
                    f"the checkpoint in {self._folder.path} cannot be read as it was written: the disk or the memory "
                    "is faulty; start over with --fresh, best at another place"
                )
        return search.position

    def say_what_is_kept(self) -> None:
        """Report how to continue a build that ends too early."""
        if self._newest is not None:
            self._say(
                f"{self._plan.out} is kept up to {self._newest.describe(len(self._plan.patterns))}, in "
                f"{self._folder.path.name}; the same command continues it, or starts over with --fresh"
            )

    def _check_disk(self, arrays: Arrays) -> None:
        """Raise `OSError` if a checkpoint would take the disk space that the table file still needs."""
        n_bytes = sum(array.nbytes for array in arrays.values())
        to_write = max(0, self._plan.disk_bytes - held_table_bytes(self._plan.out))
        free = available_disk(self._folder.path)
        if n_bytes + to_write > free:
            needed = f"it needs {format_bytes(n_bytes)}, the file {format_bytes(to_write)} more"
            raise OSError(errno.ENOSPC, f"{needed}, and {format_bytes(free)} are free")


def _fill(path: Path, array: npt.NDArray[Any], sha256: str) -> bool:
    """Fill an array from a file. Return whether the bytes have that digest."""
    view = array.reshape(-1).view(np.uint8).data
    digest, done = hashlib.sha256(), 0
    with suppress(OSError), path.open("rb", buffering=0) as file:
        while done < len(view) and (n_read := file.readinto(view[done : done + _PIECE_BYTES])):
            digest.update(view[done : done + n_read])
            done += n_read
    return done == len(view) and digest.hexdigest() == sha256


class PatternCheckpoints:
    """Checkpoints of the search of the pattern at `index`.

    `written_tables` waits for the table that is being written and returns all that are in the file; it raises what the
    writer raises.
    """

    def __init__(self, build: BuildCheckpoints, index: int, say: Say, written_tables: Callable[[], Tables]) -> None:
        self._build, self._index, self._say, self._written_tables = build, index, say, written_tables

    def restore(self, arrays: Arrays) -> SearchPosition:
        """Fill the arrays from the checkpoint of an earlier run, as `BuildCheckpoints.restore` does."""
        return self._build.restore(self._index, arrays)

    def keep_if_due(self, position: SearchPosition, arrays: Arrays) -> None:
        """Write a checkpoint if it is time for one. Raises `DiskFullError` and `OutputError` of the table file."""
        if self._build.is_due():
            self._build.keep(self._written_tables(), (self._index, position, arrays))

    def finishes_level(self, level: int) -> bool:
        """Return whether an interrupted search should finish its level, because a checkpoint is worth the time."""
        if self._build.is_long():
            self._say(f"interrupted: level {level} is finished for a last checkpoint; Ctrl-C again ends without it")
        return self._build.is_long()

    def keep_at_interrupt(self, position: SearchPosition, arrays: Arrays) -> None:
        """Write a last checkpoint if the run is long."""
        if self._build.is_long():
            n_bytes = sum(array.nbytes for array in arrays.values())
            self._say(f"interrupted: writing a last checkpoint, {format_bytes(n_bytes)}; Ctrl-C again ends without it")
            with suppress(PdbError):  # of the table file; errors of the checkpoint are reported
                self._build.keep(self._written_tables(), (self._index, position, arrays))
