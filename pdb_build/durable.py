"""Writing so that it stays: whole, synced, with a digest; and what is said where the system refuses."""

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.errors import PdbError, writing_error

_READ_BYTES = 16 * 1024 * 1024
# Written and synced at a time: a fraction of a second, after which a cancelled build is heard of.
_WRITE_BYTES = 64 * 1024 * 1024


@contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into `DiskFullError` and `OutputError`, with the file they are about."""
    try:
        yield
    except PdbError:
        raise
    except (OSError, RuntimeError) as error:
        # HDF5 passes the system's error on in its text alone.
        text = str(error)
        number = error.errno if isinstance(error, OSError) else None
        if "errno = 28" in text or "No space left" in text or "Disk quota" in text:
            number = errno.ENOSPC
        refusal = OSError(number, os.strerror(number)) if number else OSError(text.splitlines()[0])
        raise writing_error(refusal, str(path), "choose another place with --out") from error


def write_and_sync(
    descriptor: int, array: npt.NDArray[Any], offset: int = 0, *, cancelled: Callable[[], bool]
) -> str | None:
    """Write a contiguous array at `offset` and sync it. Returns its SHA-256; None where it was cancelled meanwhile."""
    view = array.reshape(-1).view(np.uint8).data
    digest = hashlib.sha256()
    for start in range(0, len(view), _WRITE_BYTES):
        if cancelled():
            return None
        piece = view[start : start + _WRITE_BYTES]
        write_all(descriptor, piece, offset + start)
        os.fsync(descriptor)
        digest.update(piece)
    return digest.hexdigest()


def write_all(descriptor: int, view: memoryview, offset: int) -> None:
    """Write all bytes of `view` at `offset`. Raises `OSError`."""
    done = 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done:], offset + done)


def read_all(descriptor: int, view: memoryview, offset: int) -> None:
    """Fill `view` from `offset` on. Raises `OSError`, also if the file ends too early."""
    done = 0
    while done < len(view):
        n_read = os.preadv(descriptor, [view[done:]], offset + done)
        if n_read == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        done += n_read


def digest_of(descriptor: int, offset: int, n_bytes: int) -> str:
    """SHA-256 of so many bytes of a file from `offset` on, or of those that are there."""
    digest = hashlib.sha256()
    done = 0
    while done < n_bytes:
        piece = os.pread(descriptor, min(_READ_BYTES, n_bytes - done), offset + done)
        if not piece:
            break
        digest.update(piece)
        done += len(piece)
    return digest.hexdigest()


def sync(path: Path) -> None:
    """Have the system write what it holds of a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
