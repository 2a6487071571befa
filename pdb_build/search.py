"""Search of one pattern: its distances, level by level, on all cores."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pdb_build.bit_rows import Spill
from pdb_build.frontier import Arrays, Frontier, Table, search_frontier, whole_pattern
from pdb_core.encoding import UNREACHED
from pdb_core.errors import LimitReachedError
from pdb_core.pattern import Pattern
from pdb_core.table_spec import TableSpec

# Called in the thread of the caller with (depth, states reached so far, all states).
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class PatternTable:
    """Distances of one pattern.

    table             uint8[n_bytes] in the encoding of `spec`; empty once it is written
    histogram         entries at each distance
    states_per_depth  zero-aware states at each distance; in bits these are the entries
    """

    spec: TableSpec
    table: Table
    histogram: tuple[int, ...]
    states_per_depth: tuple[int, ...]
    seconds: float

    @property
    def pattern(self) -> Pattern:
        return self.spec.pattern

    @property
    def n_entries(self) -> int:
        return self.spec.n_entries

    @property
    def n_bytes(self) -> int:
        return self.spec.n_bytes

    @property
    def n_unreached(self) -> int:
        return self.n_entries - sum(self.histogram)

    def without_entries(self) -> "PatternTable":
        """Return a copy without the table, which takes the memory."""
        return replace(self, table=np.empty(0, dtype=np.uint8))


@dataclass(frozen=True)
class SearchPosition:
    """Position of a search between two levels.

    entries_per_depth, states_per_depth  of the levels that are done
    seconds                              time of these levels, in all runs
    """

    entries_per_depth: tuple[int, ...] = (1,)
    states_per_depth: tuple[int, ...] = (1,)
    seconds: float = 0.0

    @property
    def level(self) -> int:
        """The level that comes next."""
        return len(self.states_per_depth)


class SearchKeeper(Protocol):
    """Store of the arrays of a search, from which it can continue in another run."""

    def restore(self, arrays: Arrays) -> SearchPosition:
        """Fill the arrays with what was kept and return the position; return the start if nothing was kept."""

    def keep_if_due(self, position: SearchPosition, arrays: Arrays) -> None:
        """Keep the arrays if it is time. Called after each level."""

    def finishes_level(self, level: int) -> bool:
        """Return whether an interrupted search should finish its level, so that it can be kept."""

    def keep_at_interrupt(self, position: SearchPosition, arrays: Arrays) -> None:
        """Keep the arrays before an interrupt ends the search, if that is worth the time."""


def search_pattern(
    spec: TableSpec,
    *,
    n_threads: int,
    progress: Progress | None = None,
    keeper: SearchKeeper | None = None,
    spill: Spill | None = None,
) -> PatternTable:
    """Return the distances of all placements of a pattern from the goal.

    `spill` keeps some of the bits in a file, which takes less memory. The result depends neither on `n_threads` nor on
    `spill` nor on `keeper`.

    Raises `LimitReachedError` for a distance over 254, which no byte can hold; `DiskFullError` and `OutputError` if the
    file of `spill` cannot be written or read; and what `keeper` raises.
    """
    start = time.perf_counter()
    frontier = search_frontier(whole_pattern(spec), spec.encoding, spill)
    begin = SearchPosition() if keeper is None else keeper.restore(frontier.arrays())
    levels = _Levels(frontier, begin, start - begin.seconds, keeper)
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while (position := levels.advance(pool)) is not None:
                if keeper is not None:
                    keeper.keep_if_due(position, frontier.arrays())
                if progress is not None:
                    progress(position.level - 1, sum(position.states_per_depth), spec.n_states)
                if position.level == UNREACHED:
                    raise LimitReachedError(
                        f"pattern {spec.pattern} has distances over {UNREACHED - 1}, more than a byte can hold"
                    )
            entries_per_depth, states_per_depth = levels.last.entries_per_depth, levels.last.states_per_depth
            table = frontier.finish(sum(entries_per_depth) == spec.n_entries, pool)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt) and keeper is not None and levels.position is not None:
                keeper.keep_at_interrupt(levels.position, frontier.arrays())
            raise
    if progress is not None:  # patterns that leave out at most one tile have states that cannot be reached
        progress(len(states_per_depth) - 1, spec.n_states, spec.n_states)
    while entries_per_depth[-1] == 0:  # the last zero-aware levels may reach no new arrangement
        entries_per_depth = entries_per_depth[:-1]
    return PatternTable(spec, table, entries_per_depth, states_per_depth, begin.seconds + time.perf_counter() - start)


class _Levels:
    """Levels of a search, one after another.

    position  what the arrays hold; None while a level is under way, and after the last one, when they become the table
    last      the position before that
    """

    def __init__(self, frontier: Frontier, begin: SearchPosition, start_s: float, keeper: SearchKeeper | None) -> None:
        self._frontier, self._start_s, self._keeper = frontier, start_s, keeper
        self.last = begin
        self.position: SearchPosition | None = begin

    def advance(self, pool: ThreadPoolExecutor) -> SearchPosition | None:
        """Search the next level. Return the position after it, None if it reached no state."""
        level, self.position = self.last.level, None
        tasks = [pool.submit(self._frontier.advance, slab, level) for slab in self._frontier.slabs(level)]
        interrupt = None
        try:
            for task in as_completed(tasks):
                task.result()
        except KeyboardInterrupt as error:
            if self._keeper is None or not self._keeper.finishes_level(level):
                raise
            interrupt = error
            wait(tasks)
        n_reached, n_written = _totals(tasks)
        if n_reached:
            self.position = self.last = SearchPosition(
                (*self.last.entries_per_depth, n_written),
                (*self.last.states_per_depth, n_reached),
                time.perf_counter() - self._start_s,
            )
        if interrupt is not None:
            raise interrupt
        return self.position


def _totals(tasks: list[Future[Any]]) -> tuple[int, int]:
    """Return the states reached and the entries written by all slabs of a level."""
    counts = sum((task.result() for task in tasks), np.zeros(2, dtype=np.int64))
    return int(counts[0]), int(counts[1])
