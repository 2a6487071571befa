"""Comparison of the bytes of a table file with its header."""

import hashlib
from collections.abc import Callable

import numpy as np

from pdb_core.encoding import UNREACHED, Encoding
from pdb_core.errors import TableFileDamagedError
from pdb_core.schema import Header, PatternHeader
from pdb_core.types import Bytes, Int64s

# Bytes digested between two calls of `progress`.
_PIECE_BYTES = 4 * 1024 * 1024


def verify_table_file(memory: Bytes, header: Header, source: str, progress: Callable[[int, int], None] | None) -> None:
    """Compare the bytes of a table file with its header, see `Database.verify`. `source` names the file.

    Raises `TableFileDamagedError`.
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
    structures = hashlib.sha256()
    for start, stop in header.structure_extents():
        structures.update(memory[start:stop].data)
    if structures.hexdigest() != header.structure_sha256:
        raise TableFileDamagedError(
            f"{source} is damaged: the bytes outside its tables do not match their digest; if another program has it "
            "open for writing, close it there, otherwise build it again"
        )


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
    histogram = entry.histogram
    if entry.spec.encoding == "bits":
        return np.array([sum(histogram[2::4]) + sum(histogram[3::4])])
    return np.array([*histogram, *[0] * (UNREACHED - len(histogram)), entry.n_unreached])
