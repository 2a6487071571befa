"""File in memory of which only the pages that are written take memory. Used for the structures of HDF5."""

import io
from collections.abc import Iterator

_PAGE_BYTES = 4096


class SparseFile(io.RawIOBase):
    """Binary file in memory, for reading and writing at any position. Bytes that were never written are 0.

    HDF5 truncates it once, when it is complete. So what is cut off need not become 0.
    """

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._position = self._n_bytes = 0

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._position = offset + (0, self._position, self._n_bytes)[whence]
        return self._position

    def truncate(self, size: int | None = None, /) -> int:
        self._n_bytes = self._position if size is None else size
        return self._n_bytes

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # type: ignore[override]
        view = memoryview(buffer).cast("B")[: max(0, self._n_bytes - self._position)]
        for page, piece in self._pieces(view):
            piece[:] = page
        return len(view)

    def write(self, data: "bytes | memoryview", /) -> int:  # type: ignore[override]
        view = memoryview(data).cast("B")
        for page, piece in self._pieces(view):
            page[:] = piece
        self._n_bytes = max(self._n_bytes, self._position)
        return len(view)

    def _pieces(self, view: memoryview) -> Iterator[tuple[memoryview, memoryview]]:
        """Yield pieces of pages from the position on, each with its piece of `view`. Move the position behind them."""
        while view:
            number, first = divmod(self._position, _PAGE_BYTES)
            page = memoryview(self._pages.setdefault(number, bytearray(_PAGE_BYTES)))[first : first + len(view)]
            yield page, view[: len(page)]
            self._position += len(page)
            view = view[len(page) :]
