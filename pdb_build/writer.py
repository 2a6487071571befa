"""Writer of a table file: under another name, synced, read back, then renamed. Readers see the whole file or none.

HDF5 makes its structures, all bytes outside the user block and the tables, in memory, and Python writes them. A write
that fails inside the HDF5 library crashes the process (docs/decisions/table-file.md).
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import h5py
import numpy as np

from pdb_build.partial_folder import PartialFolder
from pdb_build.search import PatternTable
from pdb_build.sparse_file import SparseFile
from pdb_core import system
from pdb_core.durable_files import sync, write_and_sync, writing_errors
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
from pdb_core.shared_tables import TableUse
from pdb_core.table_spec import DatabaseSpec


class TableFileWriter:
    """Writer of the table file in the folder of a build. `close` gives the file its name.

    Tables may come in any order and from any thread, one at a time; the bytes of the file depend on neither. `uses`
    names the table of each pattern. `kept` are tables that an earlier run wrote into the file in the folder, by the
    index of their pattern.

    Raises `DiskFullError` and `OutputError`.
    """

    def __init__(
        self,
        folder: PartialFolder,
        spec: DatabaseSpec,
        uses: Sequence[TableUse],
        *,
        kept: Mapping[int, PatternTable] | None = None,
    ) -> None:
        self.path = folder.out
        self._temporary = folder.table
        self._spec, self._uses = spec, uses
        n_bytes = {index: table.n_bytes for index, table in enumerate(spec.tables) if uses[index].index == index}
        with writing_errors(self.path):
            self._offsets = _table_offsets(len(uses), n_bytes)
        self._written = dict(kept or {})
        self._cancelled = Event()
        if any(self._offsets[index] != table.offset for index, table in self._written.items()):
            raise OutputError(
                f"{self._temporary} cannot be continued: this version of HDF5 lays out files in another way; start "
                "over with --fresh"
            )
        if not self._written:
            with writing_errors(self.path):
                self._temporary.unlink(missing_ok=True)
                self._temporary.touch(exist_ok=False)

    @property
    def written(self) -> dict[int, PatternTable]:
        """Tables that are in the file, without entries, by the index of their pattern."""
        return dict(self._written)

    @property
    def searches(self) -> tuple[PatternTable, ...]:
        """Search of each pattern, without entries. Patterns that use the table of another took 0 seconds."""
        return tuple(
            self._written[index] if use.index == index else replace(self._written[use.index], spec=spec, seconds=0.0)
            for index, (use, spec) in enumerate(zip(self._uses, self._spec.tables, strict=True))
        )

    def write(self, index: int, table: PatternTable) -> None:
        """Write and sync the table of the pattern at `index`, or a part of it if `cancel` is called meanwhile.

        Raises `DiskFullError` and `OutputError`.
        """
        with writing_errors(self.path):
            descriptor = os.open(self._temporary, os.O_WRONLY | system.BINARY)
            try:
                sha256 = write_and_sync(descriptor, table.table, self._offsets[index], cancelled=self._cancelled.is_set)
            finally:
                os.close(descriptor)
        if sha256 is not None:
            self.add(index, table, sha256)

    def offset(self, index: int) -> int:
        """Return the offset of a table in the file, for processes that write it there themselves."""
        return self._offsets[index]

    def add(self, index: int, table: PatternTable, sha256: str) -> None:
        """Record a table that was written and synced at its offset. Its entries are not kept: they take the memory."""
        self._written[index] = replace(table.without_entries(), offset=self._offsets[index], sha256=sha256)

    def cancel(self) -> None:
        """Let a `write` in another thread end soon, because the file is not wanted any more."""
        self._cancelled.set()

    def close(self) -> Header:
        """Write the header, sync, read every table back, and give the file its name.

        Raises `DiskFullError`, and `OutputError`, also if the file reads back different bytes than were written.
        """
        entries = tuple(
            PatternHeader(
                table.spec, table.offset, table.histogram, table.n_unreached, table.sha256,
                None if use.index == index else use,
            )
            for index, (table, use) in enumerate(zip(self.searches, self._uses, strict=True))
        )  # fmt: skip
        with writing_errors(self.path):
            header = _write_header(self._temporary, Header(self._spec, entries, 0, ""))
            self._read_back()
            sync(self._temporary)
            self._temporary.replace(self.path)
            sync(self.path.absolute().parent)
        return header

    def _read_back(self) -> None:
        with self._temporary.open("rb") as file:
            if not all(table.is_in(file.fileno()) for table in self._written.values()):
                raise OutputError(
                    f"{self.path} reads back different bytes than were written: the disk or the memory is faulty; "
                    "build it in another place"
                )


def _table_offsets(n_patterns: int, table_bytes: Mapping[int, int]) -> dict[int, int]:
    """Return where each table begins in the file; `table_bytes` has the bytes of each, by the index of its pattern."""
    with SparseFile() as content:
        return _write_structures(content, n_patterns, table_bytes, None)


def _write_header(path: Path, header: Header) -> Header:
    """Write all bytes of a file outside its tables. Return the header with its fields `file_bytes` and
    `structure_sha256`. Raises `OSError`.
    """
    tables = {index: entry.n_bytes for index, entry in header.tables.items()}
    digest = hashlib.sha256()
    with path.open("r+b") as file, SparseFile() as content:
        offsets = _write_structures(content, len(header.patterns), tables, header)
        assert all(entry.offset == offsets[index] for index, entry in header.tables.items())
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


def _write_structures(
    content: SparseFile, n_patterns: int, table_bytes: Mapping[int, int], header: Header | None
) -> dict[int, int]:
    """Write what HDF5 writes for `header`, tables left out. Return the offsets of the tables.

    Tables are the first objects, so their offsets do not depend on the header.
    """
    offsets = {}
    with h5py.File(
        content,
        "w",
        userblock_size=user_block_bytes(n_patterns),
        alignment_threshold=PAGE_BYTES,
        alignment_interval=PAGE_BYTES,
        libver=("earliest", "v110"),
    ) as file:
        for index in range(n_patterns):
            group = file.create_group(pattern_group(index))
            if index in table_bytes:
                offsets[index] = _create_table(group, table_bytes[index])
        if header is not None:
            for index, entry in header.tables.items():
                histogram = np.array(entry.histogram, dtype=np.uint64)
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
