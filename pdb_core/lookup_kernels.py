"""Kernels that look boards up in tables."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount, prefetch, trailing_zeros
from pdb_core.encoding import UNREACHED
from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.puzzle import BLANK
from pdb_core.ranking_kernels import move_label

# A walk down a table of bits: the state it stands at, its tiles (by their cells) and directions that are untried, and
# the state that is asked next.
WALK_FIELDS = 12
(
    IS_WALKING, REMAINDER, MASK, LABELS, BLANK_CELL, REGIONS, UNTRIED, DIRECTION, ADDRESS, NEXT_MASK, NEXT_LABELS,
    NEXT_BLANK,
) = range(WALK_FIELDS)  # fmt: skip

# Boards whose entries are asked for at a time.
_GROUP_BOARDS = 16


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
def ask_next_of_blank(tables: Any, pattern: int, walk: Any, base: int) -> bool:
    """`ask_next` where every move counts: the moves are the blank's, past a tile of the pattern or past another."""
    mask, blank = walk[MASK], walk[BLANK_CELL]
    near = tables.neighbours[blank, walk[DIRECTION]] if walk[DIRECTION] < 4 else -1
    if near < 0:
        return False
    walk[DIRECTION] += 1
    walk[NEXT_MASK] = mask
    walk[NEXT_LABELS] = walk[LABELS]
    walk[NEXT_BLANK] = near
    if (mask >> near) & 1 != 0:
        walk[NEXT_MASK] = mask ^ (1 << near) ^ (1 << blank)
        walk[NEXT_LABELS] = move_label(walk[LABELS], mask, near, blank, tables.label_bits[pattern])
    walk[ADDRESS] = bit_address(tables, pattern, walk[NEXT_MASK], walk[NEXT_LABELS], near)
    prefetch(base + (walk[ADDRESS] >> 3))
    return True


@kernel
def ask_next(tables: Any, pattern: int, walk: Any, base: int) -> bool:
    """Go on to the next state one move away from a walk's, and prefetch its bit. False where there is none left.

    walk  int64[WALK_FIELDS], mutated
    base  the address of `tables.memory`
    """
    mask = walk[MASK]
    if tables.counts_every_move != 0:
        return ask_next_of_blank(tables, pattern, walk, base)
    regions = walk[REGIONS]
    region = tables.region_numbers[np.uint64(regions + walk[BLANK_CELL])]
    while walk[UNTRIED] != 0:
        cell = trailing_zeros(walk[UNTRIED])
        for i in range(walk[DIRECTION], 4):
            near = tables.neighbours[cell, i]
            if near < 0 or tables.region_numbers[np.uint64(regions + near)] != region:
                continue
            walk[DIRECTION] = i + 1
            walk[NEXT_MASK] = mask ^ (1 << cell) ^ (1 << near)
            walk[NEXT_LABELS] = move_label(walk[LABELS], mask, cell, near, tables.label_bits[pattern])
            walk[NEXT_BLANK] = cell
            walk[ADDRESS] = bit_address(tables, pattern, walk[NEXT_MASK], walk[NEXT_LABELS], cell)
            prefetch(base + (walk[ADDRESS] >> 3))
            return True
        walk[UNTRIED] &= walk[UNTRIED] - 1
        walk[DIRECTION] = 0
    return False


@kernel
def stand_at(tables: Any, pattern: int, walk: Any, mask: int, labels: int, blank: int) -> None:
    """Bring a walk to a state, all its moves untried."""
    walk[MASK] = walk[UNTRIED] = mask
    walk[LABELS] = labels
    walk[BLANK_CELL] = blank
    walk[REGIONS] = tables.region_start[pattern] + rank_set(tables, pattern, mask) * tables.neighbours.shape[0]
    walk[DIRECTION] = 0


