"""Writing the table file: under another name, synced, read back, then renamed. A reader sees the whole file or none."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from types import TracebackType

import h5py
import numpy as np

from pdb_build.search import PatternTable, Table
from pdb_core.encoding import Encoding, count_table_bytes
from pdb_core.errors import DiskFullError, OutputError, PdbError
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
from pdb_core.sharing import TableUse, own_tables

_READ_BYTES = 16 * 1024 * 1024
# Written and synced at a time: a fraction of a second, after which a cancelled build is heard of.
_WRITE_BYTES = 64 * 1024 * 1024


@contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into `DiskFullError` and `OutputError`, with the file they are about."""
    try:
        yield
    except PdbError:
        raise
    except (OSError, RuntimeError) as error:
        # HDF5 passes the system's error on in its text alone.
        text = str(error)
        number = error.errno if isinstance(error, OSError) else None
        if number in (28, 122) or "errno = 28" in text or "No space left" in text or "Disk quota" in text:
            raise DiskFullError(
                f"the disk is full, {path} was not written; make room or choose another place with --out"
            ) from error
        reason = os.strerror(number) if number else text.splitlines()[0]
        raise OutputError(f"cannot write {path}: {reason}; choose another place with --out") from error


@dataclass(frozen=True)
class _Written:
    table: PatternTable
    offset: int
    sha256: str


class TableFileWriter:
    """A table file in the making. `close` gives it its name; leaving the context without that removes it.

    Tables may come in any order and from any thread, one at a time; the bytes of the file depend on neither. `uses`
    says which patterns use the tables of others, by default none.
    """

    def __init__(
        self,
        path: Path,
        size: BoardSize,
        goal: Board,
        partition: Partition,
        encoding: Encoding,
        uses: Sequence[TableUse] | None = None,
    ) -> None:
        self.path = path
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
        self._size, self._goal, self._partition, self._encoding = size, goal, partition, encoding
        self._uses = uses or own_tables(size, len(partition.patterns))
        self._offsets: dict[int, int] = {}
        self._written: dict[int, _Written] = {}
        self._cancelled = Event()
        try:
            with writing_errors(path):
                if path.exists() and not path.is_file() and not path.is_dir():
                    # A new file of that name would take the place of a device or a pipe.
                    raise OutputError(f"cannot write {path}: it is no plain file; choose another place with --out")
                self._lay_out()
        except BaseException:
            self._remove_temporary()
            raise

    def __enter__(self) -> "TableFileWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove_temporary()

    def _remove_temporary(self) -> None:
        with suppress(OSError):  # what cannot be removed must not hide why
            self._temporary.unlink(missing_ok=True)

    def _lay_out(self) -> None:
        """Make the file with all datasets at their places, contiguous and on whole pages, and nothing in them yet."""
        self._temporary.unlink(missing_ok=True)
        with h5py.File(
            self._temporary,
            "x",
            alignment_threshold=PAGE_BYTES,
            alignment_interval=PAGE_BYTES,
            libver=("earliest", "v110"),
        ) as file:
            for index, pattern in enumerate(self._partition.patterns):
                group = file.create_group(pattern_group(index))
                if self._uses[index].index != index:
                    continue
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_layout(h5py.h5d.CONTIGUOUS)
                creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
                # Else HDF5 notes the time, and no two builds have the same bytes.
                creation.set_obj_track_times(False)
                n_bytes = count_table_bytes(self._size, pattern.n_tiles, self._encoding, self._partition.cost)
                space = h5py.h5s.create_simple((n_bytes,))
                dataset = h5py.h5d.create(group.id, TABLE_DATASET.encode(), h5py.h5t.NATIVE_UINT8, space, dcpl=creation)
                self._offsets[index] = dataset.get_offset()

    def write(self, index: int, table: PatternTable) -> None:
        """Write and sync the table of the pattern at `index`, or a part of it where `cancel` is called meanwhile.

        Raises `DiskFullError` and `OutputError`.
        """
        offset = self._offsets[index]
        digest = hashlib.sha256()
        with writing_errors(self.path):
            descriptor = os.open(self._temporary, os.O_WRONLY)
            try:
                for start in range(0, table.n_bytes, _WRITE_BYTES):
                    if self._cancelled.is_set():
                        return
                    piece = table.table[start : start + _WRITE_BYTES]
                    _write_all(descriptor, piece, offset + start)
                    os.fsync(descriptor)
                    digest.update(piece.data)
            finally:
                os.close(descriptor)
        # The table itself is not kept: the next search wants its memory.
        self._written[index] = _Written(table.without_entries(), offset, digest.hexdigest())

    def cancel(self) -> None:
        """Let a `write` in another thread end soon: the file will not be wanted."""
        self._cancelled.set()

    def close(self) -> Header:
        """Write the header, sync, read every table back, and give the file its name.

        Raises `DiskFullError`, `OutputError`, also where what is read back is not what was written.
        """
        entries: list[PatternHeader] = []
        with writing_errors(self.path):
            with h5py.File(self._temporary, "r+") as file:
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
            _sync(self._temporary)
            self._temporary.replace(self.path)
            _sync(self.path.absolute().parent)
        return header

    def _read_back(self) -> None:
        with self._temporary.open("rb") as file:
            for written in self._written.values():
                if _digest_of(file.fileno(), written.offset, written.table.n_bytes) != written.sha256:
                    raise OutputError(
                        f"what was read back of {self.path} is not what was written: the disk or the memory is faulty; "
                        f"build again at another place"
                    )


def _pattern_header(written: _Written) -> PatternHeader:
    table = written.table
    return PatternHeader(
        table.pattern, table.n_entries, table.n_bytes, table.histogram, table.n_unreached, written.sha256
    )


def _write_all(descriptor: int, table: Table, offset: int) -> None:
    view = table.data
    done = 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done:], offset + done)


def _digest_of(descriptor: int, offset: int, n_bytes: int) -> str:
    digest = hashlib.sha256()
    done = 0
    while done < n_bytes:
        piece = os.pread(descriptor, min(_READ_BYTES, n_bytes - done), offset + done)
        if not piece:
            break
        digest.update(piece)
        done += len(piece)
    return digest.hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
