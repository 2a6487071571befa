"""Textbook IDA* with dual lookups (Felner, Zahavi, Schaeffer and Holte 2005)."""

from typing import Any

import numpy as np

from pdb_core.jit import borrowing_kernel, kernel
from pdb_query.lookup_kernels import byte_address, place_units

FOUND_LENGTH, N_GENERATED, N_EXPANDED = range(3)
NOT_FOUND = -1


@borrowing_kernel
def largest_sum(boards: Any, row: int, lookup: Any) -> Any:
    """Return the largest sum of a database for `boards[row]`, for its own goal; lookup: `dual_lookups.SumLookup`."""
    place_units(boards, row, lookup.tables, lookup.views, lookup.masks, lookup.labels)
    largest = np.int64(0)
    for s in range(lookup.masks.shape[0]):
        total = np.int64(0)
        for pattern in range(lookup.masks.shape[1]):
            address = byte_address(lookup.tables, pattern, lookup.masks[s, pattern], lookup.labels[s, pattern])
            total += np.int64(lookup.tables.memory[np.uint64(address)])
        largest = max(largest, total)
    return largest


@borrowing_kernel
def largest_of_duals(cells: Any, duals: Any, lookups: Any) -> Any:
    """Return the largest sum of a board and of its dual.

    cells    uint8[2, n_cells]  the board; its dual is written to the second row
    duals    `dual_lookups.Duals`
    lookups  tuple of `SumLookup`, the first for the board itself
    """
    n_cells = cells.shape[1]
    largest = largest_sum(cells, 0, lookups[0])
    blank = 0
    while cells[0, blank] != 0:
        blank += 1
    for i in range(len(lookups)):
        if duals.serves[blank, i] != 0:
            for cell in range(n_cells):
                home = duals.home[cells[0, cell]]
                cells[1, duals.cell_map[blank, i, home]] = duals.tile_of[blank, i, cell]
            largest = max(largest, largest_sum(cells, 1, lookups[i]))
    return largest


@kernel
def values_with_duals(boards: Any, duals: Any, lookups: Any, values: Any) -> None:
    """Write `largest_of_duals` of many boards (uint8[m, n_cells]) to `values` (int64[m], mutated)."""
    cells = np.empty((2, boards.shape[1]), dtype=np.uint8)
    for row in range(boards.shape[0]):
        cells[0] = boards[row]
        values[row] = largest_of_duals(cells, duals, lookups)


@kernel
def search_with_duals(
    board: Any, neighbours: Any, threshold: int, pathmax: int, duals: Any, lookups: Any, path: Any, counters: Any
) -> None:
    """Search a threshold depth first up to the first solution, children in the order of their cells.

    board       uint8[n_cells]     the root, not the goal
    neighbours  int64[n_cells, 4]  the cells next to each cell, then -1
    pathmax     1: bidirectional pathmax; a value is at least that of each neighbour less one
    path        int64[threshold + 1], mutated: the cells of the blank up to the goal
    counters    int64[3], mutated: `FOUND_LENGTH` (`NOT_FOUND` if none), `N_GENERATED`, `N_EXPANDED`
    """
    cells = np.empty((2, len(board)), dtype=np.uint8)
    cells[0] = board
    h = np.zeros(threshold + 1, dtype=np.int64)
    n_tried = np.zeros(threshold + 1, dtype=np.int64)
    counters[:] = NOT_FOUND, 0, 1
    h[0] = largest_of_duals(cells, duals, lookups)
    depth = 0
    path[0] = 0
    while cells[0, path[0]] != 0:
        path[0] += 1
    while True:
        blank = path[depth]
        direction = n_tried[depth]
        cell = neighbours[blank, direction] if direction < neighbours.shape[1] else -1
        if cell < 0 or depth + h[depth] > threshold:
            # All children are searched, or the value of a child prunes this node.
            if depth == 0:
                return
            depth -= 1
            cells[0, blank] = cells[0, path[depth]]
            cells[0, path[depth]] = 0
            if pathmax != 0:
                h[depth] = max(h[depth], h[depth + 1] - 1)
            continue
        n_tried[depth] += 1
        if depth > 0 and cell == path[depth - 1]:
            continue
        cells[0, blank] = cells[0, cell]
        cells[0, cell] = 0
        counters[N_GENERATED] += 1
        value = largest_of_duals(cells, duals, lookups)
        if pathmax != 0:
            value = max(value, h[depth] - 1)
            h[depth] = max(h[depth], value - 1)
        if depth + 1 + value > threshold:
            cells[0, cell] = cells[0, blank]
            cells[0, blank] = 0
            continue
        depth += 1
        path[depth] = cell
        h[depth] = value
        n_tried[depth] = 0
        if value == 0:
            counters[FOUND_LENGTH] = depth
            return
        counters[N_EXPANDED] += 1
