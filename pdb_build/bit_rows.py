"""Rows of bits, one for each block, in memory or partly in a temporary file. They become a table of bits.

A search of bits has two rows per block: one of the frontier, and one with bit 1 of the distances found so far. This
module holds the second kind. A level reads and writes the rows of the blocks that receive states, slab after slab, so
rows in the order of slabs are read and written sequentially. See docs/design/tables.md.
"""

import os
import sys
import tempfile
import weakref
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

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
        self._n_held: int = n_rows
        if spill is not None:
            least = n_rows - spill.n_bytes // (n_row * 8)
            self._n_held = next(start for start in (*starts, n_rows) if start >= least)
        self._held = np.zeros((self._n_held, n_row), dtype=np.uint64)
        if spill is not None and self._n_held < n_rows:
            self._folder = spill.folder
            with writing_errors(self._folder):
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
                n_bytes = (n_rows - self._n_held) * n_row * 8
                self._file.truncate(n_bytes)
                if sys.platform == "linux":  # reserve the disk, so that it cannot be full in the middle of the search
                    os.posix_fallocate(self._file.fileno(), 0, n_bytes)

    def read(self, slab: Int64s) -> UInt64s:
        """Return the rows of a slab, uint64[len(slab), n_row]. Raises `OutputError`."""
        start = self._starts[int(slab[0])]
        if start < self._n_held:
            return self._held[start : start + len(slab)]
        rows = np.empty((len(slab), self._held.shape[1]), dtype=np.uint64)
        offset = self._offset(slab)
        ahead = offset + _SLABS_AHEAD * rows.nbytes
        if sys.platform == "linux":
            os.posix_fadvise(self._file.fileno(), ahead, rows.nbytes, os.POSIX_FADV_WILLNEED)
        # Reads and writes, unlike accesses to a mapping, raise exceptions on disk errors.
        with writing_errors(self._folder):
            read_all(self._file.fileno(), bytes_of(rows), offset)
        return rows

    def write(self, slab: Int64s, rows: UInt64s) -> None:
        """Store the rows that `read` returned for this slab, after a change.

        Raises `DiskFullError` and `OutputError`.
        """
        if self._starts[int(slab[0])] >= self._n_held:
            with writing_errors(self._folder):
                write_all(self._file.fileno(), bytes_of(rows), self._offset(slab))

    def _offset(self, slab: Int64s) -> int:
        """Return where the rows of a slab begin in the file."""
        offset: int = (self._starts[int(slab[0])] - self._n_held) * self._held.shape[1] * 8
        return offset
