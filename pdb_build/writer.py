"""Writer of a table file: under another name, synced, then renamed. Readers see the whole file or none.

HDF5 makes its structures, all bytes outside the user block and the tables, in memory, and Python writes them. A write
that fails inside the HDF5 library crashes the process (docs/design/tables.md).

After each table, the *checkpoint*, a line of JSON with its SHA-256, records the finished tables and the options of the
build, so that a later run continues with the next one.
"""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np

from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan
from pdb_build.report import BuildResult, write_report
from pdb_build.search import NO_ENTRIES, PatternTable
from pdb_core.continuing import check_settings
from pdb_core.durable_files import bytes_of, digest_of, put_in_place, read_signed_line, signed_line, writing_errors
from pdb_core.errors import OutputError
from pdb_core.resources import peak_memory
from pdb_core.schema import (
    FORMAT_VERSION,
    HISTOGRAM_DATASET,
    PAGE_BYTES,
    TABLE_DATASET,
    Header,
    PatternHeader,
    hdf5_attributes,
    pattern_group,
    user_block_bytes,
)

Say = Callable[[str], None]

# A new number when a search gives other bytes, or the checkpoint holds something else.
BUILDER_VERSION = 1
_MOST_CHECKPOINT_BYTES = 1 << 24
# Attributes of a `PatternTable` in the checkpoint.
_KEPT = ("histogram", "states_per_depth", "seconds", "sha256")


class TableFileWriter:
    """Writer of the table file in the folder of a build. `finish` gives the file its name.

    Tables may come in any order and from any thread, one at a time; the bytes of the file depend on neither.

    written  tables that are in the file, without entries, by the index of their pattern; at first those that an earlier
             run wrote into the file in the folder, if `fresh` does not remove them

    Raises `DiskFullError`, `OutputError`, and `CheckpointMismatchError` if the folder has tables of another build.
    """

    def __init__(self, folder: PartialFolder, plan: BuildPlan, say: Say, *, fresh: bool) -> None:
        self._folder, self._plan, self._say = folder, plan, say
        with writing_errors(folder.out), _memory_file() as content:
            self._offsets = _write_structures(content, plan)
        self.written: dict[int, PatternTable] = {}
        self._start = time.monotonic()
        if not fresh:
            self._continue()
        if not self.written:
            folder.clear()
            with writing_errors(folder.out):
                folder.table.open("wb").close()

    @property
    def missing(self) -> list[int]:
        """Indices of the patterns whose tables are still to be searched and written."""
        return [index for index in self._offsets if index not in self.written]

    def _continue(self) -> None:
        """Find the tables of an earlier run, and report them. Raises `OutputError`, `CheckpointMismatchError`."""
        folder = self._folder
        try:
            with folder.checkpoint.open("rb") as checkpoint, folder.table.open("rb") as file:
                text = read_signed_line(checkpoint, _MOST_CHECKPOINT_BYTES)
                content = json.loads(text or '{"tables": {}}')
                if text is not None:
                    check_settings(
                        folder.path, content["build"], self._identity(), "start over with --fresh (fresh=True)"
                    )
                for index, fields in content["tables"].items():
                    spec, offset = self._plan.patterns[int(index)].spec, self._offsets[int(index)]
                    if digest_of(file, offset, spec.n_bytes) == fields["sha256"]:
                        histogram, states, *others = (fields[name] for name in _KEPT)
                        self.written[int(index)] = PatternTable(
                            spec, NO_ENTRIES, tuple(histogram), tuple(states), *others
                        )
        except FileNotFoundError:  # with a checkpoint alone, the file got its name, and only the folder was left
            return
        except OSError as error:
            # The fault may be over soon: nothing is removed.
            raise OutputError(
                f"the tables in {folder.path} cannot be read: {error.strerror}; try again, or start over with --fresh "
                "(fresh=True)"
            ) from error
        if self.written:
            self._say(f"{folder.out} continues: {self._n_kept()}")
        else:
            self._say(f"{folder.out} starts over: nothing in {folder.path} is whole")

    def _identity(self) -> dict[str, str]:
        """Return what two runs must have in common for one to continue the other. The keys appear in messages."""
        spec = self._plan.spec
        return {
            "size": str(spec.size),
            "partition": str(spec.partition),
            "name of the partition": spec.partition.name,
            "goal": " ".join(map(str, spec.goal)),
            "encoding": spec.encoding,
            "cost": spec.cost,
            "version of the table file": str(FORMAT_VERSION),
            "version of the builder": str(BUILDER_VERSION),
        }

    def _n_kept(self) -> str:
        return f"{len(self.written)} of {len(self._offsets)} tables are finished"

    def say_what_is_kept(self) -> None:
        """Report how to continue a build that ends too early."""
        if self._folder.keeps_tables:
            self._say(
                f"{self._folder.out}: {self._n_kept()} and kept in {self._folder.path.name}; the same build continues, "
                "or starts over with --fresh (fresh=True)"
            )

    def write(self, index: int, table: PatternTable) -> None:
        """Write and sync the table of the pattern at `index`, and record it. Raises `DiskFullError`, `OutputError`."""
        with writing_errors(self._folder.out):
            with self._folder.table.open("r+b") as file:
                file.seek(self._offsets[index])
                file.write(bytes_of(table.table))
                file.flush()
                os.fsync(file.fileno())
            sha256 = hashlib.sha256(bytes_of(table.table)).hexdigest()
            # The entries are not kept: they take the memory.
            self.written[index] = replace(table, table=NO_ENTRIES, sha256=sha256)
            tables = {of: {name: getattr(found, name) for name in _KEPT} for of, found in self.written.items()}
            content = json.dumps({"build": self._identity(), "tables": tables})
            self._folder.write(signed_line(content.encode()), self._folder.checkpoint)
        self._folder.keeps_tables = True

    def finish(self) -> BuildResult:
        """Write the header, sync, give the file its name, and write the report.

        Raises `DiskFullError`, `OutputError`.
        """
        plan, folder = self._plan, self._folder
        searches, entries = list[PatternTable](), list[PatternHeader]()
        for index, entry in enumerate(plan.patterns):
            at = index if entry.use is None else entry.use.index
            table = self.written[at]
            # A pattern that uses the table of another took 0 seconds.
            searches.append(table if entry.use is None else replace(table, spec=entry.spec, seconds=0.0))
            entries.append(PatternHeader(entry.spec, self._offsets[at], table.histogram, table.sha256, entry.use))
        with writing_errors(folder.out):
            header = _write_header(folder.table, plan, Header(plan.spec, tuple(entries), 0, ""))
            put_in_place(folder.table, folder.out)
        result = BuildResult(plan, header, tuple(searches), time.monotonic() - self._start, peak_memory())
        folder.clear()  # the checkpoint is not needed, even if the report cannot be written
        write_report(result, folder)
        return result


