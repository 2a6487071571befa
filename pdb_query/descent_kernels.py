"""Kernels that find distances in tables in bits, by descents to the goal.

A table in bits holds bit 1 of each distance, and the parity of a distance is known. So each distance is known modulo 4.
The distances of neighbours differ by 1. A descent starts at the state of a unit, and goes to a neighbour that is one
move nearer to the goal, until it is there. The number of moves is the distance.

Many descents are interleaved, so that their waits for memory overlap. In a round each descent reads the bit that it
prefetched in the round before, and prefetches the bit of the next neighbour it tries. The order of the neighbours saves
reads: first moves that bring a tile nearer to its goal cell by Manhattan distance, then the others. Moves that failed
before are last among both. A move that led farther away often does so again after a move that shares no cell with it.

Descents of a batch meet near the goal. `memo` holds distances that descents have found, and a descent ends at a state
whose distance is there. A descent that ends adds the distance of the last state before its end. So distances of states
near the goal come first, and then those of states farther away that many descents pass.

The content of a table decides only which neighbour is next, never which address is read. A descent ends after
`MAX_MOVES` moves or if no neighbour is nearer, so it ends in any table.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import equal_bytes, popcount, prefetch, trailing_zeros
from pdb_core.encoding import UNREACHED
from pdb_core.jit import borrowing_kernel, inlined_kernel
from pdb_core.puzzle import BLANK
from pdb_query.descent import (
    BLOCK_BITS,
    BLOCK_START,
    BOTH_CELLS,
    CELLS_BELOW,
    CELLS_BETWEEN,
    COUNTS_EVERY_MOVE,
    DARK_CELLS,
    FIRST_BIT,
    GOAL_ADDRESS,
    GOAL_MASK,
    HEADER_FIELDS,
    HIGH_BITS,
    HIGH_START,
    IS_RAISED,
    KEPT,
    LABEL_BITS,
    LOW_BITS,
    LOW_START,
    MOVE_FIELDS,
    MOVES_START,
    N_CELLS,
    N_PATTERNS,
    N_SUFFIXES,
    N_WORDS,
    NOT_LEFT,
    NOT_RIGHT,
    PREFIX_BITS,
    PREFIX_START,
    RECORD_FIELDS,
    REGION_NUMBER_START,
    REVERSE_BIT,
    REVERSE_WORD,
    SOURCE,
    SUFFIX_START,
    TARGET,
    TOWARD_START,
    WIDTH,
    WORD_BITS,
)

# Descents in flight.
N_DESCENTS = 64
# A distance is a byte, and UNREACHED is none.
MAX_MOVES = UNREACHED - 1

# A descent has these fields, then two states: the one that it is at, at offset CURRENT, and the neighbour it tries.
# UNIT is -1 for no unit. RECORD is the index of the record of the pattern. N_MOVES is -1 until the first bit is read.
# LOWER_BIT is the bit of a neighbour that is one move nearer, PARITY that of the distance. ADDRESS is that of the
# neighbour, OWN_ADDRESS that of the state. MOVE is the move to the neighbour, or NO_MOVE for a descent that has just
# started or ended. BLANK_CELL is the blank's cell in the neighbour, CELL_SET the rank of the neighbour's cell set.
UNIT, RECORD, N_MOVES, LOWER_BIT, PARITY, ADDRESS, OWN_ADDRESS, CURRENT, MOVE, BLANK_CELL, CELL_SET = range(11)
NO_MOVE = -1
FIRST_STATE = 11
# A state: cell set, labels; then for each word of a set of moves those that are untried, that lead nearer to a goal
# cell and that have failed. `state ^ OTHER_STATE` is the offset of the other state.
MASK, LABELS, MOVE_WORDS = range(3)
UNTRIED, TOWARD, FAILED, WORD_FIELDS = range(4)
SECOND_STATE = FIRST_STATE + 16
OTHER_STATE = FIRST_STATE ^ SECOND_STATE
DESCENT_FIELDS = SECOND_STATE + 14

# An entry of `memo` is an address and, in the lower byte, its distance, at least 1; 0 for none. Its index is made of
# the product of the address and this odd number of 20 bits. The product of a bit address below 2^43 fits in 63 bits.
DISTANCE_BITS = 8
MEMO_FACTOR = 648053
MEMO_SHIFT = 16

# Unsigned indices spare numba its test for negative ones.
_at = np.uint64


@borrowing_kernel
def probe_bits(
    boards: Any, unit_maps: Any, memory: Any, numbers: Any, set_ranks: Any, order_ranks: Any, region_numbers: Any,
    descents: Any, memo: Any, masks: Any, labels: Any, values: Any,
) -> None:  # fmt: skip
    """Find the distances of all units of all boards in tables in bits.

    boards    uint8[m * n_cells]     valid boards
    numbers   int64                  `LookupTables.descent`; others by these names: see there and `SumViews`
    descents  int64[n * DESCENT_FIELDS]  scratch, of at most as many descents as there are units
    memo      int64                  mutated: distances that were found; the length is a power of 2
    masks, labels  int64[units]      mutated: the cell set and the packed labels of each unit
    values    uint8[units]           mutated: the distances; UNREACHED if a descent does not end at the goal
    """
    n_units = values.shape[0]
    n_descents = descents.shape[0] // DESCENT_FIELDS
    for i in range(n_descents):
        descents[i * DESCENT_FIELDS + UNIT] = -1
    base, memo_base, memo_mask = memory.ctypes.data, memo.ctypes.data, memo.shape[0] - 1
    # Not a constant: numba would compile a kernel once more for it.
    n_started: Any = np.int64(0)
    n_left = n_units
    while n_left != 0:
        # Step 1. Read the bits, and choose the next move of each descent.
        n_left -= read_and_choose(descents, n_descents, numbers, memory, memo, values)
        # Step 2. Start descents in the place of those that have ended.
        for i in range(n_descents):
            at = i * DESCENT_FIELDS
            if descents[_at(at + UNIT)] < 0 and n_started != n_units:
                start_descent(boards, unit_maps, numbers, n_started, masks, labels, descents, at)
                n_started += 1
        # Step 3. Make the moves.
        make_moves(descents, n_descents, numbers)
        # Step 4. Compute the addresses, in two steps, because what the second one reads may not be in the first cache.
        rank_sets(descents, n_descents, numbers, set_ranks, region_numbers)
        find_neighbours(descents, n_descents, numbers, set_ranks, order_ranks, region_numbers)
        # Step 5. Prefetch them, apart: each prefetch waits for its page, and many of them wait at a time.
        for i in range(n_descents):
            address = descents[_at(i * DESCENT_FIELDS + ADDRESS)]
            prefetch(base + (address >> 3))
            prefetch(memo_base + 8 * memo_index(address, memo_mask))


@inlined_kernel
def memo_index(address: int, memo_mask: int) -> int:
    """Return the index of a state in `memo`."""
    return ((address * MEMO_FACTOR) >> MEMO_SHIFT) & memo_mask


@inlined_kernel
def read_and_choose(descents: Any, n_descents: int, numbers: Any, memory: Any, memo: Any, values: Any) -> int:
    """Read the bit of the neighbour that each descent tries, go there if it is one move nearer, and choose the next
    move. Returns the number of descents that have ended.

    descents  int64[n * DESCENT_FIELDS]  mutated
    memo      int64                      mutated
    values    uint8[units]               mutated: the distances of the units whose descents have ended
    others    see `probe_bits`
    """
    n_ended = 0
    n_words, memo_mask = numbers[N_WORDS], memo.shape[0] - 1
    for i in range(n_descents):
        at = i * DESCENT_FIELDS
        unit = descents[_at(at + UNIT)]
        if unit < 0:
            continue
        # Step 1. The bit. The parity changes with a move, so the bit tells a lower distance from a higher one.
        address = descents[_at(at + ADDRESS)]
        bit = (np.int64(memory[_at(address >> 3)]) >> (address & 7)) & 1
        n_moves = descents[_at(at + N_MOVES)]
        if n_moves < 0:
            descents[_at(at + LOWER_BIT)] = bit
        is_lower = (bit ^ descents[_at(at + LOWER_BIT)]) ^ 1
        n_moves += is_lower
        state = descents[_at(at + CURRENT)] ^ (-is_lower & OTHER_STATE)
        parity = descents[_at(at + PARITY)] ^ is_lower
        before = descents[_at(at + OWN_ADDRESS)]
        descents[_at(at + N_MOVES)] = n_moves
        descents[_at(at + CURRENT)] = state
        descents[_at(at + PARITY)] = parity
        descents[_at(at + OWN_ADDRESS)] = before ^ (-is_lower & (before ^ address))
        descents[_at(at + LOWER_BIT)] ^= is_lower & (parity ^ 1)
        # Step 2. The next move.
        chosen, word = 0, 0
        if n_words == 1:
            chosen, _kind = best_moves(descents, at + state + MOVE_WORDS)
        else:
            best = 0
            for w in range(n_words):
                candidates, kind = best_moves(descents, at + state + MOVE_WORDS + w * WORD_FIELDS)
                if kind > best:
                    best, chosen, word = kind, candidates, w
        # Step 3. The end. The lower byte is the distance if the entry is that of the address.
        rest = memo[_at(memo_index(address, memo_mask))] ^ (address << DISTANCE_BITS)
        is_known = (rest > 0) & (rest <= UNREACHED)
        is_goal = address == numbers[_at(descents[_at(at + RECORD)] + GOAL_ADDRESS)]
        has_arrived = (is_lower != 0) & (is_known | is_goal)
        if has_arrived | (chosen == 0) | (n_moves >= MAX_MOVES):
            if not is_known:
                rest = 0
            if has_arrived and n_moves + rest <= MAX_MOVES:
                values[_at(unit)] = n_moves + rest
                if n_moves != 0:
                    memo[_at(memo_index(before, memo_mask))] = before << DISTANCE_BITS | (rest + 1)
            else:
                values[_at(unit)] = UNREACHED
            descents[_at(at + UNIT)], descents[_at(at + MOVE)] = -1, NO_MOVE
            n_ended += 1
            continue
        number = trailing_zeros(chosen)
        descents[_at(at + MOVE)] = word * WORD_BITS + number
        field = at + state + MOVE_WORDS + word * WORD_FIELDS
        descents[_at(field + UNTRIED)] ^= 1 << number
    return n_ended


@inlined_kernel
def best_moves(descents: Any, field: int) -> tuple[int, int]:
    """Return the untried moves of a word that are best tried first, and how good they are, 0 for none."""
    untried = descents[_at(field + UNTRIED)]
    fresh = untried & ~descents[_at(field + FAILED)]
    nearer = untried & descents[_at(field + TOWARD)]
    both = fresh & nearer
    # Masks of all ones or none in place of branches, which would be mispredicted.
    is_fresh, is_nearer, is_both = (fresh | -fresh) >> 63, (nearer | -nearer) >> 63, (both | -both) >> 63
    chosen = untried ^ ((untried ^ fresh) & is_fresh)
    chosen ^= (chosen ^ nearer) & is_nearer
    chosen ^= (chosen ^ both) & is_both
    # In this order: 4 both, 3 nearer, 2 fresh, 1 any.
    kind = (4 & is_both) | (3 & is_nearer & ~is_both) | (2 & is_fresh & ~is_nearer) | (1 if untried != 0 else 0)
    return chosen, kind


@inlined_kernel
def start_descent(
    boards: Any, unit_maps: Any, numbers: Any, unit: int, masks: Any, labels: Any, descents: Any, at: int
) -> None:
    """Start the descent of a unit at offset `at` of `descents`: its start is a neighbour to be read.

    See `probe_bits`.
    """
    n_cells, n_words = numbers[N_CELLS], numbers[N_WORDS]
    n_maps = unit_maps.shape[0] // (2 * n_cells)
    record = HEADER_FIELDS + unit % numbers[N_PATTERNS] * RECORD_FIELDS
    label_bits = numbers[_at(record + LABEL_BITS)]
    # Step 1. The tiles of the unit, by their cells.
    board, given = unit // n_maps * n_cells, unit % n_maps * 2 * n_cells
    mask, order, shift, blank = 0, 0, 0, 0
    for cell in range(n_cells):
        tile = np.int64(boards[_at(board + unit_maps[_at(given + cell)])])
        label = unit_maps[_at(given + n_cells + tile)]
        # All ones or none in place of a branch, which would be mispredicted.
        is_in_unit = ~(label >> 63)
        mask |= (1 << cell) & is_in_unit
        order |= (label & is_in_unit) << shift
        shift += label_bits & is_in_unit
        blank = cell if tile == BLANK else blank
    masks[_at(unit)], labels[_at(unit)] = mask, order
    # Step 2. The state. As if one move before the start, from which every bit leads on.
    coloured = 1 << blank if numbers[COUNTS_EVERY_MOVE] != 0 else mask
    odd = popcount((coloured ^ numbers[_at(record + GOAL_MASK)]) & numbers[DARK_CELLS]) & 1
    state = at + SECOND_STATE
    descents[_at(at + UNIT)], descents[_at(at + RECORD)], descents[_at(at + MOVE)] = unit, record, NO_MOVE
    descents[_at(at + N_MOVES)], descents[_at(at + PARITY)], descents[_at(at + CURRENT)] = -1, odd ^ 1, FIRST_STATE
    descents[_at(at + BLANK_CELL)], descents[_at(at + OWN_ADDRESS)] = blank, 0
    descents[_at(state + MASK)], descents[_at(state + LABELS)] = mask, order
    # Step 3. The moves.
    for word in range(n_words):
        toward = 0
        rest, left = mask, order
        while rest != 0:
            label = left & ((1 << label_bits) - 1)
            row = label * n_cells + trailing_zeros(rest)
            toward |= numbers[_at(numbers[_at(record + TOWARD_START)] + row * n_words + word)]
            rest &= rest - 1
            left >>= label_bits
        field = state + MOVE_WORDS + word * WORD_FIELDS
        descents[_at(field + TOWARD)] = toward
        descents[_at(field + FAILED)] = 0


@inlined_kernel
def make_moves(descents: Any, n_descents: int, numbers: Any) -> None:
    """Write the neighbour that the chosen move of each descent leads to. See `read_and_choose`."""
    n_cells, n_words, moves = numbers[N_CELLS], numbers[N_WORDS], numbers[MOVES_START]
    counts_every_move = numbers[COUNTS_EVERY_MOVE]
    for i in range(n_descents):
        at = i * DESCENT_FIELDS
        number = descents[_at(at + MOVE)]
        if number < 0:
            continue
        state = at + descents[_at(at + CURRENT)]
        other = at + (descents[_at(at + CURRENT)] ^ OTHER_STATE)
        record = descents[_at(at + RECORD)]
        move = moves + number * MOVE_FIELDS
        source, target = numbers[_at(move + SOURCE)], numbers[_at(move + TARGET)]
        mask, labels = descents[_at(state + MASK)], descents[_at(state + LABELS)]
        # Step 1. The labels between the two cells rotate, as in `ranking_kernels.move_label`.
        label_bits = numbers[_at(record + LABEL_BITS)]
        shift = label_bits * popcount(mask & numbers[_at(move + CELLS_BELOW)])
        rest = label_bits * popcount(mask & numbers[_at(move + CELLS_BETWEEN)])
        is_raised = numbers[_at(move + IS_RAISED)] != 0
        right = label_bits if is_raised else rest
        lowest = 0 if is_raised else rest
        segment_mask = (1 << (rest + label_bits)) - 1
        segment = (labels >> shift) & segment_mask
        rotated = ((segment >> right) | (segment << (rest + label_bits - right))) & segment_mask
        label = (segment >> lowest) & ((1 << label_bits) - 1)
        # Step 2. The tile. If every move counts, it may be one of no pattern.
        moves_tile = counts_every_move == 0 or (mask >> source) & 1 != 0
        if moves_tile:
            labels ^= (segment ^ rotated) << shift
            mask ^= numbers[_at(move + BOTH_CELLS)]
        descents[_at(other + MASK)], descents[_at(other + LABELS)] = mask, labels
        descents[_at(at + BLANK_CELL)] = source
        # Step 3. The sets of moves that lead toward the goal, and that have failed.
        row = numbers[_at(record + TOWARD_START)] + label * n_cells * n_words
        for word in range(n_words):
            before = state + MOVE_WORDS + word * WORD_FIELDS
            after = other + MOVE_WORDS + word * WORD_FIELDS
            toward = descents[_at(before + TOWARD)]
            if moves_tile:
                toward ^= numbers[_at(row + source * n_words + word)]
                toward ^= numbers[_at(row + target * n_words + word)]
            descents[_at(after + TOWARD)] = toward
            descents[_at(after + FAILED)] = descents[_at(before + FAILED)] & numbers[_at(move + KEPT + word)]
        field = other + MOVE_WORDS + numbers[_at(move + REVERSE_WORD)] * WORD_FIELDS
        descents[_at(field + FAILED)] |= numbers[_at(move + REVERSE_BIT)]
        # If the neighbour is nearer, this state is left; so the mark matters only if the move fails.
        field = state + MOVE_WORDS + (number >> 6) * WORD_FIELDS
        descents[_at(field + FAILED)] |= 1 << (number & (WORD_BITS - 1))


@inlined_kernel
def rank_sets(descents: Any, n_descents: int, numbers: Any, set_ranks: Any, region_numbers: Any) -> None:
    """Compute the rank of each neighbour's cell set, and prefetch what `find_neighbours` reads of the cell set."""
    n_cells, low_bits, high_bits = numbers[N_CELLS], numbers[LOW_BITS], numbers[HIGH_BITS]
    low_mask = (1 << low_bits) - 1
    blocks, regions = set_ranks.ctypes.data, region_numbers.ctypes.data
    for i in range(n_descents):
        at = i * DESCENT_FIELDS
        if descents[_at(at + UNIT)] < 0:
            continue
        record = descents[_at(at + RECORD)]
        mask = descents[_at(at + (descents[_at(at + CURRENT)] ^ OTHER_STATE) + MASK)]
        # As `lookup_kernels.rank_set`, with all numbers of a pattern in one record: fewer arrays, one cache line.
        below = mask & low_mask
        above = (popcount(below) << high_bits) | (mask >> low_bits)
        cell_set = np.int64(set_ranks[_at(numbers[_at(record + LOW_START)] + below)])
        cell_set += np.int64(set_ranks[_at(numbers[_at(record + HIGH_START)] + above)])
        descents[_at(at + CELL_SET)] = cell_set
        prefetch(blocks + 4 * (numbers[_at(record + BLOCK_START)] + cell_set))
        prefetch(regions + numbers[_at(record + REGION_NUMBER_START)] + cell_set * n_cells)


