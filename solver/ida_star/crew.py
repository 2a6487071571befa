"""Threads that have no board of their own help to search those of others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from typing import Any

from solver.ida_star.threshold import ThresholdSearch


class Crew:
    """Brings searches that take long and threads that are free together. Thread-safe."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._helpers: dict[ThresholdSearch[Any], int] = {}
        self._is_closed = False

    def offer(self, search: ThresholdSearch[Any]) -> None:
        """Let others help with a threshold, until `withdraw`."""
        with self._changed:
            self._helpers[search] = 0
            self._changed.notify_all()

    def withdraw(self, search: ThresholdSearch[Any]) -> None:
        with self._changed:
            self._helpers.pop(search, None)

    def help(self) -> None:
        """Help with whatever is offered, until the crew is closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._open_searches())
                if self._is_closed:
                    return
                search = min(self._open_searches(), key=lambda at: self._helpers[at])
                self._helpers[search] += 1
            search.help(search.empty_stacks())
            with self._changed:
                if search in self._helpers:
                    self._helpers[search] -= 1

    def close(self) -> None:
        """Send the helpers home."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _open_searches(self) -> list[ThresholdSearch[Any]]:
        return [search for search in self._helpers if not search.is_over]


@contextmanager
def crew_of(n_helpers: int) -> Iterator[Crew]:
    """A crew with threads of its own."""
    crew = Crew()
    with ThreadPoolExecutor(max(1, n_helpers)) as pool:
        try:
            for _ in range(n_helpers):
                pool.submit(crew.help)
            yield crew
        finally:
            crew.close()
