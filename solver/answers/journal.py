"""Journals: files of records from which a run continues after a crash, a kill or Ctrl-C.

Each line is a JSON object. The first one is the header, which says what the run depends on. Each of the others is a
record, and its last member is a checksum of the text before it. Records are only appended. A damaged last line, as a
power failure leaves it, is removed; other damage is refused. A process locks its journal.
"""

import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, Self

from pdb_core.durable_files import lock_file, write_all, writing_errors
from pdb_core.errors import BuildRunningError, CheckpointMismatchError, OutputError
from pdb_core.messages import as_typed

Values = dict[str, Any]
# Offset and length of a record in its file.
Place = tuple[int, int]


class Journal:
    """File of records in JSON. Thread-safe; a context manager.

    Parameters
    ----------
    path
        File, which is made if it is missing.
    kind
        Name of the kind of journal, then the version of its format, as in `log of pdb solve 3`.
    header
        Settings that all records share, as JSON values. If the file exists, its header must be equal.
    advice
        How to choose another file, for messages.
    free
        Names of settings that may differ. `header` then has those of the file.
    sync_s
        Seconds after which an appended record is synced to the disk, with those before it.
    fresh
        Start over: the records of an existing file are removed.

    Raises
    ------
    OutputError
        The file is not such a journal, is damaged, or cannot be written.
    CheckpointMismatchError
        The file has another header, and records.
    BuildRunningError
        Another process uses the file.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        header: Values,
        *,
        advice: str,
        free: Sequence[str] = (),
        sync_s: float = 0.0,
        fresh: bool = False,
    ) -> None:
        self.path = path
        self.header: Values = json.loads(json.dumps({"journal": kind} | header))
        self._kind, self._advice, self._free, self._sync_s = kind, advice, free, sync_s
        self._lock = Lock()
        self._synced_at = time.monotonic()
        with self._writing():
            # A device or a pipe neither keeps what is written nor ends when it is read.
            if path.exists() and not path.is_file():
                self._refuse_foreign()
            self._descriptor = self._opened()
        try:
            with self._writing():
                self._begin(fresh=fresh)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock, self._writing():
            try:
                os.fsync(self._descriptor)
            finally:
                os.close(self._descriptor)

    def append(self, values: Values) -> Place:
        """Write a record, which is not empty, and return its place. Raises `DiskFullError`, `OutputError`."""
        text = json.dumps(values, separators=(",", ":"))[:-1].encode()
        line = text + _check(text)
        with self._lock, self._writing():
            place = self._end, len(line)
            write_all(self._descriptor, memoryview(line), self._end)
            self._end += len(line)
            if time.monotonic() - self._synced_at >= self._sync_s:
                os.fsync(self._descriptor)
                self._synced_at = time.monotonic()
        return place

    def read(self, place: Place) -> Values:
        """Return the record at a place. Raises `OutputError` if the file was changed meanwhile."""
        offset, n_bytes = place
        with self._writing():
            return self._values(os.pread(self._descriptor, n_bytes, offset))

    def records(self) -> Iterator[tuple[Place, Values]]:
        """Yield the place and the values of each record, in their order. Raises as `read`."""
        offset = self._first
        for line in self._lines(offset):
            yield (offset, len(line)), self._values(line)
            offset += len(line)

    def _values(self, line: bytes) -> Values:
        if not _is_whole(line):
            raise OutputError(f"{self.path} was changed while it is in use; start again")
        values: Values = json.loads(line)
        del values["check"]
        return values

    def _lines(self, offset: int) -> Iterator[bytes]:
        """Yield the lines from an offset on. They share the position of the descriptor: one iteration at a time."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(offset)
            yield from file

    def remove(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _writing(self) -> AbstractContextManager[None]:
        return writing_errors(self.path, self._advice)

    def _opened(self) -> int:
        try:
            while (descriptor := lock_file(self.path)) is None:
                pass
            return descriptor
        except BlockingIOError:
            raise BuildRunningError(
                f"{self.path} is in use by another command; wait for it, or {self._advice}"
            ) from None

    def _begin(self, *, fresh: bool) -> None:
        """Check the header, find the end of the records, and remove what follows them."""
        lines = self._lines(0)
        line = next(lines, b"")
        if fresh and not (line.startswith(b'{"journal"') or b'{"journal"'.startswith(line)):
            self._refuse_foreign()
        if not fresh and line.endswith(b"\n"):
            try:
                self._check_header(line)
            except CheckpointMismatchError:
                # Without records, there is nothing to continue from.
                if next(lines, None) is not None:
                    raise
                fresh = True
        if fresh or not line.endswith(b"\n"):
            header = json.dumps(self.header).encode() + b"\n"
            if not fresh and not header.startswith(line):
                self._refuse_foreign()
            os.ftruncate(self._descriptor, 0)
            write_all(self._descriptor, memoryview(header), 0)
            os.fsync(self._descriptor)
            self._first = self._end = len(header)
            return
        self._first = self._end = len(line)
        for number, record in enumerate(lines, start=2):
            if not _is_whole(record):
                # Behind the last line, a power failure can leave zeros.
                if any(line.strip(b"\0") for line in lines):
                    raise OutputError(
                        f"{self.path} is damaged in line {number}, which is not the last; remove the line, or "
                        f"{self._advice}"
                    )
                break
            self._end += len(record)
        os.ftruncate(self._descriptor, self._end)

    def _check_header(self, line: bytes) -> None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("journal") != self._kind:
            self._refuse_foreign()
        if line != json.dumps(found).encode() + b"\n":
            raise OutputError(f"another program has rewritten {self.path}; restore it, or {self._advice}")
        wanted = self.header | {name: found.get(name) for name in self._free}
        difference = first_difference(found, wanted)
        if difference is not None:
            raise CheckpointMismatchError(
                f"{self.path} is of another command: {difference}; give the same options to continue, or {self._advice}"
            )
        self.header = found

    def _refuse_foreign(self) -> NoReturn:
        name, _, version = self._kind.rpartition(" ")
        other_path, *_start_over = self._advice.split(", or ")
        raise OutputError(f"{self.path} is not a {name} (format {version}); {other_path}")


def _check(text: bytes) -> bytes:
    """Return the end of a record whose beginning is `text`."""
    return b',"check":"%08x"}\n' % zlib.crc32(text)


def _is_whole(line: bytes) -> bool:
    """Return whether a line ends with its checksum."""
    text = line.rpartition(b',"check":"')[0]
    return line == text + _check(text)


def first_difference(found: Mapping[str, Any], given: Mapping[str, Any], prefix: str = "") -> str | None:
    """Return the first difference of two headers as `NAME there, not here`; None if they are equal."""
    for name in [*found, *(name for name in given if name not in found)]:
        there, here = found.get(name), given.get(name)
        if isinstance(there, dict) and isinstance(here, dict):
            nested = first_difference(there, here, f"{prefix}{name} ")
            if nested is not None:
                return nested
        elif there != here:
            return f"{as_typed(prefix + name)} {_shown(there)}, not {_shown(here)}"
    return None


def _shown(value: Any) -> str:
    return "none" if value is None else as_typed(value if isinstance(value, str) else json.dumps(value), 60)
