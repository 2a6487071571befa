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

from pdb_core.bit_kernels import equal_bytes, load_byte, load_word, popcount, prefetch, trailing_zeros
from pdb_core.encoding import UNREACHED
from pdb_core.jit import inlined_kernel, kernel
from pdb_query.lookup_kernels import find_tiles, move_state, place_unit, rank_order, rank_set
from pdb_query.records import (
    BLOCK_BITS,
    BLOCKS,
    FIRST_TOWARD,
    GOAL_BIT,
    GOAL_MASK,
    KEPT,
    LABEL_BITS,
    MOVE_FIELDS,
    RECORD_FIELDS,
    REGIONS,
    REVERSE,
    SOURCE,
    TABLE_BIT,
    TARGET,
    WORD_BITS,
)

# Descents in flight.
MOST_DESCENTS = 64
# A distance is a byte, and UNREACHED is none.
MAX_MOVES = UNREACHED - 1

# Fields of a descent. UNIT is -1 for no unit. RECORD is the index of the record of the pattern. N_MOVES is -1 until the
# first bit is read. LOWER_BIT is the bit of a neighbour that is one move nearer, PARITY that of the distance. ADDRESS
# is that of the neighbour, OWN_ADDRESS that of the state. MOVE is the move to the neighbour, or NO_MOVE for a descent
# that has just started or ended. BLANK_CELL is the blank's cell in the neighbour, CELL_SET the rank of the neighbour's
# cell set. A descent has two states, the one that it is at and the neighbour that it tries: fields STATES and STATES +
# 1. CURRENT is the number of the one that it is at.
UNIT, RECORD, N_MOVES, LOWER_BIT, PARITY, ADDRESS, OWN_ADDRESS, CURRENT, MOVE, BLANK_CELL, CELL_SET, STATES = range(12)
DESCENT_FIELDS = 16
NO_MOVE = -1
# For each state, and each word of a set of moves: those that are untried, that lead nearer to a goal cell and that have
# failed.
UNTRIED, NEARER, FAILED, WORD_FIELDS = range(4)

# An entry of `memo`; 0 for none:
#
#     63                                8                        0
#     | bit address of a state          | its distance, at least 1 |
#
# Its index is made of the product of the address and this odd number of 20 bits. The product of a bit address below
# 2^43 fits in 63 bits.
DISTANCE_BITS = 8
MEMO_FACTOR = 648053
MEMO_SHIFT = 16

# Unsigned indices spare numba its test for negative ones.
_at = np.uint64


@kernel
def probe_bits(
    boards: Any,
    unit_maps: Any,
    tables: Any,
    states: Any,
    values: Any,
    cells: Any,
    descents: Any,
    moves: Any,
    memo: Any,
) -> None:
    """Find the states and distances of all units of all boards in tables in bits.

    boards     uint8[m * n_cells]          valid boards
    unit_maps  see `SumViews`
    tables     `LookupTables`
    states     int64[units]                mutated
    values     uint8[units]                mutated: the distances; UNREACHED if a descent does not end at the goal
    cells      int64[n_cells]              mutated: scratch memory, as are the next two. Arrays made here would cost a
                                           short command 3 % of its time: numba would import its arrays for them.
    descents   int64[n, DESCENT_FIELDS]    at least one descent in flight
    moves      int64[n, 2, n_words, WORD_FIELDS]
    memo       int64                       mutated: distances that were found; the length is a power of 2
    """
    n_units, n_descents = values.shape[0], descents.shape[0]
    descents[:, UNIT] = -1
    base, memo_base, memo_mask = tables.memory.ctypes.data, memo.ctypes.data, memo.shape[0] - 1
    # Not a constant: numba would compile a kernel once more for it.
    n_started: Any = np.int64(0)
    n_left = n_units
    while n_left != 0:
        # Step 1. Read the bits, and choose the next move of each descent.
        n_left -= read_and_choose(tables, descents, moves, memo, values)
        # Step 2. Start descents in the place of those that have ended.
        for i in range(n_descents):
            if descents[_at(i), UNIT] < 0 and n_started != n_units:
                start_descent(boards, unit_maps, tables, n_started, states, cells, descents[_at(i)], moves[_at(i)])
                n_started += 1
        # Step 3. Make the moves.
        make_moves(tables, descents, moves)
        # Step 4. Compute the addresses, in two steps, because what the second one reads may not be in the first cache.
        rank_sets(tables, descents)
        find_neighbours(tables, descents, moves)
        # Step 5. Prefetch them, apart: each prefetch waits for its page, and many of them wait at a time.
        for i in range(n_descents):
            address = descents[_at(i), ADDRESS]
            prefetch(base + (address >> 3))
            prefetch(memo_base + 8 * memo_index(address, memo_mask))


