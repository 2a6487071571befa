"""Tables of the units of all sums, for kernels: how a move changes the state of a unit, and where its distance is.

A *unit* is one pattern of a sum, looked up through one view of the board. Used by the scalar stages of the engine, and
by best-first search. Its state is one word: the cell set below, the packed labels above it. `TableSpec` rejects
patterns whose states do not fit. Everything is flat and one-dimensional: one row of numbers for each edge and each
unit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BoardSize
from pdb_query.lookup import Int64s, LookupTables, SumViews
from solver.board_arrays import N_MOVES, blank_moves

# Arrays of all databases, by the field of `UnitTables`, before they are joined.
_Parts = dict[str, list[npt.NDArray[Any]]]

# A row of `UnitTables.units`: where the parts of this unit's pattern start, and how its labels are packed. Distances
# have bit addresses: 8 * the address of a byte + the number of a bit. ROW_BITS are those of a block in bits, of
# a cell set in bytes; ENTRY_SHIFT is 0 or 3. BLOCKS and REGIONS are -1 in bytes.
UNIT_FIELDS = 16
(
    TABLE, ROW_BITS, ENTRY_SHIFT, LOW, HIGH, BLOCKS, REGIONS, PREFIX, SUFFIX, LABEL_BITS, PREFIX_BITS, N_SUFFIXES,
) = range(12)  # fmt: skip
# A row of `UnitTables.edges`, one for each edge and each cell map: masks of the cells that the edge becomes,
# and the cell that the tile leaves.
EDGE_FIELDS = 8
BOTH_CELLS, CELLS_BETWEEN, CELLS_BELOW, IS_UPWARD, LEFT_CELL = range(5)


class UnitTables(NamedTuple):
    """Arrays with which kernels move units and find their distances.

    set_ranks     int32          the lower and upper parts of all cell-set ranks
    order_ranks   uint16         the prefix and suffix parts of all arrangement ranks
    first_block   int32          for units in bits, see `layout.Blocks`
    region_numbers  uint8        the same
    units         int64[u * UNIT_FIELDS]
    edges         int64[maps * n_cells * N_MOVES * EDGE_FIELDS]
    edge_cells    int64[n_cells * N_MOVES]   the cell that the tile comes from; 0 if there is none
    unit_of_tile  int64[s * n_cells]   the unit whose distance a move of the tile changes. If every move counts and
                  the tile is of no pattern: ~unit, nothing moves but the blank
    edges_of_tile int64[s * n_cells]   where the edges of that unit start in `edges`
    sum_is_bits   int64[s]             whether its tables are bits
    """

    set_ranks: npt.NDArray[np.int32]
    order_ranks: npt.NDArray[np.uint16]
    first_block: npt.NDArray[np.int32]
    region_numbers: npt.NDArray[np.uint8]
    units: Int64s
    edges: Int64s
    edge_cells: Int64s
    unit_of_tile: Int64s
    edges_of_tile: Int64s
    sum_is_bits: Int64s
    n_cells: int
    low_bits: int
    high_bits: int
    n_sums: int
    n_units: int


class DatabaseSums(NamedTuple):
    """Sums of one database: its tables, and the views of boards through its symmetries."""

    tables: LookupTables
    views: SumViews

    def sums(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return each sum of the search: a view, and the patterns of a partition, or one pattern if every move counts.

        Of sums with the same tiles only the first is kept: their distances are the same.
        """
        n_views, n_patterns = self.views.view_of_unit.shape
        partitions = [tuple(np.flatnonzero(is_in).tolist()) for is_in in self.views.is_in_sum]
        # Partition by partition: the best ones come first.
        sums = [(view, patterns) for patterns in partitions for view in range(n_views)]
        if self.tables.counts_every_move:
            sums = [(view, (pattern,)) for view in range(n_views) for pattern in range(n_patterns)]
        different: dict[frozenset[tuple[int, ...]], tuple[int, tuple[int, ...]]] = {}
        for view, patterns in sums:
            tiles = frozenset(self.tiles(view, pattern) for pattern in patterns)
            different.setdefault(tiles, (view, patterns))
        return list(different.values())

    def tiles(self, view: int, pattern: int) -> tuple[int, ...]:
        """Return the tiles of `pattern` in `view`, ascending. Both are indices."""
        return tuple(np.flatnonzero(self.views.labels_of_tiles()[view, pattern] >= 0).tolist())


# Sum of a search: a database, a view of the board, and patterns.
Sum = tuple[DatabaseSums, int, tuple[int, ...]]


def sums_of(heuristics: Sequence[DatabaseSums]) -> list[Sum]:
    """Return the sums of a search in their order."""
    return [(heuristic, view, patterns) for heuristic in heuristics for view, patterns in heuristic.sums()]


