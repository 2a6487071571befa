"""Checkpoint of a build: its content, when it is written, and how a later run finds it.

It is written between two levels of a search, as one file that replaces the checkpoint before when it is synced:

    manifest     a line of JSON: options and builder, finished tables, position of the search
    digest       a line: SHA-256 of the manifest
    arrays       of the search, one after another
    digest       SHA-256 of the arrays
"""

import errno
import json
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import h5py

from pdb_build.level_search import Arrays
from pdb_build.partial_folder import PartialFolder, held_table_bytes
from pdb_build.plan import BuildPlan
from pdb_build.search import NO_ENTRIES, PatternTable, SearchCheckpoints, SearchPosition
from pdb_core.durable_files import (
    DIGEST_DIGITS,
    bytes_of,
    digest_of,
    put_in_place,
    read_all,
    read_signed_line,
    signed_line,
    sync,
    write_and_sync,
    writing_errors,
)
from pdb_core.errors import CheckpointMismatchError, OutputError
from pdb_core.jit import program_version
from pdb_core.messages import format_bytes, shorten
from pdb_core.resources import available_disk

Say = Callable[[str], None]
Tables = dict[int, PatternTable]

# A new number when the arrays of a search hold something else: the digest of the kernels does not cover their glue.
_FORMAT = "tile-pdb checkpoint 3"
_MAX_MANIFEST_BYTES = 1 << 24
# Checkpoints are at least 20 times as far apart as one takes, so that they cost a twentieth of the time. They are at
# most 10 times as far apart as requested: on very slow disks they cost more.
_TIMES_COST = 20
_TIMES_INTERVAL = 10
# Assumed speed of the disk until the first checkpoint is written.
_DISK_BYTES_PER_S = 500_000_000


@dataclass(frozen=True)
class BuildCheckpoint:
    """State of a build that another run can continue from.

    tables    tables in the table file, by the index of their pattern
    index     of the pattern whose search is under way, None if there is none
    position  of that search
    seconds   time of the build so far, in `n_runs` runs
    """

    tables: Tables
    index: int | None
    position: SearchPosition
    seconds: float
    n_runs: int

    def describe(self, n_patterns: int) -> str:
        """Return the progress in words."""
        if self.index is None:
            return f"the end of pattern {max(self.tables) + 1} of {n_patterns}"
        return f"level {self.position.level} of pattern {self.index + 1} of {n_patterns}"

    def to_manifest(self, build: dict[str, str]) -> bytes:
        """Return the manifest and its digest, a line each. `build` is the identity of the build."""
        names = ("histogram", "states_per_depth", "seconds", "offset", "sha256")
        tables = {index: {name: getattr(table, name) for name in names} for index, table in self.tables.items()}
        content = asdict(replace(self, tables={})) | {"format": _FORMAT, "build": build, "tables": tables}
        return signed_line(json.dumps(content).encode())


def _read_manifest(file: BinaryIO, plan: BuildPlan, folder: Path) -> BuildCheckpoint | None:
    """Return the checkpoint of a manifest, None if it is damaged. Raises `OSError`, `CheckpointMismatchError`."""
    text = read_signed_line(file, _MAX_MANIFEST_BYTES)
    if text is None:
        return None
    # A builder wrote the rest, maybe of another version.
    content = json.loads(text, object_hook=_with_tuples)
    _check_identity(content, plan, folder)
    tables = {
        int(index): PatternTable(plan.patterns[int(index)].spec, NO_ENTRIES, **table)
        for index, table in content["tables"].items()
    }
    position = SearchPosition(**content["position"])
    return BuildCheckpoint(tables, content["index"], position, content["seconds"], content["n_runs"])


def _with_tuples(record: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}


def identity(plan: BuildPlan) -> dict[str, str]:
    """Return what two runs must have in common for one to continue the other. The keys appear in messages."""
    version, kernels = program_version()
    return {
        "size": str(plan.spec.size),
        "partition": str(plan.spec.partition),
        "name of the partition": plan.spec.partition.name,
        "goal": " ".join(map(str, plan.spec.goal)),
        "encoding": plan.spec.encoding,
        "cost": plan.spec.cost,
        "version of tile-pdb": f"{version} {kernels[:12]}",
        "version of HDF5": h5py.version.hdf5_version,
        "byte order": sys.byteorder,
    }


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
            "it, or start over (fresh), which removes it"
        )


