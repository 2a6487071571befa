"""The tables of a database, made ready for kernels: everything a lookup reads, in a few flat arrays.

A *sum* is the heuristic of one partition seen through one symmetry: the database's own sum, or the reflected one. A
*unit* is one pattern of one sum; it is what holds a cell set and packed labels while a search moves tiles about.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.pattern import Partition
from pdb_core.puzzle import BoardSize
from pdb_core.ranking import arrangement_ranks, cell_set_ranks
from pdb_core.symmetry import BoardMapping

Scalar = TypeVar("Scalar", bound=np.generic)
Int64s = npt.NDArray[np.int64]


class LookupTables(NamedTuple):
    """The tables of one partition and what ranks their entries.

    memory        uint8[...]     read-only; holds all tables
    table_start   int64[p]       where each pattern's table starts in `memory`
    low_start, high_start, prefix_start, suffix_start   int64[p]: where each pattern's part starts in the arrays below
    label_bits, prefix_bits                             int64[p]
    low, high     int64          cell-set ranks, see `ranking.CellSetRanks`
    prefix, suffix  int32        arrangement ranks, see `ranking.ArrangementRanks`
    low_bits, high_bits          cells in the lower and the upper half of a mask
    """

    memory: npt.NDArray[np.uint8]
    table_start: Int64s
    low_start: Int64s
    high_start: Int64s
    prefix_start: Int64s
    suffix_start: Int64s
    label_bits: Int64s
    prefix_bits: Int64s
    low: Int64s
    high: Int64s
    prefix: npt.NDArray[np.int32]
    suffix: npt.NDArray[np.int32]
    low_bits: int
    high_bits: int


class SumViews(NamedTuple):
    """Where the tiles of a board are to be found in each sum.

    cell_maps      int64[s, n_cells]  the cell of a sum's board that each cell of the given board becomes
    tile_patterns  int64[s, n_cells]  the pattern that each tile of the given board belongs to there; -1 for the blank
    tile_labels    int64[s, n_cells]  its label within that pattern; -1 for the blank
    """

    cell_maps: Int64s
    tile_patterns: Int64s
    tile_labels: Int64s


def lookup_tables(
    size: BoardSize, partition: Partition, memory: npt.NDArray[np.uint8], table_start: Sequence[int]
) -> LookupTables:
    """Gather what lookups in the tables of `partition` need; `memory` must be read-only, so that kernels are compiled
    once.
    """
    sets = [cell_set_ranks(size.n_cells, pattern.n_tiles) for pattern in partition.patterns]
    orders = [arrangement_ranks(pattern.n_tiles) for pattern in partition.patterns]
    low, low_start = _concatenate([ranks.low for ranks in sets])
    high, high_start = _concatenate([ranks.high for ranks in sets])
    prefix, prefix_start = _concatenate([ranks.prefix for ranks in orders])
    suffix, suffix_start = _concatenate([ranks.suffix for ranks in orders])
    return LookupTables(
        memory=memory,
        table_start=np.array(table_start, dtype=np.int64),
        low_start=low_start,
        high_start=high_start,
        prefix_start=prefix_start,
        suffix_start=suffix_start,
        label_bits=np.array([ranks.label_bits for ranks in orders], dtype=np.int64),
        prefix_bits=np.array([ranks.prefix_bits for ranks in orders], dtype=np.int64),
        low=low,
        high=high,
        prefix=prefix,
        suffix=suffix,
        low_bits=sets[0].low_bits,
        high_bits=sets[0].high_bits,
    )


def _concatenate(arrays: list[npt.NDArray[Scalar]]) -> tuple[npt.NDArray[Scalar], Int64s]:
    """One array of all different ones, each once, and where each of `arrays` starts in it."""
    starts: dict[int, int] = {}
    parts, total = [], 0
    for array in arrays:
        if id(array) not in starts:
            starts[id(array)] = total
            parts.append(array)
            total += len(array)
    return np.concatenate(parts), np.array([starts[id(array)] for array in arrays], dtype=np.int64)


def sum_views(size: BoardSize, partition: Partition, mappings: Sequence[BoardMapping]) -> SumViews:
    """The views of a board through each of `mappings`, which lead to boards with the goal of the tables."""
    pattern_of = np.full(size.n_cells, -1, dtype=np.int64)
    label_of = np.full(size.n_cells, -1, dtype=np.int64)
    for index, pattern in enumerate(partition.patterns):
        for label, tile in enumerate(pattern.tiles):
            pattern_of[tile], label_of[tile] = index, label
    tile_maps = np.array([mapping.tile_map for mapping in mappings], dtype=np.int64)
    cell_maps = np.array([mapping.cell_map for mapping in mappings], dtype=np.int64)
    return SumViews(cell_maps, pattern_of[tile_maps], label_of[tile_maps])
