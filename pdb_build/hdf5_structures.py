"""The HDF5 structures of a table file: all its bytes outside the user block and the tables.

HDF5 makes them in memory, and Python writes them. A write that fails inside the HDF5 library crashes the process
(docs/decisions/0039-commands-and-trust.md).
"""

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pdb_core.schema import (
    HISTOGRAM_DATASET,
    PAGE_BYTES,
    TABLE_DATASET,
    Header,
    hdf5_attributes,
    pattern_group,
    user_block_bytes,
)


class SparseFile(io.RawIOBase):
    """File in memory that holds only the pages that were written; all other bytes are 0."""

    def __init__(self) -> None:
        super().__init__()
        self._pages: dict[int, bytes] = {}
        self._position = 0
        self.n_bytes = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + (self.n_bytes if whence == os.SEEK_END else 0)
        return self._position

    def tell(self) -> int:
        return self._position

    def truncate(self, size: int | None = None) -> int:
        self.n_bytes = self._position if size is None else size
        return self.n_bytes

    def readinto(self, buffer: Any) -> int:
        buffer[:] = self.read_at(self._position, self._position + len(buffer))
        return len(buffer)

    def write(self, data: Any) -> int:
        start, stop = self._position, self._position + len(data)
        first, end = _pages_of(start, stop)
        content = bytearray(self.read_at(first * PAGE_BYTES, end * PAGE_BYTES))
        content[start - first * PAGE_BYTES : stop - first * PAGE_BYTES] = data
        for page in range(first, end):
            self._pages[page] = bytes(content[(page - first) * PAGE_BYTES :][:PAGE_BYTES])
        self.n_bytes = max(self.n_bytes, stop)
        return len(data)

    def read_at(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` to `stop`; zeros beyond the end."""
        first, end = _pages_of(start, stop)
        content = b"".join(self._pages.get(page, bytes(PAGE_BYTES)) for page in range(first, end))
        return content[start - first * PAGE_BYTES : stop - first * PAGE_BYTES]


def _pages_of(start: int, stop: int) -> tuple[int, int]:
    """Return the first page of an extent and the page after its last one."""
    return start // PAGE_BYTES, -(-stop // PAGE_BYTES)


def table_offsets(n_patterns: int, table_bytes: Mapping[int, int]) -> dict[int, int]:
    """Return where each table begins in the file; `table_bytes` has the bytes of each, by the index of its pattern."""
    return _made_by_hdf5(n_patterns, table_bytes, None)[0]


def write_header(path: Path, header: Header) -> Header:
    """Write all bytes of a file outside its tables. Return the header with its fields `file_bytes` and
    `structure_sha256`. Raises `OSError`.
    """
    tables = {index: entry.n_bytes for index, entry in header.tables.items()}
    offsets, content = _made_by_hdf5(len(header.patterns), tables, header)
    assert all(entry.offset == offsets[index] for index, entry in header.tables.items())
    header = replace(header, file_bytes=content.n_bytes)
    digest = hashlib.sha256()
    with path.open("r+b") as file:
        for start, stop in header.structure_extents():
            structures = content.read_at(start, stop)
            digest.update(structures)
            file.seek(start)
            file.write(structures)
        header = replace(header, structure_sha256=digest.hexdigest())
        file.seek(0)
        file.write(header.to_user_block())
        file.truncate(header.file_bytes)
    return header


def _made_by_hdf5(
    n_patterns: int, table_bytes: Mapping[int, int], header: Header | None
) -> tuple[dict[int, int], SparseFile]:
    """Return the offsets of the tables, and the file with what HDF5 writes for `header`, tables left out.

    Tables are the first objects, so their offsets do not depend on the header.
    """
    content, offsets = SparseFile(), {}
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
    return offsets, content


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
