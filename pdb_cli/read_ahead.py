"""Items that a thread reads ahead. The writer of standard input may wait for an answer before it writes another."""

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TextIO, TypeVar

Item = TypeVar("Item")

_MOST_AHEAD = 4096
# Chunks that the items read ahead are divided into, per thread.
_CHUNKS_A_THREAD = 4


@dataclass(frozen=True)
class _End:
    error: BaseException | None


@contextmanager
def _read_ahead(items: Iterable[Any]) -> "Iterator[Queue[Any]]":
    """Read items in a thread, so that a slow source delays nothing else. The last one in the queue is an `_End`."""
    ready: Queue[Any] = Queue(_MOST_AHEAD)
    is_over = Event()

    def read() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                ready.put(item)
                if is_over.is_set():
                    return
        except BaseException as caught:
            error = caught
        ready.put(_End(error))

    # Nothing can end a thread that waits for input but the end of the process.
    Thread(target=read, name="read ahead", daemon=True).start()
    try:
        yield ready
    finally:
        is_over.set()
        with suppress(Empty):
            while True:
                ready.get_nowait()


def as_they_come(items: Iterable[Item]) -> Iterator[Item | None]:
    """Yield items that are read ahead, and None whenever there is none yet.

    Raises what `items` raises, after the items before.
    """
    with _read_ahead(items) as ready:
        while True:
            try:
                item = ready.get_nowait()
            except Empty:
                yield None
                continue
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item


def in_chunks(items: Iterable[Item], n_most: int, *, n_threads: int) -> Iterator[list[Item]]:
    """Yield items that are read ahead, in lists of up to `n_most` of those that are there, at least 1.

    Lists are shorter when few items are left, so that each of `n_threads` has some. Raises what `items` raises, after
    the items before.
    """
    with _read_ahead(items) as ready:
        while True:
            chunk = [ready.get()]
            share = n_most if n_threads == 1 else ready.qsize() // (_CHUNKS_A_THREAD * n_threads)
            with suppress(Empty):
                while len(chunk) < min(n_most, share) and not isinstance(chunk[-1], _End):
                    chunk.append(ready.get_nowait())
            end = chunk.pop() if isinstance(chunk[-1], _End) else None
            if chunk:
                yield chunk
            if end is not None:
                if end.error is not None:
                    raise end.error
                return


def unbuffered_input() -> TextIO | None:
    """Standard input, to be read by a thread. Python's own has a lock, which a thread that waits for input would still
    hold when the process ends.
    """
    try:
        raw = io.FileIO(sys.stdin.fileno(), closefd=False)
    except (AttributeError, OSError, ValueError):  # none, or one that is no file
        return sys.stdin
    # A strict decoder fails a buffer ahead of the line; escaped bytes are refused where they stand.
    return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape")