def _write_header(path: Path, plan: BuildPlan, header: Header) -> Header:
    """Write all bytes of a file outside its tables. Return the header with its fields `file_bytes` and
    `structure_sha256`. Raises `OSError`.
    """
    digest = hashlib.sha256()
    with _memory_file() as content, path.open("r+b") as file:
        _write_structures(content, plan, header)
        header = replace(header, file_bytes=content.seek(0, os.SEEK_END))
        for start, stop in header.structure_extents():
            content.seek(start)
            structures = content.read(stop - start)
            digest.update(structures)
            file.seek(start)
            file.write(structures)
        header = replace(header, structure_sha256=digest.hexdigest())
        file.seek(0)
        file.write(header.to_user_block())
        file.truncate(header.file_bytes)
    return header


def _memory_file() -> BinaryIO:
    """Return an empty file in memory, of which only pages that are written take memory.

    On systems other than Linux, it is in the folder for temporary files.
    """
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("structures"), "w+b")
    return tempfile.TemporaryFile()


def _write_structures(content: BinaryIO, plan: BuildPlan, header: Header | None = None) -> dict[int, int]:
    """Let HDF5 write into an empty file, without the tables. Return the offset of each table, by its pattern.

    Tables are the first objects, so their offsets do not depend on the header.
    """
    offsets = {}
    with h5py.File(
        content,
        "w",
        userblock_size=user_block_bytes(len(plan.patterns)),
        alignment_threshold=PAGE_BYTES,
        alignment_interval=PAGE_BYTES,
        libver=("earliest", "v110"),
    ) as file:
        for index, entry in enumerate(plan.patterns):
            group = file.create_group(pattern_group(index))
            if entry.use is None:
                offsets[index] = _create_table(group, entry.n_bytes)
        if header is not None:
            for index, table in header.tables.items():
                histogram = np.array(table.histogram, dtype=np.uint64)
                file[pattern_group(index)].create_dataset(HISTOGRAM_DATASET, data=histogram)
            for group, attributes in hdf5_attributes(header).items():
                file[group].attrs.update(attributes)
    return offsets


def _create_table(group: h5py.Group, n_bytes: int) -> int:
    """Create the dataset of a table, contiguous and on whole pages, and return its offset in the file."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.CONTIGUOUS)
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    # HDF5 would note the time otherwise, and no two builds would have the same bytes.
    creation.set_obj_track_times(False)
    space = h5py.h5s.create_simple((n_bytes,))
    dataset = h5py.h5d.create(group.id, TABLE_DATASET.encode(), h5py.h5t.NATIVE_UINT8, space, dcpl=creation)
    return int(dataset.get_offset())
