"""Kernels that find duplicate sequences of moves, and that make the finite-state machine (FSM) that prunes them.

A sequence is a code: two bits a move of the blank, the first move highest; 0 up, 1 left, 2 right, 3 down. Sequences are
played on a grid without borders. The *effect* of a sequence is which piece ends where, the blank among them. Its hash
is the XOR of one number for each piece that is not on its own cell.

An *entry* is a listed sequence of up to n moves:

    bit  63    62 .. 2n+1               2n .. 0
         0     bits of the hash         1, then the code: 2 bits a move

So sorted entries are in the order of their hashes, then lengths, then codes. ~entry is a duplicate.
"""

import numpy as np

from pdb_core.jit import inlined_kernel, kernel
from pdb_core.types import N_MOVES, Int32s, Int64s

# The state after each state and move of the blank, int32[n, 4].
States = Int32s

# The grid has room for any sequence from its middle.
GRID = 64
MIDDLE = GRID // 2 * GRID + GRID // 2
NO_CHILD, COMPLETE = -1, -2
# The bits of a hash that an entry holds begin here.
_HASH_SHIFT = 16


@inlined_kernel
def _target(blank: int, move: int) -> int:
    """Return the cell of the blank after a move."""
    return blank + (-GRID if move == 0 else -1 if move == 1 else 1 if move == 2 else GRID)


@inlined_kernel
def _number(keys: Int64s, piece: int, cell: int) -> int:
    """Return the number of a piece on a cell; 0 for its own cell."""
    return 0 if piece == cell else keys[piece] * keys[GRID * GRID + cell]


@inlined_kernel
def _entry(effect_hash: int, code: int, n_moves: int, length: int) -> int:
    """Return the entry of a sequence of `n_moves` moves in a list of sequences of up to `length`."""
    hash_bits = (effect_hash >> _HASH_SHIFT) & ((1 << (62 - 2 * length)) - 1)
    return hash_bits << (2 * length + 1) | 1 << (2 * n_moves) | code


@kernel
def list_sequences(successors: States, length: int, longest_side: int, keys: Int64s, entries: Int64s) -> int:
    """List the sequences that an FSM accepts, of `length` moves and of 2, 4, ... fewer. Returns how many.

    successors    int32[n_states, 4]  the FSM; a negative entry prunes the move
    longest_side  most rows and most columns that the blank may visit
    keys          int64[2 * GRID * GRID]  random numbers of 31 bits, for the cell a piece came from and the one it is on
    entries       int64[m]  mutated

    Depth first: sequences with a common beginning share the moves that are played.
    """
    grid = np.arange(GRID * GRID)
    # By depth: the state, the next move to try, the blank's cell, the hash, and the rows and columns visited.
    states, next_moves = np.empty(length + 1, dtype=np.int64), np.empty(length + 1, dtype=np.int64)
    cells, path_hashes = np.empty(length + 1, dtype=np.int64), np.empty(length + 1, dtype=np.int64)
    boxes = np.empty((length + 1, 4), dtype=np.int64)
    states[0], next_moves[0], cells[0], path_hashes[0] = 0, 0, MIDDLE, 0
    boxes[0, :] = GRID // 2
    depth, code, n_listed = 0, 0, 0
    if length & 1 == 0:
        entries[0] = _entry(0, 0, 0, length)
        n_listed = 1
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
            entries[n_listed] = _entry(after, code << 2 | move, depth + 1, length)
            n_listed += 1
        # Step 3. Make it. The last move need not be made.
        if depth + 1 < length:
            grid[blank], grid[target] = piece, MIDDLE
            depth += 1
            code = code << 2 | move
            states[depth], next_moves[depth], cells[depth], path_hashes[depth] = state, 0, target, after
            boxes[depth, 0], boxes[depth, 1], boxes[depth, 2], boxes[depth, 3] = top, bottom, left, right
    return n_listed


@inlined_kernel
def _play(code: int, length: int, grid: Int64s, box: Int64s) -> None:
    """Play a sequence of up to `length` moves, a code below a 1, on a grid that is in order.

    Write the highest and the lowest row, and the leftmost and the rightmost column that the blank visits.
    """
    blank = MIDDLE
    box[:] = GRID // 2
    while code >> (2 * length) == 0:
        length -= 1
    for step in range(length - 1, -1, -1):
        target = _target(blank, (code >> (2 * step)) & 3)
        grid[blank], grid[target] = grid[target], grid[blank]
        blank = target
        box[0], box[1] = min(box[0], blank // GRID), max(box[1], blank // GRID)
        box[2], box[3] = min(box[2], blank % GRID), max(box[3], blank % GRID)


@inlined_kernel
def _differ(grid: Int64s, other: Int64s, box: Int64s) -> bool:
    """Return whether two grids differ inside a box, and put the second one in order there."""
    result = False
    for row in range(box[0], box[1] + 1):
        for column in range(box[2], box[3] + 1):
            cell = row * GRID + column
            result |= grid[cell] != other[cell]
            other[cell] = cell
    return result


@kernel
def mark_duplicates(entries: Int64s, length: int, keeps_equals: bool) -> None:
    """Mark the sequences of `length` moves that an earlier one with the same effect inside the same box replaces.

    entries       int64[m]  sorted; mutated: ~entry for a duplicate
    keeps_equals  only shorter sequences replace others

    Effects are compared move by move: equal bits of hashes prove nothing.
    """
    grid, other = np.arange(GRID * GRID), np.arange(GRID * GRID)
    outer, inner = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    code_mask, full_length = (2 << (2 * length)) - 1, 1 << (2 * length)
    first, first_hash = 0, -1
    for i in range(len(entries)):
        hash_bits = entries[i] >> (2 * length + 1)
        if hash_bits != first_hash:
            first, first_hash = i, hash_bits
        if i == first or entries[i] & full_length == 0:
            continue
        _play(entries[i] & code_mask, length, grid, outer)
        for k in range(first, i):
            if entries[k] < 0 or (keeps_equals and entries[k] & full_length != 0):
                continue
            _play(entries[k] & code_mask, length, other, inner)
            if inner[0] < outer[0] or inner[1] > outer[1] or inner[2] < outer[2] or inner[3] > outer[3]:
                _differ(other, other, inner)  # puts the grid in order
            elif not _differ(grid, other, outer):
                entries[i] = ~entries[i]
                break
        _differ(grid, grid, outer)


@kernel
def add_words(codes: Int64s, length: int, children: States, n_states: int) -> int:
    """Add sequences of `length` moves to a trie. Returns its new number of states.

    codes     int64[m]     in ascending order; none begins with one that is there
    children  int32[n, 4]  mutated: the states after each move, NO_CHILD, or COMPLETE after the last move of a sequence
    """
    for i in range(codes.shape[0]):
        state = 0
        for step in range(length - 1, 0, -1):
            move = (codes[i] >> (2 * step)) & 3
            if children[state, move] == NO_CHILD:
                children[state, move] = n_states
                n_states += 1
            state = children[state, move]
        children[state, codes[i] & 3] = COMPLETE
    return n_states


@kernel
def link_states(children: States, successors: States) -> None:
    """Make the automaton of Aho and Corasick of a trie: the state is the longest proper prefix of a word just read.

    children    int32[n, 4]  as `add_words` makes it; no word holds another
    successors  int32[n, 4]  mutated: the automaton, states numbered breadth first; -1 prunes the move
    """
    queue, suffixes = np.empty(len(children), dtype=np.int32), np.empty(len(children), dtype=np.int32)
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
