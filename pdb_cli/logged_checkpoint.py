"""Checkpoint of a board in a log of solved boards: the lines that store it, written and read."""

import time
from collections.abc import Callable, Iterable
from dataclasses import astuple
from typing import Any

from solver import Checkpoint, Iteration, Subtrees

# Seconds between two lines about the subtrees of a board, so that a log of hours stays small.
_WRITE_S = 5.0

Values = dict[str, Any]


class LoggedCheckpoint(Checkpoint):
    """Checkpoint that appends finished thresholds and subtrees to a log. Thread-safe."""

    def __init__(self, write: Callable[[Values], None]) -> None:
        """`write` is called with the values of a line."""
        super().__init__()
        self._write = write
        self._unwritten: tuple[int, str, Subtrees] | None = None
        self._written_at = time.monotonic()

    def read(self, values: Values) -> None:
        """Add a line of the log. Raises `ValueError`, `TypeError`, `KeyError` if it is damaged."""
        if "thresholds" in values:
            super().finish_threshold(tuple(Iteration(*threshold) for threshold in values["thresholds"]))
            return
        threshold, division = values["threshold"], values["division"]
        more = Subtrees(_numbers(values["subtrees"]), values["generated"], values["expanded"], values["seconds"])
        if self.subtrees(threshold, division).numbers & more.numbers:
            raise ValueError("subtrees that are in an earlier line")
        super().finish_subtrees(threshold, division, more)

    def finish_subtrees(self, threshold: int, division: str, more: Subtrees) -> None:
        """Add finished subtrees of a threshold, as `Checkpoint` does."""
        super().finish_subtrees(threshold, division, more)
        with self._lock:
            if self._unwritten is None:
                self._unwritten = threshold, division, Subtrees()
            self._unwritten[2].add(more)
            if time.monotonic() - self._written_at >= _WRITE_S:
                self._write_subtrees()

    def finish_threshold(self, finished: tuple[Iteration, ...]) -> None:
        """Add a finished threshold, as `Checkpoint` does."""
        super().finish_threshold(finished)
        with self._lock:
            self._unwritten = None
            if self.is_long:
                self._write({"thresholds": [astuple(iteration) for iteration in finished]})

    def flush(self) -> None:
        """Write what is not written yet."""
        with self._lock:
            self._write_subtrees()

    def _write_subtrees(self) -> None:
        if self._unwritten is None:
            return
        threshold, division, subtrees = self._unwritten
        self._unwritten = None
        self._written_at = time.monotonic()
        values = {"threshold": threshold, "division": division, "subtrees": _ranges(subtrees.numbers)}
        values |= {"generated": subtrees.generated, "expanded": subtrees.expanded, "seconds": subtrees.seconds}
        self._write(values)


def _ranges(numbers: Iterable[int]) -> str:
    """Return numbers as text: `0-57,60`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _numbers(text: str) -> set[int]:
    """Return the numbers of a text by `_ranges`."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers
