"""Rows of bits, one for each block, in memory or partly in a temporary file. They become a table of bits.

A search of bits has two rows per block: one of the frontier, and one with bit 1 of the distances found so far. This
module holds the second kind. A level reads and writes the rows of the blocks that receive states, slab after slab, so
rows in the order of slabs are read and written sequentially. See docs/design/builder.md.
"""

import tempfile
import weakref
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from pdb_core import system
from pdb_core.durable_files import bytes_of, read_all, write_all, writing_errors
from pdb_core.types import Int64s, UInt64s

# The system reads the rows of a slab from the disk while the slabs before it are searched. Every second slab counts.
_SLABS_AHEAD = 16


@dataclass(frozen=True)
class Spill:
    """Request to keep rows in a file in `folder`: at most `n_bytes` of them, and less than a slab fewer."""

    folder: Path
    n_bytes: int


class BitRows:
    """Rows of `n_row` 64-bit integers for all blocks, initially 0; those of the last slabs may be in a file.

    `slabs` are lists of slabs, those of a level in one list; each block is in one slab. Threads may use the rows of
    different slabs at the same time. The file of `spill` has no name: it ends with this object or with the process.

    Raises `DiskFullError` and `OutputError` if the file cannot be made.
    """

    def __init__(self, slabs: list[list[Int64s]], n_row: int, spill: Spill | None) -> None:
        # In turns, so that all levels use the disk alike.
        self.slabs = [slab for in_turn in zip_longest(*slabs) for slab in in_turn if slab is not None]
        *starts, n_rows = np.cumsum([0, *map(len, self.slabs)]).tolist()
        self._starts = {int(slab[0]): start for slab, start in zip(self.slabs, starts, strict=True)}
        self._n_held = n_rows
        if spill is not None:
            least = n_rows - spill.n_bytes // (n_row * 8)
            self._n_held = next(start for start in (*starts, n_rows) if start >= least)
        self._held = np.zeros((self._n_held, n_row), dtype=np.uint64)
        if spill is not None and self._n_held < n_rows:
            self._file = _RowFile(spill.folder, n_rows - self._n_held, n_row)

    def read(self, slab: Int64s) -> UInt64s:
        """Return the rows of a slab, uint64[len(slab), n_row]. Raises `OutputError`."""
        start = self._starts[int(slab[0])]
        if start < self._n_held:
            return self._held[start : start + len(slab)]
        return self._file.read(start - self._n_held, len(slab))

    def write(self, slab: Int64s, rows: UInt64s) -> None:
        """Store the rows that `read` returned for this slab, after a change.

        Raises `DiskFullError` and `OutputError`.
        """
        start = self._starts[int(slab[0])]
        if start >= self._n_held:
            self._file.write(start - self._n_held, rows)


class _RowFile:
    """File of rows, without a name. Reads and writes, unlike accesses to a mapping, raise exceptions on disk errors."""

    def __init__(self, folder: Path, n_rows: int, n_row: int) -> None:
        with writing_errors(folder):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
            # Reserve the disk now, so that it cannot be full in the middle of the search.
            system.reserve(self._file.fileno(), n_rows * n_row * 8)
        self._folder, self._n_row = folder, n_row

    def read(self, start: int, n_rows: int) -> UInt64s:
        """Read rows from `start` on."""
        rows = np.empty((n_rows, self._n_row), dtype=np.uint64)
        offset = start * self._n_row * 8
        ahead = offset + _SLABS_AHEAD * rows.nbytes
        system.read_ahead(self._file.fileno(), ahead, rows.nbytes)
        with writing_errors(self._folder):
            read_all(self._file.fileno(), bytes_of(rows), offset)
        return rows

    def write(self, start: int, rows: UInt64s) -> None:
        """Write rows from `start` on."""
        with writing_errors(self._folder):
            write_all(self._file.fileno(), bytes_of(rows), start * self._n_row * 8)