@kernel
def walk_down(tables: Any, masks: Any, labels: Any, blanks: Any, view_of_unit: Any, walks: Any, values: Any) -> None:
    """Find the distances of the units of a board in tables of bits: the moves of walks to the goal, each one lower.

    The units walk in turns, so that their waits for memory overlap.

    masks, labels  int64[s, p]
    blanks         int64[v]     the blank's cell in the board of each view
    view_of_unit   int64[s, p]
    walks          int64[s * p, WALK_FIELDS]  scratch
    values         uint8[s, p]  mutated: the distances, UNREACHED where a walk ends elsewhere than at the goal
    """
    n_patterns = masks.shape[1]
    base = tables.memory.ctypes.data
    n_walking = 0
    for unit in range(walks.shape[0]):
        s, pattern = unit // n_patterns, unit % n_patterns
        mask, order, walk = masks[s, pattern], labels[s, pattern], walks[unit]
        blank = blanks[view_of_unit[s, pattern]]
        address = bit_address(tables, pattern, mask, order, blank)
        coloured = 1 << blank if tables.counts_every_move != 0 else mask
        odd = popcount((coloured ^ tables.goal_masks[pattern]) & tables.dark_cells) & 1
        walk[REMAINDER] = (2 * read_bit(tables.memory, address) + odd + 3) & 3
        values[s, pattern] = 0
        walk[IS_WALKING] = 0
        if address != tables.goal_addresses[pattern]:
            stand_at(tables, pattern, walk, mask, order, blank)
            walk[IS_WALKING] = ask_next(tables, pattern, walk, base)
            values[s, pattern] = 0 if walk[IS_WALKING] != 0 else UNREACHED
            n_walking += walk[IS_WALKING]
    while n_walking != 0:
        for unit in range(walks.shape[0]):
            walk = walks[unit]
            if walk[IS_WALKING] == 0:
                continue
            s, pattern = unit // n_patterns, unit % n_patterns
            # The parity has changed with the move, so the bit alone tells whether it is one lower or one higher.
            if read_bit(tables.memory, walk[ADDRESS]) == walk[REMAINDER] >> 1:
                values[s, pattern] += 1
                if walk[ADDRESS] == tables.goal_addresses[pattern]:
                    walk[IS_WALKING] = 0
                    n_walking -= 1
                    continue
                walk[REMAINDER] = (walk[REMAINDER] + 3) & 3
                stand_at(tables, pattern, walk, walk[NEXT_MASK], walk[NEXT_LABELS], walk[NEXT_BLANK])
            if values[s, pattern] == UNREACHED or not ask_next(tables, pattern, walk, base):
                values[s, pattern] = UNREACHED
                walk[IS_WALKING] = 0
                n_walking -= 1


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
def probe_boards(boards: Any, tables: Any, views: Any, masks: Any, labels: Any, values: Any) -> None:
    """Look up every unit of every board.

    boards         uint8[m, n_cells]  valid boards
    tables, views  `LookupTables`, `SumViews`
    masks, labels  int64[m, s, p]     mutated: cell sets and packed labels
    values         uint8[m, s, p]     mutated: the distances
    """
    if tables.is_bits != 0:
        probe_bits(boards, tables, views, masks, labels, values)
    else:
        probe_bytes(boards, tables, views, masks, labels, values)


@kernel
def probe_bits(boards: Any, tables: Any, views: Any, masks: Any, labels: Any, values: Any) -> None:
    """`probe_boards` in tables of bits."""
    _, n_sums, n_patterns = masks.shape
    walks = np.empty((n_sums * n_patterns, WALK_FIELDS), dtype=np.int64)
    for row in range(boards.shape[0]):
        place_units(boards, row, tables, views, masks[row], labels[row])
        blank = 0
        while boards[row, blank] != BLANK:
            blank += 1
        walk_down(tables, masks[row], labels[row], views.cell_maps[:, blank], views.view_of_unit, walks, values[row])


@kernel
def probe_bytes(boards: Any, tables: Any, views: Any, masks: Any, labels: Any, values: Any) -> None:
    """`probe_boards` in tables of bytes. Some boards at a time, so that their waits for memory overlap."""
    _, n_sums, n_patterns = masks.shape
    n_boards = boards.shape[0]
    addresses = np.empty((_GROUP_BOARDS, n_sums, n_patterns), dtype=np.int64)
    base = tables.memory.ctypes.data
    for first in range(0, n_boards, _GROUP_BOARDS):
        n_rows = min(_GROUP_BOARDS, n_boards - first)
        for row in range(n_rows):
            place_units(boards, first + row, tables, views, masks[first + row], labels[first + row])
            for s in range(n_sums):
                for pattern in range(n_patterns):
                    address = byte_address(
                        tables, pattern, masks[first + row, s, pattern], labels[first + row, s, pattern]
                    )
                    addresses[row, s, pattern] = address
                    prefetch(base + address)
        for row in range(n_rows):
            for s in range(n_sums):
                for pattern in range(n_patterns):
                    values[first + row, s, pattern] = tables.memory[np.uint64(addresses[row, s, pattern])]


@kernel
def check_boards(boards: Any, goal_places: Any, dark_cells: int, verdicts: Any) -> None:
    """Tell whether boards are valid and can be solved.

    boards       uint8[m, n]   anything; n up to 64
    goal_places  int64[n]      the cell of each tile in the goal
    dark_cells   mask of the cells of one colour of the chess board
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
        # A tile that is there twice leaves another's place free, and so does one that is out of range.
        if taken != every_place:
            verdicts[row] = -1
        else:
            verdicts[row] = 1 - ((n_inversions + colour + goal_colour) & 1)


@kernel
def add_up(values: Any, verdicts: Any, counts_every_move: int, sums: Any, maximum: Any) -> None:
    """Add up distances where patterns share no moves, else take the largest, and the largest sum of each board.

    values             uint8[m, s, p]
    verdicts           int8[m]  see `check_boards`
    counts_every_move  1 where patterns share moves
    sums, maximum      int16[m, s], int16[m]: mutated; the maximum is -1 where a board cannot be solved, -2 where it is
                       none
    """
    n_boards, n_sums, n_patterns = values.shape
    for row in range(n_boards):
        largest = 0
        for s in range(n_sums):
            total = 0
            for pattern in range(n_patterns):
                value = int(values[row, s, pattern])
                total = max(total, value) if counts_every_move != 0 else total + value
            sums[row, s] = total
            largest = max(largest, total)
        maximum[row] = largest if verdicts[row] == 1 else verdicts[row] - 1
