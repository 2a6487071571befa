"""Looking boards up in all tables of a database."""

import numpy as np
import numpy.typing as npt

from pdb_query.descent_kernels import DESCENT_FIELDS, N_DESCENTS, probe_bits
from pdb_query.lookup import Int64s, LookupTables, SumViews
from pdb_query.lookup_kernels import place_all_units, probe_bytes

# A larger memo does not fit in the caches.
_MOST_MEMO_ENTRIES = 1 << 17


def probe_boards(
    boards: npt.NDArray[np.uint8],
    tables: LookupTables,
    views: SumViews,
    masks: Int64s,
    labels: Int64s,
    values: npt.NDArray[np.uint8],
) -> None:
    """Look up every unit of every board. The arrays must be contiguous.

    boards         uint8[m, n_cells]  valid boards
    masks, labels  int64[m, s, p]     mutated: the cell set and the packed labels of each unit
    values         uint8[m, s, p]     mutated: the distances; UNREACHED for damaged tables or unsolvable boards
    """
    # Different kernels, so that only those in use are compiled.
    if not tables.is_bits:
        place_all_units(boards, tables, views, masks, labels)
        probe_bytes(tables, masks, labels, values)
        return
    n_units = values.size
    # A power of 2, about the number of units: each descent adds one distance.
    memo = np.zeros(min(1 << n_units.bit_length(), _MOST_MEMO_ENTRIES), dtype=np.int64)
    probe_bits(
        boards.reshape(-1),
        views.unit_maps,
        tables.memory,
        tables.descent,
        tables.set_ranks,
        tables.order_ranks,
        tables.region_numbers,
        np.empty(min(N_DESCENTS, n_units) * DESCENT_FIELDS, dtype=np.int64),
        memo,
        masks.reshape(-1),
        labels.reshape(-1),
        values.reshape(-1),
    )
