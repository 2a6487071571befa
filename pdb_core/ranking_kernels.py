"""Tables of the index function, as kernels read them, and the rank of a cell set.

Masks and packed labels are int64 throughout: masks have at most 36 bits, packed labels at most 40.
"""

from typing import NamedTuple

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
