"""The file `OUT.partial`: finished chunks of a dataset, from which the same command continues.

The first line is JSON: the kind of file, and the description of the dataset. Each chunk follows as the number of its
bytes, their SHA-256, and the bytes: its arrays in NPZ. A chunk is synced before the next one is begun. So only the last
one can be incomplete after a kill or a power failure; it is removed. The file is locked while a command uses it.
"""

import hashlib
import io
import json
import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from pdb_core.durable_files import lock_file, writing_errors
from pdb_core.errors import BuildRunningError, CheckpointMismatchError, OutputError
from pdb_core.messages import as_typed
from pdb_study.labels.labelling import LabelledBoards

_KIND = "tile-pdb labels 1"
# Number of bytes and digest of a chunk.
_HEAD = struct.Struct("<Q32s")
# First bytes of a chunk in NPZ.
_NPZ_START = b"PK\x03\x04"
_MAX_LINE = 1_000_000
# Parts of the description that may differ between the runs of a dataset.
_FREE = ("command",)


class PartialLabels:
    """Finished chunks of the dataset `out`. A context manager; an error or Ctrl-C keeps the file if it has a chunk."""

    def __init__(self, out: Path, description: dict[str, Any], *, fresh: bool = False) -> None:
        """`description` is what the labels depend on, as JSON values. With `fresh`, chunks of earlier runs are removed.

        `description` becomes that of the first run, whose command it has.
        """
        self.path = out.with_name(f"{out.name}.partial")
        self.n_boards = 0
        self.description = json.loads(json.dumps(description))
        self._out, self._fresh = out, fresh
        self._file: IO[bytes] | None = None
        self._offsets: list[int] = []

    def __enter__(self) -> "PartialLabels":
        """Open the file and find its whole chunks.

        Raises `BuildRunningError` if another command uses it, `CheckpointMismatchError` if it is of another dataset,
        `OutputError`, `DiskFullError`.
        """
        with writing_errors(self._out):
            if self.path.exists() and not self.path.is_file():
                raise OutputError(f"cannot write {self._out}: {self.path} is in the way; move it elsewhere")
            try:
                descriptor = None
                while descriptor is None:
                    self.path.parent.stat()  # raises if there is no folder: `lock_file` would find no file forever
                    descriptor = lock_file(self.path)
            except BlockingIOError:
                raise BuildRunningError(
                    f"{self._out} is being made by another command; wait for it, or choose another place with --out"
                ) from None
            self._file = os.fdopen(descriptor, "r+b")
            try:
                self._read()
            except BaseException:
                self._file.close()
                raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if not self._offsets:
            self.remove()
        # What could not be written was reported.
        with suppress(OSError):
            self._opened().close()

    def append(self, labelled: LabelledBoards) -> None:
        """Write and sync a chunk. Raises `OutputError`, `DiskFullError`."""
        content = io.BytesIO()
        arrays: dict[str, Any] = {**labelled.arrays()}
        np.savez(content, **arrays)
        payload = content.getvalue()
        file = self._opened()
        with writing_errors(self._out):
            offset = file.seek(0, os.SEEK_END)
            file.write(_HEAD.pack(len(payload), hashlib.sha256(payload).digest()) + payload)
            file.flush()
            os.fsync(file.fileno())
        self._offsets.append(offset)
        self.n_boards += len(labelled.boards)

    def chunks(self) -> Iterator[LabelledBoards]:
        """Yield the chunks in their order. Raises `OutputError` if the file changed meanwhile."""
        for offset in self._offsets:
            found = self._chunk(offset)
            if found is None:
                raise OutputError(f"{self.path} was changed while it is in use; start again")
            yield found

    def remove(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _opened(self) -> IO[bytes]:
        assert self._file is not None  # used as a context manager
        return self._file

    def _read(self) -> None:
        """Check the first line, find the whole chunks, and remove what follows them."""
        file = self._opened()
        line = file.readline(_MAX_LINE)
        if self._fresh or not line.endswith(b"\n"):
            if line and not self._fresh and not self._first_line().startswith(line):
                raise OutputError(f"{self.path} is no dataset of pdb label; move it elsewhere, or give --fresh")
            file.seek(0)
            file.truncate()
            file.write(self._first_line())
            file.flush()
            return
        self._check_description(line)
        end = file.tell()
        while (found := self._chunk(end)) is not None:
            self._offsets.append(end)
            self.n_boards += len(found.boards)
            end = file.tell()
        if self._has_chunk_after(end):
            raise OutputError(
                f"{self.path} is damaged at byte {end}, and there are chunks after it; remove the file, or give "
                "--fresh, to label all boards again"
            )
        file.truncate(end)

    def _first_line(self) -> bytes:
        return json.dumps({"partial": _KIND, "description": self.description}).encode() + b"\n"

    def _check_description(self, line: bytes) -> None:
        try:
            first = json.loads(line)
            found = first["description"] if first["partial"] == _KIND else None
        except (ValueError, RecursionError, KeyError, TypeError):
            found = None
        if not isinstance(found, dict):
            raise OutputError(f"{self.path} is no dataset of pdb label; move it elsewhere, or give --fresh")
        difference = first_difference(found, {**self.description, **{name: found.get(name) for name in _FREE}})
        if difference is not None:
            raise CheckpointMismatchError(
                f"{self.path} is of another command: {difference}; give the same options to continue, --fresh to start "
                "over, or another --out"
            )
        self.description = found

    def _chunk(self, offset: int) -> LabelledBoards | None:
        """Return the chunk at an offset, and go to its end; None if there is no whole chunk."""
        file = self._opened()
        file.seek(offset)
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        n_bytes, digest = _HEAD.unpack(head)
        if n_bytes > os.fstat(file.fileno()).st_size - offset:
            return None
        payload = file.read(n_bytes)
        if len(payload) < n_bytes or hashlib.sha256(payload).digest() != digest:
            return None
        with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            return LabelledBoards(**arrays)

    def _has_chunk_after(self, offset: int) -> bool:
        """Return whether there is a whole chunk after the damaged one at an offset, whose length may be wrong, too."""
        n_bytes = os.fstat(self._opened().fileno()).st_size
        if n_bytes == offset:
            return False
        with mmap.mmap(self._opened().fileno(), n_bytes, access=mmap.ACCESS_READ) as content:
            start = offset + _HEAD.size + 1
            while (start := content.find(_NPZ_START, start)) >= 0:
                if self._chunk(start - _HEAD.size) is not None:
                    return True
                start += 1
        return False


def first_difference(found: dict[str, Any], given: dict[str, Any], prefix: Sequence[str] = ()) -> str | None:
    """Return the first difference of two descriptions as `NAME there, not here`; None if they are equal."""
    for name in [*found, *(name for name in given if name not in found)]:
        there, here = found.get(name), given.get(name)
        if isinstance(there, dict) and isinstance(here, dict):
            nested = first_difference(there, here, (*prefix, name))
            if nested is not None:
                return nested
        elif there != here:
            return f"{as_typed(' '.join((*prefix, name)))} {_shown(there)}, not {_shown(here)}"
    return None


def _shown(value: Any) -> str:
    return "none" if value is None else as_typed(value if isinstance(value, str) else json.dumps(value), 60)
