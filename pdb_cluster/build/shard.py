"""Shard: the part of the search of one pattern that one worker holds, or the whole search.

A shard owns a range of cell sets. It holds a row for each of its blocks: a bit for each arrangement. Some blocks
receive from blocks of other shards. Those rows are sent, and kept behind the shard's own rows, in the *halo*. So the
kernels of the local search see one frontier. Here are two shards:

              own rows          halo
    A   | a0 a1 a2 a3 a4 |     b0 b2        B sends b0 and b2, from which a1 and a4 receive
    B   | b0 b1 b2 b3    |     a1 a4        A sends a1 and a4, from which b0 and b2 receive

Since every move can be undone, a shard knows which of its rows another shard needs: those of its blocks that receive
from there. Both sides list them in ascending order of blocks. Rows are sent compressed, without words that are 0.

If the halo would take too much memory, the cell sets of each shard are divided into *portions*, which receive one after
another. Portions 0 of A have the blocks a0 to a2, portion 1 the others:

    portion 0    B sends b0 to A    A: | a0 a1 a2 a3 a4 | b0    advances a0, a1, a2
    portion 1    B sends b2 to A    A: | a0 a1 a2 a3 a4 | b2    advances a3, a4

Blocks that give at a level do not receive at it (see `search_kernels`). So the order of portions and of shards does not
matter, and a shard may send rows while it advances.
"""

import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_build.level_search import SearchPart, level_search, whole_pattern
from pdb_build.word_layout import word_layout
from pdb_cluster.build.exchange_kernels import compress_rows, decompress_rows
from pdb_core.encoding import UNREACHED
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.layout_kernels import Transitions
from pdb_core.table_spec import TableSpec
from pdb_core.threads import thread_pool
from pdb_core.types import Bytes, Int32s, Int64s, UInt64s

# The cell sets of each shard, see `divide`.
Bounds = tuple[int, ...]
# int64[3]: zero-aware states reached, entries written, bytes received from other shards.
Counts = Int64s


class LostError(Exception):
    """A shard was lost with its worker, or was made anew."""


def divide(spec: TableSpec, n_shards: int) -> Bounds:
    """Divide a pattern into shards of about as many blocks each.

    Shard i has the cell sets bounds[i] to bounds[i+1]-1.
    """
    if n_shards == 1:
        return 0, spec.n_sets
    first_block = pattern_blocks(spec.size, spec.n_tiles, spec.cost).first_block
    wanted = np.arange(n_shards + 1) * int(first_block[-1]) // n_shards
    return tuple(int(bound) for bound in np.searchsorted(first_block, wanted))


class _RowLists:
    """Ascending lists of blocks, one for each key, made from pairs (key, block) that may repeat."""

    def __init__(self, keys: Int64s, blocks: Int64s, n_keys: int, n_blocks: int) -> None:
        found, self.places = np.unique(keys * n_blocks + blocks, return_inverse=True)
        self.starts = np.searchsorted(found, np.arange(n_keys + 1) * n_blocks)
        self.blocks = (found % n_blocks).astype(np.int32)

    def of(self, key: int) -> Int32s:
        """Return the list of a key."""
        blocks: Int32s = self.blocks[self.starts[key] : self.starts[key + 1]]
        return blocks


class SentRows(NamedTuple):
    """Rows that shard `source` sends to another. Dask knows the size of a tuple of arrays.

    n_active      int32[m]           bits in each row
    masks, words  of the nonempty rows, see `exchange_kernels`
    """

    source: int
    n_active: Int32s
    masks: UInt64s
    words: npt.NDArray[Any]

    @property
    def n_bytes(self) -> int:
        return self.n_active.nbytes + self.masks.nbytes + self.words.nbytes


