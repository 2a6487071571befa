"""Rows of bits, one for each block, in memory or partly in a temporary file. They become a table of bits.

A search of bits has two rows per block: one of the frontier, and one with bit 1 of the distances found so far. This
module holds the second kind. A level reads and writes the rows of the blocks that receive states, slab after slab, so
rows in the order of slabs are read and written sequentially. See docs/decisions/0029.
"""

import mmap
import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from threading import local
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.durable_files import read_all, write_all, writing_errors

Rows = npt.NDArray[np.uint64]
Slab = npt.NDArray[np.int64]

# Rows are divided into pieces of at most this size, each in memory or in the file. A checkpoint has a file per piece.
PIECE_BYTES = 256 * 1024 * 1024
# The system reads the rows of a slab from the disk while the slabs before it are searched.
_SLABS_AHEAD = 8


@dataclass(frozen=True)
class Spill:
    """Request to keep rows in a file in `folder`: at least `n_bytes` of them, or all, and less than a piece more."""

    folder: Path
    n_bytes: int


class BitRows:
    """Rows of `n_row` 64-bit integers for all blocks, initially 0.

    `slabs` are lists of slabs, those of a level in one list; each block is in one slab. Threads may use the rows of
    different slabs at the same time. The file of `spill` has no name: it ends with this object or with the process.

    Raises `DiskFullError` and `OutputError` if the file cannot be made.
    """

    def __init__(self, slabs: list[list[Slab]], n_row: int, spill: Spill | None = None) -> None:
        self.slabs = [slab for of_level in slabs for slab in of_level]
        groups = [group for of_level in slabs for group in _groups(of_level, n_row)]
        n_rows = [sum(map(len, group)) for group in groups]
        spilled = () if spill is None else _choose(n_rows, n_row * 8, spill.n_bytes)
        file = None
        if spill is not None and spilled:
            file = _RowFile(spill.folder, sum(n_rows[number] for number in spilled), n_row)
        self._pieces: list[_MemoryPiece | _FilePiece] = []
        self._places: dict[int, tuple[_MemoryPiece | _FilePiece, int]] = {}
        for number, group in enumerate(groups):
            piece: _MemoryPiece | _FilePiece
            if file is not None and number in spilled:
                piece = _FilePiece(file, sum(n_rows[other] for other in spilled if other < number), n_rows[number])
            else:
                piece = _MemoryPiece(n_rows[number], n_row)
            self._pieces.append(piece)
            for slab, start in zip(group, np.cumsum([0, *map(len, group)]).tolist(), strict=False):
                self._places[int(slab[0])] = piece, start

    def read(self, slab: Slab) -> Rows:
        """Return the rows of a slab, uint64[len(slab), n_row]. They are valid until this thread reads another slab.

        Raises `OutputError`.
        """
        piece, start = self._places[int(slab[0])]
        return piece.read(start, start + len(slab))

    def write(self, slab: Slab, rows: Rows) -> None:
        """Store the rows that `read` returned for this slab, after a change.

        Raises `DiskFullError` and `OutputError`.
        """
        piece, start = self._places[int(slab[0])]
        piece.write(start, rows)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all rows as views, by name. Names and shapes do not depend on where the rows are."""
        return {f"bits-{number}": piece.array() for number, piece in enumerate(self._pieces)}


class _MemoryPiece:
    """Rows of consecutive slabs of one parity, in memory. `read` returns views."""

    def __init__(self, n_rows: int, n_row: int) -> None:
        self._rows = np.zeros((n_rows, n_row), dtype=np.uint64)

    def read(self, start: int, stop: int) -> Rows:
        return self._rows[start:stop]

    def write(self, start: int, rows: Rows) -> None:
        pass

    def array(self) -> Rows:
        return self._rows


class _FilePiece:
    """Rows of consecutive slabs of one parity, in a file from row `first` on. `read` returns copies."""

    def __init__(self, file: "_RowFile", first: int, n_rows: int) -> None:
        self._file, self._first, self._n_rows = file, first, n_rows

    def read(self, start: int, stop: int) -> Rows:
        return self._file.read(self._first + start, self._first + stop)

    def write(self, start: int, rows: Rows) -> None:
        self._file.write(self._first + start, rows)

    def array(self) -> Rows:
        return self._file.view(self._first, self._first + self._n_rows)


class _RowFile:
    """File of rows, without a name. Reads and writes, unlike accesses to a mapping, raise exceptions on disk errors."""

    def __init__(self, folder: Path, n_rows: int, n_row: int) -> None:
        with writing_errors(folder):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
            # Reserve the disk now, so that it cannot be full in the middle of the search.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file.fileno(), 0, n_rows * n_row * 8)
            else:
                self._file.truncate(n_rows * n_row * 8)
        self._folder, self._n_row = folder, n_row
        self._buffers = local()

    def read(self, start: int, stop: int) -> Rows:
        """Read rows into the buffer of this thread."""
        size = (stop - start) * self._n_row
        if not hasattr(self._buffers, "rows") or self._buffers.rows.size < size:
            self._buffers.rows = np.empty(size, dtype=np.uint64)
        rows: Rows = self._buffers.rows[:size].reshape(-1, self._n_row)
        offset = start * self._n_row * 8
        if hasattr(os, "posix_fadvise"):
            ahead = offset + _SLABS_AHEAD * rows.nbytes
            os.posix_fadvise(self._file.fileno(), ahead, rows.nbytes, os.POSIX_FADV_WILLNEED)
        with writing_errors(self._folder):
            read_all(self._file.fileno(), _bytes_of(rows), offset)
        return rows

    def write(self, start: int, rows: Rows) -> None:
        """Write rows from `start` on."""
        with writing_errors(self._folder):
            write_all(self._file.fileno(), _bytes_of(rows), start * self._n_row * 8)

    def view(self, start: int, stop: int) -> Rows:
        """Map rows: a checkpoint reads them like arrays in memory."""
        offset = start * self._n_row * 8
        before = offset % mmap.ALLOCATIONGRANULARITY
        n_bytes = (stop - start) * self._n_row * 8
        memory = mmap.mmap(self._file.fileno(), before + n_bytes, offset=offset - before)
        return np.frombuffer(memory, dtype=np.uint64, offset=before).reshape(-1, self._n_row)


def _bytes_of(rows: Rows) -> memoryview:
    return rows.reshape(-1).view(np.uint8).data


def _groups(slabs: list[Slab], n_row: int) -> list[list[Slab]]:
    """Group consecutive slabs of one parity into pieces."""
    if not slabs:
        return []
    n_slabs = max(1, PIECE_BYTES // (len(slabs[0]) * n_row * 8))
    return [slabs[start : start + n_slabs] for start in range(0, len(slabs), n_slabs)]


def _choose(n_rows: list[int], row_bytes: int, n_bytes: int) -> tuple[int, ...]:
    """Choose the pieces that are kept in a file: as many of each parity, so that all levels use the disk alike."""
    half = max(1, len(n_rows) // 2)
    chosen, to_spill = [], n_bytes
    for number in sorted(range(len(n_rows)), key=lambda number: number % half):
        if to_spill > 0:
            chosen.append(number)
            to_spill -= n_rows[number] * row_bytes
    return tuple(sorted(chosen))