@inlined_kernel
def find_neighbours(
    descents: Any, n_descents: int, numbers: Any, set_ranks: Any, order_ranks: Any, region_numbers: Any
) -> None:
    """Compute the address of the neighbour that each descent tries, and list the neighbour's moves. See
    `read_and_choose` and `LookupTables`.
    """
    n_cells, n_words, width = numbers[N_CELLS], numbers[N_WORDS], numbers[WIDTH]
    not_left, not_right = numbers[NOT_LEFT], numbers[NOT_RIGHT]
    every_cell = (1 << n_cells) - 1
    # If every move counts, tiles of no pattern move, too.
    movable = every_cell if numbers[COUNTS_EVERY_MOVE] != 0 else 0
    regions = region_numbers.ctypes.data
    for i in range(n_descents):
        at = i * DESCENT_FIELDS
        if descents[_at(at + UNIT)] < 0:
            continue
        record = descents[_at(at + RECORD)]
        other = at + (descents[_at(at + CURRENT)] ^ OTHER_STATE)
        mask, labels = descents[_at(other + MASK)], descents[_at(other + LABELS)]
        # Step 1. The address. The order is that of `lookup_kernels.rank_order`, see `rank_sets`.
        cell_set = descents[_at(at + CELL_SET)]
        region_row = numbers[_at(record + REGION_NUMBER_START)] + cell_set * n_cells
        region_number: Any = np.int64(region_numbers[_at(region_row + descents[_at(at + BLANK_CELL)])])
        block = region_number + np.int64(set_ranks[_at(numbers[_at(record + BLOCK_START)] + cell_set)])
        prefix_bits = numbers[_at(record + PREFIX_BITS)]
        before = labels & ((1 << prefix_bits) - 1)
        order = np.int64(order_ranks[_at(numbers[_at(record + PREFIX_START)] + before)])
        order *= numbers[_at(record + N_SUFFIXES)]
        order += np.int64(order_ranks[_at(numbers[_at(record + SUFFIX_START)] + (labels >> prefix_bits))])
        address = numbers[_at(record + FIRST_BIT)] + block * numbers[_at(record + BLOCK_BITS)] + order
        descents[_at(at + ADDRESS)] = address
        # Step 2. The moves into the blank's region, by direction.
        tiles = movable | mask
        region = equal_bytes(regions + region_row, region_number)
        for cell in range(16, n_cells, 16):
            region |= equal_bytes(regions + region_row + cell, region_number) << cell
        region &= every_cell
        up = (region << width) & tiles
        left = ((region & not_right) << 1) & tiles
        right = ((region & not_left) >> 1) & tiles
        down = (region >> width) & tiles
        field = other + MOVE_WORDS + UNTRIED
        if n_words == 1:
            descents[_at(field)] = up | left << n_cells | right << (2 * n_cells) | down << (3 * n_cells)
        elif n_words == 2:
            descents[_at(field)] = up | left << n_cells
            descents[_at(field + WORD_FIELDS)] = right | down << n_cells
        else:
            descents[_at(field)], descents[_at(field + WORD_FIELDS)] = up, left
            descents[_at(field + 2 * WORD_FIELDS)], descents[_at(field + 3 * WORD_FIELDS)] = right, down
