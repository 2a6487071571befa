"""Looking boards up in all tables of a database."""

import numpy as np
import numpy.typing as npt

from pdb_core.descent_kernels import probe_bits
from pdb_core.lookup import Int64s, LookupTables, SumViews
from pdb_core.lookup_kernels import place_all_units, probe_bytes


def probe_boards(
    boards: npt.NDArray[np.uint8],
    tables: LookupTables,
    views: SumViews,
    masks: Int64s,
    labels: Int64s,
    values: npt.NDArray[np.uint8],
) -> None:
    """Look up every unit of every board.

    boards         uint8[m, n_cells]  valid boards
    masks, labels  int64[m, s, p]     mutated: the cell set and the packed labels of each unit
    values         uint8[m, s, p]     mutated: the distances; UNREACHED for damaged tables or unsolvable boards
    """
    # Two kernels, so that only the one in use is compiled.
    place_all_units(boards, tables, views, masks, labels)
    if tables.is_bits:
        probe_bits(boards, tables, views, masks, labels, values)
    else:
        probe_bytes(tables, masks, labels, values)
