"""Kernels that find duplicate sequences of moves, and that make the finite-state machine (FSM) that prunes them.

A sequence is a code: two bits a move of the blank, the first move highest; 0 up, 1 left, 2 right, 3 down. Sequences are
played on a grid without borders. The *effect* of a sequence is which piece ends where, the blank among them. Its hash
is the XOR of one number for each piece that is not on its own cell.
"""

from typing import Any

import numpy as np

from pdb_core.jit import inlined_kernel, kernel

# The grid has room for any sequence from its middle.
GRID = 64
MIDDLE = GRID // 2 * GRID + GRID // 2
NO_CHILD, COMPLETE = -1, -2
NO_ENTRY = -1
N_MOVES = 4
# Of the filter in front of a table of hashes, which is larger than the cache.
N_FILTER_BITS = 1 << 23
_FILTER_SHIFT, _TABLE_SHIFT = 30, 8
# Odd numbers of 37 bits: products with the numbers of states fit 64 bits.
_TUPLE_KEYS = (0x1B873593A5, 0x1CC9E2D51B, 0x165667B19F, 0x127D4EB2F3)
_TUPLE_SHIFT = 16


@inlined_kernel
def _target(blank: int, move: int) -> int:
    """Return the cell of the blank after a move."""
    return blank + (-GRID if move == 0 else -1 if move == 1 else 1 if move == 2 else GRID)


@inlined_kernel
def _number(keys: Any, piece: int, cell: int) -> int:
    """Return the number of a piece on a cell; 0 for its own cell."""
    return 0 if piece == cell else keys[piece] * keys[GRID * GRID + cell]


@kernel
def list_sequences(
    successors: Any, length: int, longest_side: int, keys: Any, grid: Any, filter_bits: Any, table: Any, hashes: Any,
    codes: Any, lengths: Any,
) -> int:  # fmt: skip
    """List the sequences that an FSM accepts, of `length` moves and of 2, 4, ... fewer. Returns how many.

    successors    int32[n_states, 4]  the FSM; a negative entry prunes the move
    longest_side  most rows and most columns that the blank may visit
    keys          int64[2 * GRID * GRID]  random numbers of 31 bits, for the cell a piece came from and the one it is on
    grid          int64[GRID * GRID]  scratch: each cell holds its own number, before and after
    filter_bits, table  as `fill_table` makes them, to list only sequences with the hashes there; empty to list all
    hashes        int64[m]            mutated: the hashes of the effects
    codes, lengths  int64[m]          mutated: the sequences; not written if all are listed

    Depth first: sequences with a common beginning share the moves that are played.
    """
    # By depth: the state, the next move to try, the blank's cell, the hash, and the rows and columns visited.
    states, next_moves = np.empty(length + 1, dtype=np.int64), np.empty(length + 1, dtype=np.int64)
    cells, path_hashes = np.empty(length + 1, dtype=np.int64), np.empty(length + 1, dtype=np.int64)
    boxes = np.empty((length + 1, 4), dtype=np.int64)
    states[0], next_moves[0], cells[0], path_hashes[0] = 0, 0, MIDDLE, 0
    boxes[0, :] = GRID // 2
    depth, code, n_listed = 0, 0, 0
    if length & 1 == 0:
        n_listed = _list(0, 0, 0, filter_bits, table, hashes, codes, lengths, n_listed)
    while depth >= 0:
        # Step 1. Undo the last move if none is left to try.
        blank, move = cells[depth], next_moves[depth]
        if move == N_MOVES:
            depth -= 1
            code >>= 2
            if depth >= 0:
                grid[blank], grid[cells[depth]] = grid[cells[depth]], MIDDLE
            continue
        # Step 2. Try a move: whether the FSM and the box allow it, and its effect.
        next_moves[depth] += 1
        state = successors[states[depth], move]
        target = _target(blank, move)
        row, column = target // GRID, target % GRID
        top, bottom = min(boxes[depth, 0], row), max(boxes[depth, 1], row)
        left, right = min(boxes[depth, 2], column), max(boxes[depth, 3], column)
        if state < 0 or bottom - top >= longest_side or right - left >= longest_side:
            continue
        piece = grid[target]
        after = path_hashes[depth] ^ _number(keys, piece, target) ^ _number(keys, piece, blank)
        after ^= _number(keys, MIDDLE, blank) ^ _number(keys, MIDDLE, target)
        if (length - depth) & 1 == 1:
            n_listed = _list(after, code << 2 | move, depth + 1, filter_bits, table, hashes, codes, lengths, n_listed)
        # Step 3. Make it. The last move need not be made.
        if depth + 1 < length:
            grid[blank], grid[target] = piece, MIDDLE
            depth += 1
            code = code << 2 | move
            states[depth], next_moves[depth], cells[depth], path_hashes[depth] = state, 0, target, after
            boxes[depth, 0], boxes[depth, 1], boxes[depth, 2], boxes[depth, 3] = top, bottom, left, right
    return n_listed


