"""Packed boards, the hash table of nodes, and the children of a node.

A *row* holds a node: the board in the lower 60 bits of each of its first words, and data of the search beside it. This
is its first word, for a 4x4 board, whose other cells follow from the first 15:

    bit  63     62     61 60         59 .. 56       ...   7 .. 4       3 .. 0
         0      end    last move     tile on 14           tile on 1    tile on cell 0

`last move` is the blank's move that led to the node, without meaning in a root. `end` is 1 if the search reached the
node from the goal. Best-first search has one more word in each row, see `best_first_kernels`.
"""

from typing import NamedTuple

import numpy as np

from pdb_core.bit_kernels import prefetch, trailing_zeros
from pdb_core.jit import borrowing_kernel, inlined_kernel, kernel
from pdb_core.types import N_MOVES, Bytes, Int32s, Int64s

# Bits of a word that hold the board: the same number for tiles of 4, 5 and 6 bits.
KEY_BITS = 60
KEY_MASK = (1 << KEY_BITS) - 1
LAST_MOVE_SHIFT, LAST_MOVE_MASK, END_SHIFT = KEY_BITS, 3, KEY_BITS + 2

# What a search kernel returns: it did its share; rows must grow; it found a solution; nothing is left to expand; the
# open list must grow.
PAUSED, NO_ROOM, FOUND, FINISHED, NO_BUCKETS = range(5)
# The counters of a search; the last two belong to its kernel.
N_COUNTERS = 8
GENERATED, EXPANDED, REOPENED, N_OPEN, PEAK_OPEN, N_NODES = range(N_COUNTERS - 2)

_HALF_BITS = 30
_HALF_MASK = (1 << _HALF_BITS) - 1
_WORD32 = (1 << 32) - 1
# Odd numbers without structure below 2^30, so that no product below leaves 63 bits: the fractional parts of the square
# roots of 2, 3 and 5.
_LOWER, _UPPER, _MIX = 444_758_425, 786_033_569, 253_476_061

_index = np.uint64


class Packing(NamedTuple):
    """Packing of boards of a size, and the moves of the blank.

    The last cell is left out: its tile is the one that is on no other cell. So 16 cells take one word, 25 two, 36 four.

    goal        int64[n_words]             the goal, packed
    word_of     int64[n_cells]             the word that holds a cell; -1 for the last one
    shifts      int64[n_cells]             the lowest bit of a cell in that word
    edge_cells  int64[n_cells * N_MOVES]   the cell each move takes the blank to
    cell_moves  int64[n_cells]             mask of the legal moves
    """

    n_cells: int
    n_words: int
    tile_bits: int
    goal: Int64s
    word_of: Int64s
    shifts: Int64s
    edge_cells: Int64s
    cell_moves: Int64s


class Nodes(NamedTuple):
    """Arrays of the stored nodes. A node id counts nodes in the order in which they were generated.

    rows    int64[capacity * row_size]  a node's packed board, then data of the search
    values  uint8[capacity * n_values]  bytes of each node, such as the distances of its units
    slots   int32[2^k]                  hash table: a node id plus 1, or 0; collisions go to the next slot
    """

    rows: Int64s
    values: Bytes
    slots: Int32s
    row_size: int


@borrowing_kernel
def unpack(packing: Packing, words: Int64s, start: int, board: Bytes) -> int:
    """Write the board packed at words[start] to `board`. Returns the blank's cell."""
    n_cells = packing.n_cells
    left = n_cells * (n_cells - 1) // 2
    blank = n_cells - 1
    tile_mask = (1 << packing.tile_bits) - 1
    for cell in range(n_cells - 1):
        word = words[_index(start + packing.word_of[_index(cell)])]
        tile = (word >> packing.shifts[_index(cell)]) & tile_mask
        board[_index(cell)] = tile
        left -= tile
        blank = cell if tile == 0 else blank
    board[_index(n_cells - 1)] = left
    return blank


@borrowing_kernel
def move_packed(
    packing: Packing, words: Int64s, start: int, children: Int64s, child: int, tile: int, blank: int, cell: int
) -> None:
    """Write to children[child] the board packed at words[start], with `tile` moved from `cell` to `blank`."""
    for i in range(packing.n_words):
        children[_index(child + i)] = words[_index(start + i)] & KEY_MASK
    if packing.word_of[_index(cell)] >= 0:
        children[_index(child + packing.word_of[_index(cell)])] ^= tile << packing.shifts[_index(cell)]
    if packing.word_of[_index(blank)] >= 0:
        children[_index(child + packing.word_of[_index(blank)])] ^= tile << packing.shifts[_index(blank)]


