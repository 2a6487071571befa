"""Arrays of a search, and one step of it. Used by the search of a pattern and the deep check."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pdb_build.bit_rows import BitRows, Spill
from pdb_build.search_kernels import LevelRows, add_bits, advance_blocks, advance_minimum, sort_bits
from pdb_build.word_layout import row_bytes, word_layout
from pdb_core.encoding import UNREACHED
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.table_spec import TableSpec
from pdb_core.types import Bytes, Int64s, UInt64s

# States of a slab, the blocks or cell sets that a thread takes at a time. It takes a fraction of a second.
_SLAB_STATES = 5_000_000


class _LevelSearch:
    """Rows of bits of the search of one pattern.

    level  a row of bits for each block, of its last level
    goal   block and arrangement rank of the goal

    Threads advance items: cell sets with all their blocks, or each block alone if it advances `by_blocks`.
    """

    def __init__(self, spec: TableSpec, *, by_blocks: bool) -> None:
        self._spec = spec
        blocks = pattern_blocks(spec.size, spec.n_tiles, spec.cost)
        self.goal = blocks.state_of(spec.goal, spec.pattern.tiles)
        self._words = word_layout(spec.n_tiles, spec.size.width)
        self._transitions = block_transitions(blocks)
        rows = np.zeros((blocks.n_blocks, row_bytes(spec.n_tiles) // 8), dtype=np.uint64)
        self.level = LevelRows(rows, rows.view(self._words.dtype), np.zeros(blocks.n_blocks, dtype=np.int32))
        block, rank = self.goal
        self._set_bit(rows[block], rank)
        self.level.n_active[block] = 1
        self._first_block = np.arange(blocks.n_blocks + 1, dtype=np.int32) if by_blocks else blocks.first_block
        parities = blocks.parities()
        is_odd = (parities ^ parities[block])[self._first_block[:-1]]
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


class ByteSearch(_LevelSearch):
    """Search that writes bytes: the additive minimum of each cell set, or `zero_aware` the distance of each state."""

    def __init__(self, spec: TableSpec, *, zero_aware: bool) -> None:
        super().__init__(spec, by_blocks=zero_aware)
        n_items = len(self._first_block) - 1
        self._seen = np.zeros((n_items, self.level.bits.shape[1]), dtype=np.uint64)
        self._table = np.full((n_items, spec.n_orders), UNREACHED, dtype=np.uint8)
        block, rank = self.goal
        item = int(np.searchsorted(self._first_block, block, side="right")) - 1
        self._set_bit(self._seen[item], rank)
        self._table[item, rank] = 0

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        """Advance a slab from depth-1 to `depth`. Return int64[2]: states reached, and entries written."""
        words, counts = self._words, np.zeros(2, dtype=np.int64)
        advance_minimum(
            slab, depth, self._first_block, self._transitions, words.jumps, words.rank_of_slot,
            self.level, self._seen, self._table, counts,
        )  # fmt: skip
        return counts

    def finish(self, pool: ThreadPoolExecutor) -> Bytes:  # noqa: ARG002
        """Return the table after the last level."""
        return self._table.reshape(-1)


class BitsSearch(_LevelSearch):
    """Search that sets bit 1 of the distance of each state, in the order of words, and sorts the bits at the end.

    `spill` keeps some of the bits in a file. Raises `DiskFullError` and `OutputError` if it cannot be made. The methods
    are those of `ByteSearch`.
    """

    def __init__(self, spec: TableSpec, spill: Spill | None) -> None:
        super().__init__(spec, by_blocks=True)
        self._bits = BitRows(self._slabs, self.level.bits.shape[1], spill)

    def advance(self, slab: Int64s, depth: int) -> Int64s:
        n_reached = advance_blocks(slab, self._transitions, self._words.jumps, self.level)
        if depth & 2 and n_reached:
            rows = self._bits.read(slab)
            add_bits(slab, self.level, rows)
            self._bits.write(slab, rows)
        return np.array([n_reached, n_reached], dtype=np.int64)

    def finish(self, pool: ThreadPoolExecutor) -> Bytes:
        # The rows are not needed any more: their memory becomes the table's.
        rows: UInt64s = self.level.bits
        table = rows.view(np.uint8).reshape(-1)[: self._spec.n_bytes].reshape(len(rows), -1)

        def sort(slab: Int64s) -> None:
            sort_bits(slab, self._bits.read(slab), self._words.slot_of_rank, table)

        list(pool.map(sort, self._bits.slabs))
        return table.reshape(-1)
