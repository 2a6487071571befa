"""Boards of standard input as they come: whoever writes them may wait for the answer to one before writing the next."""

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TextIO, TypeVar

Item = TypeVar("Item")

_MOST_AHEAD = 4096


@dataclass(frozen=True)
class _End:
    error: BaseException | None


def as_they_come(items: Iterable[Item]) -> Iterator[Item | None]:
    """Items, read ahead by a thread of its own, so that a slow source holds nobody up; None whenever there is none yet.

    Raises what `items` raises, after the items before.
    """
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
    finally:
        is_over.set()
        with suppress(Empty):
            while True:
                ready.get_nowait()


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
