"""Kernels that compute where `LookupTables` hold the entry of a placement."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import borrowing_kernel


@borrowing_kernel
def rank_set(tables: Any, pattern: int, mask: int) -> int:
    """Return the rank of a cell set of a pattern; tables: `LookupTables`."""
    below = mask & ((1 << tables.low_bits) - 1)
    above = (popcount(below) << tables.high_bits) | (mask >> tables.low_bits)
    # Unsigned indices spare numba its test for negative ones.
    return np.int64(tables.low[np.uint64(tables.low_start[pattern] + below)]) + np.int64(  # type: ignore[return-value]
        tables.high[np.uint64(tables.high_start[pattern] + above)]
    )


@borrowing_kernel
def rank_order(tables: Any, pattern: int, labels: int) -> int:
    """Return the rank of the packed labels of a pattern."""
    prefix_bits = tables.prefix_bits[pattern]
    before = tables.prefix[np.uint64(tables.prefix_start[pattern] + (labels & ((1 << prefix_bits) - 1)))]
    after = tables.suffix[np.uint64(tables.suffix_start[pattern] + (labels >> prefix_bits))]
    return np.int64(before) * tables.n_suffixes[pattern] + np.int64(after)  # type: ignore[no-any-return]


@borrowing_kernel
def byte_address(tables: Any, pattern: int, mask: int, labels: int) -> int:
    """Return the index in `tables.memory` of the entry of a placement, for tables of bytes."""
    entry = rank_set(tables, pattern, mask) * tables.n_orders[pattern] + rank_order(tables, pattern, labels)
    return tables.table_start[pattern] + entry  # type: ignore[no-any-return]
