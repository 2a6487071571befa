"""HDF5 files that Python writes: a write that fails inside the HDF5 library crashes the process at its end."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import h5py


@contextmanager
def hdf5_file(path: Path, mode: Literal["x", "r+"], **options: Any) -> Iterator[h5py.File]:
    """Make (`x`) or open (`r+`) a file. `options` are those of `h5py.File`.

    Raises the `OSError` of the first call that the system refused, when the file is closed.
    """
    descriptor = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_EXCL if mode == "x" else 0), 0o666)
    disk = _Disk(descriptor)
    try:
        with h5py.File(disk, "w" if mode == "x" else mode, **options) as file:
            yield file
    except Exception as error:
        if disk.failure is None:
            raise
        raise disk.failure from error
    finally:
        os.close(descriptor)
    if disk.failure is not None:
        raise disk.failure


class _Disk(io.RawIOBase):
    """File object for HDF5 that never fails: it keeps the first error, and reads zeros and writes nothing after it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor, self._place = descriptor, 0
        self.failure: BaseException | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset
        if whence == os.SEEK_END:
            self._place += self._try(lambda: os.fstat(self._descriptor).st_size)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        def read() -> int:
            done = 0
            while done < len(buffer) and (piece := os.pread(self._descriptor, len(buffer) - done, self._place + done)):
                buffer[done : done + len(piece)] = piece
                done += len(piece)
            return done

        done = self._try(read)
        buffer[done:] = bytes(len(buffer) - done)
        return len(buffer)

    def write(self, data: Any) -> int:
        def write() -> int:
            done = 0
            while done < len(data):
                done += os.pwrite(self._descriptor, data[done:], self._place + done)
            return done

        self._try(write)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        n_bytes = self._place if size is None else size
        self._try(lambda: os.ftruncate(self._descriptor, n_bytes))
        return n_bytes

    def _try(self, call: Any) -> int:
        """Return what the call does, 0 if it fails or one has failed before. An interrupt is kept, too."""
        if self.failure is None:
            try:
                return call() or 0
            except BaseException as error:
                self.failure = error
        return 0
