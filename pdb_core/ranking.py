"""Index function: the entry of a table for a placement of a pattern's tiles.

entry = rank(cell set) * k! + rank(arrangement), where

1. a cell set is which k of the n cells the tiles occupy, ranked in lexicographic order of the ascending cells;
2. an arrangement is the order of the tiles, as labels 0 .. k-1, read along those cells, ranked in lexicographic order.

Both ranks are sums of two table entries, with no loop:

- Cell sets with the same cells in the lower half of the board follow each other. So the lower half of the mask gives
  one summand, the rank of the first of them. The upper half, with the number of occupied cells in the lower half, gives
  the other.
- A Lehmer digit of an early position depends only on the labels before it, one of a late position only on the labels
  after it. So the first labels give one summand, the last labels the other.

`PatternIndex` ranks one pattern by these tables. `pdb_query.lookup_kernels` ranks many patterns, for lookups and scalar
rounds of the engine; vector and wide rounds use `rank_of_digits` of `solver.engine.rounds.shared_kernels`.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize, check_table_size
from pdb_core.ranking_kernels import ArrangementRanks, CellSetRanks
from pdb_core.types import Bytes, Int64s

INDEX_FUNCTION = "lexicographic-cell-set-then-arrangement"


@lru_cache(maxsize=32)
def cell_set_ranks(n_cells: int, n_tiles: int) -> CellSetRanks:
    """Return the two tables of cell-set ranks for k of n cells."""
    low_bits = (n_cells + 1) // 2
    high_bits = n_cells - low_bits
    high = np.zeros((low_bits + 1) << high_bits, dtype=np.int32)
    n_uppers = np.zeros(low_bits + 1, dtype=np.int64)
    for taken in range(min(low_bits, n_tiles) + 1):
        uppers = lexicographic_cell_sets(high_bits, n_tiles - taken)
        high[(taken << high_bits) | uppers] = np.arange(len(uppers))
        n_uppers[taken] = len(uppers)
    # Sets that continue with a lower cell come before those that continue in the upper half.
    lowers = np.zeros(1, dtype=np.int64)
    for cell in reversed(range(low_bits)):
        lowers = np.concatenate([lowers | (1 << cell), lowers])
    n_sets = n_uppers[np.bitwise_count(lowers)]
    low = np.zeros(len(lowers), dtype=np.int32)
    low[lowers] = np.cumsum(n_sets) - n_sets
    return CellSetRanks(low_bits, high_bits, low, high)


def label_bits_of(n_tiles: int) -> int:
    """Return the bits of a packed label of a pattern: three if that suffices."""
    return 3 if n_tiles <= 8 else 4


@lru_cache(maxsize=32)
def arrangement_ranks(n_tiles: int) -> ArrangementRanks:
    """Return the two tables of arrangement ranks for k labels."""
    label_bits, n_first = label_bits_of(n_tiles), n_tiles // 2
    prefix_bits = label_bits * n_first
    prefix = np.zeros(1 << prefix_bits, dtype=np.uint16)
    suffix = np.zeros(1 << (label_bits * n_tiles - prefix_bits), dtype=np.uint16)
    labels = packed_labels(lexicographic_arrangements(n_tiles), label_bits)
    # If the last labels ascend, only the digits of the first ones count, and vice versa.
    ranks = np.arange(len(labels), dtype=np.int32)
    n_suffixes = math.factorial(n_tiles - n_first)
    prefix[labels & ((1 << prefix_bits) - 1)] = ranks // n_suffixes
    suffix[labels >> prefix_bits] = ranks % n_suffixes
    return ArrangementRanks(label_bits, prefix_bits, n_suffixes, prefix, suffix)


def packed_labels(orders: Bytes, label_bits: int) -> Int64s:
    """Return orders of labels (uint8[m, k]) packed into words, the first label lowest; int64[m]."""
    labels = np.zeros(len(orders), dtype=np.int64)
    for position in range(orders.shape[1]):
        labels |= orders[:, position].astype(np.int64) << (label_bits * position)
    return labels


def ranks_of_arrangements(labels: Int64s, ranks: ArrangementRanks) -> Int64s:
    """Return the ranks of packed labels, int64[m]."""
    prefix = ranks.prefix[labels & ((1 << ranks.prefix_bits) - 1)].astype(np.int64)
    found: Int64s = prefix * ranks.n_suffixes + ranks.suffix[labels >> ranks.prefix_bits]
    return found


@lru_cache(maxsize=16)
def lexicographic_arrangements(n_tiles: int) -> Bytes:
    """Return all orders of the labels 0 .. k-1, lexicographic: uint8[k!, k], read-only."""
    orders = np.zeros((1, 0), dtype=np.uint8)
    for k in range(1, n_tiles + 1):
        first = np.arange(k, dtype=np.uint8).reshape(-1, 1, 1)
        beginnings = np.broadcast_to(first, (k, len(orders), 1))
        orders = np.concatenate([beginnings, orders + (orders >= first)], axis=2).reshape(-1, k)
    orders.flags.writeable = False
    return orders


@lru_cache(maxsize=64)
def lexicographic_cell_sets(n_cells: int, n_tiles: int) -> Int64s:
    """Return all sets of k of n cells as masks, in lexicographic order of the ascending cells; int64, read-only."""
    # sets[j] holds, for the cells from `cell` on, the sets of j of them, in order: those with `cell` first.
    sets = [np.zeros(1, dtype=np.int64)] + [np.zeros(0, dtype=np.int64)] * n_tiles
    for cell in range(n_cells - 1, -1, -1):
        for j in range(n_tiles, 0, -1):
            sets[j] = np.concatenate([sets[j - 1] | (1 << cell), sets[j]])
    result = sets[n_tiles]
    result.flags.writeable = False
    return result


class PatternIndex:
    """Index function of all patterns of `n_tiles` tiles on a board, for NumPy arrays.

    Examples
    --------
    >>> import numpy as np
    >>> index = PatternIndex(BoardSize(4, 4), 3)
    >>> index.rank(np.array([[1, 2, 3], [15, 14, 13]], dtype=np.uint8)).tolist()
    [630, 3359]
    >>> index.unrank(np.array([630])).tolist()
    [[1, 2, 3]]
    """

    def __init__(self, size: BoardSize, n_tiles: int) -> None:
        check_table_size(size)
        if not 1 <= n_tiles <= min(10, size.n_cells):
            raise ValueError(f"a pattern on a {size} board has 1 to {min(10, size.n_cells)} tiles, not {n_tiles}")
        self.size = size
        self.n_tiles = n_tiles
        self.n_entries = math.perm(size.n_cells, n_tiles)

    def rank(self, cells: npt.ArrayLike) -> Int64s:
        """Return the entries of placements, int64[m].

        Parameters
        ----------
        cells
            Integers of shape (m, k): the cell of each tile of the pattern, the tiles in ascending order.

        Raises
        ------
        ValueError
            A cell is off the board, or two tiles are on one cell.
        """
        given = np.asarray(cells)
        if given.ndim != 2 or given.shape[1] != self.n_tiles:
            raise ValueError(f"cells must have shape (m, {self.n_tiles}), not {given.shape}")
        _check_integers(given, self.size.n_cells, f"cells of a {self.size} board")
        cells_of_tiles = 1 << given.astype(np.int64)
        cell_sets = np.bitwise_or.reduce(cells_of_tiles, axis=1)
        if (np.bitwise_count(cell_sets) != self.n_tiles).any():
            raise ValueError("two tiles on one cell")
        orders = arrangement_ranks(self.n_tiles)
        positions = np.bitwise_count(cell_sets[:, None] & (cells_of_tiles - 1)).astype(np.int64)
        labels = np.bitwise_or.reduce(np.arange(self.n_tiles) << (positions * orders.label_bits), axis=1)
        sets = cell_set_ranks(self.size.n_cells, self.n_tiles)
        below = cell_sets & ((1 << sets.low_bits) - 1)
        above = (np.bitwise_count(below).astype(np.int64) << sets.high_bits) | (cell_sets >> sets.low_bits)
        set_ranks: Int64s = sets.low[below].astype(np.int64) + sets.high[above]
        return set_ranks * math.factorial(self.n_tiles) + ranks_of_arrangements(labels, orders)

    def unrank(self, ranks: npt.ArrayLike) -> Bytes:
        """Return the placements of entries, the inverse of `rank`: int64[m] to uint8[m, k].

        Raises
        ------
        ValueError
            An entry is out of range.
        """
        given = np.asarray(ranks)
        if given.ndim != 1:
            raise ValueError(f"entries must have one dimension, not {given.ndim}")
        _check_integers(given, self.n_entries, "entries")
        entries = given.astype(np.int64)
        n_orders = math.factorial(self.n_tiles)
        masks = lexicographic_cell_sets(self.size.n_cells, self.n_tiles)[entries // n_orders]
        occupied = np.nonzero((masks[:, None] >> np.arange(self.size.n_cells)) & 1)[1].reshape(-1, self.n_tiles)
        labels = lexicographic_arrangements(self.n_tiles)[entries % n_orders]
        cells = np.empty_like(labels)
        np.put_along_axis(cells, labels.astype(np.int64), occupied.astype(np.uint8), axis=1)
        return cells


def _check_integers(given: npt.NDArray[Any], stop: int, what: str) -> None:
    if given.size and not (given.dtype.kind in "iu" and given.min() >= 0 and given.max() < stop):
        raise ValueError(f"{what} are integers from 0 to {stop - 1}")