def unit_tables(size: BoardSize, sums: Sequence[Sum]) -> UnitTables:
    """Arrange the tables of databases and the views of a goal for kernels.

    The memory of the tables must outlive the result. A search without databases gets empty arrays.
    """
    edge_cells, _ = blank_moves(size)
    types = {"set_ranks": np.int32, "order_ranks": np.uint16, "first_block": np.int32, "region_numbers": np.uint8}
    parts: _Parts = {name: [np.empty(0, dtype=dtype)] for name, dtype in types.items()}
    rows_of: dict[int, Int64s] = {}
    unit_rows = [np.empty((0, UNIT_FIELDS), dtype=np.int64)]
    cell_maps: list[tuple[int, ...]] = []
    unit_of_tile = [np.empty(0, dtype=np.int64)]
    for (tables, views), view, patterns in sums:
        if id(tables) not in rows_of:
            rows_of[id(tables)] = _unit_rows(tables, parts)
        unit_rows.append(rows_of[id(tables)][list(patterns)])
        n_units = len(cell_maps)
        cell_maps += map(tuple, views.cell_maps[views.view_of_unit[view, patterns]].tolist())
        is_in = views.labels_of_tiles()[view, patterns] >= 0
        if tables.counts_every_move:
            unit_of_tile.append(np.where(is_in[0], n_units, ~n_units))
        else:
            unit_of_tile.append(n_units + is_in.argmax(axis=0))
    unit_of = np.concatenate(unit_of_tile)
    # Units with the same cell map share the rows of edges: few rows stay in the processor's caches.
    different = list(dict.fromkeys(cell_maps))
    edges = _edge_rows(np.array(different, dtype=np.int64).reshape(-1, size.n_cells), edge_cells)
    edges_of_unit = np.array([different.index(cell_map) for cell_map in cell_maps], dtype=np.int64)
    return UnitTables(
        **{name: np.concatenate(arrays) for name, arrays in parts.items()},
        units=np.concatenate(unit_rows).reshape(-1),
        edges=edges.reshape(-1),
        edge_cells=edge_cells.reshape(-1),
        unit_of_tile=unit_of,
        edges_of_tile=edges_of_unit[unit_of ^ (unit_of >> 63)] * (edge_cells.size * EDGE_FIELDS),
        sum_is_bits=np.array([heuristic.tables.is_bits for heuristic, _, _ in sums], dtype=np.int64),
        n_cells=size.n_cells,
        low_bits=sums[0][0].tables.low_bits if sums else 0,
        high_bits=sums[0][0].tables.high_bits if sums else 0,
        n_sums=len(sums),
        n_units=len(cell_maps),
    )


def _unit_rows(tables: LookupTables, parts: _Parts) -> Int64s:
    """Return the rows of one database's patterns; its ranks and blocks are added to `parts`."""
    rows = np.zeros((len(tables.table_start), UNIT_FIELDS), dtype=np.int64)
    rows[:, TABLE] = 8 * (tables.memory.ctypes.data + tables.table_start)
    if tables.is_bits:
        rows[:, ROW_BITS] = (tables.n_orders + 7) // 8 * 8
        rows[:, ENTRY_SHIFT] = 0
        rows[:, BLOCKS] = _append(parts["first_block"], tables.first_block) + tables.block_start
        rows[:, REGIONS] = _append(parts["region_numbers"], tables.region_numbers) + tables.region_start
    else:
        rows[:, ROW_BITS] = 8 * tables.n_orders
        rows[:, ENTRY_SHIFT] = 3
        rows[:, BLOCKS] = rows[:, REGIONS] = -1
    rows[:, LOW] = _append(parts["set_ranks"], tables.low) + tables.low_start
    rows[:, HIGH] = _append(parts["set_ranks"], tables.high) + tables.high_start
    rows[:, PREFIX] = _append(parts["order_ranks"], tables.prefix) + tables.prefix_start
    rows[:, SUFFIX] = _append(parts["order_ranks"], tables.suffix) + tables.suffix_start
    rows[:, LABEL_BITS] = tables.label_bits
    rows[:, PREFIX_BITS] = tables.prefix_bits
    rows[:, N_SUFFIXES] = tables.n_suffixes
    return rows


def _append(arrays: list[npt.NDArray[Any]], array: npt.NDArray[Any]) -> int:
    """Add `array` to those to be joined, unless it is there already. Returns where it starts."""
    start = 0
    for before in arrays:
        if np.array_equal(before, array):
            return start
        start += len(before)
    arrays.append(array)
    return start


def _edge_rows(cell_maps: Int64s, edge_cells: Int64s) -> Int64s:
    """Return the rows of all edges in each of `cell_maps`, int64[c, n_cells]: int64[c, n_edges, EDGE_FIELDS]."""
    target = np.repeat(cell_maps, N_MOVES, axis=1)
    source = cell_maps[:, edge_cells.reshape(-1)]
    lower, upper = np.minimum(target, source), np.maximum(target, source)
    one = np.int64(1)
    rows = np.zeros((*target.shape, EDGE_FIELDS), dtype=np.int64)
    rows[:, :, BOTH_CELLS] = (one << lower) | (one << upper)
    rows[:, :, CELLS_BETWEEN] = (one << upper) - (2 * one << lower)
    rows[:, :, CELLS_BELOW] = (one << lower) - one
    rows[:, :, IS_UPWARD] = target > source
    rows[:, :, LEFT_CELL] = source
    return rows