@borrowing_kernel
def first_slot(packing: Packing, words: Int64s, start: int, n_slots: int) -> int:
    """Return the first slot to try for the board packed at words[start]; n_slots is a power of 2.

    No product overflows, so that the slot does not depend on whether the JIT is on.
    """
    state = 0
    for i in range(packing.n_words):
        word = words[_index(start + i)] & KEY_MASK
        product = (word & _HALF_MASK) * _LOWER + (word >> _HALF_BITS) * _UPPER
        state = ((state * _MIX) >> 11) ^ product ^ (product >> 31)
        state &= _WORD32
    return ((state * _MIX) >> 20) & (n_slots - 1)


@borrowing_kernel
def find(packing: Packing, nodes: Nodes, children: Int64s, child: int, slot: int) -> int:
    """Look for the board packed at children[child] from its first slot on.

    Returns its slot, or -1 - (the empty slot for it).
    """
    while True:
        node = np.int64(nodes.slots[_index(slot)]) - 1
        if node < 0:
            return -1 - slot
        row = node * nodes.row_size
        is_same = True
        for i in range(packing.n_words):
            is_same &= (nodes.rows[_index(row + i)] & KEY_MASK) == children[_index(child + i)]
        if is_same:
            return slot
        slot = (slot + 1) & (len(nodes.slots) - 1)


@borrowing_kernel
def add_node(
    packing: Packing, nodes: Nodes, counters: Int64s, children: Int64s, child: int, data: int, slot: int
) -> int:
    """Add a node with the board packed at children[child], and enter it into a slot. Returns its id.

    `data` are the bits above the board in the first word of the row.
    """
    node = counters[N_NODES]
    row = node * nodes.row_size
    for i in range(packing.n_words):
        nodes.rows[_index(row + i)] = children[_index(child + i)]
    nodes.rows[_index(row)] |= data << KEY_BITS
    nodes.slots[_index(slot)] = node + 1
    counters[N_NODES] = node + 1
    return node  # type: ignore[no-any-return]


@kernel
def rehash(packing: Packing, nodes: Nodes, first: int, last: int) -> None:
    """Enter nodes `first` to `last` - 1 into slots that are new. Of two nodes of one board the later counts."""
    child = np.empty(packing.n_words, dtype=np.int64)
    for node in range(first, last):
        row = node * nodes.row_size
        for i in range(packing.n_words):
            child[i] = nodes.rows[row + i] & KEY_MASK
        slot = find(packing, nodes, child, 0, first_slot(packing, child, 0, len(nodes.slots)))
        nodes.slots[_index(slot if slot >= 0 else -1 - slot)] = node + 1


@inlined_kernel
def list_children(
    packing: Packing,
    nodes: Nodes,
    parent: int,
    n_roots: int,
    board: Bytes,
    children: Int64s,
    slots: Int64s,
) -> tuple[int, int]:
    """Write the board of a node, its packed children and their first slots, and prefetch their nodes.

    n_roots   node ids below this are roots; from all other nodes the last move is not undone
    board     uint8[n_cells]  mutated
    children  int64[N_MOVES * n_words]  mutated: the child of each move
    slots     int64[N_MOVES]  mutated
    Returns the blank's cell and the mask of the moves to the children.
    """
    slot_base, row_base = nodes.slots.ctypes.data, nodes.rows.ctypes.data
    row = parent * nodes.row_size
    blank = unpack(packing, nodes.rows, row, board)
    moves = packing.cell_moves[_index(blank)]
    if parent >= n_roots:
        last_move = (nodes.rows[_index(row)] >> LAST_MOVE_SHIFT) & LAST_MOVE_MASK
        moves &= ~(1 << (N_MOVES - 1 - last_move))
    untried = moves
    while untried != 0:
        move = trailing_zeros(untried)
        untried &= untried - 1
        cell = packing.edge_cells[_index(blank * N_MOVES + move)]
        child = move * packing.n_words
        tile = np.int64(board[_index(cell)])
        move_packed(packing, nodes.rows, row, children, child, tile, blank, cell)  # type: ignore[arg-type]
        slot = first_slot(packing, children, child, len(nodes.slots))
        slots[_index(move)] = slot
        prefetch(slot_base + 4 * slot)
    untried = moves
    while untried != 0:
        move = trailing_zeros(untried)
        untried &= untried - 1
        node = np.int64(nodes.slots[_index(slots[_index(move)])]) - 1
        prefetch(row_base + 8 * nodes.row_size * max(node, 0))  # type: ignore[operator]
    return blank, moves
