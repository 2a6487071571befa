"""Catalogue rounds: they look up each table once, also if several sums use it. See `catalogue_kernels`."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.encoding import block_bytes
from pdb_core.ranking import cell_set_ranks
from pdb_core.types import Bytes, Int64s, UInt32s
from pdb_query.records import RECORD_FIELDS, TABLE_BIT
from solver.engine.engine import KeptArrays, slack_rows
from solver.engine.layout import EngineTables
from solver.engine.rounds import catalogue_kernels as kernels
from solver.engine.rounds.round import (
    Arranged,
    Probe,
    Round,
    Width,
    block_widths,
    cell_set_records,
    databases_of,
)
from solver.engine.rounds.shared_kernels import CELL_MASK, TILES_BYTES
from solver.engine.sums import DatabaseSums, Sum
from solver.vectors.vectors import address_of


class Unit(NamedTuple):
    """Table of a pattern, and the view in which it is looked up. Of units with the same tiles only the first is kept.

    unit_tiles  tiles of the board, in the order of the table's labels
    """

    heuristic: DatabaseSums
    view: int
    pattern: int
    unit_tiles: tuple[int, ...]


def _distinct_units(sums: Sequence[Sum]) -> dict[tuple[bool, tuple[int, ...]], Unit]:
    """Return the units of all sums, each once, by their tiles and whether every move counts."""
    units: dict[tuple[bool, tuple[int, ...]], Unit] = {}
    for heuristic, view, patterns in sums:
        for pattern in patterns:
            tiles = heuristic.views.tiles(view, pattern)
            units.setdefault(_unit_key(heuristic, view, pattern), Unit(heuristic, view, pattern, tiles))
    return units


def _unit_key(heuristic: DatabaseSums, view: int, pattern: int) -> tuple[bool, tuple[int, ...]]:
    """Return a key that units with equal distances share."""
    return heuristic.tables.counts_every_move != 0, heuristic.tiles(view, pattern)


def _widths(size: BoardSize, sums: Sequence[Sum]) -> Iterator[Width]:
    yield Width("cells", size.n_cells, kernels.MAX_CATALOGUE_CELLS)
    yield Width("sums", len(sums), kernels.MAX_CATALOGUE_SUMS)
    yield Width("units", len(_distinct_units(sums)), kernels.MAX_CATALOGUE_UNITS)
    for tables, *_ in databases_of(sums):
        yield Width("tables in bytes", int(not tables.is_bits), 0)
        yield Width("tiles", int(tables.n_tiles.max()), kernels.MAX_CATALOGUE_TILES)
        yield from block_widths(size, tables)


def _arrange(size: BoardSize, sums: Sequence[Sum], arrays: KeptArrays) -> Arranged:
    """Return the tables of catalogue rounds."""
    units, (slacks, column) = _distinct_units(sums), slack_rows(len(sums))
    keys = list(units)
    rows = np.zeros((len(units), kernels.N_UNIT_FIELDS), dtype=np.int64)
    for row, unit in zip(rows, units.values(), strict=True):
        _fill_unit(row, unit, size, arrays)
    unit_of_tile = np.zeros((len(sums), TILES_BYTES // 4), dtype=np.uint32)
    for s, (heuristic, view, patterns) in enumerate(sums):
        for pattern in patterns:
            every_move, tiles = key = _unit_key(heuristic, view, pattern)
            unit_of_tile[s, list(range(size.n_cells) if every_move else tiles)] = keys.index(key)
    n_cell_columns = -(-size.n_cells // 4)
    tables = sums[0][0].tables
    round_tables = kernels.CatalogueTables(
        units=rows,
        unit_of_tile=arrays.address(unit_of_tile),
        tile_masks=arrays.address(np.bitwise_or.reduce(np.uint32(1) << unit_of_tile, axis=0)),
        place_column=column + n_cell_columns,
        plane_column=column + 2 * n_cell_columns,
        low_bits=tables.low_bits,
        high_bits=tables.high_bits,
    )
    n_columns = round_tables.plane_column + 2
    list_columns = kernels.BUCKETS + kernels.BUCKET_COLUMNS * len(units)
    return Arranged(round_tables, slacks, n_columns, list_columns, column)


def _fill(
    _tables: EngineTables,
    round_tables: kernels.CatalogueTables,
    sums: Sequence[Sum],
    boards: Bytes,
    probe: Probe,
    nodes: UInt32s,
) -> None:
    for u, unit in enumerate(_distinct_units(sums).values()):
        _, values = probe(unit.heuristic, unit.view, [unit.pattern])
        h = values[:, 0].astype(np.uint32)
        nodes[:, round_tables.plane_column] |= (h & 1) << u
        nodes[:, round_tables.plane_column + 1] |= ((h >> 1) & 1) << u
    for tile, cells in enumerate(np.argsort(boards, axis=1).astype(np.uint32).T):
        nodes[:, round_tables.place_column + tile // 4] |= cells << (8 * (tile % 4))


def _fill_unit(row: Int64s, unit: Unit, size: BoardSize, arrays: KeptArrays) -> None:
    """Fill the fields of a unit."""
    (tables, views, _), pattern, n_tiles = unit.heuristic, unit.pattern, len(unit.unit_tiles)
    cell_map = views.cell_maps[views.view_of_unit[unit.view, pattern]]
    ranks = cell_set_ranks(size.n_cells, n_tiles)
    row[kernels.N_TILES], row[kernels.ROW_BYTES] = n_tiles, block_bytes(n_tiles)
    row[kernels.MEMORY] = address_of(tables.memory) + tables.records[pattern * RECORD_FIELDS + TABLE_BIT] // 8
    row[kernels.FRAME] = arrays.address(_frame(tuple(cell_map.tolist())))
    row[kernels.LOW], row[kernels.HIGH] = arrays.address(ranks.low), arrays.address(ranks.high)
    row[kernels.SETS] = arrays.address(cell_set_records(tables.blocks(size, n_tiles)))
    row[kernels.WEIGHTS] = arrays.address(_weights(n_tiles))
    row[kernels.PLACES] = np.bitwise_or.reduce([1 << (tile >> 2) for tile in unit.unit_tiles])
    row[kernels.UNIT_TILES : kernels.UNIT_TILES + n_tiles] = unit.unit_tiles


# Units share these arrays: few of them stay in the processor's caches.
@lru_cache(maxsize=64)
def _frame(cell_map: tuple[int, ...]) -> Bytes:
    return np.resize(np.array(cell_map, dtype=np.uint8), CELL_MASK + 1)


@lru_cache(maxsize=8)
def _weights(n_tiles: int) -> UInt32s:
    weights = np.zeros(16, dtype=np.uint32)
    weights[:n_tiles] = [math.factorial(n_tiles - 1 - position) for position in range(n_tiles)]
    return weights


CATALOGUE = Round("catalogue", _widths, _arrange, _fill)
