"""Kernels that look boards up in tables."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.encoding import UNREACHED
from pdb_core.jit import kernel
from pdb_core.puzzle import BLANK
from pdb_core.ranking_kernels import move_label


@kernel
def rank_set(tables: Any, pattern: int, mask: int) -> int:
    """Rank of a cell set of a pattern; tables: `LookupTables`."""
    below = mask & ((1 << tables.low_bits) - 1)
    above = (popcount(below) << tables.high_bits) | (mask >> tables.low_bits)
    # Unsigned indices spare numba its test for negative ones.
    return np.int64(tables.low[np.uint64(tables.low_start[pattern] + below)]) + np.int64(  # type: ignore[return-value]
        tables.high[np.uint64(tables.high_start[pattern] + above)]
    )


@kernel
def rank_order(tables: Any, pattern: int, labels: int) -> int:
    """Rank of the packed labels of a pattern."""
    prefix_bits = tables.prefix_bits[pattern]
    before = tables.prefix[np.uint64(tables.prefix_start[pattern] + (labels & ((1 << prefix_bits) - 1)))]
    after = tables.suffix[np.uint64(tables.suffix_start[pattern] + (labels >> prefix_bits))]
    return np.int64(before) * tables.n_suffixes[pattern] + np.int64(after)  # type: ignore[no-any-return]


@kernel
def byte_address(tables: Any, pattern: int, mask: int, labels: int) -> int:
    """Where the entry of a placement lies in `tables.memory`, for tables of bytes."""
    entry = rank_set(tables, pattern, mask) * tables.n_orders[pattern] + rank_order(tables, pattern, labels)
    return tables.table_start[pattern] + entry  # type: ignore[no-any-return]


@kernel
def bit_address(tables: Any, pattern: int, mask: int, labels: int, blank: int) -> int:
    """Which bit of `tables.memory` stands for a state, counted from the lowest of the first byte, for tables of
    bits.
    """
    cell_set = rank_set(tables, pattern, mask)
    region = tables.region_numbers[tables.region_start[pattern] + cell_set * tables.neighbours.shape[0] + blank]
    block = np.int64(tables.first_block[tables.block_start[pattern] + cell_set]) + np.int64(region)
    block_bytes = (tables.n_orders[pattern] + 7) >> 3
    return 8 * (tables.table_start[pattern] + block * block_bytes) + rank_order(tables, pattern, labels)  # type: ignore[no-any-return]


@kernel
def read_bit(memory: Any, address: int) -> int:
    """The bit at a bit address."""
    return (np.int64(memory[np.uint64(address >> 3)]) >> (address & 7)) & 1  # type: ignore[return-value]


@kernel
def step_down(tables: Any, pattern: int, mask: int, labels: int, blank: int, remainder: int) -> tuple[int, int, int]:
    """A neighbour whose distance modulo 4 is `remainder`, as (cell set, packed labels, blank); -1, -1, -1 if there is
    none.
    """
    n_cells = tables.neighbours.shape[0]
    regions = tables.region_start[pattern] + rank_set(tables, pattern, mask) * n_cells
    region = tables.region_numbers[regions + blank]
    for cell in range(n_cells):
        if (mask >> cell) & 1 == 0:
            continue
        for i in range(4):
            near = tables.neighbours[cell, i]
            if near < 0 or tables.region_numbers[regions + near] != region:
                continue
            next_mask = mask ^ (1 << cell) ^ (1 << near)
            next_labels = move_label(labels, mask, cell, near, tables.label_bits[pattern])
            bit = read_bit(tables.memory, bit_address(tables, pattern, next_mask, next_labels, cell))
            # The parity has changed with the move, so the bit alone tells whether it is one lower or one higher.
            if bit == remainder >> 1:
                return next_mask, next_labels, cell
    return -1, -1, -1


@kernel
def walk_down(tables: Any, pattern: int, mask: int, labels: int, blank: int) -> int:
    """The distance of a state in a table of bits: the moves of a walk to the goal, each one lower, UNREACHED where it
    ends elsewhere.
    """
    odd = popcount((mask ^ tables.goal_masks[pattern]) & tables.dark_cells) & 1
    remainder = 2 * read_bit(tables.memory, bit_address(tables, pattern, mask, labels, blank)) + odd
    for distance in range(UNREACHED):
        if bit_address(tables, pattern, mask, labels, blank) == tables.goal_addresses[pattern]:
            return distance
        remainder = (remainder + 3) & 3
        mask, labels, blank = step_down(tables, pattern, mask, labels, blank, remainder)
        if mask < 0:
            return UNREACHED
    return UNREACHED


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
        blank = 0
        while boards[row, blank] != BLANK:
            blank += 1
        for s in range(n_sums):
            for pattern in range(n_patterns):
                mask, order = masks[s, pattern], labels[s, pattern]
                if tables.is_bits != 0:
                    values[row, s, pattern] = walk_down(tables, pattern, mask, order, views.cell_maps[s, blank])
                else:
                    values[row, s, pattern] = tables.memory[byte_address(tables, pattern, mask, order)]


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
