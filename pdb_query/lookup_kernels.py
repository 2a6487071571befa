"""Kernels that place patterns, move their tiles, and find and read their entries.

`state_address` is the index function of `pdb_core.ranking` by the records of patterns, see `records`, which lookups and
searches share. `tables` is `LookupTables`, or `UnitTables` of a search.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import load_byte, load_half, load_word, popcount, prefetch
from pdb_core.encoding import UNREACHED
from pdb_core.jit import borrowing_kernel, inlined_kernel, kernel
from pdb_core.types import BLANK
from pdb_query.records import (
    BLOCK_BITS,
    BLOCKS,
    BOTH_CELLS,
    CELLS_BELOW,
    CELLS_BETWEEN,
    ENTRY_SHIFT,
    GOAL_MASK,
    HIGH,
    IS_UPWARD,
    LABEL_BITS,
    LOW,
    N_SUFFIXES,
    PREFIX,
    PREFIX_BITS,
    RECORD_FIELDS,
    REGIONS,
    SUFFIX,
    TABLE_BIT,
)

# Units whose entries are prefetched together.
_GROUP_UNITS = 64
# Unsigned indices spare numba its test for negative ones.
_at = np.uint64


@inlined_kernel
def find_tiles(boards: Any, board: int, cells: Any) -> None:
    """Write the cell of each tile of a board into `cells`, int64[n_cells]. The board begins at `board` of `boards`."""
    for cell in range(cells.shape[0]):
        cells[_at(boards[_at(board + cell)])] = cell


@inlined_kernel
def place_unit(cells: Any, unit_maps: Any, unit_map: int, tables: Any, record: int) -> tuple[int, int]:
    """Return the state of a unit of a board, and the blank's cell in the unit's view.

    cells                int64[n_cells], see `find_tiles`
    unit_maps, unit_map  see `SumViews`, and where the unit begins in it
    record               where the record of the unit's pattern begins in `tables.records`
    """
    first_tile = unit_map + tables.n_cells
    label_bits = tables.records[_at(record + LABEL_BITS)]
    mask, labels, n_tiles = 0, 0, 0
    tile = unit_maps[_at(first_tile)]
    while tile != BLANK:
        mask |= 1 << unit_maps[_at(unit_map + cells[_at(tile)])]
        n_tiles += 1
        tile = unit_maps[_at(first_tile + n_tiles)]
    for label in range(n_tiles):
        cell = unit_maps[_at(unit_map + cells[_at(unit_maps[_at(first_tile + label)])])]
        labels |= label << (label_bits * popcount(mask & ((1 << cell) - 1)))
    return mask | labels << tables.n_cells, unit_maps[_at(unit_map + cells[_at(BLANK)])]


@borrowing_kernel
def move_state(tables: Any, record: int, move: int, state: int) -> int:
    """Return the state of a pattern after a move of one of its tiles.

    record, move  where their records begin in `tables.records` and `tables.moves`

    The tile jumps over those on the cells between, so their labels and its own rotate by one place. Towards higher
    cells, the label at the lowest place comes to the highest.
    """
    label_bits = tables.records[_at(record + LABEL_BITS)]
    shift = label_bits * popcount(state & tables.moves[_at(move + CELLS_BELOW)]) + tables.n_cells
    length = label_bits * (popcount(state & tables.moves[_at(move + CELLS_BETWEEN)]) + 1)
    segment_mask = (1 << length) - 1
    segment = (state >> shift) & segment_mask
    right = label_bits if tables.moves[_at(move + IS_UPWARD)] != 0 else length - label_bits
    rotated = ((segment >> right) | (segment << (length - right))) & segment_mask
    return state ^ ((segment ^ rotated) << shift) ^ tables.moves[_at(move + BOTH_CELLS)]  # type: ignore[no-any-return]


@inlined_kernel
def rank_set(tables: Any, record: int, state: int) -> int:
    """Return the rank of the cell set of a state."""
    below = state & ((1 << tables.low_bits) - 1)
    above = (popcount(below) << tables.high_bits) | ((state >> tables.low_bits) & ((1 << tables.high_bits) - 1))
    low, high = tables.records[_at(record + LOW)], tables.records[_at(record + HIGH)]
    return load_word(low + 4 * below) + load_word(high + 4 * above)


@inlined_kernel
def rank_order(tables: Any, record: int, labels: int) -> int:
    """Return the rank of packed labels."""
    prefix_bits = tables.records[_at(record + PREFIX_BITS)]
    before = load_half(tables.records[_at(record + PREFIX)] + 2 * (labels & ((1 << prefix_bits) - 1)))
    after = load_half(tables.records[_at(record + SUFFIX)] + 2 * (labels >> prefix_bits))
    return before * tables.records[_at(record + N_SUFFIXES)] + after  # type: ignore[no-any-return]


@borrowing_kernel
def state_address(tables: Any, record: int, state: int, blank: int) -> int:
    """Return the bit address of the entry of a state: 8 * the address of a byte + the number of a bit."""
    cell_set = rank_set(tables, record, state)
    block = cell_set
    if tables.records[_at(record + BLOCKS)] != 0:
        region = load_byte(tables.records[_at(record + REGIONS)] + cell_set * tables.n_cells + blank)
        block = load_word(tables.records[_at(record + BLOCKS)] + 4 * cell_set) + region
    order = rank_order(tables, record, state >> tables.n_cells)
    first = tables.records[_at(record + TABLE_BIT)] + block * tables.records[_at(record + BLOCK_BITS)]
    return first + (order << tables.records[_at(record + ENTRY_SHIFT)])  # type: ignore[no-any-return]


@kernel
def probe_bytes(boards: Any, unit_maps: Any, tables: Any, states: Any, values: Any) -> None:
    """Find the states and distances of all units of all boards in tables in bytes.

    Parameters are those of `descent_kernels.probe_bits`. Some units are read at a time, so that their waits for memory
    overlap. A move takes a tile to a cell of the other colour. So the cells give the parity of a distance, and an entry
    with the other parity is damaged: it counts as UNREACHED.
    """
    cells = np.empty(tables.n_cells, dtype=np.int64)
    # Of each unit: 8 * the address of its entry + the parity of its distance.
    addresses = np.empty(_GROUP_UNITS, dtype=np.int64)
    base = tables.memory.ctypes.data
    board, unit_map, record = 0, 0, 0
    for first in range(0, values.shape[0], _GROUP_UNITS):
        n_units = min(_GROUP_UNITS, values.shape[0] - first)
        for i in range(n_units):
            if unit_map == 0:
                find_tiles(boards, board, cells)
            state, blank = place_unit(cells, unit_maps, unit_map, tables, record)
            states[_at(first + i)] = state
            address = state_address(tables, record, state, blank)
            parity = popcount((state ^ tables.records[_at(record + GOAL_MASK)]) & tables.dark_cells) & 1
            addresses[_at(i)] = address | parity
            prefetch(base + (address >> 3))
            # The next unit, without a division.
            record += RECORD_FIELDS
            if record == tables.records.shape[0]:
                record = 0
            unit_map += 2 * tables.n_cells
            if unit_map == unit_maps.shape[0]:
                unit_map = 0
                board += tables.n_cells
        for i in range(n_units):
            address = addresses[_at(i)]
            value = np.int64(tables.memory[_at(address >> 3)])
            values[_at(first + i)] = value | (UNREACHED & -((value ^ address) & 1))


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
