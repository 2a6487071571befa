"""The folder `OUT.partial`: where the tables of the workers lie until they are merged into the one file.

A worker that sees the folder, and in it the token that the client put there, writes its part there. The parts of the
others are fetched, piece by piece, and written there by the client. So neither holds a table twice, and the client
none.
"""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pdb_build.search import Table
from pdb_build.writer import writing_errors
from pdb_core.errors import OutputError

# Written, read or sent at a time.
PIECE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Token:
    """What tells the folder of this build from one of the same name on another machine."""

    folder: str
    text: str

    def path(self, name: str) -> Path:
        """The place of a file of this build."""
        return Path(self.folder) / f"{self.text[:16]}.{name}"

    def is_seen(self) -> bool:
        """Whether the folder is here, and can be written to."""
        try:
            here = self.path("token").read_text(encoding="ascii") == self.text
        except OSError:
            return False
        return here and os.access(self.folder, os.W_OK | os.X_OK)


@dataclass(frozen=True)
class Part:
    """A part of a table, written to a file of the folder."""

    name: str
    n_bytes: int
    sha256: str


class PartsFolder:
    """The folder of a build. Leaving the context removes what is this build's, and the folder if nothing else is in
    it.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._folder = out.absolute().with_name(f"{out.name}.partial")
        self.token = Token(str(self._folder), secrets.token_hex(16))

    def __enter__(self) -> "PartsFolder":
        with writing_errors(self._out):
            self._folder.mkdir(exist_ok=True)
            self.token.path("token").write_text(self.token.text, encoding="ascii")
        return self

    def __exit__(self, *_: object) -> None:
        # Twice, as a worker that has not heard of the end yet may just have begun a file.
        for _attempt in range(2):
            with suppress(OSError):
                for path in self._folder.glob(f"{self.token.text[:16]}.*"):
                    path.unlink(missing_ok=True)
                self._folder.rmdir()

    def join(self, parts: list[Part]) -> Table:
        """Map the parts, in that order, as one table; their files are no longer needed.

        Raises `OutputError` where a part is not as it was written, `DiskFullError`.
        """
        with writing_errors(self._out):
            for part in parts:
                self._check(part)
            whole = self._folder / parts[0].name
            with whole.open("r+b") as file:
                file.seek(0, os.SEEK_END)
                for part in parts[1:]:
                    with (self._folder / part.name).open("rb") as more:
                        shutil.copyfileobj(more, file, PIECE_BYTES)
                    (self._folder / part.name).unlink()
            table = np.memmap(whole, dtype=np.uint8, mode="r") if whole.stat().st_size else np.empty(0, np.uint8)
            # What is mapped stays until nobody uses it any more.
            whole.unlink()
        return table

    def _check(self, part: Part) -> None:
        digest = hashlib.sha256()
        with (self._folder / part.name).open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
        if digest.hexdigest() != part.sha256:
            raise OutputError(
                f"what was read of {self._folder / part.name} is not what a worker wrote: the shared storage or its "
                "cache is faulty; build again at another place"
            )


def write_part(token: Token, pieces: Iterator[Table], n_bytes: int) -> Part:
    """Write a part of a table into the folder, which is there. Raises `DiskFullError`, `OutputError`."""
    path = token.path(secrets.token_hex(16))
    digest = hashlib.sha256()
    with writing_errors(path), path.open("xb") as file:
        for piece in pieces:
            file.write(piece.data)
            digest.update(piece.data)
        file.flush()
        os.fsync(file.fileno())
    return Part(path.name, n_bytes, digest.hexdigest())


def pieces_of(table: Table) -> Iterator[Table]:
    """A table, a piece at a time."""
    for start in range(0, table.size, PIECE_BYTES):
        yield table[start : start + PIECE_BYTES]