@inlined_kernel
def memo_index(address: int, memo_mask: int) -> int:
    """Return the index of a state in `memo`."""
    return ((address * MEMO_FACTOR) >> MEMO_SHIFT) & memo_mask


@inlined_kernel
def read_and_choose(tables: Any, descents: Any, moves: Any, memo: Any, values: Any) -> int:
    """Read the bit of the neighbour that each descent tries, and choose the next move.

    A descent goes to the neighbour if that is one move nearer. Returns the number of descents that have ended.
    Parameters are those of `probe_bits`.
    """
    n_ended = 0
    memo_mask = memo.shape[0] - 1
    for i in range(descents.shape[0]):
        descent = descents[_at(i)]
        unit = descent[UNIT]
        if unit < 0:
            continue
        # Step 1. The bit. The parity changes with a move, so the bit tells a lower distance from a higher one.
        address = descent[ADDRESS]
        bit = (np.int64(tables.memory[_at(address >> 3)]) >> (address & 7)) & 1
        n_moves = descent[N_MOVES]
        if n_moves < 0:
            descent[LOWER_BIT] = bit
        is_lower = (bit ^ descent[LOWER_BIT]) ^ 1
        n_moves += is_lower
        before = descent[OWN_ADDRESS]
        descent[N_MOVES] = n_moves
        descent[CURRENT] ^= is_lower
        descent[PARITY] ^= is_lower
        descent[OWN_ADDRESS] = before ^ (-is_lower & (before ^ address))
        descent[LOWER_BIT] ^= is_lower & (descent[PARITY] ^ 1)
        # Step 2. The next move.
        own = moves[_at(i), _at(descent[CURRENT])]
        chosen, best = best_moves(own[0])
        word = 0
        for w in range(1, tables.n_words):
            candidates, kind = best_moves(own[_at(w)])
            if kind > best:
                best, chosen, word = kind, candidates, w
        # Step 3. The end. The lower byte is the distance if the entry is that of the address.
        rest = memo[_at(memo_index(address, memo_mask))] ^ (address << DISTANCE_BITS)
        is_known = (rest > 0) & (rest <= UNREACHED)
        is_goal = address == tables.records[_at(descent[RECORD] + GOAL_BIT)]
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
            descent[UNIT], descent[MOVE] = -1, NO_MOVE
            n_ended += 1
            continue
        number = trailing_zeros(chosen)
        descent[MOVE] = word * WORD_BITS + number
        own[_at(word), UNTRIED] ^= 1 << number
    return n_ended


@inlined_kernel
def best_moves(word: Any) -> tuple[int, int]:
    """Return the untried moves of a word that are best tried first, and how good they are, 0 for none."""
    untried = word[UNTRIED]
    fresh = untried & ~word[FAILED]
    nearer = untried & word[NEARER]
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
    boards: Any, unit_maps: Any, tables: Any, unit: int, states: Any, cells: Any, descent: Any, moves: Any
) -> None:
    """Start the descent of the next unit: its start is a neighbour to be read.

    Other parameters are those of `probe_bits`.
    """
    n_cells, n_words = tables.n_cells, tables.n_words
    n_patterns, n_maps = tables.records.shape[0] // RECORD_FIELDS, unit_maps.shape[0] // (2 * n_cells)
    record = unit % n_patterns * RECORD_FIELDS
    label_bits = tables.records[_at(record + LABEL_BITS)]
    # Step 1. The tiles of the unit, by their cells.
    board, unit_of_board = divmod(unit, n_maps)
    if unit_of_board == 0:
        find_tiles(boards, board * n_cells, cells)
    state, blank = place_unit(cells, unit_maps, unit_of_board * 2 * n_cells, tables, record)
    states[_at(unit)] = state
    # Step 2. The state. As if one move before the start, from which every bit leads on.
    coloured = 1 << blank if tables.counts_every_move != 0 else state
    odd = popcount((coloured ^ tables.records[_at(record + GOAL_MASK)]) & tables.dark_cells) & 1
    descent[UNIT], descent[RECORD], descent[MOVE], descent[CURRENT] = unit, record, NO_MOVE, 0
    descent[N_MOVES], descent[PARITY], descent[OWN_ADDRESS] = -1, odd ^ 1, 0
    descent[BLANK_CELL], descent[STATES + 1] = blank, state
    # Step 3. The moves.
    for word in range(n_words):
        toward = 0
        rest, left = state & ((1 << n_cells) - 1), state >> n_cells
        while rest != 0:
            label = left & ((1 << label_bits) - 1)
            row = label * n_cells + trailing_zeros(rest)
            toward |= tables.toward[_at(tables.records[_at(record + FIRST_TOWARD)] + row * n_words + word)]
            rest &= rest - 1
            left >>= label_bits
        moves[1, _at(word), NEARER] = toward
        moves[1, _at(word), FAILED] = 0