def refuse_checkpoint(folder: PartialFolder, *, fresh: bool) -> None:
    """Raise `CheckpointMismatchError` if there is a checkpoint, for builds that cannot use one; remove it if `fresh`.

    Raises `OutputError`.
    """
    with writing_errors(folder.out):
        has_checkpoint = folder.checkpoint.exists()
    if has_checkpoint and not fresh:
        raise CheckpointMismatchError(
            f"{folder.path} has a checkpoint of a build on one machine, which a cluster cannot continue: "
            "build without a cluster, or start over (fresh), which removes it"
        )
    folder.clear()


def _has_whole_arrays(file: BinaryIO) -> bool:
    """Return whether the arrays that begin at the position of the file are as they were written. Raises `OSError`."""
    start, stop = file.tell(), file.seek(0, os.SEEK_END) - DIGEST_DIGITS
    file.seek(max(start, stop))
    return digest_of(file.fileno(), start, stop - start).encode() == file.read()


def _write(path: Path, manifest: bytes, arrays: Arrays) -> None:
    """Write a checkpoint. Raises `OSError`."""
    with path.open("wb") as file:
        file.write(manifest)
        file.flush()
        digest = write_and_sync(file.fileno(), arrays, len(manifest))
        file.seek(0, os.SEEK_END)
        file.write(str(digest).encode())


