"""Pairs of tiles, chosen for each board: dynamically partitioned databases (Felner, Korf and Hanan 2004, "Additive
Pattern Database Heuristics", section 4).

The *excess* of a pair are the moves of its own tiles above their Manhattan distances. Pairs that share no tile move
different tiles, so their excesses add up. The best pairs differ from board to board: they are a maximum weighted
matching. It is found exactly: few pairs of a board have an excess, and they form small components.
"""

import itertools
from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK, Bytes
from solver.board_arrays import manhattan_distances, neighbours_by_move
from solver.heuristics.mutual_cost_kernels import UNREACHED, search_pair


@lru_cache(maxsize=8)
def pair_excesses(size: BoardSize, goal: Tiles) -> Bytes:
    """Return half the excess of each pair in each placement, see `mutual_cost_kernels.pairs`."""
    n_cells = size.n_cells
    regions = _regions(size)
    seen, queue = np.empty_like(regions), np.empty(len(regions), dtype=np.int64)
    distances = np.empty((n_cells, n_cells), dtype=np.uint8)
    single = manhattan_distances(size, goal).astype(np.int16)
    pairs = list(itertools.combinations(range(1, n_cells), 2))
    excesses = np.empty((len(pairs), n_cells, n_cells), dtype=np.uint8)
    neighbours, blank = neighbours_by_move(size), goal.index(BLANK)
    for (one, other), row in zip(pairs, excesses, strict=True):
        start = goal.index(one) * n_cells + goal.index(other)
        search_pair(regions, neighbours, start, blank, seen, queue, distances.reshape(-1))
        # The whole excess is even, as each move changes Manhattan distance by one.
        half = (distances - np.add.outer(single[one], single[other])) // 2
        row[:] = np.where(distances == UNREACHED, 0, half)
    return excesses.reshape(-1)


def _regions(size: BoardSize) -> Bytes:
    """Return the lowest cell that the blank can reach from each cell, for every placement of two tiles.

    uint8[n_cells ** 3]; n_cells for a cell with a tile. The cells of a placement are its digits, the first tile's
    highest.
    """
    cells: Bytes
    one, other, cells = np.indices((size.n_cells,) * 3, dtype=np.uint8)
    is_free = (one != cells) & (other != cells)
    cells[~is_free] = size.n_cells
    before = np.empty(0, dtype=np.uint8)
    while not np.array_equal(before, cells):
        before = cells.copy()
        for cell, near in enumerate(size.neighbours):
            np.copyto(cells[..., cell], cells[..., [cell, *near]].min(axis=-1), where=is_free[..., cell])
    return cells.reshape(-1)
