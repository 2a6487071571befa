"""Writer of a table file: under another name, synced, read back, then renamed. Readers see the whole file or none.

HDF5 makes its structures, all bytes outside the user block and the tables, in memory, and Python writes them. A write
that fails inside the HDF5 library crashes the process (docs/design/table-file.md).
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import h5py
import numpy as np

from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan
from pdb_build.search import NO_ENTRIES, PatternTable
from pdb_build.sparse_file import SparseFile
from pdb_core.durable_files import put_in_place, write_and_sync, writing_errors
from pdb_core.errors import OutputError
from pdb_core.schema import (
    HISTOGRAM_DATASET,
    PAGE_BYTES,
    TABLE_DATASET,
    Header,
    PatternHeader,
    hdf5_attributes,
    pattern_group,
    user_block_bytes,
)


class TableFileWriter:
    """Writer of the table file in the folder of a build. `close` gives the file its name.

    Tables may come in any order and from any thread, one at a time; the bytes of the file depend on neither.

    written  tables that are in the file, without entries, by the index of their pattern; at first those that an earlier
             run wrote into the file in the folder

    Raises `DiskFullError` and `OutputError`.
    """

    def __init__(
        self, folder: PartialFolder, plan: BuildPlan, written: Mapping[int, PatternTable] | None = None
    ) -> None:
        self.path = folder.out
        self.written = dict(written or {})
        self._temporary, self._plan = folder.table, plan
        self.offsets = _structures(plan)[1]
        self._cancelled = Event()
        if not self.written:
            with writing_errors(self.path):
                # Not removed: a checkpoint without a table file is that of a finished build.
                self._temporary.open("wb").close()

    @property
    def searches(self) -> tuple[PatternTable, ...]:
        """Search of each pattern, without entries. Patterns that use the table of another took 0 seconds."""
        return tuple(
            self.written[index]
            if entry.use is None
            else replace(self.written[entry.use.index], spec=entry.spec, seconds=0.0)
            for index, entry in enumerate(self._plan.patterns)
        )

    def write(self, index: int, table: PatternTable) -> None:
        """Write and sync the table of the pattern at `index`, or a part of it if `cancel` is called meanwhile.

        Raises `DiskFullError` and `OutputError`.
        """
        with self.opened() as descriptor:
            sha256 = write_and_sync(descriptor, (table.table,), self.offsets[index], cancelled=self._cancelled.is_set)
        if sha256 is not None:
            self.add(index, table, sha256)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open the file in the folder for writing. Errors name the file that it will be."""
        with writing_errors(self.path), self._temporary.open("r+b", buffering=0) as file:
            yield file.fileno()

    def add(self, index: int, table: PatternTable, sha256: str) -> None:
        """Record a table that was written and synced at its offset. Its entries are not kept: they take the memory."""
        self.written[index] = replace(table, table=NO_ENTRIES, offset=self.offsets[index], sha256=sha256)

    def cancel(self) -> None:
        """Let a `write` in another thread end soon, because the file is not wanted any more."""
        self._cancelled.set()

    def close(self) -> Header:
        """Write the header, sync, read every table back, and give the file its name.

        Raises `DiskFullError`, and `OutputError`, also if the file reads back different bytes than were written.
        """
        entries = tuple(
            PatternHeader(table.spec, table.offset, table.histogram, table.sha256, entry.use)
            for table, entry in zip(self.searches, self._plan.patterns, strict=True)
        )
        with writing_errors(self.path):
            header = _write_header(self._temporary, self._plan, Header(self._plan.spec, entries, 0, ""))
            self._read_back()
            put_in_place(self._temporary, self.path)
        return header

    def _read_back(self) -> None:
        with self._temporary.open("rb") as file:
            if not all(table.is_in(file.fileno()) for table in self.written.values()):
                raise OutputError(
                    f"{self.path} reads back different bytes than were written: the disk or the memory is faulty; "
                    "build it in another place"
                )


def _write_header(path: Path, plan: BuildPlan, header: Header) -> Header:
    """Write all bytes of a file outside its tables. Return the header with its fields `file_bytes` and
    `structure_sha256`. Raises `OSError`.
    """
    content, _offsets = _structures(plan, header)
    header = replace(header, file_bytes=content.seek(0, os.SEEK_END))
    digest = hashlib.sha256()
    with path.open("r+b") as file:
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


def _structures(plan: BuildPlan, header: Header | None = None) -> tuple[SparseFile, dict[int, int]]:
    """Return what HDF5 writes for `header`, tables left out, and the offset of each table, by its pattern.

    Tables are the first objects, so their offsets do not depend on the header.
    """
    content, offsets = SparseFile(), {}
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
    return content, offsets


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
