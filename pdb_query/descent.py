"""Numbers that `descent_kernels` reads in addition to the tables: sets of moves, records of moves and of patterns.

All are in one array, because numba spends compile time on each array argument of a kernel.

A move is a cell and a direction: the tile on that cell goes to the next cell in that direction. A set of moves is one
word of 64 bits for boards of up to 16 cells, 2 words for up to 32 cells, 4 words beyond. Direction d of cell c is bit
`n_cells * (d % per_word) + c` of word `d // per_word`, where `per_word` directions share a word. The last direction is
down, and the last cell has no cell below it, so the sign bit is never used.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import Cost
from pdb_core.puzzle import BoardSize

Int64s = npt.NDArray[np.int64]

UP, LEFT, RIGHT, DOWN = DIRECTIONS = range(4)
WORD_BITS = 64

# The array begins with these fields. Then come the records of the patterns, the records of the moves (at MOVES_START),
# and the moves toward the goal.
HEADER_FIELDS = 16
(
    N_CELLS, N_WORDS, N_PATTERNS, WIDTH, NOT_LEFT, NOT_RIGHT, DARK_CELLS, COUNTS_EVERY_MOVE, LOW_BITS, HIGH_BITS,
    MOVES_START,
) = range(11)  # fmt: skip

# The cells of a move, both cells as a mask, the cells below both and between the two as masks, 1 if the target is the
# higher cell, the bit of the reverse move; from `KEPT` on the words of the moves that this one does not affect.
MOVE_FIELDS = 16
SOURCE, TARGET, BOTH_CELLS, CELLS_BELOW, CELLS_BETWEEN, IS_RAISED, REVERSE_WORD, REVERSE_BIT, KEPT = range(9)

# Fields of the record of a pattern: the starts of its parts in arrays of `LookupTables`, and its sizes. LOW_START,
# HIGH_START and BLOCK_START are indices of `set_ranks`, PREFIX_START and SUFFIX_START of `order_ranks`.
# GOAL_MASK is the cell set of the goal, or the blank's cell if every move counts.
RECORD_FIELDS = 16
(
    LOW_START, HIGH_START, REGION_NUMBER_START, BLOCK_START, PREFIX_START, SUFFIX_START,
    TOWARD_START, LABEL_BITS, PREFIX_BITS, N_SUFFIXES, FIRST_BIT, BLOCK_BITS, GOAL_ADDRESS, GOAL_MASK,
) = range(14)  # fmt: skip


def directions_per_word(n_cells: int) -> int:
    """Return how many directions share a word: 4, 2 or 1."""
    return 4 if 4 * n_cells <= WORD_BITS else 2 if 2 * n_cells <= WORD_BITS else 1


def n_words_of(n_cells: int) -> int:
    """Return the number of words of a set of moves."""
    return len(DIRECTIONS) // directions_per_word(n_cells)


def neighbour_in(size: BoardSize, cell: int, direction: int) -> int | None:
    """Return the next cell in a direction, None at the border."""
    row, column = divmod(cell, size.width)
    row += {UP: -1, DOWN: 1}.get(direction, 0)
    column += {LEFT: -1, RIGHT: 1}.get(direction, 0)
    return size.cell(row, column) if 0 <= row < size.height and 0 <= column < size.width else None


def place_of_move(size: BoardSize, cell: int, direction: int) -> tuple[int, int]:
    """Return the word and the bit of a move."""
    word, at = divmod(direction, directions_per_word(size.n_cells))
    return word, size.n_cells * at + cell


def moves_toward_goal(size: BoardSize, goal_cells: Sequence[int]) -> Int64s:
    """Return the moves that bring a tile on a cell nearer to its goal cell, by Manhattan distance.

    int64[labels, n_cells, n_words]; `goal_cells` has the goal cell of each label.
    """
    words = np.zeros((len(goal_cells), size.n_cells, n_words_of(size.n_cells)), dtype=np.int64)
    for label, goal_cell in enumerate(goal_cells):
        for cell in range(size.n_cells):
            for direction in DIRECTIONS:
                near = neighbour_in(size, cell, direction)
                if near is not None and _manhattan(size, near, goal_cell) < _manhattan(size, cell, goal_cell):
                    word, bit = place_of_move(size, cell, direction)
                    words[label, cell, word] |= 1 << bit
    return words


def _manhattan(size: BoardSize, cell: int, other: int) -> int:
    (row, column), (other_row, other_column) = divmod(cell, size.width), divmod(other, size.width)
    return abs(row - other_row) + abs(column - other_column)


def move_records(size: BoardSize, cost: Cost) -> Int64s:
    """Return the record of each move, int64[64 * n_words, MOVE_FIELDS]: row 64 * word + bit. Rows without a move are 0.

    If every move counts, each move affects all others, because it moves the blank.
    """
    n_words = n_words_of(size.n_cells)
    moves = [
        (cell, direction, near)
        for cell in range(size.n_cells)
        for direction in DIRECTIONS
        if (near := neighbour_in(size, cell, direction)) is not None
    ]
    records = np.zeros((WORD_BITS * n_words, MOVE_FIELDS), dtype=np.int64)
    for cell, direction, near in moves:
        word, bit = place_of_move(size, cell, direction)
        record = records[WORD_BITS * word + bit]
        lower, upper = min(cell, near), max(cell, near)
        record[SOURCE], record[TARGET] = cell, near
        record[BOTH_CELLS] = 1 << cell | 1 << near
        record[CELLS_BELOW] = (1 << lower) - 1
        record[CELLS_BETWEEN] = (1 << upper) - (2 << lower)
        record[IS_RAISED] = near > cell
        reverse_word, reverse_bit = place_of_move(size, near, DOWN - direction)
        record[REVERSE_WORD], record[REVERSE_BIT] = reverse_word, 1 << reverse_bit
        if cost == "additive":
            for other_cell, other_direction, other_near in moves:
                if not {other_cell, other_near} & {cell, near}:
                    other_word, other_bit = place_of_move(size, other_cell, other_direction)
                    record[KEPT + other_word] |= 1 << other_bit
    return records
