"""Arrays of a search, and one step of it, in each encoding. Used by the local search and the shards of a cluster."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_build.bit_rows import BitRows, Spill
from pdb_build.search_kernels import add_bits, advance_blocks, advance_minimum, fill_unreached, sort_bits
from pdb_build.word_layout import WordLayout, word_layout
from pdb_core.encoding import UNREACHED, Encoding
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.table_spec import TableSpec

Table = npt.NDArray[np.uint8]
Arrays = Sequence[npt.NDArray[Any]]

# States of a slab, the blocks or cell sets that a thread takes at a time. It takes a fraction of a second.
_SLAB_STATES = 5_000_000


@dataclass(frozen=True, eq=False)
class SearchPart:
    """Blocks that one frontier holds: all blocks of a pattern, or those of a shard. Blocks and sets count from 0 here.

    first_block       int32[n_sets + 1]      the blocks of each cell set
    first_transition  int64[n_blocks + 1]    the transitions into each block
    sources           int32[n_transitions]   row that a transition reads: a block, or from n_blocks on a row of the halo
    jumps             int16[n_transitions]   as in `PatternLayout`
    groups            uint8|int64[n_blocks]  blocks that are advanced together: 2 * portion + parity of the level
    n_groups          number of groups, two for each portion, see `pdb_cluster.shard`
    n_halo            rows behind those of the blocks, for rows of other shards
    goal              (cell set, block, rank) of the goal, None if another shard has it
    """

    words: WordLayout
    n_orders: int
    first_block: npt.NDArray[np.int32]
    first_transition: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    jumps: npt.NDArray[np.int16]
    groups: npt.NDArray[Any]
    n_groups: int
    n_halo: int
    goal: tuple[int, int, int] | None


def whole_pattern(spec: TableSpec) -> SearchPart:
    """Return all blocks of a pattern, in one portion."""
    blocks = pattern_blocks(spec.size, spec.n_tiles, spec.cost)
    block, rank = blocks.state_of(spec.goal, spec.pattern.tiles)
    goal_set = int(np.searchsorted(blocks.first_block, block, side="right")) - 1
    parities = blocks.parities()
    return SearchPart(
        word_layout(blocks.n_tiles, blocks.size.width), blocks.n_orders, blocks.first_block,
        *block_transitions(blocks, 0, blocks.n_sets),
        groups=parities ^ parities[block], n_groups=2, n_halo=0, goal=(goal_set, block, rank),
    )  # fmt: skip


class _Rows:
    """Rows of bits of the search of one pattern.

    rows      uint64[n_blocks + n_halo, r]  a row of bits for each block, of its last level; then the halo
    n_active  int32[n_blocks + n_halo]      number of bits in each row

    `groups` are those of the items that threads advance: blocks, or cell sets.
    """

    def __init__(self, part: SearchPart, groups: npt.NDArray[Any]) -> None:
        self._part = part
        n_blocks, n_row = len(part.groups), part.words.row_bytes // 8
        self.rows = np.zeros((n_blocks + part.n_halo, n_row), dtype=np.uint64)
        self.n_active = np.zeros(len(self.rows), dtype=np.int32)
        self._scratch = local()
        if part.goal is not None:
            _goal_set, block, rank = part.goal
            self._set_bit(self.rows, block, rank)
            self.n_active[block] = 1
        n_per_slab = max(1, _SLAB_STATES * len(groups) // max(1, n_blocks * part.n_orders))
        self._slabs = [
            [items[start : start + n_per_slab] for start in range(0, len(items), n_per_slab)]
            for items in (np.flatnonzero(groups == group) for group in range(part.n_groups))
        ]

    def slabs(self, level: int, portion: int = 0) -> list[npt.NDArray[np.int64]]:
        """Return the blocks or cell sets that a portion has at `level`, in slabs. Their order does not matter."""
        return self._slabs[2 * portion + level % 2]

    def _set_bit(self, rows: npt.NDArray[np.uint64], row: int, rank: int) -> None:
        """Set the bit of an arrangement rank in an empty row."""
        slot = int(self._part.words.slot_of_rank[rank])
        rows[row, slot // 64] = np.uint64(1 << (slot % 64))

    def _received(self) -> npt.NDArray[np.uint64]:
        """Return the scratch row of this thread."""
        if not hasattr(self._scratch, "received"):
            self._scratch.received = np.empty(self.rows.shape[1], dtype=np.uint64)
        received: npt.NDArray[np.uint64] = self._scratch.received
        return received


class BytesFrontier(_Rows):
    """Search that writes the additive minimum. Threads take whole cell sets, to find the minimum over their regions."""

    def __init__(self, part: SearchPart) -> None:
        super().__init__(part, part.groups[part.first_block[:-1]])
        n_sets = len(part.first_block) - 1
        self._seen = np.zeros((n_sets, self.rows.shape[1]), dtype=np.uint64)
        # Not filled: the threads touch its pages first, in parallel, in half the time.
        self._table = np.empty((n_sets, part.n_orders), dtype=np.uint8)
        if part.goal is not None:
            goal_set, _block, rank = part.goal
            self._set_bit(self._seen, goal_set, rank)
            self._table[goal_set, rank] = 0

    def arrays(self) -> Arrays:
        """Return all arrays. Filled with their content after some level, the search continues from there."""
        return self.rows, self.n_active, self._seen, self._table

    def advance(self, slab: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        """Advance a slab from level-1 to `level`. Return int64[2]: states reached, and entries written."""
        part, words, received = self._part, self._part.words, self._received()
        counts = np.zeros(2, dtype=np.int64)
        advance_minimum(
            slab, level, part.first_block, part.first_transition, part.sources, part.jumps,
            words.jumps, words.first_jumps, words.targets, words.rank_of_slot,
            self.rows, self.rows.view(words.dtype), self.n_active, self._seen, self._table,
            received, received.view(words.dtype), counts,
        )  # fmt: skip
        return counts

    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:  # noqa: ARG002
        """Return the table after the last level. `is_complete` states that every entry was reached."""
        if not is_complete:
            fill_unreached(self._seen, self._part.words.slot_of_rank, UNREACHED, self._table)
        return self._table.reshape(-1)


class BitsFrontier(_Rows):
    """Search that sets bit 1 of the distance of each state, in the order of words, and sorts the bits at the end.

    `spill` keeps some of the bits in a file. Raises `DiskFullError` and `OutputError` if it cannot be made. The methods
    are those of `BytesFrontier`.
    """

    def __init__(self, part: SearchPart, spill: Spill | None = None) -> None:
        super().__init__(part, part.groups)
        self._bits = BitRows(self._slabs, self.rows.shape[1], spill)

    def arrays(self) -> Arrays:
        return self.rows, self.n_active, *self._bits.arrays()

    def advance(self, slab: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        part, words, received = self._part, self._part.words, self._received()
        n_reached = advance_blocks(
            slab, part.first_transition, part.sources, part.jumps,
            words.jumps, words.first_jumps, words.targets,
            self.rows, self.rows.view(words.dtype), self.n_active, received, received.view(words.dtype),
        )  # fmt: skip
        if level & 2 and n_reached:
            rows = self._bits.read(slab)
            add_bits(slab, self.n_active, self.rows, rows)
            self._bits.write(slab, rows)
        return np.array([n_reached, n_reached], dtype=np.int64)

    def finish(self, is_complete: bool, pool: ThreadPoolExecutor) -> Table:  # noqa: ARG002
        n_bytes = -(-self._part.n_orders // 8)
        n_blocks, slot_of_rank = len(self._part.groups), self._part.words.slot_of_rank
        # The frontier is not needed any more: its memory becomes the table's.
        table = self.rows.view(np.uint8).reshape(-1)[: n_blocks * n_bytes].reshape(-1, n_bytes)

        def sort(slab: npt.NDArray[np.int64]) -> None:
            sort_bits(slab, self._bits.read(slab), slot_of_rank, table)

        for task in as_completed([pool.submit(sort, slab) for slab in self._bits.slabs]):
            task.result()
        return table.reshape(-1)


def search_frontier(part: SearchPart, encoding: Encoding, spill: Spill | None = None) -> BytesFrontier | BitsFrontier:
    """Return the frontier of a search in `encoding`, at level 0. Raises as `BitsFrontier`."""
    return BitsFrontier(part, spill) if encoding == "bits" else BytesFrontier(part)