class PatternShard:
    """One shard, which never leaves the memory of its worker.

    Call `set_portions` until the halo is small enough, then `start`, then `advance` for each portion of each level in
    order, with what `rows_for` of the other shards returns, then `finish`. Any other order raises `LostError`: Dask may
    run a task again, or replace a lost shard by a new one.
    """

    def __init__(self, spec: TableSpec, bounds: Bounds, number: int, n_threads: int = 1) -> None:
        self._spec, self._bounds, self._number = spec, bounds, number
        self._blocks = blocks = pattern_blocks(spec.size, spec.n_tiles, spec.cost)
        first_set, last_set = bounds[number], bounds[number + 1]
        self._first_block = int(blocks.first_block[first_set])
        self._first_blocks = blocks.first_block[first_set : last_set + 1] - np.int32(self._first_block)
        self._n_own = int(self._first_blocks[-1])
        if len(bounds) > 2:
            self._transitions = block_transitions(blocks, first_set, last_set)
        self._pool = thread_pool(n_threads)
        # Portions of all levels that have advanced; -1 before `start` and after `finish`.
        self._n_portions, self._n_advanced = 0, -1
        self._entries: Bytes = np.empty(0, dtype=np.uint8)

    def __reduce__(self) -> Any:
        raise TypeError("a shard stays with its worker")

    def set_portions(self, n_portions: int) -> Int64s:
        """Divide the cell sets into portions.

        Return the number of rows that each other shard sends to each portion at even and odd levels:
        int64[n_portions, 2, n_shards].
        """
        self._n_portions = n_portions
        if len(self._bounds) == 2:
            self._part = whole_pattern(self._spec)
            self._borders = np.zeros((2 * n_portions, 2), dtype=np.int64)
        else:
            self._lay_out_exchange()
        return np.diff(self._borders, axis=1).reshape(n_portions, 2, -1)

    def _lay_out_exchange(self) -> None:
        blocks, bounds, n_portions = self._blocks, self._bounds, self._n_portions
        goal_block, goal_rank = blocks.state_of(self._spec.goal, self._spec.pattern.tiles)
        parities = blocks.parities() ^ blocks.parities()[goal_block]
        sets = np.array(bounds, dtype=np.int64)
        edges = (sets[:-1, None] + np.diff(sets)[:, None] * np.arange(n_portions) // n_portions).reshape(-1)
        first_blocks_of_portions = blocks.first_block[edges]

        def keys_of(receivers: Int64s) -> Int64s:
            """Return (shard, portion, parity) of blocks that receive, as one number."""
            portions = np.searchsorted(first_blocks_of_portions, receivers, side="right") - 1
            keys: Int64s = portions * 2 + parities[receivers]
            return keys

        # Step 1. The transitions that cross the border of the shard.
        first_transition, sources, jumps = self._transitions
        own_blocks = np.arange(self._n_own) + self._first_block
        own = np.repeat(own_blocks, np.diff(first_transition))
        local_sources = sources - np.int32(self._first_block)
        is_cut = (local_sources < 0) | (local_sources >= self._n_own)
        inside, outside = own[is_cut], sources[is_cut].astype(np.int64)

        # Step 2. The rows that come in, with their rows in the halo, and the rows that are given.
        n_keys, first_key = 2 * n_portions, 2 * n_portions * self._number
        taken = _RowLists(keys_of(inside) - first_key, outside, n_keys, blocks.n_blocks)
        self._given = _RowLists(keys_of(outside), inside, n_keys * (len(bounds) - 1), blocks.n_blocks)
        halo = taken.places - taken.starts[keys_of(inside) - first_key]
        local_sources[is_cut] = (self._n_own + halo).astype(np.int32)
        # The first row of each shard in the halo. Shards own ascending blocks, so their rows are in order.
        first_blocks = blocks.first_block[sets]
        self._borders = np.array([np.searchsorted(taken.of(key), first_blocks) for key in range(n_keys)])

        # Step 3. The blocks of each portion.
        own_goal = goal_block - self._first_block
        self._part = SearchPart(
            word_layout(blocks.n_tiles, blocks.size.width), blocks.n_orders, self._first_blocks,
            Transitions(first_transition, local_sources, jumps),
            groups=keys_of(own_blocks) - first_key, n_groups=n_keys,
            n_halo=int(self._borders[:, -1].max()),
            goal=(own_goal, goal_rank) if 0 <= own_goal < self._n_own else None,
        )  # fmt: skip

    def start(self) -> Counts:
        """Allocate the rows, at level 0: the goal. Raises `LostError`."""
        self._check(self._n_portions > 0)
        self._search, self._n_advanced = level_search(self._part, self._spec.encoding), 0
        n_goals = int(self._part.goal is not None)
        return np.array([n_goals, n_goals, 0])

    def rows_for(self, target: int, level: int, portion: int, _after: Any = None) -> SentRows:
        """Return the rows of level-1 that `portion` of shard `target` receives at `level`. Raises `LostError`.

        `_after` is the result of a task that Dask runs before.
        """
        self._check((level - 1) * self._n_portions <= self._n_advanced <= level * self._n_portions)
        blocks = self._given.of((target * self._n_portions + portion) * 2 + level % 2)
        rows = blocks.astype(np.int64) - self._first_block
        _bits, frontier_words, n_active = self._search.level
        n_active = n_active[rows]
        nonempty, n_words = rows[n_active > 0], frontier_words.shape[1]
        masks = np.empty((len(nonempty), -(-n_words // 64)), dtype=np.uint64)
        # With one more, which `decompress_rows` reads.
        words = np.empty(int(np.minimum(n_active, n_words).sum()) + 1, dtype=frontier_words.dtype)
        n_kept = compress_rows(nonempty, frontier_words, masks, words)
        return SentRows(self._number, n_active, masks, words[: n_kept + 1])

    def advance(self, level: int, portion: int, received: list[SentRows], _after: Any = None) -> Counts:
        """Advance a portion to `level`. `received` comes from the other shards with states of level-1.

        `_after` is the result of a task that Dask runs before. Raises `LostError`.
        """
        self._check(self._n_advanced == (level - 1) * self._n_portions + portion)
        self._n_advanced += 1
        self._fill_halo(received, 2 * portion + level % 2)
        slabs = self._search.slabs(level, portion)
        counts = sum(self._pool.map(lambda slab: self._search.advance(slab, level), slabs), np.zeros(2, np.int64))
        return np.array([*counts, sum(sent.n_bytes for sent in received)])

    def advance_levels(self, level: int, seconds: float) -> list[Counts]:
        """Advance the only shard of a pattern to `level` and further, for some time or to the end.

        Return the counts of each level. Raises `LostError`.
        """
        end = time.monotonic() + seconds
        levels = [self.advance(level, 0, [])]
        while levels[-1][0] and time.monotonic() < end and level + len(levels) < UNREACHED:
            levels.append(self.advance(level + len(levels), 0, []))
        return levels

    def finish(self, level: int) -> Bytes:
        """Return the entries of its cell sets after the last level."""
        self._check(self._n_advanced == level * self._n_portions)
        self._n_advanced = -1
        self._entries = self._search.finish(self._pool)
        return self._entries

    def piece(self, first: int, last: int) -> Bytes:
        """Return bytes `first` to `last`-1 of its entries, after `finish`. Raises `LostError` before."""
        self._check(first < len(self._entries))
        return self._entries[first:last]

    def _check(self, is_next: bool) -> None:
        if not is_next:
            raise LostError(f"shard {self._number} was made anew, or got a task twice")

    def _fill_halo(self, received: list[SentRows], key: int) -> None:
        """Fill the halo of a portion at a level, which `key` names."""
        _bits, words, n_active = self._search.level
        n_active[self._n_own :] = 0

        def fill(sent: SentRows) -> None:
            first, last = self._n_own + self._borders[key][sent.source : sent.source + 2]
            if last - first != len(sent.n_active):
                raise LostError(f"shard {self._number} was given {len(sent.n_active)} rows, not {last - first}")
            n_active[first:last] = sent.n_active
            decompress_rows(sent.masks, sent.words, first + np.flatnonzero(sent.n_active), words)

        list(self._pool.map(fill, received))
