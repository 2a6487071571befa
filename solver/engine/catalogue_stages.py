"""Tables of catalogue rounds: each table once, also if several sums use it. See `catalogue_round_kernels`."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BoardSize
from pdb_query.lookup import Int64s, LookupTables
from solver.engine import catalogue_round_kernels as kernels
from solver.engine.engine import Array, KeptArrays
from solver.engine.unit_tables import DatabaseSums, Sum
from solver.vectors.vectors import address_of


class Unit(NamedTuple):
    """Table of a pattern, and the view in which it is looked up. Of units with the same tiles only the first is kept.

    unit_tiles  tiles of the board, in the order of the table's labels
    """

    heuristic: DatabaseSums
    view: int
    pattern: int
    unit_tiles: tuple[int, ...]


def distinct_units(sums: Sequence[Sum]) -> dict[tuple[bool, tuple[int, ...]], Unit]:
    """Return the units of all sums, each once, by their tiles and whether every move counts."""
    units: dict[tuple[bool, tuple[int, ...]], Unit] = {}
    for heuristic, view, patterns in sums:
        labels = heuristic.views.labels_of_tiles()[view]
        for pattern in patterns:
            tiles = np.flatnonzero(labels[pattern] >= 0)
            in_order = tuple(tiles[np.argsort(labels[pattern, tiles])].tolist())
            units.setdefault(unit_key(heuristic, view, pattern), Unit(heuristic, view, pattern, in_order))
    return units


def unit_key(heuristic: DatabaseSums, view: int, pattern: int) -> tuple[bool, tuple[int, ...]]:
    """Return a key that units with equal distances share."""
    return heuristic.tables.counts_every_move != 0, heuristic.tiles(view, pattern)


def suits_catalogue(size: BoardSize, sums: Sequence[Sum]) -> bool:
    """Return whether catalogue rounds can search with these tables."""
    return (
        size.n_cells <= kernels.MAX_CATALOGUE_CELLS
        and len(sums) <= kernels.MAX_CATALOGUE_SUMS
        and len(distinct_units(sums)) <= kernels.MAX_CATALOGUE_UNITS
        and all(
            heuristic.tables.is_bits == 1
            and int(heuristic.tables.n_orders.max()) <= math.factorial(kernels.MAX_CATALOGUE_TILES)
            and int(heuristic.tables.first_block.max()) <= kernels.FIRST_BLOCK_MASK
            and heuristic.tables.most_regions <= kernels.MAX_REGIONS
            for heuristic, _, _ in sums
        )
    )


def catalogue_stages(
    size: BoardSize, sums: Sequence[Sum], _rows: Int64s, column: int, arrays: KeptArrays
) -> tuple[kernels.CatalogueStages, dict[str, int]]:
    """Return the tables of catalogue rounds, with columns of a node from `column` on, and fields of `EngineTables`."""
    units = distinct_units(sums)
    keys = list(units)
    kept: dict[Any, int] = {}

    def once(key: Any, array: Array) -> int:
        if key not in kept:
            kept[key] = arrays.address(array)
        return kept[key]

    rows = np.zeros((len(units), kernels.N_UNIT_FIELDS), dtype=np.int64)
    for row, unit in zip(rows, units.values(), strict=True):
        _fill_unit(row, unit, size, once)
    unit_of_tile = np.zeros((len(sums), kernels.WORD_BITS), dtype=np.uint32)
    for s, (heuristic, view, patterns) in enumerate(sums):
        for pattern in patterns:
            every_move, tiles = key = unit_key(heuristic, view, pattern)
            unit_of_tile[s, list(range(size.n_cells) if every_move else tiles)] = keys.index(key)
    units_of_tile = np.bitwise_or.reduce(np.int64(1) << unit_of_tile.astype(np.int64), axis=0)
    words = [(units_of_tile >> (kernels.WORD_BITS * w)).astype(np.uint32) for w in range(2)]
    n_words, n_cell_columns = -(-len(units) // kernels.WORD_BITS), -(-size.n_cells // 4)
    tables = sums[0][0].tables
    stages = kernels.CatalogueStages(
        units=rows,
        unit_of_tile=arrays.address(unit_of_tile),
        tile_masks=arrays.address(np.stack(words)),
        n_words=n_words,
        place_column=column + n_cell_columns,
        plane_column=column + 2 * n_cell_columns,
        low_bits=tables.low_bits,
        high_bits=tables.high_bits,
    )
    list_columns = kernels.BUCKETS + kernels.BUCKET_COLUMNS * len(units)
    return stages, {
        "board_column": column,
        "n_columns": stages.plane_column + 2 * n_words,
        "list_columns": list_columns,
    }


def fill_units(
    stages: kernels.CatalogueStages,
    rows: npt.NDArray[np.uint8],
    values: npt.NDArray[np.uint8],
    nodes: npt.NDArray[np.uint32],
) -> None:
    """Fill the columns of catalogue rounds in nodes (uint32[m, n_columns]) of boards (uint8[m, n_cells]); values:
    uint8[m, u], the distances of their units.
    """
    for u, h in enumerate(values.T.astype(np.uint32)):
        word, bit = divmod(u, kernels.WORD_BITS)
        nodes[:, stages.plane_column + 2 * word] |= (h & 1) << bit
        nodes[:, stages.plane_column + 2 * word + 1] |= ((h >> 1) & 1) << bit
    for tile, cells in enumerate(np.argsort(rows, axis=1).astype(np.uint32).T):
        nodes[:, stages.place_column + tile // 4] |= cells << (8 * (tile % 4))


def _fill_unit(row: Int64s, unit: Unit, size: BoardSize, once: Callable[[Any, Array], int]) -> None:
    """Fill the fields of a unit; `once` returns the address of an array that is kept under a key."""
    tables, views = unit.heuristic.tables, unit.heuristic.views
    pattern, n_tiles = unit.pattern, len(unit.unit_tiles)
    cell_map = views.cell_maps[views.view_of_unit[unit.view, pattern]]
    n_orders = math.factorial(n_tiles)
    low, high = int(tables.low_start[pattern]), int(tables.high_start[pattern])
    n_high = (tables.low_bits + 1) << tables.high_bits
    weights = np.zeros(16, dtype=np.uint32)
    weights[:n_tiles] = [math.factorial(n_tiles - 1 - position) for position in range(n_tiles)]
    row[kernels.N_TILES], row[kernels.ROW_BYTES] = n_tiles, (n_orders + 7) // 8
    row[kernels.MEMORY] = address_of(tables.memory) + int(tables.table_start[pattern])
    row[kernels.FRAME] = once(tuple(cell_map.tolist()), np.resize(cell_map, kernels.WORD_BITS).astype(np.uint32))
    row[kernels.LOW] = once(("low", n_tiles), tables.low[low : low + (1 << tables.low_bits)].astype(np.uint32))
    row[kernels.HIGH] = once(("high", n_tiles), tables.high[high : high + n_high].astype(np.uint32))
    row[kernels.SETS] = once(("sets", n_tiles, tables.counts_every_move), _set_records(size, tables, pattern, n_tiles))
    row[kernels.WEIGHTS] = once(("weights", n_tiles), weights)
    row[kernels.UNIT_TILES : kernels.UNIT_TILES + n_tiles] = unit.unit_tiles


def _set_records(size: BoardSize, tables: LookupTables, pattern: int, n_tiles: int) -> npt.NDArray[np.uint8]:
    """Return the records of the cell sets of a pattern: uint8[n_sets, kernels.SET_BYTES]."""
    n_sets = math.comb(size.n_cells, n_tiles)
    block, region = int(tables.block_start[pattern]), int(tables.region_start[pattern])
    records = np.zeros((n_sets, kernels.SET_BYTES), dtype=np.uint8)
    first_block = tables.first_block[block : block + n_sets].astype(np.uint32)
    records[:, :4] = first_block.view(np.uint8).reshape(n_sets, -1)
    # Occupied cells have a number, too: a blank is never there.
    numbers = tables.region_numbers[region : region + n_sets * size.n_cells].reshape(n_sets, -1) & (
        kernels.MAX_REGIONS - 1
    )
    records[:, kernels.FIRST_REGION : kernels.FIRST_REGION + (size.n_cells + 1) // 2] = numbers[:, ::2]
    records[:, kernels.FIRST_REGION : kernels.FIRST_REGION + size.n_cells // 2] |= numbers[:, 1::2] << 4
    return records
