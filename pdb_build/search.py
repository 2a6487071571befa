"""Search of one pattern: its distances, level by level, on all cores."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from pdb_build.bit_rows import Spill
from pdb_build.level_search import BitsSearch, ByteSearch
from pdb_core.encoding import UNREACHED
from pdb_core.errors import LimitReachedError
from pdb_core.table_spec import TableSpec
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
        Time of the search.
    sha256
        Digest of a table that is in a file.
    """

    spec: TableSpec
    table: Bytes
    histogram: tuple[int, ...]
    states_per_depth: tuple[int, ...]
    seconds: float
    sha256: str = ""


def search_pattern(
    spec: TableSpec,
    *,
    n_threads: int,
    progress: Progress = lambda *_: None,
    spill: Spill | None = None,
    zero_aware: bool = False,
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
    spill
        Keeps some of the bits in a file, which takes less memory.
    zero_aware
        Return the distance of each state instead of a table: uint8[n_blocks * k!], with `UNREACHED` for others.

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
    in_bits = spec.encoding == "bits" and not zero_aware
    search = BitsSearch(spec, spill) if in_bits else ByteSearch(spec, zero_aware=zero_aware)
    states, entries = [1], [1]
    with ThreadPoolExecutor(n_threads) as pool:
        while True:
            depth = len(states)
            # After an interrupt, the slabs that no thread has begun are cancelled.
            counts = sum(pool.map(partial(search.advance, depth=depth), search.slabs(depth)), np.zeros(2, np.int64))
            n_reached, n_written = counts.tolist()
            if not n_reached:
                break
            states.append(n_reached)
            entries.append(n_written)
            progress(depth, sum(states), spec.n_states)
            if len(states) == UNREACHED:
                raise LimitReachedError(
                    f"pattern {spec.pattern} has distances over {UNREACHED - 1}, more than a byte can hold"
                )
        table = search.finish(pool)
    # Patterns that leave out at most one tile have states that cannot be reached.
    progress(len(states) - 1, spec.n_states, spec.n_states)
    while entries[-1] == 0:  # the last zero-aware levels may reach no new arrangement
        entries.pop()
    return PatternTable(spec, table, tuple(entries), tuple(states), time.perf_counter() - start)
