"""Arrays of a search, and one step of it. Used by the local search, the shards of a cluster and the deep check."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_build.bit_rows import BitRows, Spill
from pdb_build.search_kernels import (
    LevelRows,
    add_bits,
    advance_blocks,
    advance_minimum,
    sort_bits,
    write_distances,
)
from pdb_build.word_layout import WordLayout, word_layout
from pdb_core.encoding import UNREACHED, Encoding
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.layout_kernels import Transitions
from pdb_core.table_spec import TableSpec
from pdb_core.types import Bytes, Int32s, Int64s, UInt64s

Arrays = Sequence[npt.NDArray[Any]]

# States of a slab, the blocks or cell sets that a thread takes at a time. It takes a fraction of a second.
_SLAB_STATES = 5_000_000


@dataclass(frozen=True, eq=False)
class SearchPart:
    """Blocks that one search holds: all blocks of a pattern, or those of a shard. Blocks and sets count from 0 here.

    first_block  int32[n_sets + 1]      the blocks of each cell set
    transitions  into each block. A source is a block, or from n_blocks on a row of the halo
    groups       uint8|int64[n_blocks]  blocks that are advanced together: 2 * portion + parity of the level
    n_groups     number of groups, two for each portion, see `pdb_cluster.build.shard`
    n_halo       rows behind those of the blocks, for rows of other shards
    goal         (block, rank) of the goal, None if another shard has it
    """

    words: WordLayout
    n_orders: int
    first_block: Int32s
    transitions: Transitions
    groups: npt.NDArray[Any]
    n_groups: int
    n_halo: int
    goal: tuple[int, int] | None

    @property
    def n_blocks(self) -> int:
        return len(self.groups)


def whole_pattern(spec: TableSpec) -> SearchPart:
    """Return all blocks of a pattern, in one portion."""
    blocks = pattern_blocks(spec.size, spec.n_tiles, spec.cost)
    goal = blocks.state_of(spec.goal, spec.pattern.tiles)
    parities = blocks.parities()
    return SearchPart(
        word_layout(blocks.n_tiles, blocks.size.width), blocks.n_orders, blocks.first_block,
        block_transitions(blocks, 0, blocks.n_sets),
        groups=parities ^ parities[goal[0]], n_groups=2, n_halo=0, goal=goal,
    )  # fmt: skip


class _LevelSearch:
    """Rows of bits of the search of one pattern.

    rows      uint64[n_blocks + n_halo, r]  a row of bits for each block, of its last level; then the halo
    n_active  int32[n_blocks + n_halo]      number of bits in each row
    level     both, as kernels take them

    `groups` are those of the items that threads advance: blocks, or cell sets.
    """

    def __init__(self, part: SearchPart, groups: npt.NDArray[Any]) -> None:
        self._part = part
        n_rows, n_row = part.n_blocks + part.n_halo, part.words.row_bytes // 8
        self.rows = np.zeros((n_rows, n_row), dtype=np.uint64)
        self.n_active = np.zeros(n_rows, dtype=np.int32)
        self.level = LevelRows(self.rows, self.rows.view(part.words.dtype), self.n_active)
        if part.goal is not None:
            block, rank = part.goal
            self._set_bit(self.rows[block], rank)
            self.n_active[block] = 1
        n_per_slab = max(1, _SLAB_STATES * len(groups) // max(1, part.n_blocks * part.n_orders))
        self._slabs = [
            [items[start : start + n_per_slab] for start in range(0, len(items), n_per_slab)]
            for items in (np.flatnonzero(groups == group) for group in range(part.n_groups))
        ]

    def slabs(self, depth: int, portion: int = 0) -> list[Int64s]:
        """Return the blocks or cell sets that a portion has at a level, in slabs. Their order does not matter."""
        return self._slabs[2 * portion + depth % 2]

    def _set_bit(self, row: UInt64s, rank: int) -> None:
        """Set the bit of an arrangement rank in an empty row."""
        slot = int(self._part.words.slot_of_rank[rank])
        row[slot // 64] = np.uint64(1 << (slot % 64))

    def _advance_blocks(self, slab: Int64s) -> int:
        """Advance the blocks of a slab by two levels. Return the number of states reached."""
        return advance_blocks(slab, self._part.transitions, self._part.words.jumps, self.level)


class MinimumSearch(_LevelSearch):
    """Search that writes the additive minimum. Threads take whole cell sets, to find the minimum over their regions."""

    def __init__(self, part: SearchPart) -> None:
        super().__init__(part, part.groups[part.first_block[:-1]])
        n_sets = len(part.first_block) - 1
        self._seen = np.zeros((n_sets, self.rows.shape[1]), dtype=np.uint64)
        self._table = np.full((n_sets, part.n_orders), UNREACHED, dtype=np.uint8)
        if part.goal is not None:
            block, rank = part.goal
            goal_set = int(np.searchsorted(part.first_block, block, side="right")) - 1
            self._set_bit(self._seen[goal_set], rank)
            self._table[goal_set, rank] = 0

    def arrays(self) -> Arrays:
        """Return all arrays. Filled with their content after some level, the search continues from there."""
        return self.rows, self.n_active, self._seen, self._table

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        """Advance a slab from depth-1 to `depth`. Return int64[2]: states reached, and entries written."""
        part, counts = self._part, np.zeros(2, dtype=np.int64)
        advance_minimum(
            slab, depth, part.first_block, part.transitions, part.words.jumps, part.words.rank_of_slot,
            self.level, self._seen, self._table, counts,
        )  # fmt: skip
        return counts

    def finish(self, pool: ThreadPoolExecutor) -> Bytes:  # noqa: ARG002
        """Return the table after the last level."""
        return self._table.reshape(-1)


class BitsSearch(_LevelSearch):
    """Search that sets bit 1 of the distance of each state, in the order of words, and sorts the bits at the end.

    `spill` keeps some of the bits in a file. Raises `DiskFullError` and `OutputError` if it cannot be made. The methods
    are those of `MinimumSearch`.
    """

    def __init__(self, part: SearchPart, spill: Spill | None) -> None:
        super().__init__(part, part.groups)
        self._bits = BitRows(self._slabs, self.rows.shape[1], spill)

    def arrays(self) -> Arrays:
        return self.rows, self.n_active, *self._bits.arrays()

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        n_reached = self._advance_blocks(slab)
        if depth & 2 and n_reached:
            rows = self._bits.read(slab)
            add_bits(slab, self.level, rows)
            self._bits.write(slab, rows)
        return np.array([n_reached, n_reached], dtype=np.int64)

    def finish(self, pool: ThreadPoolExecutor) -> Bytes:
        n_bytes = -(-self._part.n_orders // 8)
        n_blocks, slot_of_rank = self._part.n_blocks, self._part.words.slot_of_rank
        # The rows are not needed any more: their memory becomes the table's.
        table = self.rows.view(np.uint8).reshape(-1)[: n_blocks * n_bytes].reshape(-1, n_bytes)

        def sort(slab: Int64s) -> None:
            sort_bits(slab, self._bits.read(slab), slot_of_rank, table)

        list(pool.map(sort, self._bits.slabs))
        return table.reshape(-1)


class DistanceSearch(_LevelSearch):
    """Search that writes the zero-aware distance of each state: uint8[n_blocks * k!]. Methods as in `MinimumSearch`."""

    def __init__(self, part: SearchPart) -> None:
        super().__init__(part, part.groups)
        self._distances = np.full((part.n_blocks, part.n_orders), UNREACHED, dtype=np.uint8)
        if part.goal is not None:
            self._distances[part.goal] = 0

    def arrays(self) -> Arrays:
        return self.rows, self.n_active, self._distances

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        n_reached = self._advance_blocks(slab)
        if n_reached:
            write_distances(slab, depth, self.level, self._part.words.rank_of_slot, self._distances)
        return np.array([n_reached, n_reached], dtype=np.int64)

    def finish(self, pool: ThreadPoolExecutor) -> Bytes:  # noqa: ARG002
        return self._distances.reshape(-1)


LevelSearch = MinimumSearch | BitsSearch | DistanceSearch


def level_search(part: SearchPart, encoding: Encoding, spill: Spill | None = None) -> MinimumSearch | BitsSearch:
    """Return the search in `encoding`, at level 0. Raises as `BitsSearch`."""
    return BitsSearch(part, spill) if encoding == "bits" else MinimumSearch(part)
