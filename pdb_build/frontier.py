"""The arrays of a search, and one step of it, in each encoding."""

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import local
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_build.bit_rows import BitRows, Spill
from pdb_build.search_kernels import add_bits, advance_blocks, advance_minimum, fill_unreached, sort_bits
from pdb_build.words import word_layout
from pdb_core.encoding import UNREACHED, block_bytes
from pdb_core.layout import pattern_layout
from pdb_core.table_spec import TableSpec

Table = npt.NDArray[np.uint8]
Arrays = dict[str, npt.NDArray[Any]]

# A slab of blocks or cell sets is what a thread takes at a time: small enough that Ctrl-C is heard within a fraction of
# a second.
_SLAB_STATES = 5_000_000


class Frontier(ABC):
    """A search of one pattern between two slabs of a level."""

    def __init__(self, spec: TableSpec) -> None:
        layout = pattern_layout(spec.size, spec.n_tiles, spec.cost)
        blocks = layout.blocks
        words = word_layout(blocks.n_tiles, blocks.size.width)
        n_row = words.row_bytes // 8
        self._layout = layout
        self._blocks = blocks
        self._words = words
        self._frontier = np.zeros((blocks.n_blocks, n_row), dtype=np.uint64)
        self._n_active = np.zeros(blocks.n_blocks, dtype=np.int32)
        self._scratch = local()

        block, self._goal_rank = blocks.state_of(spec.goal, spec.pattern.tiles)
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

    def slabs(self, level: int) -> list[npt.NDArray[np.int64]]:
        """What `level` is made of: blocks or cell sets, shared out in slabs that may be advanced in any order."""
        return self._slabs[level % 2]

    @abstractmethod
    def advance(self, slab: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        """Go from level-1 to `level` in a slab of it; int64[2], states reached and entries written."""

    def arrays(self) -> Arrays:
        """All that the search has found out, between two slabs, by name. Filled with what they held at such a moment,
        the search goes on from there.
        """
        shared: Arrays = {"frontier": self._frontier, "active": self._n_active}
        return shared | self._own_arrays()

    @abstractmethod
    def _own_arrays(self) -> Arrays:
        """Those that only this encoding has."""

    @abstractmethod
    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:
        """The table, after the last level; `is_complete`: whether every entry was reached."""

    @abstractmethod
    def _own_parities(self, of_blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The parities of the levels of what the threads share out among them: blocks, or cell sets."""

    def _received(self) -> npt.NDArray[np.uint64]:
        """This thread's scratch row."""
        if not hasattr(self._scratch, "received"):
            self._scratch.received = np.empty(self._frontier.shape[1], dtype=np.uint64)
        received: npt.NDArray[np.uint64] = self._scratch.received
        return received


class BytesFrontier(Frontier):
    """Writes the additive minimum as it searches. Threads take whole cell sets, to find the least of their regions."""

    def __init__(self, spec: TableSpec) -> None:
        super().__init__(spec)
        blocks = self._blocks
        self._seen = np.zeros((blocks.n_sets, self._frontier.shape[1]), dtype=np.uint64)
        # Not filled: the threads touch its pages first, in parallel, which takes half the time.
        self._table = np.empty((blocks.n_sets, blocks.n_orders), dtype=np.uint8)
        self._seen[self._goal_set, self._goal_slot // 64] = np.uint64(1 << (self._goal_slot % 64))
        self._table[self._goal_set, self._goal_rank] = 0

    def _own_arrays(self) -> Arrays:
        return {"seen": self._seen, "table": self._table}

    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:  # noqa: ARG002
        if not is_complete:
            fill_unreached(self._seen, self._words.slot_of_rank, UNREACHED, self._table)
        return self._table.reshape(-1)

    def _own_parities(self, of_blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        return of_blocks[self._blocks.first_block[:-1]]

    def advance(self, slab: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        layout, words, received = self._layout, self._words, self._received()
        counts = np.zeros(2, dtype=np.int64)
        advance_minimum(
            slab, level, self._blocks.first_block, layout.first_transition, layout.sources, layout.jumps,
            words.jumps, words.first_jumps, words.targets, words.rank_of_slot,
            self._frontier, self._frontier.view(words.dtype), self._n_active, self._seen, self._table,
            received, received.view(words.dtype), counts,
        )  # fmt: skip
        return counts


class BitsFrontier(Frontier):
    """Notes bit 1 of every state's distance as it searches, in the order of words, and sorts the bits at the end.

    `spill` has some of the bits kept in a file. Raises `DiskFullError` and `OutputError` if that cannot be made.
    """

    def __init__(self, spec: TableSpec, spill: Spill | None = None) -> None:
        super().__init__(spec)
        self._bits = BitRows(self._slabs, self._frontier.shape[1], spill)

    def _own_arrays(self) -> Arrays:
        return dict(self._bits.arrays())

    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:  # noqa: ARG002
        blocks = self._blocks
        n_bytes = block_bytes(blocks.n_tiles)
        # The frontier is over: its memory becomes the table's.
        table = self._frontier.view(np.uint8).reshape(-1)[: blocks.n_blocks * n_bytes].reshape(-1, n_bytes)

        def sort(slab: npt.NDArray[np.int64]) -> None:
            sort_bits(slab, self._bits.read(slab), self._words.slot_of_rank, table)

        for task in as_completed([pool.submit(sort, slab) for slab in self._bits.slabs]):
            task.result()
        return table.reshape(-1)

    def _own_parities(self, of_blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        return of_blocks

    def advance(self, slab: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        layout, words, received = self._layout, self._words, self._received()
        n_reached = advance_blocks(
            slab, layout.first_transition, layout.sources, layout.jumps,
            words.jumps, words.first_jumps, words.targets,
            self._frontier, self._frontier.view(words.dtype), self._n_active, received, received.view(words.dtype),
        )  # fmt: skip
        if level & 2 and n_reached:
            rows = self._bits.read(slab)
            add_bits(slab, self._n_active, self._frontier, rows)
            self._bits.write(slab, rows)
        return np.array([n_reached, n_reached], dtype=np.int64)
