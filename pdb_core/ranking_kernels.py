"""Kernels of the index function: from the cells of a pattern's tiles to an entry of its table.

Masks and packed labels are int64 throughout: masks have at most 36 bits, packed labels at most 40.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import kernel


@kernel
def rank_cell_set(mask: int, low_bits: int, high_bits: int, low: Any, high: Any) -> int:
    """Return the lexicographic rank of a cell set; the tables are those of `ranking.CellSetRanks`."""
    below = mask & ((1 << low_bits) - 1)
    return np.int64(low[below]) + np.int64(high[(popcount(below) << high_bits) | (mask >> low_bits)])  # type: ignore[return-value]


@kernel
def rank_arrangement(labels: int, prefix_bits: int, n_suffixes: int, prefix: Any, suffix: Any) -> int:
    """Return the lexicographic rank of packed labels; the tables are those of `ranking.ArrangementRanks`."""
    before = np.int64(prefix[labels & ((1 << prefix_bits) - 1)])
    return before * n_suffixes + np.int64(suffix[labels >> prefix_bits])  # type: ignore[return-value]


@kernel
def move_label(labels: int, mask: int, source: int, target: int, label_bits: int) -> int:
    """Return the packed labels after the tile on cell `source` has moved to cell `target`.

    `mask` is the cell set before or after the move. The tile jumps over the tiles between the two cells, so its label
    and theirs rotate by one position.
    """
    lower = min(source, target)
    upper = max(source, target)
    n_passed = popcount(mask & ((1 << upper) - (2 << lower)))
    shift = label_bits * popcount(mask & ((1 << lower) - 1))
    length = label_bits * (n_passed + 1)
    segment_mask = (1 << length) - 1
    segment = (labels >> shift) & segment_mask
    # Towards higher cells the lowest label of the segment moves to its top; otherwise the top one to its bottom.
    right = label_bits if target > source else length - label_bits
    rotated = ((segment >> right) | (segment << (length - right))) & segment_mask
    return labels ^ ((segment ^ rotated) << shift)


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
def rank_many(
    cells: Any, n_orders: int, low_bits: int, high_bits: int, low: Any, high: Any,
    label_bits: int, prefix_bits: int, n_suffixes: int, prefix: Any, suffix: Any, ranks: Any,
) -> None:  # fmt: skip
    """Fill `ranks` (int64[m]) with the entries of `cells` (uint8[m, k])."""
    for row in range(cells.shape[0]):
        mask = cells_mask(cells[row])
        labels = pack_labels(cells[row], mask, label_bits)
        order = rank_arrangement(labels, prefix_bits, n_suffixes, prefix, suffix)
        ranks[row] = rank_cell_set(mask, low_bits, high_bits, low, high) * n_orders + order
