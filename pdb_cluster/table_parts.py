"""The folder `OUT.partial`: where the tables of the workers lie until they are merged into the one file.

A worker that sees the folder, and in it the token that the client put there, writes its part there. The parts of the
others are fetched, piece by piece, and written there by the client. So neither holds a table twice, and the client
none.
"""

import fcntl
import hashlib
import os
import platform
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from pdb_build.durable import writing_errors
from pdb_build.frontier import Table
from pdb_build.partial_folder import partial_path
from pdb_core.errors import OutputError
from pdb_core.sent_size import ReportsSize

# Written, read or sent at a time.
PIECE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Token(ReportsSize):
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
class Part(ReportsSize):
    """A part of a table, written to a file of the folder."""

    name: str
    n_bytes: int
    sha256: str


class PartsFolder:
    """The folder of a build. Leaving the context removes what is this build's, and the folder if nothing else is in
    it. What a build left there that was killed is removed before.

    The token's file is locked for as long as the build runs: a token that is not, of a build on this machine, is of one
    that was killed.
    """

    def __init__(self, out: Path, say: Callable[[str], None] | None = None) -> None:
        """`say` is called with a sentence about what was found there."""
        self._out, self._say = out, say or (lambda _: None)
        self._folder = partial_path(out)
        self.token = Token(str(self._folder), f"{secrets.token_hex(16)} {_machine()} {os.getpid()}")
        self._locked: IO[str] | None = None

    def __enter__(self) -> "PartsFolder":
        with writing_errors(self._out):
            self._folder.mkdir(exist_ok=True)
            self._locked = self._lock_token()
        self._remove_dead()
        return self

    def __exit__(self, *_: object) -> None:
        # Twice, as a worker that has not heard of the end yet may just have begun a file.
        for _attempt in range(2):
            with suppress(OSError):
                self._remove(self.token.text)
                self._folder.rmdir()
        if self._locked is not None:
            self._locked.close()

    def _lock_token(self) -> IO[str]:
        file = self.token.path("token").open("w", encoding="ascii")
        # Locked before it says whose it is. Without locks nobody can take this build for a dead one.
        with suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.write(self.token.text)
        file.flush()
        return file

    def _remove(self, text: str) -> None:
        """Remove what is of the build with that token."""
        for path in self._folder.glob(f"{text[:16]}.*"):
            path.unlink(missing_ok=True)

    def _remove_dead(self) -> None:
        """Remove what builds left that were killed; say so, and what is left of others."""
        n_removed = n_left = 0
        for path in self._folder.glob("*.token"):
            if path == self.token.path("token"):
                continue
            dead = _dead_build(path)
            if dead is None:
                n_left += 1
                continue
            with suppress(OSError):
                self._remove(dead)
                n_removed += 1
        if n_removed:
            self._say(f"removed what a build of {self._out} had left that was killed")
        if n_left:
            self._say(
                f"another build of {self._out} is under way, or was killed on another machine; if it was, "
                f"{self._folder} can be removed after this build"
            )

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


def _dead_build(token_file: Path) -> str | None:
    """The text of a token whose build was on this machine and no longer runs."""
    try:
        with token_file.open("r+", encoding="ascii") as file:
            words = file.read(1000).split(" ")
            if len(words) != 3 or words[1] != _machine() or not words[2].isdigit():
                return None
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (OSError, ValueError):
        return None
    return " ".join(words)


def _machine() -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", platform.node())


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
