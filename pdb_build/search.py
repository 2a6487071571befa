"""The search: distances of one pattern, level by level, on all cores."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from threading import local

import numpy as np
import numpy.typing as npt

from pdb_build.search_kernels import advance_cell_sets, fill_unreached
from pdb_build.words import word_layout
from pdb_core.errors import LimitReachedError
from pdb_core.layout import PatternLayout, pattern_layout
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Board, BoardSize
from pdb_core.schema import UNREACHED

Table = npt.NDArray[np.uint8]
# Called from the main thread with (depth, states reached so far, states in all).
Progress = Callable[[int, int, int], None]

# A slab of cell sets is what a thread takes at a time: small enough that Ctrl-C is heard within a fraction of a second.
_SLAB_STATES = 5_000_000


@dataclass(frozen=True)
class PatternTable:
    """The distances of one pattern.

    table             uint8[n_entries]: the additive minimum, `UNREACHED` where there is none; empty once it is written
    histogram         entries at each distance
    states_per_depth  blank-aware states at each distance
    """

    pattern: Pattern
    table: Table
    histogram: tuple[int, ...]
    states_per_depth: tuple[int, ...]
    n_entries: int
    seconds: float

    @property
    def n_unreached(self) -> int:
        return self.n_entries - sum(self.histogram)

    def without_entries(self) -> "PatternTable":
        """All but the table itself, which takes the memory."""
        return replace(self, table=np.empty(0, dtype=np.uint8))


def search_pattern(
    size: BoardSize, goal: Board, pattern: Pattern, *, n_threads: int, progress: Progress | None = None
) -> PatternTable:
    """Distances of all placements of `pattern` from `goal`; only moves of the pattern's tiles count.

    The result does not depend on `n_threads`. Raises `LimitReachedError` for a distance over 254, which no byte can
    hold.
    """
    start = time.perf_counter()
    layout = pattern_layout(size, pattern.n_tiles)
    frontier = _Frontier(layout, goal, pattern)
    entries_per_depth, states_per_depth = [1], [1]
    n_states = layout.n_blocks * layout.n_orders
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for level in range(1, UNREACHED):
                n_reached, n_written = frontier.advance(level, pool)
                if n_reached == 0:
                    break
                states_per_depth.append(n_reached)
                entries_per_depth.append(n_written)
                if progress is not None:
                    progress(level, sum(states_per_depth), n_states)
            else:
                raise LimitReachedError(
                    f"pattern {pattern} has distances over {UNREACHED - 1}, more than a byte can hold"
                )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if progress is not None:  # where only one tile or none is outside the pattern, the rest cannot be reached
        progress(len(states_per_depth) - 1, n_states, n_states)
    if sum(entries_per_depth) < frontier.table.size:
        frontier.mark_unreached()
    while entries_per_depth[-1] == 0:  # the last blank-aware levels may reach no arrangement for the first time
        entries_per_depth.pop()
    return PatternTable(
        pattern,
        frontier.table.reshape(-1),
        tuple(entries_per_depth),
        tuple(states_per_depth),
        frontier.table.size,
        time.perf_counter() - start,
    )


class _Frontier:
    """The arrays of a search, and one step of it."""

    def __init__(self, layout: PatternLayout, goal: Board, pattern: Pattern) -> None:
        words = word_layout(layout.n_tiles, layout.size.width)
        n_row = words.row_bytes // 8
        self._layout = layout
        self._words = words
        self._frontier = np.zeros((layout.n_blocks, n_row), dtype=np.uint64)
        self._n_active = np.zeros(layout.n_blocks, dtype=np.int32)
        self._seen = np.zeros((layout.n_sets, n_row), dtype=np.uint64)
        # Not filled: the threads touch its pages first, in parallel, which takes half the time.
        self.table = np.empty((layout.n_sets, layout.n_orders), dtype=np.uint8)
        self._scratch = local()

        block, rank = layout.goal_state(goal, pattern.tiles)
        cell_set = int(np.searchsorted(layout.first_block, block, side="right")) - 1
        slot = int(words.slot_of_rank[rank])
        self._frontier[block, slot // 64] = self._seen[cell_set, slot // 64] = np.uint64(1 << (slot % 64))
        self._n_active[block] = 1
        self.table[cell_set, rank] = 0

        dark = sum(1 << cell for cell in range(layout.size.n_cells) if layout.size.is_dark(cell))
        parity = np.bitwise_count(layout.cell_sets & dark) % 2
        even = np.flatnonzero(parity == parity[cell_set])
        odd = np.flatnonzero(parity != parity[cell_set])
        sets_per_slab = max(1, _SLAB_STATES * layout.n_sets // (layout.n_blocks * layout.n_orders))
        self._slabs = [
            [sets[start : start + sets_per_slab] for start in range(0, len(sets), sets_per_slab)]
            for sets in (even, odd)
        ]

    def advance(self, level: int, pool: ThreadPoolExecutor) -> tuple[int, int]:
        """Go from level-1 to `level`; how many states and how many entries it holds."""
        tasks = [pool.submit(self._advance_slab, slab, level) for slab in self._slabs[level % 2]]
        counts = np.zeros(2, dtype=np.int64)
        for task in as_completed(tasks):
            counts += task.result()
        return int(counts[0]), int(counts[1])

    def mark_unreached(self) -> None:
        """Set the entries that no level wrote to `UNREACHED`."""
        fill_unreached(self._seen, self._words.slot_of_rank, UNREACHED, self.table)

    def _advance_slab(self, cell_sets: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        if not hasattr(self._scratch, "received"):
            self._scratch.received = np.empty(self._frontier.shape[1], dtype=np.uint64)
        layout, words = self._layout, self._words
        received = self._scratch.received
        counts = np.zeros(2, dtype=np.int64)
        advance_cell_sets(
            cell_sets, level, layout.first_block, layout.first_transition, layout.sources, layout.jumps,
            words.jumps, words.first_jumps, words.targets, words.rank_of_slot,
            self._frontier, self._frontier.view(words.dtype), self._n_active, self._seen, self.table,
            received, received.view(words.dtype), counts,
        )  # fmt: skip
        return counts
