"""Kernels that look boards up in tables."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import kernel


@kernel
def entry_address(tables: Any, pattern: int, mask: int, labels: int) -> int:
    """Where the entry of a cell set and packed labels of a pattern lies in `tables.memory`; tables: `LookupTables`."""
    below = mask & ((1 << tables.low_bits) - 1)
    above = (popcount(below) << tables.high_bits) | (mask >> tables.low_bits)
    prefix_bits = tables.prefix_bits[pattern]
    # Unsigned indices spare numba its test for negative ones.
    return (  # type: ignore[no-any-return]
        tables.table_start[pattern]
        + tables.low[np.uint64(tables.low_start[pattern] + below)]
        + tables.high[np.uint64(tables.high_start[pattern] + above)]
        + tables.prefix[np.uint64(tables.prefix_start[pattern] + (labels & ((1 << prefix_bits) - 1)))]
        + tables.suffix[np.uint64(tables.suffix_start[pattern] + (labels >> prefix_bits))]
    )


@kernel
def place_units(board: Any, tables: Any, views: Any, masks: Any, labels: Any) -> None:
    """Fill `masks` and `labels` (int64[s, p]) with the cell set and packed labels of each unit; board:
    uint8[n_cells].
    """
    n_sums, n_cells = views.cell_maps.shape
    masks[:] = 0
    labels[:] = 0
    for s in range(n_sums):
        for cell in range(n_cells):
            pattern = views.tile_patterns[s, board[cell]]
            if pattern >= 0:
                masks[s, pattern] |= 1 << views.cell_maps[s, cell]
        for cell in range(n_cells):
            pattern = views.tile_patterns[s, board[cell]]
            if pattern >= 0:
                position = popcount(masks[s, pattern] & ((1 << views.cell_maps[s, cell]) - 1))
                labels[s, pattern] |= views.tile_labels[s, board[cell]] << (tables.label_bits[pattern] * position)


@kernel
def probe_boards(boards: Any, tables: Any, views: Any, masks: Any, labels: Any, values: Any) -> None:
    """Look up every unit of every board.

    boards         uint8[m, n_cells]  valid boards
    tables, views  `LookupTables`, `SumViews`
    masks, labels  int64[s, p]        scratch
    values         uint8[m, s, p]     mutated: the distances
    """
    n_sums, n_patterns = masks.shape
    for row in range(boards.shape[0]):
        place_units(boards[row], tables, views, masks, labels)
        for s in range(n_sums):
            for pattern in range(n_patterns):
                values[row, s, pattern] = tables.memory[
                    entry_address(tables, pattern, masks[s, pattern], labels[s, pattern])
                ]


@kernel
def check_boards(boards: Any, goal_places: Any, is_dark: Any, visited: Any, verdicts: Any) -> None:
    """Tell whether boards are valid and can be solved.

    boards       uint8[m, n]   anything
    goal_places  int64[n]      the cell of each tile in the goal
    is_dark      uint8[n]      1 for the cells of one colour of the chess board
    visited      uint8[n]      scratch
    verdicts     int8[m]       mutated: 1 solvable, 0 unsolvable, -1 not a board
    """
    n_cells = boards.shape[1]
    for row in range(boards.shape[0]):
        visited[:] = 0
        blank = 0
        is_board = True
        for cell in range(n_cells):
            tile = int(boards[row, cell])
            if tile >= n_cells or visited[tile] != 0:
                is_board = False
                break
            visited[tile] = 1
            if tile == 0:
                blank = cell
        if not is_board:
            verdicts[row] = -1
            continue
        # The parity of the permutation to the goal is that of cells less cycles; see `puzzle.is_solvable`.
        parity = n_cells + int(is_dark[blank]) + int(is_dark[goal_places[0]])
        for start in range(n_cells):
            if visited[start] == 1:
                parity += 1
                cell = start
                while visited[cell] == 1:
                    visited[cell] = 2
                    cell = goal_places[boards[row, cell]]
        verdicts[row] = 1 - (parity & 1)
