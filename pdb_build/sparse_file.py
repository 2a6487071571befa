"""File in memory of which only the pages that are written take memory. Used for the structures of HDF5."""

import io

_PAGE_BYTES = 4096


class SparseFile(io.RawIOBase):
    """Binary file in memory, for reading and writing at any position. Bytes that were never written are 0."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._position = self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._position = offset + (0, self._position, self._n_bytes)[whence]
        return self._position

    def truncate(self, size: int | None = None, /) -> int:
        self._n_bytes = self._position if size is None else size
        for number in [number for number in self._pages if number * _PAGE_BYTES >= self._n_bytes]:
            del self._pages[number]
        last, kept = divmod(self._n_bytes, _PAGE_BYTES)
        if last in self._pages:
            self._pages[last][kept:] = bytes(_PAGE_BYTES - kept)
        return self._n_bytes

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # type: ignore[override]
        view = memoryview(buffer).cast("B")
        view = view[: max(0, self._n_bytes - self._position)]
        for page, first, stop, at in self._extents(len(view)):
            view[at : at + stop - first] = self._pages.get(page, bytes(_PAGE_BYTES))[first:stop]
        self._position += len(view)
        return len(view)

    def write(self, data: "bytes | memoryview", /) -> int:  # type: ignore[override]
        view = memoryview(data).cast("B")
        for page, first, stop, at in self._extents(len(view)):
            self._pages.setdefault(page, bytearray(_PAGE_BYTES))[first:stop] = view[at : at + stop - first]
        self._position += len(view)
        self._n_bytes = max(self._n_bytes, self._position)
        return len(view)

    def _extents(self, n_bytes: int) -> list[tuple[int, int, int, int]]:
        """Return, for each page of the next bytes, its number, the first and the last byte + 1, and where they are in
        the buffer.
        """
        found, done = [], 0
        while done < n_bytes:
            page, first = divmod(self._position + done, _PAGE_BYTES)
            stop = min(_PAGE_BYTES, first + n_bytes - done)
            found.append((page, first, stop, done))
            done += stop - first
        return found