class BuildCheckpoints(SearchCheckpoints):
    """Checkpoints of one build: the one that it continues from, and those that it writes, `every_s` seconds apart.

    found  the checkpoint of an earlier run; without tables and runs if there is none. With `fresh` it is removed.

    Raises `CheckpointMismatchError`, `OutputError`.
    """

    def __init__(self, folder: PartialFolder, plan: BuildPlan, every_s: float, say: Say, *, fresh: bool) -> None:
        self._folder, self._plan, self._every_s, self._say = folder, plan, every_s, say
        # Computed now: the sources may change while the build runs.
        self._identity = identity(plan)
        if fresh:
            folder.clear()
        try:
            found = self._find()
        except OSError as error:
            # The fault may be over soon: nothing is removed.
            raise OutputError(
                f"the checkpoint in {folder.path} cannot be read: {error.strerror}; try again, or start over (fresh)"
            ) from error
        if found is None:
            folder.clear()
        self.found = found or BuildCheckpoint({}, None, SearchPosition(), 0.0, 0)
        self._start = time.monotonic()
        self._cost = plan.checkpoint_bytes / 2 / _DISK_BYTES_PER_S
        self._due = self._start + self._interval()
        self._has_failed = False

    @property
    def n_runs(self) -> int:
        """Number of runs of the build, this one included."""
        return self.found.n_runs + 1

    def seconds(self) -> float:
        """Return the time of the build, in all runs."""
        return self.found.seconds + time.monotonic() - self._start

    def of_pattern(self, index: int, tables: Callable[[], Tables]) -> Self:
        """Return this object for the search of a pattern. `tables` returns those that are in the file by then."""
        self._index, self._tables = index, tables
        return self

    def finishes_level(self, level: int) -> bool:
        is_worth_it = time.monotonic() - self._start > max(self._every_s, self._cost)
        if is_worth_it:
            self._due = -math.inf
            self._say(f"interrupted: finishing level {level} for a last checkpoint; Ctrl-C again ends without it")
        return is_worth_it

    def keep(self, position: SearchPosition, arrays: Arrays) -> None:
        """Write a checkpoint if it is due. If it cannot be written, the build continues without; report this once.

        After Ctrl-C it is written, too; then the exception is raised.
        """
        if time.monotonic() < self._due:
            return
        interrupt, is_last = None, self._due == -math.inf
        tables = self._tables()
        begin, new = time.monotonic(), self._folder.checkpoint.with_suffix(".new")
        checkpoint = BuildCheckpoint(tables, self._index, position, self.seconds(), self.n_runs)

        def write() -> None:
            _write(new, checkpoint.to_manifest(self._identity), arrays)
            put_in_place(new, self._folder.checkpoint)

        try:
            self._check_disk(arrays)
            try:
                write()
            except KeyboardInterrupt as error:
                if is_last:
                    raise
                interrupt = error
                self._say("interrupted: writing a last checkpoint; Ctrl-C again ends without it")
                write()
            self._has_failed = False
            sync(self._folder.path.parent)
        except OSError as error:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            if not self._has_failed:
                self._say(f"no checkpoint of {self._plan.out}: {error.strerror}; the build continues without")
            self._has_failed = True
        self._cost = time.monotonic() - begin
        self._due = begin + self._cost + self._interval()
        if interrupt is not None:
            raise interrupt

    def restore(self, arrays: Arrays) -> SearchPosition:
        """Fill the arrays of the search from the checkpoint that was found, if it is of this pattern.

        Raises `OutputError`.
        """
        if self.found.index != self._index:
            return SearchPosition()
        with suppress(OSError), self._folder.checkpoint.open("rb") as file:
            _lines, offset = (file.readline(), file.readline()), file.tell()
            for view in map(bytes_of, arrays):
                read_all(file.fileno(), view, offset)
                offset += len(view)
            return self.found.position
        raise OutputError(
            f"the checkpoint in {self._folder.path} cannot be read: the disk is faulty; start over (fresh), best "
            "at another place"
        )

    def say_what_is_kept(self) -> None:
        """Report how to continue a build that ends too early."""
        # From the file: a signal may have come while a checkpoint got its name.
        with suppress(OSError, CheckpointMismatchError), self._folder.checkpoint.open("rb") as file:
            newest = _read_manifest(file, self._plan, self._folder.path)
            if newest is not None:
                if newest.n_runs == self.found.n_runs:  # of an earlier run; a part of it may be damaged
                    newest = self.found
                self._say(
                    f"{self._plan.out} is kept up to {newest.describe(len(self._plan.patterns))}, in "
                    f"{self._folder.path.name}; the same build continues it, or starts over (fresh)"
                )

    def _find(self) -> BuildCheckpoint | None:
        """Return the checkpoint in the folder, only its whole tables if the rest is damaged, or None.

        Raises `CheckpointMismatchError`, `OSError`.
        """
        folder, out = self._folder, self._plan.out
        # Without a table file, that got its name, and only the folder was left to be removed.
        if not folder.checkpoint.exists() or not folder.table.exists():
            return None
        with folder.checkpoint.open("rb") as file, folder.table.open("rb") as table_file:
            found = _read_manifest(file, self._plan, folder.path)
            if found is not None:
                tables = {index: table for index, table in found.tables.items() if table.is_in(table_file.fileno())}
                if not _has_whole_arrays(file) or len(tables) < len(found.tables):
                    found = replace(found, tables=tables, index=None) if tables else None
        if found is None:
            self._say(f"{out} starts over: nothing in {folder.path} is whole")
        else:
            self._say(f"{out} continues from {found.describe(len(self._plan.patterns))}")
        return found

    def _interval(self) -> float:
        """Return the seconds to the next checkpoint."""
        return max(self._every_s, min(_TIMES_COST * self._cost, _TIMES_INTERVAL * self._every_s))

    def _check_disk(self, arrays: Arrays) -> None:
        """Raise `OSError` if a checkpoint would take the disk space that the table file still needs."""
        n_bytes = sum(array.nbytes for array in arrays)
        to_write = max(0, self._plan.disk_bytes - held_table_bytes(self._plan.out))
        free = available_disk(self._folder.path)
        if n_bytes + to_write > free:
            needed = f"it needs {format_bytes(n_bytes)}, the file {format_bytes(to_write)} more"
            raise OSError(errno.ENOSPC, f"{needed}, and {format_bytes(free)} are free")
