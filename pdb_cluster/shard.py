"""A shard: the part of one pattern's search that lies in one worker's memory.

It owns a range of cell sets, and keeps the rows of their blocks as a search on one machine does. At a level its blocks
also receive from blocks that other shards own, the *halo*. Those pack their rows for it, it unpacks them behind its own
rows, and from there on a level is advanced by the kernels of a search on one machine: they see one frontier.

So that neither packs nor halo grow with the shard, a level is done in *rounds*: in each a part of the cell sets
receives. Blocks that give at a level do not receive at it (see `search_kernels`), so the order of rounds and of shards
does not matter, and a pack may be made while the rows of the other parity change.

Since every move can be undone, a shard finds by itself which of its rows another one needs: those of its blocks that
receive from there. Both sides list them in ascending order of blocks.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_build.bit_rows import BitRows
from pdb_build.frontier import Table
from pdb_build.search_kernels import add_bits, advance_blocks, advance_minimum, fill_unreached, sort_bits
from pdb_build.words import word_layout
from pdb_cluster.exchange_kernels import pack_rows, unpack_rows
from pdb_core.encoding import UNREACHED, block_bytes
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.sent_size import ReportsSize
from pdb_core.table_spec import TableSpec

# States of a call of a kernel: a fraction of a second.
_SLAB_STATES = 5_000_000


class ShardLostError(Exception):
    """A shard is not where the search left it: its worker died, and what is there now is a new one."""


@dataclass(frozen=True)
class ShardedPattern(ReportsSize):
    """A pattern whose search is shared out: shard i owns the cell sets bounds[i] to bounds[i+1]-1."""

    spec: TableSpec
    bounds: tuple[int, ...]

    @property
    def n_shards(self) -> int:
        return len(self.bounds) - 1


@dataclass(frozen=True, eq=False)
class Pack(ReportsSize):
    """The rows that one shard gives to another in a round: bits in each, and their marks and words as `pack_rows` wrote
    them.
    """

    source: int
    n_active: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint64]
    words: npt.NDArray[Any]

    @property
    def n_bytes(self) -> int:
        return self.n_active.nbytes + self.marks.nbytes + self.words.nbytes


@dataclass(frozen=True)
class Advance(ReportsSize):
    """What a round did: blank-aware states reached, entries written, and bytes that came from other shards."""

    n_reached: int
    n_written: int
    n_bytes: int


@dataclass(frozen=True)
class ShardSize(ReportsSize):
    """What a shard holds. `rows_bytes`: of its own rows and its table; `row_bytes`: of one row.

    n_given  int64[n_rounds, 2]            rows that it packs for others, at most, in each round of even and odd levels
    n_taken  int64[n_rounds, 2, n_shards]  rows that each of the others packs for it
    """

    rows_bytes: int
    row_bytes: int
    n_given: npt.NDArray[np.int64]
    n_taken: npt.NDArray[np.int64]

    @property
    def exchange_bytes(self) -> int:
        """At most for the halo, and for the packs that come and go in two rounds, which overlap."""
        taken, given = int(self.n_taken.sum(axis=2).max(initial=0)), int(self.n_given.max(initial=0))
        return (taken + (taken + given) * 2 * 9 // 8) * self.row_bytes


class _RowLists:
    """Ascending lists of blocks, one for each key; built of pairs (key, block) that may repeat."""

    def __init__(self, keys: npt.NDArray[np.int64], blocks: npt.NDArray[np.int64], n_keys: int, n_blocks: int) -> None:
        found, self.places = np.unique(keys * n_blocks + blocks, return_inverse=True)
        self.starts = np.searchsorted(found, np.arange(n_keys + 1) * n_blocks)
        self.blocks = (found % n_blocks).astype(np.int32)
        self.lengths = np.diff(self.starts)

    def of(self, key: int) -> npt.NDArray[np.int32]:
        """The list of a key."""
        blocks: npt.NDArray[np.int32] = self.blocks[self.starts[key] : self.starts[key + 1]]
        return blocks


class Shard:
    """One shard, in the memory of its worker, which it never leaves. Packs may be made while it advances."""

    def __init__(self, search: ShardedPattern, number: int, n_threads: int = 1) -> None:
        self._search, self._number, self._n_threads = search, number, n_threads
        self._blocks = blocks = pattern_blocks(search.spec.size, search.spec.n_tiles, search.spec.cost)
        self._words = word_layout(blocks.n_tiles, blocks.size.width)
        self._first_set, self._last_set = search.bounds[number], search.bounds[number + 1]
        self._first_block = int(blocks.first_block[self._first_set])
        self._n_own = int(blocks.first_block[self._last_set]) - self._first_block
        self._goal_block, self._goal_rank = blocks.state_of(search.spec.goal, search.spec.pattern.tiles)
        self._parities = blocks.parities() ^ blocks.parities()[self._goal_block]
        self._transitions = block_transitions(blocks, self._first_set, self._last_set)
        self._level, self._advanced, self._is_complete = 0, set[int](), True
        self._lock = Lock()

    def __reduce__(self) -> Any:
        raise TypeError("a shard stays with its worker")

    def __sizeof__(self) -> int:
        """Return the memory that it takes from `start` on: Dask asks once, when it is laid out."""
        return self._rows_bytes()

    def set_rounds(self, n_rounds: int) -> ShardSize:
        """Lay out the exchange in so many rounds; what the shard then takes."""
        search, blocks = self._search, self._blocks
        self._n_rounds = n_rounds
        sets = np.array(search.bounds, dtype=np.int64)
        edges = (sets[:-1, None] + np.diff(sets)[:, None] * np.arange(n_rounds) // n_rounds).reshape(-1)
        round_edges = blocks.first_block[edges]

        def keys_of(receivers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            """(shard, round, parity) of blocks that receive."""
            rounds = np.searchsorted(round_edges, receivers, side="right") - 1
            keys: npt.NDArray[np.int64] = rounds * 2 + self._parities[receivers]
            return keys

        # Step 1. The transitions that lead over the border of the shard.
        first_transition, sources, _jumps = self._transitions
        own = np.repeat(np.arange(self._n_own) + self._first_block, np.diff(first_transition))
        local_sources = sources - np.int32(self._first_block)
        is_cut = (local_sources < 0) | (local_sources >= self._n_own)
        inside, outside = own[is_cut], sources[is_cut].astype(np.int64)

        # Step 2. What comes in, and where in the halo it goes; what is given.
        n_keys = 2 * n_rounds * search.n_shards
        first_key = 2 * n_rounds * self._number
        self._taken = _RowLists(keys_of(inside) - first_key, outside, 2 * n_rounds, blocks.n_blocks)
        self._given = _RowLists(keys_of(outside), inside, n_keys, blocks.n_blocks)
        halo = self._taken.places - self._taken.starts[keys_of(inside) - first_key]
        local_sources[is_cut] = (self._n_own + halo).astype(np.int32)
        self._local_sources = local_sources
        self._n_halo = int(self._taken.lengths.max(initial=0))

        # Step 3. What receives in each round: blocks, or where bytes are written whole cell sets.
        of_blocks = np.arange(self._n_own) + self._first_block
        self._local_first_block = blocks.first_block[self._first_set : self._last_set + 1] - np.int32(self._first_block)
        items = of_blocks if search.spec.encoding == "bits" else of_blocks[self._local_first_block[:-1]]
        item_keys = keys_of(items) - first_key
        step = max(1, _SLAB_STATES // blocks.n_orders)
        self._slabs = [
            [found[first : first + step] for first in range(0, len(found), step)]
            for found in (np.flatnonzero(item_keys == key) for key in range(2 * n_rounds))
        ]
        given = self._given.lengths.reshape(search.n_shards, n_rounds, 2).sum(axis=0)
        taken = np.array([np.diff(self._borders(key)) for key in range(2 * n_rounds)])
        return ShardSize(self._rows_bytes(), self._words.row_bytes, given, taken.reshape(n_rounds, 2, search.n_shards))

    def start(self) -> Advance:
        """Take the memory and stand at level 0, which is the goal."""
        n_row = self._words.row_bytes // 8
        n_sets = self._last_set - self._first_set
        self._frontier = np.zeros((self._n_own + self._n_halo, n_row), dtype=np.uint64)
        self._n_active = np.zeros(len(self._frontier), dtype=np.int32)
        if self._search.spec.encoding == "bits":
            self._bits = BitRows(self._slabs, n_row)
        else:
            self._seen = np.zeros((n_sets, n_row), dtype=np.uint64)
            self._table = np.empty((n_sets, self._blocks.n_orders), dtype=np.uint8)
        block = self._goal_block - self._first_block
        if not 0 <= block < self._n_own:
            return Advance(0, 0, 0)
        slot = int(self._words.slot_of_rank[self._goal_rank])
        self._frontier[block, slot // 64] = np.uint64(1 << (slot % 64))
        self._n_active[block] = 1
        if self._search.spec.encoding == "bytes":
            goal_set = int(np.searchsorted(self._local_first_block, block, side="right")) - 1
            self._seen[goal_set, slot // 64] = np.uint64(1 << (slot % 64))
            self._table[goal_set, self._goal_rank] = 0
        return Advance(1, 1, 0)

    def pack(self, level: int, target: int, of_round: int) -> Pack:
        """The rows of level-1 that the shard `target` receives in a round of `level`. Raises `ShardLostError`."""
        if not (self._level == level or (self._level == level - 1 and self._is_complete)):
            raise ShardLostError(f"shard {self._number} is at level {self._level}, not at {level - 1}")
        blocks = self._given.of((target * self._n_rounds + of_round) * 2 + level % 2)
        rows = blocks.astype(np.int64) - self._first_block
        n_active = self._n_active[rows]
        frontier_words = self._frontier.view(self._words.dtype)
        n_cells, n_groups = frontier_words.shape[1], -(-frontier_words.shape[1] // 64)
        n_heads = -(-n_groups // 64)
        n_marks = int(np.where(n_active > 0, n_heads + np.minimum(n_active, n_groups), 0).sum())
        marks = np.empty(n_marks, dtype=np.uint64)
        words = np.empty(int(np.minimum(n_active, n_cells).sum()) + 1, dtype=self._words.dtype)
        n_written = np.zeros(2, dtype=np.int64)
        step = max(1, _SLAB_STATES // self._blocks.n_orders)
        for first in range(0, len(rows), step):
            pack_rows(
                rows[first : first + step], self._n_active, self._frontier, frontier_words, marks, words, n_written
            )
        return Pack(self._number, n_active, marks[: n_written[0]], words[: n_written[1]])

    def advance(self, level: int, of_round: int, packs: list[Pack]) -> Advance:
        """Advance the cell sets of a round to `level`; `packs` are of the shards that hold states of level-1, all but
        this one. Raises `ShardLostError`.
        """
        with self._lock:
            if self._level == level - 1 and self._is_complete:
                self._level, self._advanced, self._is_complete = level, set(), False
            if self._level != level or of_round in self._advanced:
                raise ShardLostError(f"shard {self._number} is at level {self._level}, not at {level - 1}")
            self._advanced.add(of_round)
            self._unpack(packs, 2 * of_round + level % 2)
            slabs = self._slabs[2 * of_round + level % 2]
            counts = sum(
                self._in_threads(lambda slab: self._advance_slab(slab, level), slabs), np.zeros(2, dtype=np.int64)
            )
            self._is_complete = len(self._advanced) == self._n_rounds
            return Advance(int(counts[0]), int(counts[1]), sum(pack.n_bytes for pack in packs))

    def finish(self, level: int, is_complete: bool) -> int:
        """Sort the table after the last level; its bytes. `is_complete`: whether every entry of all was reached."""
        if self._level != level or not self._is_complete:
            raise ShardLostError(f"shard {self._number} is at level {self._level}, not at {level}")
        step = max(1, _SLAB_STATES // self._blocks.n_orders)
        slot_of_rank = self._words.slot_of_rank
        if self._search.spec.encoding == "bits":
            n_bytes = block_bytes(self._blocks.n_tiles)
            # The frontier is over: its memory becomes the table's.
            table = self._frontier.view(np.uint8).reshape(-1)[: self._n_own * n_bytes].reshape(-1, n_bytes)

            def sort(slab: npt.NDArray[np.int64]) -> None:
                sort_bits(slab, self._bits.read(slab), slot_of_rank, table)

            self._in_threads(sort, self._bits.slabs)
            self._table = table
        elif not is_complete:
            for first in range(0, len(self._table), step):
                fill_unreached(
                    self._seen[first : first + step], slot_of_rank, UNREACHED, self._table[first : first + step]
                )
        self._level, self._is_complete = -1, False
        return self._table.size

    @property
    def table(self) -> Table:
        """The entries of its cell sets, once it has finished. Raises `ShardLostError` before."""
        if self._level != -1:
            raise ShardLostError(f"shard {self._number} has not finished")
        return self._table.reshape(-1)

    def _rows_bytes(self) -> int:
        n_sets = self._last_set - self._first_set
        if self._search.spec.encoding == "bits":
            return 2 * self._n_own * self._words.row_bytes
        return (self._n_own + n_sets) * self._words.row_bytes + n_sets * math.factorial(self._blocks.n_tiles)

    def _borders(self, key: int) -> npt.NDArray[np.int64]:
        """Where in the halo the rows of each shard begin: shards own ascending blocks, so they lie together."""
        borders: npt.NDArray[np.int64] = np.searchsorted(
            self._taken.of(key), self._blocks.first_block[np.array(self._search.bounds)]
        )
        return borders

    def _unpack(self, packs: list[Pack], key: int) -> None:
        """Fill the halo of a round."""
        self._n_active[self._n_own :] = 0
        borders = self._borders(key)
        for pack in packs:
            first, last = borders[pack.source], borders[pack.source + 1]
            if last - first != len(pack.n_active):
                raise ShardLostError(f"shard {self._number} was given {len(pack.n_active)} rows, not {last - first}")
            unpack_rows(
                pack.n_active, pack.marks, pack.words, self._n_own + first,
                self._n_active, self._frontier, self._frontier.view(self._words.dtype),
            )  # fmt: skip

    def _advance_slab(self, items: npt.NDArray[np.int64], level: int) -> npt.NDArray[np.int64]:
        words, (first_transition, _sources, jumps) = self._words, self._transitions
        received = np.empty(self._frontier.shape[1], dtype=np.uint64)
        counts = np.zeros(2, dtype=np.int64)
        if self._search.spec.encoding == "bits":
            counts[:] = advance_blocks(
                items, first_transition, self._local_sources, jumps,
                words.jumps, words.first_jumps, words.targets,
                self._frontier, self._frontier.view(words.dtype), self._n_active, received, received.view(words.dtype),
            )  # fmt: skip
            if level & 2 and counts[0]:
                add_bits(items, self._n_active, self._frontier, self._bits.read(items))
        else:
            advance_minimum(
                items, level, self._local_first_block, first_transition, self._local_sources, jumps,
                words.jumps, words.first_jumps, words.targets, words.rank_of_slot,
                self._frontier, self._frontier.view(words.dtype), self._n_active, self._seen, self._table,
                received, received.view(words.dtype), counts,
            )  # fmt: skip
        return counts

    def _in_threads(self, work: Callable[[Any], Any], items: Any) -> list[Any]:
        if self._n_threads == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self._n_threads) as pool:
            return list(pool.map(work, items))
