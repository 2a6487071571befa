"""Journal: a file of records from which a run continues after a crash, a kill or Ctrl-C.

Each line is a JSON object. The first one is the header, which says what the run depends on. Each of the others is a
record, and its last member is a checksum of the text before it. Records are only appended. A damaged last line, as a
power failure leaves it, is removed; other damage is refused. A process locks its journal.
"""

import json
import os
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, Self

from pdb_core.continuing import check_settings
from pdb_core.durable_files import lock_file, write_all, writing_errors
from pdb_core.errors import BuildRunningError, OutputError

Values = dict[str, Any]
# Offset and length of a record in its file.
Place = tuple[int, int]
# The first member of the header: the kind of file, then the version of its format.
KIND = "log of pdb solve 4"
# How to go on, for messages.
_ADVICE = "choose another log"
# Lines reach the system at once, the disk within this time while boards are solved: that takes some milliseconds.
_SYNC_S = 1.0


class Journal:
    """File of records in JSON. Thread-safe; a context manager.

    Parameters
    ----------
    path
        File, which is made if it is missing.
    settings
        Settings that all records share, as JSON values. If the file has records, its settings must be equal.
    take
        Function that is called with the place and the values of each record in the file, in their order.

    Raises
    ------
    OutputError
        The file is not such a journal, is damaged, or cannot be written.
    CheckpointMismatchError
        The file has other settings, and records.
    BuildRunningError
        Another process uses the file.
    """

    def __init__(self, path: Path, settings: Values, take: Callable[[Place, Values], object] = lambda *_: None) -> None:
        self.path = path
        self._header: Values = json.loads(json.dumps({"journal": KIND} | settings))
        self._lock = Lock()
        self._synced_at = time.monotonic()
        with self._writing():
            # A device or a pipe neither keeps what is written nor ends when it is read.
            if path.exists() and not path.is_file():
                self._refuse_foreign()
            self._descriptor = self._opened()
        try:
            with self._writing():
                self._begin(take)
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
        """Write a record, which is not empty, and return its place. Raises `DiskFullError`, `OutputError`.

        Dataclasses among the values become objects.
        """
        text = json.dumps(values, separators=(",", ":"), default=vars)[:-1].encode()
        line = text + _check(text)
        with self._lock, self._writing():
            place = self._end, len(line)
            write_all(self._descriptor, memoryview(line), self._end)
            self._end += len(line)
            if time.monotonic() - self._synced_at >= _SYNC_S:
                os.fsync(self._descriptor)
                self._synced_at = time.monotonic()
        return place

    def read(self, place: Place) -> Values:
        """Return the record at a place. Raises `OutputError` if the file was changed meanwhile."""
        offset, n_bytes = place
        with self._writing():
            values = record_values(os.pread(self._descriptor, n_bytes, offset))
        if values is None:
            raise OutputError(f"{self.path} was changed while it is in use; start again")
        return values

    def _writing(self) -> AbstractContextManager[None]:
        return writing_errors(self.path, _ADVICE)

    def _opened(self) -> int:
        try:
            while (descriptor := lock_file(self.path)) is None:
                pass
            return descriptor
        except BlockingIOError:
            raise BuildRunningError(f"{self.path} is in use by another command; wait for it, or {_ADVICE}") from None

    def _begin(self, take: Callable[[Place, Values], object]) -> None:
        """Check the header, take the records, and remove what follows them."""
        header = json.dumps(self._header).encode() + b"\n"
        with open(self._descriptor, "rb", closefd=False) as lines:
            line = next(lines, b"")
            # A power failure may have left a part of the header.
            found = self._header if header.startswith(line) else self._read_header(line)
            if lines.peek():
                check_settings(self.path, found, self._header, _ADVICE)
            elif line != header:
                # There are no records to continue from.
                os.ftruncate(self._descriptor, 0)
                write_all(self._descriptor, memoryview(header), 0)
                os.fsync(self._descriptor)
                line = header
            self._end = len(line)
            for number, record in enumerate(lines, start=2):
                values = record_values(record)
                if values is None:
                    # Behind the last line, a power failure can leave zeros.
                    if any(line.strip(b"\0") for line in lines):
                        raise OutputError(
                            f"{self.path} is damaged in line {number}, which is not the last; remove the line, or "
                            f"{_ADVICE}"
                        )
                    break
                take((self._end, len(record)), values)
                self._end += len(record)
        os.ftruncate(self._descriptor, self._end)

    def _read_header(self, line: bytes) -> Values:
        """Return the header of a log. Raises `OutputError` if the line is none."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("journal") != KIND:
            self._refuse_foreign()
        return found

    def _refuse_foreign(self) -> NoReturn:
        name, _, version = KIND.rpartition(" ")
        raise OutputError(f"{self.path} is not a {name} (format {version}); {_ADVICE}")


def _check(text: bytes) -> bytes:
    """Return the end of a record whose beginning is `text`."""
    return b',"check":"%08x"}\n' % zlib.crc32(text)


def record_values(line: bytes) -> Values | None:
    """Return the values of a record; None if its line does not end with its checksum."""
    text = line.rpartition(b',"check":"')[0]
    if line != text + _check(text):
        return None
    values: Values = json.loads(line)
    del values["check"]
    return values