@inlined_kernel
def make_moves(tables: Any, descents: Any, moves: Any) -> None:
    """Write the neighbour that the chosen move of each descent leads to."""
    n_cells, n_words = tables.n_cells, tables.n_words
    for i in range(descents.shape[0]):
        descent = descents[_at(i)]
        number = descent[MOVE]
        if number < 0:
            continue
        current = descent[CURRENT]
        own, other = moves[_at(i), _at(current)], moves[_at(i), _at(current ^ 1)]
        record = descent[RECORD]
        move = number * MOVE_FIELDS
        source, target = tables.moves[_at(move + SOURCE)], tables.moves[_at(move + TARGET)]
        # Step 1. The tile. If every move counts, it may be one of no pattern.
        state = descent[_at(STATES + current)]
        moves_tile = tables.counts_every_move == 0 or (state >> source) & 1 != 0
        descent[_at(STATES + (current ^ 1))] = move_state(tables, record, move, state) if moves_tile else state
        descent[BLANK_CELL] = source
        # Step 2. The sets of moves that lead toward the goal, and that have failed.
        label_bits = tables.records[_at(record + LABEL_BITS)]
        label = state >> (n_cells + label_bits * popcount(state & ((1 << source) - 1)))
        row = tables.records[_at(record + FIRST_TOWARD)] + (label & ((1 << label_bits) - 1)) * n_cells * n_words
        for word in range(n_words):
            toward = own[_at(word), NEARER]
            if moves_tile:
                toward ^= tables.toward[_at(row + source * n_words + word)]
                toward ^= tables.toward[_at(row + target * n_words + word)]
            other[_at(word), NEARER] = toward
            other[_at(word), FAILED] = own[_at(word), FAILED] & tables.moves[_at(move + KEPT + word)]
        reverse = tables.moves[_at(move + REVERSE)]
        other[_at(reverse >> 6), FAILED] |= 1 << (reverse & (WORD_BITS - 1))
        # If the neighbour is nearer, this state is left; so the mark matters only if the move fails.
        own[_at(number >> 6), FAILED] |= 1 << (number & (WORD_BITS - 1))


@inlined_kernel
def rank_sets(tables: Any, descents: Any) -> None:
    """Compute the rank of each neighbour's cell set, and prefetch what `find_neighbours` reads of the cell set."""
    for i in range(descents.shape[0]):
        descent = descents[_at(i)]
        if descent[UNIT] < 0:
            continue
        record = descent[RECORD]
        cell_set = rank_set(tables, record, descent[_at(STATES + (descent[CURRENT] ^ 1))])
        descent[CELL_SET] = cell_set
        prefetch(tables.records[_at(record + BLOCKS)] + 4 * cell_set)
        prefetch(tables.records[_at(record + REGIONS)] + cell_set * tables.n_cells)


@inlined_kernel
def find_neighbours(tables: Any, descents: Any, moves: Any) -> None:
    """Compute the address of the neighbour that each descent tries, and list the neighbour's moves."""
    n_cells, n_words, width = tables.n_cells, tables.n_words, tables.width
    every_cell = (1 << n_cells) - 1
    # If every move counts, tiles of no pattern move, too.
    movable = every_cell if tables.counts_every_move != 0 else 0
    for i in range(descents.shape[0]):
        descent = descents[_at(i)]
        if descent[UNIT] < 0:
            continue
        record = descent[RECORD]
        other = descent[CURRENT] ^ 1
        state = descent[_at(STATES + other)]
        # Step 1. The address: that of `state_address`, but the cell set is known, and the region is needed below.
        cell_set = descent[CELL_SET]
        regions = tables.records[_at(record + REGIONS)] + cell_set * n_cells
        region_number = load_byte(regions + descent[BLANK_CELL])
        block = load_word(tables.records[_at(record + BLOCKS)] + 4 * cell_set) + region_number
        address = tables.records[_at(record + TABLE_BIT)] + block * tables.records[_at(record + BLOCK_BITS)]
        descent[ADDRESS] = address + rank_order(tables, record, state >> n_cells)
        # Step 2. The moves into the blank's region, by direction.
        tiles = (movable | state) & every_cell
        region = equal_bytes(regions, region_number)
        for cell in range(16, n_cells, 16):
            region |= equal_bytes(regions + cell, region_number) << cell
        region &= every_cell
        up = (region << width) & tiles
        left = ((region & tables.not_right) << 1) & tiles
        right = ((region & tables.not_left) >> 1) & tiles
        down = (region >> width) & tiles
        untried = moves[_at(i), _at(other), :, UNTRIED]
        if n_words == 1:
            untried[0] = up | left << n_cells | right << (2 * n_cells) | down << (3 * n_cells)
        elif n_words == 2:
            untried[0], untried[1] = up | left << n_cells, right | down << n_cells
        else:
            untried[0], untried[1], untried[2], untried[3] = up, left, right, down
