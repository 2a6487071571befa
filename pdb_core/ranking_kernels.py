"""Kernels of the index function: from the cells of a pattern's tiles to an entry of its table.

Masks and packed labels are int64 throughout: masks have at most 36 bits, packed labels at most 40.
"""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import kernel
from pdb_core.types import Int32s, UInt16s


class CellSetRanks(NamedTuple):
    """Tables for rank(cell set) = low[lower cells] + high[cells taken below, upper cells].

    A mask of cells:     | upper cells, high_bits | lower cells, low_bits |
    An index of `high`:  | cells taken below      | upper cells, high_bits |
    """

    low_bits: int
    high_bits: int
    low: Int32s
    high: Int32s


class ArrangementRanks(NamedTuple):
    """Tables for rank(arrangement) = prefix * n_suffixes + suffix, uint16, small enough for the innermost cache.

    Packed labels:  | labels of the last positions | labels of the first positions, prefix_bits |, label_bits each
    """

    label_bits: int
    prefix_bits: int
    n_suffixes: int
    prefix: UInt16s
    suffix: UInt16s


@kernel
def rank_cell_set(mask: int, ranks: CellSetRanks) -> int:
    """Return the lexicographic rank of a cell set."""
    below = mask & ((1 << ranks.low_bits) - 1)
    above = (popcount(below) << ranks.high_bits) | (mask >> ranks.low_bits)
    return np.int64(ranks.low[below]) + np.int64(ranks.high[above])  # type: ignore[return-value]


@kernel
def rank_arrangement(labels: int, ranks: ArrangementRanks) -> int:
    """Return the lexicographic rank of packed labels."""
    before = np.int64(ranks.prefix[labels & ((1 << ranks.prefix_bits) - 1)])
    return before * ranks.n_suffixes + np.int64(ranks.suffix[labels >> ranks.prefix_bits])  # type: ignore[return-value]


@kernel
def pack_labels(cells: Any, mask: int, label_bits: int) -> int:
    """Pack the labels 0 .. k-1 of tiles on `cells` (uint8[k]) along the cell set `mask`, the first label lowest."""
    labels = 0
    for label in range(cells.shape[0]):
        position = popcount(mask & ((1 << int(cells[label])) - 1))
        labels |= label << (label_bits * position)
    return labels


@kernel
def cells_mask(cells: Any) -> int:
    """Return the cell set of tiles on `cells` (uint8[k]) as a mask."""
    mask = 0
    for label in range(cells.shape[0]):
        mask |= 1 << int(cells[label])
    return mask


@kernel
def rank_many(cells: Any, n_orders: int, sets: CellSetRanks, orders: ArrangementRanks, ranks: Any) -> None:
    """Fill `ranks` (int64[m]) with the entries of `cells` (uint8[m, k])."""
    for row in range(cells.shape[0]):
        mask = cells_mask(cells[row])
        labels = pack_labels(cells[row], mask, orders.label_bits)
        ranks[row] = rank_cell_set(mask, sets) * n_orders + rank_arrangement(labels, orders)
