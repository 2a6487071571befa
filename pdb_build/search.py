"""The search: distances of one pattern, level by level, on all cores."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from threading import local

import numpy as np
import numpy.typing as npt

from pdb_build.search_kernels import advance_bits, advance_minimum, fill_unreached, sort_bits
from pdb_build.words import word_layout
from pdb_core.cost import DEFAULT_COST, Cost
from pdb_core.encoding import UNREACHED, Encoding, block_bytes, count_entries
from pdb_core.errors import LimitReachedError
from pdb_core.layout import PatternLayout, pattern_layout
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Board, BoardSize

Table = npt.NDArray[np.uint8]
# Called from the main thread with (depth, states reached so far, states in all).
Progress = Callable[[int, int, int], None]

# A slab of blocks or cell sets is what a thread takes at a time: small enough that Ctrl-C is heard within a fraction of
# a second.
_SLAB_STATES = 5_000_000


@dataclass(frozen=True)
class PatternTable:
    """The distances of one pattern.

    table             uint8[n_bytes] in the encoding asked for; empty once it is written
    histogram         entries at each distance
    states_per_depth  blank-aware states at each distance; in bits these are the entries
    """

    pattern: Pattern
    table: Table
    histogram: tuple[int, ...]
    states_per_depth: tuple[int, ...]
    n_entries: int
    n_bytes: int
    seconds: float

    @property
    def n_unreached(self) -> int:
        return self.n_entries - sum(self.histogram)

    def without_entries(self) -> "PatternTable":
        """All but the table itself, which takes the memory."""
        return replace(self, table=np.empty(0, dtype=np.uint8))

    def with_entries(self, table: Table) -> "PatternTable":
        """The same with its table."""
        return replace(self, table=table)


def search_pattern(
    size: BoardSize,
    goal: Board,
    pattern: Pattern,
    encoding: Encoding,
    cost: Cost = DEFAULT_COST,
    *,
    n_threads: int,
    progress: Progress | None = None,
) -> PatternTable:
    """Distances of all placements of `pattern` from `goal`; `cost` says which moves count. Where every move does, the
    encoding is `bits`.

    The result does not depend on `n_threads`. Raises `LimitReachedError` for a distance over 254, which no byte can
    hold.
    """
    start = time.perf_counter()
    layout = pattern_layout(size, pattern.n_tiles, cost)
    frontier = _BitsFrontier(layout, goal, pattern) if encoding == "bits" else _BytesFrontier(layout, goal, pattern)
    entries_per_depth, states_per_depth = [1], [1]
    n_states = layout.blocks.n_blocks * layout.blocks.n_orders
    n_entries = count_entries(size, pattern.n_tiles, encoding, cost)
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
            is_complete = sum(entries_per_depth) == n_entries
            table = frontier.finish(is_complete, pool)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if progress is not None:  # where only one tile or none is outside the pattern, the rest cannot be reached
        progress(len(states_per_depth) - 1, n_states, n_states)
    while entries_per_depth[-1] == 0:  # the last blank-aware levels may reach no arrangement for the first time
        entries_per_depth.pop()
    return PatternTable(
        pattern,
        table,
        tuple(entries_per_depth),
        tuple(states_per_depth),
        n_entries,
        table.size,
        time.perf_counter() - start,
    )


class _Frontier(ABC):
    """The arrays of a search, and one step of it."""

    def __init__(self, layout: PatternLayout, goal: Board, pattern: Pattern) -> None:
        blocks = layout.blocks
        words = word_layout(blocks.n_tiles, blocks.size.width)
        n_row = words.row_bytes // 8
        self._layout = layout
        self._blocks = blocks
        self._words = words
        self._frontier = np.zeros((blocks.n_blocks, n_row), dtype=np.uint64)
        self._n_active = np.zeros(blocks.n_blocks, dtype=np.int32)
        self._scratch = local()

        block, self._goal_rank = blocks.state_of(goal, pattern.tiles)
        self._goal_set = int(np.searchsorted(blocks.first_block, block, side="right")) - 1
        self._goal_slot = slot = int(words.slot_of_rank[self._goal_rank])
        self._frontier[block, slot // 64] = np.uint64(1 << (slot % 64))
        self._n_active[block] = 1

        parities = self._own_parities(blocks.parities() ^ blocks.parities()[block])
        n_per_slab = max(1, _SLAB_STATES * len(parities) // (blocks.n_blocks * blocks.n_orders))
        self._slabs = [
            [items[start : start + n_per_slab] for start in range(0, len(items), n_per_slab)]
            for items in (np.flatnonzero(parities == 0), np.flatnonzero(parities == 1))
        ]

    def advance(self, level: int, pool: ThreadPoolExecutor) -> tuple[int, int]:
        """Go from level-1 to `level`; how many states and how many entries it holds."""
        tasks = [pool.submit(self._advance_slab, slab, level) for slab in self._slabs[level % 2]]
        counts = np.zeros(2, dtype=np.int64)
        for task in as_completed(tasks):
            counts += task.result()
        return int(counts[0]), int(counts[1])

    @abstractmethod
    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:
        """The table, after the last level; `is_complete`: whether every entry was reached."""

    @abstractmethod
    def _own_parities(self, of_blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The parities of the levels of what the threads share out among them: blocks, or cell sets."""

    @abstractmethod
    def _advance_slab(self, items: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        """Advance some of it; int64[2], states reached and entries written."""

    def _received(self) -> npt.NDArray[np.uint64]:
        """This thread's scratch row."""
        if not hasattr(self._scratch, "received"):
            self._scratch.received = np.empty(self._frontier.shape[1], dtype=np.uint64)
        received: npt.NDArray[np.uint64] = self._scratch.received
        return received


class _BytesFrontier(_Frontier):
    """Writes the additive minimum as it searches. Threads take whole cell sets, to find the least of their regions."""

    def __init__(self, layout: PatternLayout, goal: Board, pattern: Pattern) -> None:
        super().__init__(layout, goal, pattern)
        blocks = self._blocks
        self._seen = np.zeros((blocks.n_sets, self._frontier.shape[1]), dtype=np.uint64)
        # Not filled: the threads touch its pages first, in parallel, which takes half the time.
        self._table = np.empty((blocks.n_sets, blocks.n_orders), dtype=np.uint8)
        self._seen[self._goal_set, self._goal_slot // 64] = np.uint64(1 << (self._goal_slot % 64))
        self._table[self._goal_set, self._goal_rank] = 0

    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:  # noqa: ARG002
        if not is_complete:
            fill_unreached(self._seen, self._words.slot_of_rank, UNREACHED, self._table)
        return self._table.reshape(-1)

    def _own_parities(self, of_blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        return of_blocks[self._blocks.first_block[:-1]]

    def _advance_slab(self, items: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        layout, words, received = self._layout, self._words, self._received()
        counts = np.zeros(2, dtype=np.int64)
        advance_minimum(
            items, level, self._blocks.first_block, layout.first_transition, layout.sources, layout.jumps,
            words.jumps, words.first_jumps, words.targets, words.rank_of_slot,
            self._frontier, self._frontier.view(words.dtype), self._n_active, self._seen, self._table,
            received, received.view(words.dtype), counts,
        )  # fmt: skip
        return counts


class _BitsFrontier(_Frontier):
    """Notes bit 1 of every state's distance as it searches, in the order of words, and sorts the bits at the end."""

    def __init__(self, layout: PatternLayout, goal: Board, pattern: Pattern) -> None:
        super().__init__(layout, goal, pattern)
        self._bits = np.zeros_like(self._frontier)

    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:  # noqa: ARG002
        blocks = self._blocks
        n_bytes = block_bytes(blocks.n_tiles)
        # The frontier is over: its memory becomes the table's.
        table = self._frontier.view(np.uint8).reshape(-1)[: blocks.n_blocks * n_bytes].reshape(-1, n_bytes)
        step = max(1, _SLAB_STATES // blocks.n_orders)
        tasks = [
            pool.submit(sort_bits, start, min(start + step, len(table)), self._bits, self._words.slot_of_rank, table)
            for start in range(0, len(table), step)
        ]
        for task in as_completed(tasks):
            task.result()
        return table.reshape(-1)

    def _own_parities(self, of_blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        return of_blocks

    def _advance_slab(self, items: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        layout, words, received = self._layout, self._words, self._received()
        counts = np.zeros(2, dtype=np.int64)
        advance_bits(
            items, level, layout.first_transition, layout.sources, layout.jumps,
            words.jumps, words.first_jumps, words.targets,
            self._frontier, self._frontier.view(words.dtype), self._n_active, self._bits,
            received, received.view(words.dtype), counts,
        )  # fmt: skip
        return counts
