"""Pairs and triples of tiles, chosen for each board (Felner, Korf and Hanan 2004, "Additive Pattern Database
Heuristics", section 4: dynamically partitioned databases).

The *excess* of a group are the moves of its own tiles above their Manhattan distances. Groups that share no tile move
different tiles, so their excesses add up. The best groups differ from board to board: among pairs they are a maximum
weighted matching, among pairs and triples a packing. It is found exactly: few groups of a board have an excess, and
they form small components.
"""

import itertools
from functools import lru_cache, reduce

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.errors import InputError
from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK, Bytes, Int64s
from solver.board_arrays import manhattan_distances, neighbours_by_move
from solver.heuristics.mutual_cost_kernels import (
    MAX_CELLS_OF_TRIPLES,
    UNREACHED,
    WORD_BITS,
    GroupTables,
    search_group,
)


def group_tables(size: BoardSize, goal: Tiles, *, with_pairs: bool, with_triples: bool) -> GroupTables:
    """Return the tables of a goal. Those of heuristics that are not chosen are empty; triples include pairs.

    Raises `InputError` for triples of boards of more than 25 cells.
    """
    if with_triples and size.n_cells > MAX_CELLS_OF_TRIPLES:
        raise InputError(
            f"triples exist for boards of up to {MAX_CELLS_OF_TRIPLES} cells, such as 5x5, not for {size}: their table "
            "would take hundreds of megabytes; use pairs"
        )
    empty = np.zeros(0, dtype=np.uint8)
    return GroupTables(
        pairs=group_excesses(size, goal, 2) if with_pairs or with_triples else empty,
        triples=group_excesses(size, goal, 3) if with_triples else empty,
        thirds=third_tiles(size, goal) if with_triples else np.zeros(0, dtype=np.int64),
    )


@lru_cache(maxsize=8)
def group_excesses(size: BoardSize, goal: Tiles, n_tiles: int) -> Bytes:
    """Return half the excesses of all groups of `n_tiles` tiles, 2 or 3, group by group."""
    n_cells = size.n_cells
    shape = (n_cells,) * n_tiles
    strides = n_cells ** np.arange(n_tiles - 1, -1, -1, dtype=np.int64)
    regions = _regions(size, n_tiles)
    seen, queue = np.empty_like(regions), np.empty(len(regions), dtype=np.int64)
    distances = np.empty(n_cells**n_tiles, dtype=np.uint8)
    single = manhattan_distances(size, goal).astype(np.int16)
    pairs: dict[tuple[int, ...], Bytes] = {}
    if n_tiles == 3:
        pair_rows = group_excesses(size, goal, 2).reshape(-1, n_cells, n_cells)
        pairs = dict(zip(itertools.combinations(range(1, n_cells), 2), pair_rows, strict=True))
    groups = list(itertools.combinations(range(1, n_cells), n_tiles))
    excesses = np.empty((len(groups), *shape), dtype=np.uint8)
    neighbours, blank = neighbours_by_move(size), goal.index(BLANK)
    for group, row in zip(groups, excesses, strict=True):
        goal_cells = np.array([goal.index(tile) for tile in group], dtype=np.int64)
        search_group(regions, neighbours, strides, goal_cells, blank, seen, queue, distances)
        # The whole excess is even, as each move changes Manhattan distance by one.
        alone = reduce(np.add.outer, single[list(group)])
        half = (distances.reshape(shape) - alone) // 2
        half[distances.reshape(shape) == UNREACHED] = 0
        for i, j in itertools.combinations(range(3), 2) if pairs else ():
            half[half <= np.expand_dims(pairs[group[i], group[j]], 3 - i - j)] = 0
        row[:] = half
    return excesses.reshape(-1)


def _regions(size: BoardSize, n_tiles: int) -> Bytes:
    """Return the lowest cell that the blank can reach from each cell, for every placement of `n_tiles` tiles.

    uint8[n_cells ** n_tiles * n_cells]; n_cells for a cell with a tile. The cells of a placement are its digits, the
    first tile's highest.
    """
    places = np.indices((size.n_cells,) * (n_tiles + 1), dtype=np.uint8)
    cells: Bytes = places[-1]
    is_free = reduce(np.logical_and, [place != cells for place in places[:-1]])
    cells[~is_free] = size.n_cells
    before = np.empty(0, dtype=np.uint8)
    while not np.array_equal(before, cells):
        before = cells.copy()
        for cell, near in enumerate(size.neighbours):
            np.copyto(cells[..., cell], cells[..., [cell, *near]].min(axis=-1), where=is_free[..., cell])
    return cells.reshape(-1)


@lru_cache(maxsize=8)
def third_tiles(size: BoardSize, goal: Tiles) -> Int64s:
    """Return `GroupTables.thirds`: the tiles and cells that make a pair a triple with an excess."""
    n_cells = size.n_cells
    n_words = -(-(n_cells - 3) * n_cells // WORD_BITS)
    triples = itertools.combinations(range(1, n_cells), 3)
    pairs = {pair: i for i, pair in enumerate(itertools.combinations(range(1, n_cells), 2))}
    thirds = np.zeros((len(pairs), n_cells * n_cells, n_words), dtype=np.int64)
    excesses = group_excesses(size, goal, 3).reshape(-1, n_cells * n_cells, n_cells)
    for (first, second, third), of_triple in zip(triples, excesses, strict=True):
        placements, cells = np.nonzero(of_triple)
        words, bits = np.divmod((third - 3) * n_cells + cells, WORD_BITS)  # as `third_bit`
        np.add.at(thirds[pairs[first, second]], (placements, words), 1 << bits)
    return thirds.reshape(-1)
