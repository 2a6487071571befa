"""Kernels that look boards up in tables.

`byte_address` is the index function of `pdb_core.ranking` over the arrays of `LookupTables`, in which each pattern has
its part. It reads them at offsets, because slices of arrays cost time. tests/solver/test_index_functions.py compares
all kernels that rank placements.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount, prefetch
from pdb_core.encoding import UNREACHED
from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.puzzle import BLANK

# Boards whose entries are prefetched together.
_GROUP_BOARDS = 16


@borrowing_kernel
def rank_set(tables: Any, pattern: int, mask: int) -> int:
    """Return the rank of a cell set of a pattern; tables: `LookupTables`."""
    below = mask & ((1 << tables.low_bits) - 1)
    above = (popcount(below) << tables.high_bits) | (mask >> tables.low_bits)
    # Unsigned indices spare numba its test for negative ones.
    return np.int64(tables.low[np.uint64(tables.low_start[pattern] + below)]) + np.int64(  # type: ignore[return-value]
        tables.high[np.uint64(tables.high_start[pattern] + above)]
    )


@borrowing_kernel
def rank_order(tables: Any, pattern: int, labels: int) -> int:
    """Return the rank of the packed labels of a pattern."""
    prefix_bits = tables.prefix_bits[pattern]
    before = tables.prefix[np.uint64(tables.prefix_start[pattern] + (labels & ((1 << prefix_bits) - 1)))]
    after = tables.suffix[np.uint64(tables.suffix_start[pattern] + (labels >> prefix_bits))]
    return np.int64(before) * tables.n_suffixes[pattern] + np.int64(after)  # type: ignore[no-any-return]


@borrowing_kernel
def byte_address(tables: Any, pattern: int, mask: int, labels: int) -> int:
    """Return the index in `tables.memory` of the entry of a placement, for tables in bytes."""
    entry = rank_set(tables, pattern, mask) * tables.n_orders[pattern] + rank_order(tables, pattern, labels)
    return tables.table_start[pattern] + entry  # type: ignore[no-any-return]


@borrowing_kernel
def place_units(boards: Any, row: int, tables: Any, views: Any, masks: Any, labels: Any) -> None:
    """Fill `masks` and `labels` (int64[s, p]) with the cell set and packed labels of each unit; boards:
    uint8[m, n_cells].
    """
    n_views, n_cells = views.given_cells.shape
    for s in range(masks.shape[0]):
        for pattern in range(masks.shape[1]):
            masks[s, pattern] = 0
            labels[s, pattern] = 0
    for view in range(n_views):
        s = views.sum_of_view[view]
        for cell in range(n_cells):
            tile = np.uint64(boards[row, np.uint64(views.given_cells[view, cell])])
            pattern = views.tile_patterns[view, tile]
            if pattern >= 0:
                # Cells come in order, so the tiles before this one are those that are placed.
                position = popcount(masks[s, pattern])
                masks[s, pattern] |= 1 << cell
                labels[s, pattern] |= views.tile_labels[view, tile] << (tables.label_bits[pattern] * position)


@kernel
def place_all_units(boards: Any, tables: Any, views: Any, masks: Any, labels: Any) -> None:
    """Fill `masks` and `labels` (int64[m, s, p]) with the cell set and packed labels of each unit of each board."""
    for row in range(boards.shape[0]):
        place_units(boards, row, tables, views, masks[row], labels[row])


@kernel
def probe_bytes(tables: Any, masks: Any, labels: Any, values: Any) -> None:
    """Read `values` in tables in bytes, some boards at a time, so that their waits for memory overlap.

    See `lookup.probe_boards` for the arrays.

    A move takes a tile to a cell of the other colour. So the cells give the parity of a distance, and an entry with the
    other parity is damaged: it counts as UNREACHED.
    """
    n_boards, n_sums, n_patterns = masks.shape
    addresses = np.empty((_GROUP_BOARDS, n_sums, n_patterns), dtype=np.int64)
    base = tables.memory.ctypes.data
    for first in range(0, n_boards, _GROUP_BOARDS):
        n_rows = min(_GROUP_BOARDS, n_boards - first)
        for row in range(n_rows):
            for s in range(n_sums):
                for pattern in range(n_patterns):
                    mask, order = masks[first + row, s, pattern], labels[first + row, s, pattern]
                    address = byte_address(tables, pattern, mask, order)
                    addresses[row, s, pattern] = address
                    prefetch(base + address)
        for row in range(n_rows):
            for s in range(n_sums):
                for pattern in range(n_patterns):
                    value = np.int64(tables.memory[np.uint64(addresses[row, s, pattern])])
                    n_dark = popcount(masks[first + row, s, pattern] & tables.dark_cells)
                    is_odd = (value + n_dark + tables.n_dark[pattern]) & 1
                    values[first + row, s, pattern] = value | (UNREACHED & -is_odd)


@kernel
def check_boards(boards: Any, goal_places: Any, dark_cells: int, verdicts: Any) -> None:
    """Check whether boards are valid and can be solved.

    boards       uint8[m, n]   anything; n up to 64
    goal_places  int64[n]      the cell of each tile in the goal
    dark_cells   mask of the cells of one colour of a chessboard
    verdicts     int8[m]       mutated: 1 solvable, 0 unsolvable, -1 not a board
    """
    n_cells = boards.shape[1]
    every_place = (1 << n_cells) - 1
    goal_colour = (dark_cells >> goal_places[0]) & 1
    for row in range(boards.shape[0]):
        taken = n_inversions = colour = 0
        for cell in range(n_cells):
            tile = np.uint64(boards[row, cell])
            if tile >= np.uint64(n_cells):
                break
            place = goal_places[tile]
            # The parity of a permutation is that of its inversions; see `puzzle.is_solvable`.
            n_inversions += popcount(taken >> place)
            taken |= 1 << place
            if tile == np.uint64(BLANK):
                colour = (dark_cells >> cell) & 1
        # If a tile is doubled or out of range, the goal cell of another tile is not taken.
        if taken != every_place:
            verdicts[row] = -1
        else:
            verdicts[row] = 1 - ((n_inversions + colour + goal_colour) & 1)


@kernel
def add_up(values: Any, is_in_sum: Any, verdicts: Any, counts_every_move: int, sums: Any, maximum: Any) -> int:
    """Compute the sums of each board, and the largest of them.

    Distances are added up, or, if patterns share moves, the largest is taken. Returns the index of the first solvable
    board that has a pattern without a distance, or -1.

    values             uint8[m, s, p]
    is_in_sum          bool[q, p]  the patterns of each partition
    verdicts           int8[m]  see `check_boards`
    counts_every_move  1 if patterns share moves
    sums, maximum      int16[m, s * q], int16[m]: mutated; the maximum is -1 if the row cannot be solved, -2 if it is
                       not a board
    """
    n_boards, _, n_patterns = values.shape
    damaged = -1
    for row in range(n_boards):
        largest = 0
        highest = 0
        for k in range(sums.shape[1]):
            s, partition = divmod(k, is_in_sum.shape[0])
            total = 0
            for pattern in range(n_patterns):
                if is_in_sum[partition, pattern]:
                    value = int(values[row, s, pattern])
                    total = max(total, value) if counts_every_move != 0 else total + value
                    highest = max(highest, value)
            sums[row, k] = total
            largest = max(largest, total)
        maximum[row] = largest if verdicts[row] == 1 else verdicts[row] - 1
        if highest == UNREACHED and verdicts[row] == 1 and damaged < 0:
            damaged = row
    return damaged
