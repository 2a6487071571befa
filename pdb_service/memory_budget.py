"""The memory that requests under way may take together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pdb_core.errors import BusyError


class Room:
    """Counts the bytes of bodies and answers that are held. Not thread-safe: for the event loop."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.n_bytes = 0

    @contextmanager
    def share(self) -> Iterator[Callable[[int], None]]:
        """What takes so many bytes more for a request; all are given back in the end."""
        taken = 0

        def take(n_bytes: int) -> None:
            nonlocal taken
            taken += n_bytes
            self.n_bytes += n_bytes

        try:
            yield take
        finally:
            self.n_bytes -= taken

    def check(self) -> None:
        """Raise `BusyError` where all is taken."""
        if self.n_bytes > self._max_bytes:
            raise BusyError("too many large requests at once; send smaller ones, or this one later")
