"""Writing the table file: under another name, synced, read back, then renamed. A reader sees the whole file or none."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import h5py
import numpy as np

from pdb_build.durable import digest_of, sync, write_and_sync, writing_errors
from pdb_build.hdf5_writing import hdf5_file
from pdb_build.partial_folder import PartialFolder
from pdb_build.search import PatternTable
from pdb_core.encoding import Encoding
from pdb_core.errors import OutputError
from pdb_core.pattern import Partition
from pdb_core.puzzle import Board, BoardSize
from pdb_core.schema import (
    HISTOGRAM_DATASET,
    PAGE_BYTES,
    TABLE_DATASET,
    Header,
    PatternHeader,
    pattern_group,
    write_header,
)
from pdb_core.shared_tables import TableUse, own_tables
from pdb_core.table_spec import table_specs


@dataclass(frozen=True)
class WrittenTable:
    """A table that is in the file, at `offset`, and synced; `table` is without its entries."""

    table: PatternTable
    offset: int
    sha256: str


class TableFileWriter:
    """A table file in the making, in the folder of its build. `close` gives it its name.

    Tables may come in any order and from any thread, one at a time; the bytes of the file depend on neither. `uses`
    says which patterns use the tables of others, by default none. `kept` are tables that an earlier build wrote into
    the file that is in the folder, by the numbers of their patterns.

    Raises `DiskFullError` and `OutputError`.
    """

    def __init__(
        self,
        folder: PartialFolder,
        size: BoardSize,
        goal: Board,
        partition: Partition,
        encoding: Encoding,
        uses: Sequence[TableUse] | None = None,
        *,
        kept: Mapping[int, WrittenTable] | None = None,
    ) -> None:
        self.path = folder.out
        self._temporary = folder.table
        self._size, self._goal, self._partition, self._encoding = size, goal, partition, encoding
        self._specs = table_specs(goal, partition, encoding)
        self._uses = uses or own_tables(size, len(partition.patterns))
        self._offsets: dict[int, int] = {}
        self._written: dict[int, WrittenTable] = dict(kept or {})
        self._cancelled = Event()
        with writing_errors(self.path):
            self._lay_out(folder.layout if self._written else self._temporary)
            if self._written:
                self._take_layout(folder.layout)

    @property
    def written(self) -> dict[int, WrittenTable]:
        """The tables that are in the file, by the numbers of their patterns."""
        return dict(self._written)

    def _lay_out(self, path: Path) -> None:
        """Make the file with all datasets at their places, contiguous and on whole pages, and nothing in them yet."""
        path.unlink(missing_ok=True)
        with hdf5_file(
            path,
            "x",
            alignment_threshold=PAGE_BYTES,
            alignment_interval=PAGE_BYTES,
            libver=("earliest", "v110"),
        ) as file:
            for index in range(len(self._partition.patterns)):
                group = file.create_group(pattern_group(index))
                if self._uses[index].index != index:
                    continue
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_layout(h5py.h5d.CONTIGUOUS)
                creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
                # Else HDF5 notes the time, and no two builds have the same bytes.
                creation.set_obj_track_times(False)
                space = h5py.h5s.create_simple((self._n_bytes(index),))
                dataset = h5py.h5d.create(group.id, TABLE_DATASET.encode(), h5py.h5t.NATIVE_UINT8, space, dcpl=creation)
                self._offsets[index] = dataset.get_offset()

    def _n_bytes(self, index: int) -> int:
        return self._specs[index].n_bytes

    def _take_layout(self, layout: Path) -> None:
        """Put the bytes around the tables as they are in a file that was just laid out: whoever was killed while it
        closed the file had changed them.
        """
        if any(self._offsets[index] != table.offset for index, table in self._written.items()):
            raise OutputError(
                f"{self._temporary} cannot be continued: HDF5 lays out files in another way now; start over with "
                "--fresh"
            )
        end = layout.stat().st_size
        with layout.open("rb") as fresh, self._temporary.open("r+b") as file:
            place = 0
            for start, stop in sorted((at, at + self._n_bytes(index)) for index, at in self._offsets.items()):
                _copy(fresh.fileno(), file.fileno(), place, start)
                place = stop
            _copy(fresh.fileno(), file.fileno(), place, end)
            file.truncate(end)
        layout.unlink()

    def write(self, index: int, table: PatternTable) -> None:
        """Write and sync the table of the pattern at `index`, or a part of it where `cancel` is called meanwhile.

        Raises `DiskFullError` and `OutputError`.
        """
        offset = self._offsets[index]
        with writing_errors(self.path):
            descriptor = os.open(self._temporary, os.O_WRONLY)
            try:
                sha256 = write_and_sync(descriptor, table.table, offset, cancelled=self._cancelled.is_set)
            finally:
                os.close(descriptor)
        if sha256 is not None:
            # The table itself is not kept: the next search wants its memory.
            self._written[index] = WrittenTable(table.without_entries(), offset, sha256)

    def cancel(self) -> None:
        """Let a `write` in another thread end soon: the file will not be wanted."""
        self._cancelled.set()

    def close(self) -> Header:
        """Write the header, sync, read every table back, and give the file its name.

        Raises `DiskFullError`, `OutputError`, also where what is read back is not what was written.
        """
        entries: list[PatternHeader] = []
        with writing_errors(self.path):
            with hdf5_file(self._temporary, "r+") as file:
                for index, use in enumerate(self._uses):
                    if use.index != index:
                        entries.append(replace(entries[use.index], pattern=self._partition.patterns[index], use=use))
                        continue
                    written = self._written[index]
                    entries.append(_pattern_header(written))
                    histogram = np.array(written.table.histogram, dtype=np.uint64)
                    file[pattern_group(index)].create_dataset(HISTOGRAM_DATASET, data=histogram)
                header = Header(self._size, self._goal, self._partition, self._encoding, tuple(entries))
                write_header(file, header)
            self._read_back()
            sync(self._temporary)
            self._temporary.replace(self.path)
            sync(self.path.absolute().parent)
        return header

    def _read_back(self) -> None:
        with self._temporary.open("rb") as file:
            for written in self._written.values():
                if digest_of(file.fileno(), written.offset, written.table.n_bytes) != written.sha256:
                    raise OutputError(
                        f"what was read back of {self.path} is not what was written: the disk or the memory is faulty; "
                        f"build again at another place"
                    )


def _pattern_header(written: WrittenTable) -> PatternHeader:
    table = written.table
    return PatternHeader(
        table.pattern, table.n_entries, table.n_bytes, table.histogram, table.n_unreached, written.sha256
    )


def _copy(source: int, target: int, start: int, stop: int) -> None:
    """Copy a stretch of a file to the same place in another."""
    while start < stop and (piece := os.pread(source, min(stop - start, PAGE_BYTES), start)):
        start += os.pwrite(target, piece, start)
