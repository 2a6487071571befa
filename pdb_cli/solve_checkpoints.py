"""Checkpoints of boards in a log of `pdb solve`: the lines that store them, written and read."""

import json
import time
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from solver import Checkpoint, Iteration, Subtrees

# Seconds between two lines about the subtrees of a board, so that a log of hours stays small.
_WRITE_S = 5.0
# Larger numbers of subtrees are damage.
_MOST_SUBTREES = 10_000_000

Values = dict[str, Any]


class LoggedCheckpoint(Checkpoint):
    """Checkpoint that is in a log: what the log has is read, what is finished is written. Thread-safe."""

    def __init__(self, write: Callable[[Values], None]) -> None:
        """`write` is called with the values of a line."""
        super().__init__()
        self._write = write
        self._unwritten: tuple[int, str, Subtrees] | None = None
        self._written_at = time.monotonic()

    @property
    def is_empty(self) -> bool:
        return not (self.is_long or self._subtrees)

    def read(self, values: Values) -> None:
        """Take over a line of the log. Raises `ValueError`, `TypeError`, `KeyError` if it is damaged."""
        if "thresholds" in values:
            finished = []
            for threshold, generated, expanded, seconds in values["thresholds"]:
                iteration = Iteration(_integer(threshold), _integer(generated), _integer(expanded), _seconds(seconds))
                finished.append(iteration)
            super().finish_threshold(tuple(finished))
            return
        threshold, division = _integer(values["threshold"]), str(values["division"])
        more = Subtrees(
            _numbers(values["subtrees"]),
            _integer(values["generated"]),
            _integer(values["expanded"]),
            _seconds(values["seconds"]),
        )
        if self.subtrees(threshold, division).numbers & more.numbers:
            raise ValueError
        super().finish_subtrees(threshold, division, more)

    def finish_subtrees(self, threshold: int, division: str, more: Subtrees) -> None:
        super().finish_subtrees(threshold, division, more)
        with self._lock:
            if self._unwritten is None:
                self._unwritten = threshold, division, Subtrees()
            self._unwritten[2].add(more)
            if time.monotonic() - self._written_at >= _WRITE_S:
                self._write_subtrees()

    def finish_threshold(self, finished: tuple[Iteration, ...]) -> None:
        super().finish_threshold(finished)
        with self._lock:
            self._unwritten = None
            if self.is_long:
                self._write(
                    {"thresholds": [[i.threshold, i.generated, i.expanded, round(i.seconds, 6)] for i in finished]}
                )

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
        self._write(
            {
                "threshold": threshold,
                "division": division,
                "subtrees": _ranges(subtrees.numbers),
                "generated": subtrees.generated,
                "expanded": subtrees.expanded,
                "seconds": round(subtrees.seconds, 6),
            }
        )


def with_check(values: Values) -> Values:
    """Return values with a checksum: a replay proves a solution, but nothing proves that a subtree was searched."""
    return values | {"check": _checksum(values)}


def without_check(values: Values) -> Values:
    """Return values without their checksum. Raises `ValueError` if they do not match it, `KeyError`."""
    values = values.copy()
    if values.pop("check") != _checksum(values):
        raise ValueError
    return values


def _checksum(values: Values) -> str:
    return f"{zlib.crc32(json.dumps(values).encode()):08x}"


def _ranges(numbers: Iterable[int]) -> str:
    """Return numbers as text: `0-57,60`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _numbers(text: object) -> set[int]:
    """Return the numbers of a text by `_ranges`. Raises `ValueError`, `TypeError`."""
    if not isinstance(text, str):
        raise TypeError
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end < _MOST_SUBTREES:
            raise ValueError
        numbers.update(range(begin, end + 1))
    return numbers


def _integer(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _seconds(value: object) -> float:
    if not isinstance(value, float | int) or isinstance(value, bool) or not 0 <= value < 1e12:
        raise TypeError
    return float(value)