@inlined_kernel
def _list(
    found: int, code: int, length: int, filter_bits: Any, table: Any, hashes: Any, codes: Any, lengths: Any,
    n_listed: int,
) -> int:  # fmt: skip
    """List a sequence if its hash is wanted. Returns the new number of sequences."""
    if filter_bits.shape[0] > 0:
        bit = (found >> _FILTER_SHIFT) & (N_FILTER_BITS - 1)
        if (filter_bits[bit >> 3] >> (bit & 7)) & 1 == 0:
            return n_listed
        at = (found >> _TABLE_SHIFT) & (table.shape[0] - 1)
        while table[at] != NO_ENTRY and table[at] != found:
            at = (at + 1) & (table.shape[0] - 1)
        if table[at] == NO_ENTRY:
            return n_listed
        codes[n_listed], lengths[n_listed] = code, length
    hashes[n_listed] = found
    return n_listed + 1


@kernel
def fill_table(hashes: Any, filter_bits: Any, table: Any) -> None:
    """Enter hashes into a hash table with open addressing, and into the filter in front of it.

    hashes     int64[m]             without repetitions
    filter_bits  uint8[N_FILTER_BITS / 8]  mutated: a bit for some bits of each hash
    table      int64[2 ** k]        mutated: more than m entries, NO_ENTRY before
    """
    for i in range(hashes.shape[0]):
        bit = (hashes[i] >> _FILTER_SHIFT) & (N_FILTER_BITS - 1)
        filter_bits[bit >> 3] |= 1 << (bit & 7)
        at = (hashes[i] >> _TABLE_SHIFT) & (table.shape[0] - 1)
        while table[at] != NO_ENTRY:
            at = (at + 1) & (table.shape[0] - 1)
        table[at] = hashes[i]


