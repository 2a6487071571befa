"""Kernels that find distances in tables of bits, by descents to the goal.

A table of bits holds bit 1 of each distance, and the parity of a distance is known. So each distance is known modulo 4.
The distances of neighbours differ by 1. A descent starts at the state of a unit, and goes to a neighbour that is one
move nearer to the goal, until it is there. The number of moves is the distance.

Many descents are interleaved, so that their waits for memory overlap. In a round each descent reads the bit that it
prefetched in the round before, and prefetches the bit of the next neighbour it tries. The order of the neighbours saves
reads: first moves that bring a tile nearer to its goal cell by Manhattan distance, then the others. Moves that failed
before are last among both. A move that led farther away often does so again after a move that shares no cell with it.

The content of a table decides only which neighbour is next, never which address is read. A descent ends after
`MAX_MOVES` moves or if no neighbour is nearer, so it ends in any table.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import equal_bytes, popcount, prefetch, trailing_zeros
from pdb_core.descent import (
    BLOCK_BITS,
    BLOCK_START,
    BOTH_CELLS,
    CELLS_BELOW,
    CELLS_BETWEEN,
    FIRST_BIT,
    GOAL_ADDRESS,
    GOAL_MASK,
    HIGH_START,
    IS_RAISED,
    KEPT,
    LABEL_BITS,
    LOW_START,
    MOVE_FIELDS,
    N_SUFFIXES,
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
    WORD_BITS,
)
from pdb_core.encoding import UNREACHED
from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.puzzle import BLANK

# Descents in flight.
N_DESCENTS = 64
# A distance is a byte, and UNREACHED is none.
MAX_MOVES = UNREACHED - 1

# A descent has these fields, then two states: the one that it is at, at offset CURRENT, and the neighbour it tries.
# UNIT is -1 for no unit. RECORD is the offset of the record of the pattern. N_MOVES is -1 until the first bit is read.
# LOWER_BIT is the bit of a neighbour that is one move nearer, PARITY that of the distance. MOVE is the move to the
# neighbour, or NO_MOVE for a descent that has just started. BLANK_CELL is the blank's cell in the neighbour.
UNIT, RECORD, N_MOVES, LOWER_BIT, PARITY, ADDRESS, CURRENT, MOVE, BLANK_CELL = range(9)
NO_MOVE = -1
FIRST_STATE = 9
# A state: cell set, labels; then for each word of a set of moves those that are untried, that lead nearer to a goal
# cell and that have failed. `state ^ OTHER_STATE` is the offset of the other state.
MASK, LABELS, MOVE_WORDS = range(3)
UNTRIED, TOWARD, FAILED, WORD_FIELDS = range(4)
SECOND_STATE = FIRST_STATE + 16
OTHER_STATE = FIRST_STATE ^ SECOND_STATE
DESCENT_FIELDS = 40

# Unsigned indices spare numba its test for negative ones.
_at = np.uint64


@kernel
def probe_bits(boards: Any, tables: Any, views: Any, masks: Any, labels: Any, values: Any) -> None:
    """Find the distances of all units of all boards in tables of bits.

    boards         uint8[m, n_cells]  valid boards
    tables, views  `LookupTables`, `SumViews`
    masks, labels  int64[m, s, p]     the cell set and the packed labels of each unit
    values         uint8[m, s, p]     mutated: the distances; UNREACHED if a descent does not end at the goal
    """
    n_units = masks.size
    n_descents = min(N_DESCENTS, n_units)
    descents = np.empty(n_descents * DESCENT_FIELDS, dtype=np.int64)
    for i in range(n_descents):
        descents[i * DESCENT_FIELDS + UNIT] = -1
        descents[i * DESCENT_FIELDS + N_MOVES] = 0
    all_masks, all_labels, all_values = masks.reshape(-1), labels.reshape(-1), values.reshape(-1)
    n_cells, n_words = tables.goal.shape[0], tables.n_words
    movable = (1 << n_cells) - 1 if tables.counts_every_move != 0 else 0
    base = tables.memory.ctypes.data
    # Not a constant: numba would compile a kernel once more for it.
    n_started: Any = np.int64(0)
    n_left = n_units
    while n_left != 0:
        # Step 1. Read the bits, and choose the next move of each descent.
        n_left -= read_and_choose(descents, n_descents, tables.records, tables.memory, n_words, all_values)
        # Step 2. Start descents in the place of those that have ended; at the end the last ones close up.
        i = 0
        while i < n_descents:
            at = i * DESCENT_FIELDS
            if descents[_at(at + UNIT)] >= 0:
                i += 1
            elif n_started != n_units:
                start_descent(boards, tables, views, all_masks, all_labels, n_started, descents, at)
                n_started += 1
                i += 1
            else:
                n_descents -= 1
                for field in range(DESCENT_FIELDS):
                    descents[at + field] = descents[n_descents * DESCENT_FIELDS + field]
        # Step 3. Make the moves.
        make_moves(
            descents, n_descents, tables.records, tables.moves, tables.toward, n_words, n_cells,
            tables.counts_every_move,
        )  # fmt: skip
        # Step 4. Compute the addresses.
        find_neighbours(
            descents, n_descents, tables.records, tables.low, tables.high, tables.low_bits, tables.high_bits,
            tables.prefix, tables.suffix, tables.first_block, tables.region_numbers, n_cells, n_words, tables.width,
            tables.not_left, tables.not_right, movable,
        )  # fmt: skip
        # Step 5. Prefetch them, apart: each prefetch waits for its page, and many of them wait at a time.
        for i in range(n_descents):
            prefetch(base + (descents[_at(i * DESCENT_FIELDS + ADDRESS)] >> 3))


@borrowing_kernel
def read_and_choose(descents: Any, n_descents: int, records: Any, memory: Any, n_words: int, values: Any) -> int:
    """Read the bit of the neighbour that each descent tries, go there if it is one move nearer, and choose the next
    move. Returns the number of descents that have ended.

    descents  int64[n * DESCENT_FIELDS]  mutated
    records   int64[p * RECORD_FIELDS]   see `descent.descent_records`
    memory    uint8[...]
    values    uint8[units]               mutated: the distances of the units whose descents have ended
    """
    n_ended = 0
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
        descents[_at(at + N_MOVES)] = n_moves
        descents[_at(at + CURRENT)] = state
        descents[_at(at + PARITY)] = parity
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
        # Step 3. The end.
        has_arrived = (is_lower != 0) & (address == records[_at(descents[_at(at + RECORD)] + GOAL_ADDRESS)])
        if has_arrived | (chosen == 0) | (n_moves >= MAX_MOVES):
            values[_at(unit)] = n_moves if has_arrived else UNREACHED
            descents[_at(at + UNIT)] = -1
            n_ended += 1
            continue
        number = trailing_zeros(chosen)
        descents[_at(at + MOVE)] = word * WORD_BITS + number
        field = at + state + MOVE_WORDS + word * WORD_FIELDS
        descents[_at(field + UNTRIED)] ^= 1 << number
    return n_ended


@borrowing_kernel
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


@borrowing_kernel
def start_descent(
    boards: Any, tables: Any, views: Any, masks: Any, labels: Any, unit: int, descents: Any, at: int
) -> None:
    """Start the descent of a unit at offset `at` of `descents`: its start is a neighbour to be read."""
    n_sums, n_patterns = views.view_of_unit.shape
    pattern, s = unit % n_patterns, unit // n_patterns % n_sums
    row = unit // (n_patterns * n_sums)
    n_cells = tables.goal.shape[0]
    record = pattern * RECORD_FIELDS
    cell = 0
    while boards[row, cell] != BLANK:
        cell += 1
    blank = views.cell_maps[views.view_of_unit[s, pattern], cell]
    mask, order = masks[unit], labels[unit]
    coloured = 1 << blank if tables.counts_every_move != 0 else mask
    odd = popcount((coloured ^ tables.records[record + GOAL_MASK]) & tables.dark_cells) & 1
    state = at + SECOND_STATE
    descents[at + UNIT], descents[at + RECORD], descents[at + MOVE] = unit, record, NO_MOVE
    # As if one move before the start, from which every bit leads on.
    descents[at + N_MOVES], descents[at + PARITY], descents[at + CURRENT] = -1, odd ^ 1, FIRST_STATE
    descents[at + BLANK_CELL] = blank
    descents[state + MASK], descents[state + LABELS] = mask, order
    label_bits = tables.label_bits[pattern]
    for word in range(tables.n_words):
        toward = 0
        rest, left = mask, order
        while rest != 0:
            label = left & ((1 << label_bits) - 1)
            row = tables.records[record + TOWARD_START] + label * n_cells + trailing_zeros(rest)
            toward |= tables.toward[row * tables.n_words + word]
            rest &= rest - 1
            left >>= label_bits
        field = state + MOVE_WORDS + word * WORD_FIELDS
        descents[field + TOWARD] = toward
        descents[field + FAILED] = 0


@borrowing_kernel
def make_moves(
    descents: Any, n_descents: int, records: Any, moves: Any, toward_goal: Any, n_words: int, n_cells: int,
    counts_every_move: int,
) -> None:  # fmt: skip
    """Write the neighbour that the chosen move of each descent leads to. See `read_and_choose` and `LookupTables`."""
    for i in range(n_descents):
        at = i * DESCENT_FIELDS
        number = descents[_at(at + MOVE)]
        if number < 0:
            continue
        state = at + descents[_at(at + CURRENT)]
        other = at + (descents[_at(at + CURRENT)] ^ OTHER_STATE)
        record = descents[_at(at + RECORD)]
        move = number * MOVE_FIELDS
        source, target = moves[_at(move + SOURCE)], moves[_at(move + TARGET)]
        mask, labels = descents[_at(state + MASK)], descents[_at(state + LABELS)]
        # Step 1. The labels between the two cells rotate, as in `ranking_kernels.move_label`.
        label_bits = records[_at(record + LABEL_BITS)]
        shift = label_bits * popcount(mask & moves[_at(move + CELLS_BELOW)])
        rest = label_bits * popcount(mask & moves[_at(move + CELLS_BETWEEN)])
        is_raised = moves[_at(move + IS_RAISED)] != 0
        right = label_bits if is_raised else rest
        first = 0 if is_raised else rest
        segment_mask = (1 << (rest + label_bits)) - 1
        segment = (labels >> shift) & segment_mask
        rotated = ((segment >> right) | (segment << (rest + label_bits - right))) & segment_mask
        label = (segment >> first) & ((1 << label_bits) - 1)
        # Step 2. The tile. If every move counts, it may be one of no pattern.
        moves_tile = counts_every_move == 0 or (mask >> source) & 1 != 0
        if moves_tile:
            labels ^= (segment ^ rotated) << shift
            mask ^= moves[_at(move + BOTH_CELLS)]
        descents[_at(other + MASK)], descents[_at(other + LABELS)] = mask, labels
        descents[_at(at + BLANK_CELL)] = source
        # Step 3. What is known of the moves.
        row = records[_at(record + TOWARD_START)] + label * n_cells
        for word in range(n_words):
            before = state + MOVE_WORDS + word * WORD_FIELDS
            after = other + MOVE_WORDS + word * WORD_FIELDS
            toward = descents[_at(before + TOWARD)]
            if moves_tile:
                toward ^= toward_goal[_at((row + source) * n_words + word)]
                toward ^= toward_goal[_at((row + target) * n_words + word)]
            descents[_at(after + TOWARD)] = toward
            descents[_at(after + FAILED)] = descents[_at(before + FAILED)] & moves[_at(move + KEPT + word)]
        field = other + MOVE_WORDS + moves[_at(move + REVERSE_WORD)] * WORD_FIELDS
        descents[_at(field + FAILED)] |= moves[_at(move + REVERSE_BIT)]
        # If the neighbour is nearer, this state is left; so the mark matters only if the move fails.
        field = state + MOVE_WORDS + (number >> 6) * WORD_FIELDS
        descents[_at(field + FAILED)] |= 1 << (number & (WORD_BITS - 1))


@borrowing_kernel
def find_neighbours(
    descents: Any, n_descents: int, records: Any, low: Any, high: Any, low_bits: int, high_bits: int, prefix: Any,
    suffix: Any, first_block: Any, region_numbers: Any, n_cells: int, n_words: int, width: int, not_left: int,
    not_right: int, movable: int,
) -> None:  # fmt: skip
    """Compute the address of the neighbour that each descent tries, and list the neighbour's moves.

    descents  int64[n * DESCENT_FIELDS]  mutated
    movable   mask of the cells whose tiles may move even if they are of no pattern
    others    see `LookupTables`
    """
    low_mask, every_cell = (1 << low_bits) - 1, (1 << n_cells) - 1
    numbers = region_numbers.ctypes.data
    for i in range(n_descents):
        at = i * DESCENT_FIELDS
        record = descents[_at(at + RECORD)]
        other = at + (descents[_at(at + CURRENT)] ^ OTHER_STATE)
        mask, labels = descents[_at(other + MASK)], descents[_at(other + LABELS)]
        # Step 1. The address, as in `address_kernels`, with all that depends on the pattern in one record.
        below = mask & low_mask
        above = (popcount(below) << high_bits) | (mask >> low_bits)
        cell_set = np.int64(low[_at(records[_at(record + LOW_START)] + below)])
        cell_set += np.int64(high[_at(records[_at(record + HIGH_START)] + above)])
        region_row = records[_at(record + REGION_NUMBER_START)] + cell_set * n_cells
        number: Any = np.int64(region_numbers[_at(region_row + descents[_at(at + BLANK_CELL)])])
        block = number + np.int64(first_block[_at(records[_at(record + BLOCK_START)] + cell_set)])
        prefix_bits = records[_at(record + PREFIX_BITS)]
        before = labels & ((1 << prefix_bits) - 1)
        order = np.int64(prefix[_at(records[_at(record + PREFIX_START)] + before)])
        order *= records[_at(record + N_SUFFIXES)]
        order += np.int64(suffix[_at(records[_at(record + SUFFIX_START)] + (labels >> prefix_bits))])
        address = records[_at(record + FIRST_BIT)] + block * records[_at(record + BLOCK_BITS)] + order
        descents[_at(at + ADDRESS)] = address
        # Step 2. The moves into the blank's region, by direction.
        tiles = movable | mask
        region = equal_bytes(numbers + region_row, number)
        for first in range(16, n_cells, 16):
            region |= equal_bytes(numbers + region_row + first, number) << first
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
