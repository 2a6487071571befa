"""Comparison of the bytes of a table file, and of what HDF5 tools read in it, with its header."""

import hashlib
import io
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from pdb_core.encoding import UNREACHED, Encoding
from pdb_core.errors import TableFileDamagedError, TableFileError
from pdb_core.messages import as_typed
from pdb_core.schema import HISTOGRAM_DATASET, TABLE_DATASET, Header, PatternHeader, hdf5_attributes, pattern_group
from pdb_core.types import Bytes, Int64s

# Bytes digested between two calls of `progress`.
_PIECE_BYTES = 4 * 1024 * 1024
# Byte of the HDF5 superblock, which follows the user block, that the library sets to 1 while it may write the file.
_OPEN_AT = 20


class _Content(io.RawIOBase):
    """Bytes of a table file, as a file for h5py."""

    def __init__(self, memory: Bytes) -> None:
        self._memory, self._at = memory, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, len(self._memory))[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        piece = self._memory[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece.data
        self._at += len(piece)
        return len(piece)


def verify_table_file(memory: Bytes, header: Header, source: str, progress: Callable[[int, int], None] | None) -> None:
    """Compare the bytes of a table file with its header, see `Database.verify`. `source` names the file.

    Raises `TableFileDamagedError`, and `TableFileError` for a file that another program has open for writing.
    """
    done, total = 0, sum(entry.n_bytes for entry in header.tables.values())
    for entry in header.tables.values():
        table = memory[entry.offset : entry.offset + entry.n_bytes]
        digest, expected = hashlib.sha256(), _expected_counts(entry)
        counts = np.zeros_like(expected)
        for start in range(0, len(table), _PIECE_BYTES):
            piece = table[start : start + _PIECE_BYTES]
            digest.update(piece.data)
            counts += _counts(piece, entry.spec.encoding)
            done += len(piece)
            if progress is not None:
                progress(done, total)
        wrong = f"{source} is damaged: the table of pattern {entry.pattern} does not match its"
        if digest.hexdigest() != entry.sha256:
            raise TableFileDamagedError(f"{wrong} digest; build it again")
        if not np.array_equal(counts, expected):
            raise TableFileDamagedError(f"{wrong} histogram; build it again")
    structures = bytearray().join(memory[start:stop].data for start, stop in header.structure_extents())
    is_open = structures[_OPEN_AT] == 1
    if is_open:
        structures[_OPEN_AT] = 0
    if hashlib.sha256(structures).hexdigest() != header.structure_sha256:
        raise TableFileDamagedError(
            f"{source} is damaged: the bytes outside its tables do not match their digest; build it again"
        )
    if is_open:
        raise TableFileError(
            f"{source} is open for writing in another program, which may change it; close it there and verify it again"
        )
    # The HDF5 library crashes or loops on some damaged files, so its structures were compared before.
    try:
        with h5py.File(_Content(memory), "r") as file:
            found = _hdf5_view(file)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise TableFileDamagedError(
            f"{source} is damaged: HDF5 cannot read it ({as_typed(str(error), 200)}); build it again"
        ) from error
    if found != _expected_view(header):
        raise TableFileDamagedError(f"{source} is damaged: its HDF5 objects differ from its header; build it again")


def _counts(piece: Bytes, encoding: Encoding) -> Int64s:
    """Count the ones of a piece of a table in bits, int64[1], or each value of a piece in bytes, int64[256]."""
    if encoding == "bits":
        n_whole = len(piece) // 8 * 8
        words, rest = piece[:n_whole].view(np.uint64), piece[n_whole:]
        return np.array([sum(int(np.bitwise_count(part).sum(dtype=np.int64)) for part in (words, rest))])
    # Pairs of bytes take a quarter of the time of single ones.
    n_paired = len(piece) // 2 * 2
    pairs = np.bincount(piece[:n_paired].view(np.uint16), minlength=1 << 16).reshape(256, 256)
    counts: Int64s = pairs.sum(axis=0) + pairs.sum(axis=1) + np.bincount(piece[n_paired:], minlength=256)
    return counts


def _expected_counts(entry: PatternHeader) -> Int64s:
    """Return the counts that follow from the histogram in the header."""
    if entry.spec.encoding == "bits":
        return np.array([sum(n for distance, n in enumerate(entry.histogram) if distance & 2)], dtype=np.int64)
    counts = np.zeros(UNREACHED + 1, dtype=np.int64)
    counts[: len(entry.histogram)], counts[UNREACHED] = entry.histogram, entry.n_unreached
    return counts


def _hdf5_view(file: h5py.File) -> dict[str, Any]:
    """Return the attributes of each group, and of each pattern's datasets the place and the counts."""
    found: dict[str, Any] = {"/": _values(dict(file.attrs))}
    for name, group in file.items():
        found[name] = _values(dict(group.attrs))
        if set(group) == {TABLE_DATASET, HISTOGRAM_DATASET}:
            table = group[TABLE_DATASET]
            found[f"{name} table"] = table.id.get_offset(), table.shape, str(table.dtype)
            found[f"{name} histogram"] = tuple(group[HISTOGRAM_DATASET][:].tolist())
        elif len(group):
            found[name] = list(group)
    return found


def _expected_view(header: Header) -> dict[str, Any]:
    expected: dict[str, Any] = {name: _values(attributes) for name, attributes in hdf5_attributes(header).items()}
    for index, entry in header.tables.items():
        expected[f"{pattern_group(index)} table"] = entry.offset, (entry.n_bytes,), "uint8"
        expected[f"{pattern_group(index)} histogram"] = entry.histogram
    return expected


def _values(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in attributes.items()}
