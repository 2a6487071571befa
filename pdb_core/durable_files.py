"""Durable files: written under another name and renamed, synced, locked, checked by digests.

Used by the builder, the cluster, the caches and the commands.
"""

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from pdb_core.errors import PdbError, writing_error

if TYPE_CHECKING:
    import numpy.typing as npt

_READ_BYTES = 16 * 1024 * 1024
_OTHER_OUT = "choose another place"


@contextmanager
def writing_errors(path: Path, advice: str = _OTHER_OUT) -> Iterator[None]:
    """Turn errors of the system about `path` into `DiskFullError` and `OutputError`. `advice` is what to do."""
    try:
        yield
    except PdbError:  # some of them are OSErrors
        raise
    except OSError as error:
        raise writing_error(error, str(path), advice) from error


@contextmanager
def written_safely(path: Path, advice: str = _OTHER_OUT, *, is_text: bool = True) -> Iterator[IO[Any]]:
    """Open a file for writing, in UTF-8 or binary. It gets its name when it is complete and synced.

    A device, a pipe or a link of that name is not replaced but written to. If writing fails, nothing is left behind; a
    process that is killed leaves `.NAME.DIGITS.partial`. Raises `DiskFullError` and `OutputError`; `advice` is what to
    do then.
    """
    temporary = _temporary(path)
    encoding, kind = ("utf-8", "") if is_text else (None, "b")
    with writing_errors(path, advice):
        if temporary is None:
            with path.open(f"w{kind}", encoding=encoding) as file:
                yield file
                if path.is_file():
                    file.flush()
                    os.fsync(file.fileno())
            return
        with temporary.open(f"x{kind}", encoding=encoding) as file:
            try:
                yield file
                file.close()
                put_in_place(temporary, path)
            except BaseException:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
                raise


def put_in_place(temporary: Path, path: Path) -> None:
    """Sync a complete file, give it its name, in place of another file, and sync the name. Raises `OSError`.

    A folder that this user cannot read is not synced.
    """
    sync(temporary)
    temporary.replace(path)
    with suppress(PermissionError):
        sync(path.absolute().parent)


def check_output(path: Path, advice: str = _OTHER_OUT) -> None:
    """Raise before the work begins what `written_safely` would raise after it: `DiskFullError`, `OutputError`."""
    with writing_errors(path, advice):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        temporary = _temporary(path)
        if temporary is None:
            with suppress(FileNotFoundError):
                path.stat()  # raises for links in a circle
            Path(os.path.realpath(path)).parent.stat()
        else:
            temporary.touch(exist_ok=False)
            temporary.unlink()


def _temporary(path: Path) -> Path | None:
    """Return the name under which a file is written; None for a device, a pipe or a link."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return None
    # Not a process id: two processes in containers may have the same one. Unlike files of tempfile, this one has the
    # mode that other new files have.
    return path.parent / f".{path.name}.{os.urandom(8).hex()}.partial"


def lock_file(path: Path) -> int | None:
    """Open and lock a file, which is made if it is missing. The lock ends with the descriptor or with the process.

    Return the descriptor, or None if the file was removed meanwhile: try again.

    Raises `BlockingIOError` if another process holds the lock, `FileNotFoundError` if its folder, or that of a link, is
    missing, and `OSError`, also on a file system without locks.
    """
    descriptor, is_there = os.open(path, os.O_RDWR | os.O_CREAT, 0o644), False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(FileNotFoundError):
            is_there = os.path.samestat(os.fstat(descriptor), path.stat())
    finally:
        if not is_there:
            os.close(descriptor)
    return descriptor if is_there else None


def bytes_of(array: "npt.NDArray[Any]") -> memoryview:
    """Return the bytes of a contiguous array, which is not copied."""
    return array.reshape(-1).view("u1").data


def write_all(descriptor: int, view: memoryview, offset: int) -> None:
    """Write all bytes of `view` at `offset`. Raises `OSError`."""
    while view:
        n_written = os.pwrite(descriptor, view, offset)
        view, offset = view[n_written:], offset + n_written


def read_all(descriptor: int, view: memoryview, offset: int) -> None:
    """Fill `view` from `offset` on. Raises `OSError`, also if the file ends too early."""
    while view:
        n_read = os.preadv(descriptor, [view], offset)
        if n_read == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        view, offset = view[n_read:], offset + n_read


def digest_of(file: BinaryIO, offset: int, n_bytes: int) -> str:
    """Return the SHA-256 of `n_bytes` of a file from `offset` on, or of those that are there. Raises `OSError`."""
    digest = hashlib.sha256()
    file.seek(offset)
    while piece := file.read(min(_READ_BYTES, n_bytes)):
        digest.update(piece)
        n_bytes -= len(piece)
    return digest.hexdigest()


def signed_line(text: bytes) -> bytes:
    """Return a line of text and its SHA-256, a line each."""
    return b"%b\n%b\n" % (text, hashlib.sha256(text).hexdigest().encode())


def read_signed_line(file: BinaryIO, most_bytes: int) -> bytes | None:
    """Read a `signed_line` of at most `most_bytes`, and return its text; None if it is damaged. Raises `OSError`."""
    text = file.readline(most_bytes).removesuffix(b"\n")
    digest = signed_line(text).removeprefix(text + b"\n")
    return text if file.read(len(digest)) == digest else None


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, from the system's cache to the disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
