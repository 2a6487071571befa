"""The search: distances of one pattern, level by level, on all cores."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pdb_build.bit_rows import Spill
from pdb_build.frontier import Arrays, Frontier, Table, search_frontier, whole_pattern
from pdb_core.encoding import UNREACHED
from pdb_core.errors import LimitReachedError
from pdb_core.pattern import Pattern
from pdb_core.table_spec import TableSpec

# Called from the main thread with (depth, states reached so far, states in all).
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class PatternTable:
    """The distances of one pattern.

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
        """All but the table itself, which takes the memory."""
        return replace(self, table=np.empty(0, dtype=np.uint8))


@dataclass(frozen=True)
class SearchPosition:
    """How far a search is: the level under way, and which of its slabs are done.

    n_reached, n_written                 states and entries in those slabs
    entries_per_depth, states_per_depth  of the levels before
    seconds                              what all this took
    """

    level: int = 1
    done_slabs: tuple[int, ...] = ()
    n_reached: int = 0
    n_written: int = 0
    entries_per_depth: tuple[int, ...] = (1,)
    states_per_depth: tuple[int, ...] = (1,)
    seconds: float = 0.0

    def after_level(self) -> "SearchPosition":
        """At the start of the next level, this one being done."""
        return SearchPosition(
            self.level + 1,
            entries_per_depth=(*self.entries_per_depth, self.n_written),
            states_per_depth=(*self.states_per_depth, self.n_reached),
            seconds=self.seconds,
        )


class SearchKeeper(Protocol):
    """Who keeps what a search has found out, so that it can go on from there another time."""

    def restore(self, arrays: Arrays) -> SearchPosition:
        """Fill the arrays with what was kept, and say how far that is; the start, where nothing was."""

    def is_due(self) -> bool:
        """Whether `keep` should be called. Asked after each slab."""

    def keep(self, position: SearchPosition, arrays: Arrays) -> None:
        """Keep what was found out by now."""

    def keep_at_interrupt(self, position: SearchPosition, arrays: Arrays) -> None:
        """Keep it before the search ends by Ctrl-C, if that is worth the time."""


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
    levels = _Levels(frontier, begin, start, keeper)
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while levels.advance(pool):
                if progress is not None:
                    progress(levels.position.level - 1, sum(levels.position.states_per_depth), spec.n_states)
                if levels.position.level == UNREACHED:
                    raise LimitReachedError(
                        f"pattern {spec.pattern} has distances over {UNREACHED - 1}, more than a byte can hold"
                    )
            entries_per_depth = list(levels.position.entries_per_depth)
            states_per_depth = levels.position.states_per_depth
            is_complete = sum(entries_per_depth) == spec.n_entries
            table = frontier.finish(is_complete, pool)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                levels.keep_at_interrupt()
            raise
    if progress is not None:  # where only one tile or none is outside the pattern, the rest cannot be reached
        progress(len(states_per_depth) - 1, spec.n_states, spec.n_states)
    while entries_per_depth[-1] == 0:  # the last blank-aware levels may reach no arrangement for the first time
        entries_per_depth.pop()
    return PatternTable(
        spec,
        table,
        tuple(entries_per_depth),
        states_per_depth,
        begin.seconds + time.perf_counter() - start,
    )


class _Levels:
    """The levels of a search, one after another.

    The slabs of a level write rows that none of them reads: each may be done at any time before the next level. So a
    search can stop, and be kept, between any two of them.
    """

    def __init__(self, frontier: Frontier, begin: SearchPosition, start: float, keeper: SearchKeeper | None) -> None:
        self.position = begin
        self._frontier = frontier
        self._keeper = keeper
        self._start = start - begin.seconds
        # Whether the arrays are what `position` says: not while slabs are under way, nor after an error in their midst.
        self._is_settled = True

    def advance(self, pool: ThreadPoolExecutor) -> bool:
        """Do the rest of a level; False where nothing is left to be reached."""
        n_slabs = len(self._frontier.slabs(self.position.level))
        while len(self.position.done_slabs) < n_slabs:
            self._is_settled = False
            position, interrupt = self._advance_slabs(pool)
            self.position = position
            self._is_settled = True
            if interrupt is not None:
                raise interrupt
            if len(position.done_slabs) < n_slabs:
                self._keep_if_due()
        if self.position.n_reached == 0:
            self._is_settled = False  # the arrays become the table
            return False
        self.position = self.position.after_level()
        self._keep_if_due()
        return True

    def keep_at_interrupt(self) -> None:
        """Have it kept for another time, where that is possible."""
        if self._keeper is not None and self._is_settled:
            self._keeper.keep_at_interrupt(self._timed(), self._frontier.arrays())

    def _advance_slabs(self, pool: ThreadPoolExecutor) -> tuple[SearchPosition, KeyboardInterrupt | None]:
        """Do slabs of the level until none is left, or it is time to keep what there is, or Ctrl-C."""
        position, interrupt = self.position, None
        done_before = set(position.done_slabs)
        tasks = {
            number: pool.submit(self._frontier.advance, slab, position.level)
            for number, slab in enumerate(self._frontier.slabs(position.level))
            if number not in done_before
        }
        try:
            for task in as_completed(tasks.values()):
                task.result()
                if self._keeper is not None and self._keeper.is_due():
                    break
        except KeyboardInterrupt as error:
            interrupt = error
        for task in tasks.values():
            task.cancel()
        wait(tasks.values())
        done = {number: task.result() for number, task in tasks.items() if not task.cancelled()}
        return replace(
            position,
            done_slabs=(*position.done_slabs, *sorted(done)),
            n_reached=position.n_reached + sum(int(counts[0]) for counts in done.values()),
            n_written=position.n_written + sum(int(counts[1]) for counts in done.values()),
        ), interrupt

    def _keep_if_due(self) -> None:
        if self._keeper is not None and self._keeper.is_due():
            self._keeper.keep(self._timed(), self._frontier.arrays())

    def _timed(self) -> SearchPosition:
        return replace(self.position, seconds=time.perf_counter() - self._start)
