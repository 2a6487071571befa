"""Arrays of a search, and one step of it. Used by the search of a pattern and the deep check."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pdb_build.bit_rows import BitRows, Spill
from pdb_build.search_kernels import (
    LevelRows,
    add_bits,
    advance_blocks,
    advance_minimum,
    sort_bits,
    write_distances,
)
from pdb_build.word_layout import word_layout
from pdb_core.encoding import UNREACHED
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.table_spec import TableSpec
from pdb_core.types import Bytes, Int64s, UInt64s

# States of a slab, the blocks or cell sets that a thread takes at a time. It takes a fraction of a second.
_SLAB_STATES = 5_000_000


class _LevelSearch:
    """Rows of bits of the search of one pattern.

    rows      uint64[n_blocks, r]  a row of bits for each block, of its last level
    n_active  int32[n_blocks]      number of bits in each row
    level     both, as kernels take them

    Threads advance items: blocks, or cell sets if it `advances_sets`.
    """

    def __init__(self, spec: TableSpec, *, advances_sets: bool = False) -> None:
        self._spec = spec
        self.blocks = blocks = pattern_blocks(spec.size, spec.n_tiles, spec.cost)
        self.goal = blocks.state_of(spec.goal, spec.pattern.tiles)
        self._words = word_layout(spec.n_tiles, spec.size.width)
        self._transitions = block_transitions(blocks)
        self.rows = np.zeros((blocks.n_blocks, self._words.row_bytes // 8), dtype=np.uint64)
        n_active = np.zeros(blocks.n_blocks, dtype=np.int32)
        self.level = LevelRows(self.rows, self.rows.view(self._words.dtype), n_active)
        block, rank = self.goal
        self._set_bit(self.rows[block], rank)
        n_active[block] = 1
        parities = blocks.parities()
        is_odd = parities ^ parities[block]
        if advances_sets:
            is_odd = is_odd[blocks.first_block[:-1]]
        n_per_slab = max(1, _SLAB_STATES * len(is_odd) // spec.n_states)
        self._slabs = [
            [items[start : start + n_per_slab] for start in range(0, len(items), n_per_slab)]
            for items in (np.flatnonzero(is_odd == parity) for parity in range(2))
        ]

    def slabs(self, depth: int) -> list[Int64s]:
        """Return the blocks or cell sets that have states at a level, in slabs. Their order does not matter."""
        return self._slabs[depth % 2]

    def _set_bit(self, row: UInt64s, rank: int) -> None:
        """Set the bit of an arrangement rank in an empty row."""
        slot = int(self._words.slot_of_rank[rank])
        row[slot // 64] = np.uint64(1 << (slot % 64))

    def _advance_blocks(self, slab: Int64s) -> int:
        """Advance the blocks of a slab by two levels. Return the number of states reached."""
        return advance_blocks(slab, self._transitions, self._words.jumps, self.level)


class MinimumSearch(_LevelSearch):
    """Search that writes the additive minimum. Threads take whole cell sets, to find the minimum over their regions."""

    def __init__(self, spec: TableSpec) -> None:
        super().__init__(spec, advances_sets=True)
        self._seen = np.zeros((spec.n_sets, self.rows.shape[1]), dtype=np.uint64)
        self._table = np.full((spec.n_sets, spec.n_orders), UNREACHED, dtype=np.uint8)
        block, rank = self.goal
        goal_set = int(np.searchsorted(self.blocks.first_block, block, side="right")) - 1
        self._set_bit(self._seen[goal_set], rank)
        self._table[goal_set, rank] = 0

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        """Advance a slab from depth-1 to `depth`. Return int64[2]: states reached, and entries written."""
        words, counts = self._words, np.zeros(2, dtype=np.int64)
        advance_minimum(
            slab, depth, self.blocks.first_block, self._transitions, words.jumps, words.rank_of_slot,
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

    def __init__(self, spec: TableSpec, spill: Spill | None) -> None:
        super().__init__(spec)
        self._bits = BitRows(self._slabs, self.rows.shape[1], spill)

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        n_reached = self._advance_blocks(slab)
        if depth & 2 and n_reached:
            rows = self._bits.read(slab)
            add_bits(slab, self.level, rows)
            self._bits.write(slab, rows)
        return np.array([n_reached, n_reached], dtype=np.int64)

    def finish(self, pool: ThreadPoolExecutor) -> Bytes:
        # The rows are not needed any more: their memory becomes the table's.
        table = self.rows.view(np.uint8).reshape(-1)[: self._spec.n_bytes].reshape(len(self.rows), -1)

        def sort(slab: Int64s) -> None:
            sort_bits(slab, self._bits.read(slab), self._words.slot_of_rank, table)

        list(pool.map(sort, self._bits.slabs))
        return table.reshape(-1)


class DistanceSearch(_LevelSearch):
    """Search that writes the zero-aware distance of each state: uint8[n_blocks * k!]. Methods as in `MinimumSearch`."""

    def __init__(self, spec: TableSpec) -> None:
        super().__init__(spec)
        self._distances = np.full((spec.n_blocks, spec.n_orders), UNREACHED, dtype=np.uint8)
        self._distances[self.goal] = 0

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        n_reached = self._advance_blocks(slab)
        if n_reached:
            write_distances(slab, depth, self.level, self._words.rank_of_slot, self._distances)
        return np.array([n_reached, n_reached], dtype=np.int64)

    def finish(self, pool: ThreadPoolExecutor) -> Bytes:  # noqa: ARG002
        return self._distances.reshape(-1)


LevelSearch = MinimumSearch | BitsSearch | DistanceSearch


def level_search(spec: TableSpec, spill: Spill | None) -> MinimumSearch | BitsSearch:
    """Return the search in the encoding of `spec`, at level 0. Raises as `BitsSearch`."""
    return BitsSearch(spec, spill) if spec.encoding == "bits" else MinimumSearch(spec)
