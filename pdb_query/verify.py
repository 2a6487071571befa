"""Comparison of the bytes of a table file with its header."""

import hashlib
from collections.abc import Callable

from pdb_core.errors import TableFileDamagedError
from pdb_core.schema import Header
from pdb_core.types import Bytes

# Bytes digested between two calls of `progress`.
_PIECE_BYTES = 4 * 1024 * 1024


def verify_table_file(memory: Bytes, header: Header, source: str, progress: Callable[[int, int], None]) -> None:
    """Compare the bytes of a table file with its header, see `Database.verify`. `source` names the file.

    Raises `TableFileDamagedError`.
    """
    done, total = 0, sum(entry.n_bytes for entry in header.tables.values())
    for entry in header.tables.values():
        table = memory[entry.offset : entry.offset + entry.n_bytes]
        digest = hashlib.sha256()
        for start in range(0, len(table), _PIECE_BYTES):
            piece = table[start : start + _PIECE_BYTES]
            digest.update(piece.data)
            done += len(piece)
            progress(done, total)
        if digest.hexdigest() != entry.sha256:
            raise TableFileDamagedError(
                f"{source} is damaged: the table of pattern {entry.pattern} does not match its digest; build it again"
            )
    structures = hashlib.sha256()
    for start, stop in header.structure_extents():
        structures.update(memory[start:stop].data)
    if structures.hexdigest() != header.structure_sha256:
        raise TableFileDamagedError(
            f"{source} is damaged: the bytes outside its tables do not match their digest; if another program has it "
            "open for writing, close it there, otherwise build it again"
        )