@inlined_kernel
def _play(code: int, length: int, grid: Any, box: Any) -> None:
    """Play a sequence on a grid that is in order; write the highest and lowest row, leftmost and rightmost column."""
    blank = MIDDLE
    box[:] = GRID // 2
    for at in range(length - 1, -1, -1):
        target = _target(blank, (code >> (2 * at)) & 3)
        grid[blank], grid[target] = grid[target], grid[blank]
        blank = target
        box[0], box[1] = min(box[0], blank // GRID), max(box[1], blank // GRID)
        box[2], box[3] = min(box[2], blank % GRID), max(box[3], blank % GRID)


@inlined_kernel
def _differ(grid: Any, other: Any, box: Any) -> bool:
    """Return whether two grids differ inside a box, and put the second one in order there."""
    result = False
    for row in range(box[0], box[1] + 1):
        for column in range(box[2], box[3] + 1):
            cell = row * GRID + column
            result |= grid[cell] != other[cell]
            other[cell] = cell
    return result


@kernel
def mark_duplicates(
    hashes: Any, codes: Any, lengths: Any, length: int, keeps_equals: bool, grids: Any, boxes: Any, is_duplicate: Any
) -> None:
    """Mark the sequences of `length` moves that an earlier one with the same effect inside the same box replaces.

    hashes, codes, lengths  int64[m]  sequences, ordered by hash, then length, then code
    keeps_equals            only shorter sequences replace others
    grids         int64[2, GRID * GRID]  scratch: each cell holds its own number, before and after
    boxes         int64[m, 4]  scratch
    is_duplicate            bool[m]   mutated: False before

    Effects are compared move by move: equal hashes prove nothing.
    """
    grid, other = grids[0], grids[1]
    first = 0
    for i in range(codes.shape[0]):
        if hashes[i] != hashes[first]:
            first = i
        _play(codes[i], lengths[i], grid, boxes[i])
        if lengths[i] == length:
            for k in range(first, i):
                if is_duplicate[k] or (keeps_equals and lengths[k] == length):
                    continue
                inner, outer = boxes[k], boxes[i]
                if inner[0] < outer[0] or inner[1] > outer[1] or inner[2] < outer[2] or inner[3] > outer[3]:
                    continue
                _play(codes[k], lengths[k], other, boxes[k])
                if not _differ(grid, other, outer):
                    is_duplicate[i] = True
                    break
        _differ(grid, grid, boxes[i])  # puts the grid in order


@kernel
def add_words(codes: Any, length: int, children: Any, n_states: int) -> int:
    """Add sequences of `length` moves to a trie. Returns its new number of states.

    codes     int64[m]     in ascending order; none begins with one that is there
    children  int32[n, 4]  mutated: the states after each move, NO_CHILD, or COMPLETE after the last move of a sequence
    """
    for i in range(codes.shape[0]):
        state = 0
        for at in range(length - 1, 0, -1):
            move = (codes[i] >> (2 * at)) & 3
            if children[state, move] == NO_CHILD:
                children[state, move] = n_states
                n_states += 1
            state = children[state, move]
        children[state, codes[i] & 3] = COMPLETE
    return n_states


@kernel
def link_states(children: Any, queue: Any, suffixes: Any, successors: Any) -> None:
    """Make the automaton of Aho and Corasick of a trie: the state is the longest proper prefix of a word just read.

    children    int32[n, 4]  as `add_words` makes it; no word holds another
    queue, suffixes  int32[n]  scratch
    successors  int32[n, 4]  mutated: the automaton, states numbered breadth first; -1 refuses the move
    """
    queue[0], suffixes[0] = 0, 0
    n_states = 1
    # Breadth first, so that the state of the longest proper suffix is done before.
    for state in range(children.shape[0]):
        for move in range(4):
            behind = 0 if state == 0 else successors[suffixes[state], move]
            child = children[queue[state], move]
            if child == COMPLETE or behind < 0:
                successors[state, move] = -1
            elif child == NO_CHILD:
                successors[state, move] = behind
            else:
                successors[state, move] = n_states
                queue[n_states], suffixes[n_states] = child, behind
                n_states += 1


@inlined_kernel
def _class_after(successors: Any, classes: Any, state: int, move: int) -> int:
    after = successors[state, move]
    return -1 if after < 0 else int(classes[after])


@kernel
def merge_states(successors: Any, classes: Any, table: Any) -> int:
    """Merge states that lead to the same states or to merged ones. Returns how many states were merged.

    successors  int32[n, 4]  an automaton, states numbered breadth first
    classes     int32[n]     mutated: a state that stands for each state and those merged with it
    table       int32[2 ** k]  mutated: scratch, more than n entries

    The deepest states come first, since a state leads to deeper ones. Call again until nothing is merged.
    """
    table[:] = NO_ENTRY
    n_merged = 0
    # A state is merged with one of a higher number, which may itself have been merged since.
    for state in range(successors.shape[0] - 1, -1, -1):
        classes[state] = classes[classes[state]]
    for state in range(successors.shape[0] - 1, -1, -1):
        if classes[state] != state:
            continue
        mixed = 0
        for move in range(4):
            mixed += (_class_after(successors, classes, state, move) + 1) * _TUPLE_KEYS[move]
        at = (mixed >> _TUPLE_SHIFT) & (table.shape[0] - 1)
        while table[at] != NO_ENTRY:
            is_same = True
            for move in range(4):
                here = _class_after(successors, classes, state, move)
                is_same &= here == _class_after(successors, classes, table[at], move)
            if is_same:
                break
            at = (at + 1) & (table.shape[0] - 1)
        if table[at] == NO_ENTRY:
            table[at] = state
        else:
            classes[state] = table[at]
            n_merged += 1
    return n_merged
