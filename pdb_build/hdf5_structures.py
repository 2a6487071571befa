"""The HDF5 structures of a table file: all its bytes outside the user block and the tables.

HDF5 makes them in memory, and Python writes them. A write that fails inside the HDF5 library crashes the process
(docs/decisions/0039-commands-and-trust.md).
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

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


def table_offsets(n_patterns: int, table_bytes: Mapping[int, int]) -> dict[int, int]:
    """Return where each table begins in the file; `table_bytes` has the bytes of each, by the index of its pattern."""
    with _file_in_memory() as content:
        return _write_structures(content, n_patterns, table_bytes, None)


def write_header(path: Path, header: Header) -> Header:
    """Write all bytes of a file outside its tables. Return the header with its fields `file_bytes` and
    `structure_sha256`. Raises `OSError`.
    """
    tables = {index: entry.n_bytes for index, entry in header.tables.items()}
    digest = hashlib.sha256()
    with path.open("r+b") as file, _file_in_memory() as content:
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


def _file_in_memory() -> BinaryIO:
    """Return a file without a name. Only the pages that are written take memory."""
    return open(os.memfd_create("structures"), "w+b")  # noqa: PTH123


def _write_structures(
    content: BinaryIO, n_patterns: int, table_bytes: Mapping[int, int], header: Header | None
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
