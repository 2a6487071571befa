"""Items of a slow source, such as standard input, read ahead in a thread."""

from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

Item = TypeVar("Item")

_MOST_AHEAD = 4096
# Chunks per thread that the waiting items are divided into.
_CHUNKS_A_THREAD = 4


@dataclass(frozen=True)
class _End:
    """End of the items, and the error that they ended with."""

    error: BaseException | None = None


def in_chunks(
    items: Iterable[Item], n_most: int, *, n_threads: int, waits: bool = True
) -> Generator[list[Item], None, None]:
    """Yield lists of 1 to `n_most` items that are read ahead, without waiting for more than the first.

    Lists are shorter when few items are left, so that each of `n_threads` gets some. If it does not wait for the first
    item either, a list may be empty. Raises the errors of `items`, after the items before.
    """
    # Its last item is an `_End`: the queue is empty after it.
    ready: Queue[Any] = Queue(_MOST_AHEAD)
    is_over = Event()

    def read() -> None:
        end = _End()
        try:
            for item in items:
                ready.put(item)
                if is_over.is_set():
                    return
        except BaseException as error:
            end = _End(error)
        ready.put(end)

    # A daemon: a thread that waits for input ends only with the process.
    Thread(target=read, name="read ahead", daemon=True).start()
    end: _End | None = None
    try:
        while end is None:
            if not waits and ready.empty():
                yield []
                continue
            chunk: list[Any] = [ready.get()]
            share = n_most if n_threads == 1 else ready.qsize() // (_CHUNKS_A_THREAD * n_threads)
            while len(chunk) < min(n_most, share) and not ready.empty():
                chunk.append(ready.get())
            end = chunk.pop() if isinstance(chunk[-1], _End) else None
            if chunk:
                yield chunk
        if end.error is not None:
            raise end.error
    finally:
        is_over.set()
        with suppress(Empty):
            while True:
                ready.get_nowait()
