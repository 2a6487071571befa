"""Search of one pattern: its distances, level by level, on all cores."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass

import numpy as np

from pdb_build.bit_rows import Spill
from pdb_build.level_search import (
    Arrays,
    DistanceSearch,
    LevelSearch,
    SearchPart,
    level_search,
    whole_pattern,
)
from pdb_core.durable_files import digest_of
from pdb_core.encoding import UNREACHED
from pdb_core.errors import LimitReachedError
from pdb_core.pattern import Pattern
from pdb_core.table_spec import TableSpec
from pdb_core.threads import thread_pool
from pdb_core.types import Bytes

# Called in the thread of the caller with (depth, states reached so far, all states).
Progress = Callable[[int, int, int], None]

NO_ENTRIES: Bytes = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True)
class PatternTable:
    """Distances of one pattern.

    Attributes
    ----------
    spec
        Description of the table.
    table
        uint8[n_bytes] in the encoding of `spec`; empty once it is written.
    histogram
        Number of entries at each distance.
    states_per_depth
        Number of zero-aware states at each distance; in bits these are the entries.
    seconds
        Time of the search, in all runs.
    offset, sha256
        Place and digest of a table that is in a file.
    """

    spec: TableSpec
    table: Bytes
    histogram: tuple[int, ...]
    states_per_depth: tuple[int, ...]
    seconds: float
    offset: int = 0
    sha256: str = ""

    @property
    def pattern(self) -> Pattern:
        return self.spec.pattern

    def is_in(self, descriptor: int) -> bool:
        """Return whether a file has the bytes of the table at `offset`. Raises `OSError`."""
        return digest_of(descriptor, self.offset, self.spec.n_bytes) == self.sha256


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


class SearchCheckpoints:
    """Checkpoints of the search of a pattern; this class has none."""

    def restore(self, arrays: Arrays) -> SearchPosition:  # noqa: ARG002
        """Fill the arrays of the search from a checkpoint, and return its position; by default the start."""
        return SearchPosition()

    def keep(self, position: SearchPosition, arrays: Arrays) -> None:
        """Write a checkpoint if it is due. Called after each level."""

    def finishes_level(self, level: int) -> bool:  # noqa: ARG002
        """Return whether a level that Ctrl-C interrupts is finished and kept before the search ends."""
        return False


NO_CHECKPOINTS = SearchCheckpoints()


def search_pattern(
    spec: TableSpec,
    *,
    n_threads: int,
    progress: Progress = lambda *_: None,
    checkpoints: SearchCheckpoints = NO_CHECKPOINTS,
    spill: Spill | None = None,
    search_of: Callable[[SearchPart], LevelSearch] | None = None,
) -> PatternTable:
    """Search the distances of all placements of a pattern from the goal.

    Parameters
    ----------
    spec
        The goal, the pattern, and how distances are counted and stored.
    n_threads
        Threads of the search. The result does not depend on them.
    progress
        Called with (depth, states reached so far, all states) after each level.
    checkpoints
        Restores and keeps the state of the search between levels.
    spill
        Keeps some of the bits in a file, which takes less memory.
    search_of
        Makes the search, by default the one in the encoding of `spec`.

    Returns
    -------
    PatternTable
        The table and its histogram.

    Raises
    ------
    LimitReachedError
        A distance is over 254, which no byte can hold.
    DiskFullError, OutputError
        The file of `spill` cannot be written or read.
    """
    start = time.perf_counter()
    part = whole_pattern(spec)
    search = level_search(part, spec.encoding, spill) if search_of is None else search_of(part)
    position = checkpoints.restore(search.arrays())
    start -= position.seconds
    with thread_pool(n_threads) as pool:
        try:
            while True:
                level = position.level
                n_reached, n_written, interrupt = _search_level(search, level, pool, checkpoints)
                if n_reached:
                    position = SearchPosition(
                        (*position.entries_per_depth, n_written),
                        (*position.states_per_depth, n_reached),
                        time.perf_counter() - start,
                    )
                    checkpoints.keep(position, search.arrays())
                if interrupt is not None:
                    raise interrupt
                if not n_reached:
                    break
                progress(level, sum(position.states_per_depth), spec.n_states)
                if position.level == UNREACHED:
                    raise too_far(spec)
            table = search.finish(pool)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    entries_per_depth, states_per_depth = position.entries_per_depth, position.states_per_depth
    # Patterns that leave out at most one tile have states that cannot be reached.
    progress(len(states_per_depth) - 1, spec.n_states, spec.n_states)
    while entries_per_depth[-1] == 0:  # the last zero-aware levels may reach no new arrangement
        entries_per_depth = entries_per_depth[:-1]
    return PatternTable(spec, table, entries_per_depth, states_per_depth, time.perf_counter() - start)


def too_far(spec: TableSpec) -> LimitReachedError:
    """Return the error for a pattern that has states beyond the largest distance."""
    return LimitReachedError(f"pattern {spec.pattern} has distances over {UNREACHED - 1}, more than a byte can hold")


def zero_aware_distances(spec: TableSpec, *, n_threads: int, progress: Progress) -> PatternTable:
    """Search the zero-aware distance of each state. The table is uint8[n_blocks * k!], with `UNREACHED` for others.

    Raises `LimitReachedError` for a distance over 254.
    """
    return search_pattern(spec, n_threads=n_threads, progress=progress, search_of=DistanceSearch)


def _search_level(
    search: LevelSearch, level: int, pool: ThreadPoolExecutor, checkpoints: SearchCheckpoints
) -> tuple[int, int, KeyboardInterrupt | None]:
    """Search a level. Return the states reached, the entries written, and the interrupt after which it was finished."""
    tasks = [pool.submit(search.advance, slab, level) for slab in search.slabs(level)]
    interrupt = None
    try:
        for task in as_completed(tasks):
            task.result()
    except KeyboardInterrupt as error:
        if not checkpoints.finishes_level(level):
            raise
        interrupt = error
        wait(tasks)
    counts = sum((task.result() for task in tasks), np.zeros(2, dtype=np.int64))
    return int(counts[0]), int(counts[1]), interrupt
