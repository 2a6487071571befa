"""Deep check: proof that every entry of a table is right.

The additive minimum has no local proof, because two neighbours in it may differ by 3. Bits have none either, because
labels modulo 4 can lead in a circle. The zero-aware distances have one. So the builder's search finds them again, they
are proved, and compared with the table: their minimum with bytes, bit 1 of each with bits. The proof shares only the
index function with the builder; `deep_check_space` derives regions, moves and permutations again. If every move counts,
the blank's moves are transitions like the others, and the same proof holds.

The proof. Let d be any labelling of the states with 0 .. 254 ("reached") or 255 ("unreached"), such that

1. the goal's state is the only one with d = 0;
2. every transition from a reached state leads to a reached one and changes d by exactly 1, and every transition from an
   unreached state leads to an unreached one;
3. every reached state other than the goal has a neighbour whose d is exactly one lower.

Then d is the distance from the goal. Forwards: a path from the goal, which is reached and has d = 0 (1), visits only
reached states, and d grows by at most 1 with each move (2). So every state that the goal can reach is reached, with
d <= distance. Backwards: from any reached state one can move to a neighbour one lower, again and again (3), and after
exactly d moves is at d = 0, which is the goal (1). So the goal is d moves away and, because moves can be undone,
distance <= d. It follows that the reached states are exactly those that the goal can reach.

The proof does not depend on how d was found: wrong distances of the search fail it. `prove_table` checks 1 to 3 for
every state and every transition, slab by slab.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pdb_build.plan import layout_bytes
from pdb_build.search import search_pattern
from pdb_build.word_layout import row_bytes
from pdb_core.encoding import UNREACHED
from pdb_core.errors import TableFileDamagedError, WrongAnswerError
from pdb_core.ranking import PatternIndex, lexicographic_arrangements, lexicographic_cell_sets
from pdb_core.table_spec import TableSpec
from pdb_core.types import BLANK, Bytes, Int64s

Progress = Callable[[str, float], None]

# States that a thread checks at a time, in a few milliseconds, and the memory of all threads for them.
_SLAB_STATES, _SLABS_BYTES = 1_000_000, 50_000_000


@dataclass(frozen=True)
class Proof:
    """Counts of a proof, of states and entries that were checked one by one.

    n_states, n_blocks  zero-aware states, and blocks of k! of them
    n_reached           states that the goal can reach
    n_transitions       transitions of states; a move counts twice, once from each end
    max_distance        largest zero-aware distance
    n_entries           entries of the table
    """

    n_states: int
    n_blocks: int
    n_reached: int
    n_transitions: int
    max_distance: int
    n_entries: int


def required_bytes(spec: TableSpec) -> int:
    """Estimate the memory that `prove_table` needs beside the table."""
    search = 2 * spec.n_blocks * row_bytes(spec.n_tiles) + layout_bytes(spec)
    space = spec.n_sets * (24 + 18 * spec.size.n_cells) + _SLABS_BYTES
    return spec.n_states + max(search, space)


class _Space:
    """Blocks of a pattern (cell set, blank region), and the moves between them.

    If every move counts, each free cell is a region.

    free         bool[n_cells, n_sets]   free cells of each cell set
    first_block  int64[n_sets + 1]       the blocks of a cell set, regions by their lowest cells
    block        int32[n_cells, n_sets]  block of each cell set with the blank on a free cell
    """

    def __init__(self, spec: TableSpec) -> None:
        self.spec, n_cells = spec, spec.size.n_cells
        self._neighbours = [(cell, near) for cell in range(n_cells) for near in spec.size.neighbours[cell]]
        self._sets = lexicographic_cell_sets(n_cells, spec.n_tiles)
        self._by_mask = np.argsort(self._sets)
        cells = np.arange(n_cells, dtype=np.uint8)[:, None]
        self.free = self._sets >> cells & 1 == 0
        lowest = np.where(self.free, cells, np.uint8(UNREACHED))
        for _ in range(n_cells if spec.cost == "additive" else 0):  # a path visits each cell at most once
            for cell, near in self._neighbours:
                np.minimum(lowest[cell], lowest[near], out=lowest[cell], where=self.free[cell])
        is_first = lowest == cells
        self.first_block = np.concatenate([[0], np.cumsum(is_first.sum(axis=0))])
        numbers = np.cumsum(is_first, axis=0, dtype=np.uint8) - np.uint8(1)
        regions = np.take_along_axis(numbers, np.where(self.free, lowest, np.uint8(0)), axis=0)
        self.block = regions + self.first_block[:-1].astype(np.int32)
        self._ranks_after = cache(self._find_ranks_after)

    def goal(self) -> tuple[int, int]:
        """Return the block of the goal, and the rank of its arrangement."""
        spec = self.spec
        entry = PatternIndex(spec.size, spec.n_tiles).rank([[spec.goal.index(tile) for tile in spec.pattern.tiles]])[0]
        cell_set, rank = divmod(int(entry), spec.n_orders)
        return int(self.block[spec.goal.index(BLANK), cell_set]), rank

    def moves(self, first: int, last: int) -> Iterator[tuple[Any, Any, Any]]:
        """Yield moves from the blocks of cell sets `first` to `last`-1.

        Each time, these are different blocks; the blocks that a tile's move from one cell to another, or the blank's,
        leads to; and the rank that each arrangement has there, None if it stays.
        """
        n_tiles, slab = self.spec.n_tiles, slice(first, last)
        for cell, near in self._neighbours:
            # Something moves from `cell` to the free cell `near`: a tile, or nothing, if every move counts.
            moves = self.free[near, slab] & (~self.free[cell, slab] | (self.spec.cost == "every-move"))
            before = np.flatnonzero(moves) + first
            masks, is_free = self._sets[before], self.free[cell, before]
            masks_after = np.where(is_free, masks, masks ^ (1 << cell | 1 << near))
            after = self._by_mask[np.searchsorted(self._sets, masks_after, sorter=self._by_mask)]
            old = np.bitwise_count(masks & ((1 << cell) - 1)).astype(np.int64)
            new = np.bitwise_count(masks_after & ((1 << near) - 1))
            jumps = np.where(is_free | (old == new), -1, old * n_tiles + new)
            for jump in np.unique(jumps).tolist():
                of = jumps == jump
                ranks = None if jump < 0 else self._ranks_after(*divmod(jump, n_tiles))
                yield self.block[near, before[of]], self.block[cell, after[of]], ranks

    def _find_ranks_after(self, old: int, new: int) -> Any:
        """Return the rank of each arrangement after the label at position `old` moves to `new`."""
        n_tiles = self.spec.n_tiles
        orders, digits = lexicographic_arrangements(n_tiles).astype(np.int64), n_tiles ** np.arange(n_tiles)[::-1]
        columns = np.insert(np.delete(np.arange(n_tiles), old), new, old)
        return np.searchsorted(orders @ digits, orders[:, columns] @ digits).astype(np.uint32)


def prove_table(
    spec: TableSpec,
    table: Bytes,
    *,
    n_threads: int,
    progress: Progress = lambda *_: None,
) -> Proof:
    """Prove that every entry of a table is right.

    `table` is uint8[n_bytes] in the encoding of `spec`. Needs about `required_bytes` of memory. `progress(stage,
    fraction)` is called in the calling thread.

    Raises `TableFileDamagedError` for the first wrong entry, and `WrongAnswerError` if the distances of the search fail
    their proof, a fault of the program or of the machine's memory. KeyboardInterrupt passes through within a fraction
    of a second.
    """
    found = search_pattern(
        spec,
        n_threads=n_threads,
        progress=lambda _depth, n_reached, n_states: progress("searching the distances", n_reached / n_states),
        zero_aware=True,
    )
    return prove_distances(spec, found.table, table, n_threads=n_threads, progress=progress)


def prove_distances(
    spec: TableSpec, found: Bytes, table: Bytes, *, n_threads: int, progress: Progress = lambda *_: None
) -> Proof:
    """Prove that `found` are the zero-aware distances, uint8[n_blocks * k!], and compare a table with them.

    Raises as `prove_table`.
    """
    distances, space = found.reshape(-1, spec.n_orders), _Space(spec)
    n_per_slab = max(1, min(_SLAB_STATES * spec.n_sets // spec.n_states, -(-spec.n_sets // (4 * n_threads))))
    starts = range(0, spec.n_sets, n_per_slab)
    histogram, n_transitions, wrong = np.zeros(256, dtype=np.int64), 0, None
    with ThreadPoolExecutor(n_threads, thread_name_prefix="deep-check") as pool:
        slabs = pool.map(lambda first: _check(space, distances, table, first, first + n_per_slab), starts)
        for first, (counts, n_checked, wrong_byte) in zip(starts, slabs, strict=True):
            histogram += counts
            n_transitions, wrong = n_transitions + n_checked, wrong or wrong_byte
            progress("proving the table", min(1, (first + n_per_slab) / spec.n_sets))
    if histogram[0] != 1 or distances[space.goal()] != 0:
        raise _unproved("the goal is not the only state at distance 0")
    if wrong is not None:
        at, right = wrong
        raise TableFileDamagedError(
            f"byte {at} of the table of pattern {spec.pattern} is {table[at]} where {right} is right; rebuild it "
            "with pdb build"
        )
    reached = histogram[:UNREACHED]
    max_distance = int(reached.nonzero()[0][-1])
    return Proof(spec.n_states, spec.n_blocks, int(reached.sum()), n_transitions, max_distance, spec.n_entries)


def _check(
    space: _Space, distances: Bytes, table: Bytes, first: int, last: int
) -> tuple[Int64s, int, tuple[int, int] | None]:
    """Prove the distances of cell sets `first` to `last`-1, and compare the table with them.

    Return the number of states at each distance, int64[256]; the number of transitions; and the first wrong byte of the
    table with its right value, None if there is none. Raises `WrongAnswerError`.
    """
    spec = space.spec
    last = min(last, spec.n_sets)
    block, end = space.first_block[[first, last]]
    rows = distances[block:end]
    reached, has_lower = rows != UNREACHED, rows == 0
    is_bad, n_transitions = np.zeros(len(rows), dtype=bool), 0
    for before, after, ranks in space.moves(first, last):
        here, there = distances[before], distances[after] if ranks is None else distances[after[:, None], ranks]
        step = there - here  # modulo 256
        is_lower = step == np.uint8(255)
        is_unreached = (here == UNREACHED) | (there == UNREACHED)
        is_right = np.where(is_unreached, here == there, is_lower | (step == 1))
        is_bad[before - block] |= ~is_right.all(axis=1)
        has_lower[before - block] |= is_lower
        n_transitions += here.size
    is_bad |= (reached & ~has_lower).any(axis=1)
    if is_bad.any():
        raise _unproved(f"block {block + is_bad.argmax()} does not agree with its neighbours")
    if spec.encoding == "bits":
        right = np.packbits(rows & reached * np.uint8(2), axis=1, bitorder="little")
        offset = block * right.shape[1]
    else:
        right = np.minimum.reduceat(rows, space.first_block[first:last] - block, axis=0)
        offset = first * spec.n_orders
    right = right.reshape(-1)
    differs = np.flatnonzero(right != table[offset : offset + right.size])
    wrong = (int(offset + differs[0]), int(right[differs[0]])) if differs.size else None
    return np.bincount(rows.reshape(-1), minlength=256), n_transitions, wrong


def _unproved(fault: str) -> WrongAnswerError:
    return WrongAnswerError(
        f"the distances of the search fail their own proof: {fault}; the table may be sound, run the check again and "
        "report it if it fails again"
    )
