"""Parts of tables: written by workers at their place in the table file, or fetched from workers.

A worker that sees the folder of the build writes its part itself. It recognises the folder by a token, a file with a
random text. From other workers the client fetches the part in pieces. Neither keeps a second copy on the disk.
"""

import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from distributed import Client

from pdb_build.frontier import Table
from pdb_build.partial_folder import PartialFolder
from pdb_cluster.failures import LostError, failure
from pdb_core.durable_files import write_all, write_and_sync, writing_errors
from pdb_core.errors import OutputError

# Fetched, or read to be checked, at a time.
PIECE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Part:
    """Part of a table and its place in the table file. `sha256` is empty until the part is written.

    file, token  paths as the client sees them
    text         content of the token's file
    """

    file: str
    token: str
    text: str
    offset: int
    n_bytes: int
    sha256: str = ""

    @staticmethod
    def of_table(folder: PartialFolder, text: str, offset: int, n_bytes: int) -> "Part":
        """Return the whole table at `offset` as a part."""
        return Part(str(folder.table.absolute()), str(folder.token.absolute()), text, offset, n_bytes)

    def part(self, first: int, n_bytes: int) -> "Part":
        """Return the place of `n_bytes` entries from entry byte `first` on."""
        return replace(self, offset=self.offset + first, n_bytes=n_bytes)

    def write(self, table: Table) -> "Part":
        """Write the entries if this process sees the folder of the build. Return the part with its digest.

        Return the part as it is when the folder is not seen. Raises `DiskFullError`, `OutputError`.
        """
        try:
            # Only written, never read: NFS then sends just these bytes of a page that two parts share.
            descriptor = os.open(self.file, os.O_WRONLY)
        except OSError:
            return self
        try:
            # The token is read after the file was opened. A later build has another token, and this file has no name
            # by then.
            if not self._is_seen():
                return self
            with writing_errors(Path(self.file)):
                sha256 = write_and_sync(descriptor, table, self.offset, cancelled=lambda: False)
            return replace(self, sha256=sha256 or "")
        finally:
            os.close(descriptor)

    def _is_seen(self) -> bool:
        try:
            return Path(self.token).read_text(encoding="ascii") == self.text
        except OSError:
            return False

    def fetch(self, client: Client, address: str, key: str) -> "Part":
        """Fetch the entries that task `key` left on the worker at `address`, and write them.

        Raises `LostError`, `DiskFullError`, `OutputError`.
        """
        digest = hashlib.sha256()
        with writing_errors(Path(self.file)):
            descriptor = os.open(self.file, os.O_WRONLY)
        try:
            for first in range(0, self.n_bytes, PIECE_BYTES):
                piece = run_on(client, address, _piece, key, first, min(first + PIECE_BYTES, self.n_bytes))
                with writing_errors(Path(self.file)):
                    write_all(descriptor, piece.data, self.offset + first)
                digest.update(piece.data)
            with writing_errors(Path(self.file)):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return replace(self, sha256=digest.hexdigest())


def write_token(folder: PartialFolder) -> str:
    """Write the token of a new build into its folder, and return its text. Raises `DiskFullError`, `OutputError`."""
    text = secrets.token_hex(16)
    with writing_errors(folder.out):
        folder.token.write_text(text, encoding="ascii")
    return text


def digest_of_parts(parts: Sequence[Part]) -> str:
    """Return the SHA-256 of the table that consecutive `parts` form, after a check of each part.

    Raises `OutputError` if a part is not as it was written.
    """
    whole = hashlib.sha256()
    for part in parts:
        digest = hashlib.sha256()
        with writing_errors(Path(part.file)), Path(part.file).open("rb") as file:
            file.seek(part.offset)
            for first in range(0, part.n_bytes, PIECE_BYTES):
                piece = file.read(min(PIECE_BYTES, part.n_bytes - first))
                digest.update(piece)
                whole.update(piece)
        if digest.hexdigest() != part.sha256:
            raise OutputError(
                f"{part.file} does not hold what a worker wrote: the shared storage or its cache is faulty; build "
                "again at another place"
            )
    return whole.hexdigest()


def run_on(client: Client, address: str, function: Any, *arguments: Any) -> Any:
    """Call a function in the process of a worker, beside its tasks. Raises `LostError` if the worker is gone."""
    try:
        return client.run(function, *arguments, workers=[address])[address]
    except Exception as error:
        if address in client.nthreads() and not isinstance(error, KeyError | OSError | LostError):
            raise failure(f"the worker at {address} could not send its table", error) from error
        raise LostError(f"the worker at {address} is gone: {error}") from error


def _piece(key: str, first: int, last: int, dask_worker: Any) -> Table:
    """Return some entries of the table that task `key` left. Runs on a worker."""
    entries: Table = dask_worker.data[key].entries
    return entries[first:last]
