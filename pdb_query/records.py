"""Records of patterns and of the moves of tiles: the numbers with which kernels find entries of tables.

A *state* of a pattern is one word. For k tiles on n cells, with b bits for each label:

    bit n + k * b              n + 2 * b       n + b           n                 0
        | label of tile k | ... | label 2       | label 1       | cell set        |

The labels are those of the tiles on the cells of the set, the lowest cell first. `TableSpec` rejects patterns whose
states do not fit a word.

A *move* takes the tile on a cell to the next cell in a direction. A set of moves is one word of 64 bits for boards of
up to 16 cells, 2 words for up to 32 cells, 4 words beyond. For 5x5, with 25 cells:

    bit 63     50                25               0
        | unused | left, by cell  | up, by cell   |  word 0
        | unused | down, by cell  | right, by cell|  word 1

The last direction is down, and the last cell has no cell below it, so the sign bit is never used.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import Cost
from pdb_core.puzzle import BoardSize

Int64s = npt.NDArray[np.int64]

WORD_BITS = 64

# Fields of the record of a pattern.
#   LOW, HIGH, PREFIX, SUFFIX  addresses of the parts of the ranks of cell sets (32 bits each) and of arrangements (16
#                              bits), see `ranking`
#   BLOCKS, REGIONS   addresses of the first block of each cell set (32 bits) and of the number of the blank's region by
#                     cell set and cell (a byte), see `layout.Blocks`; 0 in bytes, where the cell set is the block
#   TABLE_BIT         where the table begins, in bits: from the beginning of the memory on, or in an absolute address
#   BLOCK_BITS, ENTRY_SHIFT  the bits of a block, and the logarithm of those of an entry
#   FIRST_TOWARD            where the moves toward the goal begin in `LookupTables.toward`
#   GOAL_BIT          the address of the goal's entry
#   GOAL_MASK         the cell set of the goal, or the blank's cell if every move counts
RECORD_FIELDS = 16
(
    LOW, HIGH, PREFIX, SUFFIX, BLOCKS, REGIONS, TABLE_BIT, BLOCK_BITS, ENTRY_SHIFT,
    LABEL_BITS, PREFIX_BITS, N_SUFFIXES, FIRST_TOWARD, GOAL_BIT, GOAL_MASK,
) = range(15)  # fmt: skip

# Fields of the record of a move: its cells, both of them, the cells below both and those between the two as masks, 1 if
# the target is the higher cell, the bit of the reverse move; from KEPT on the words of the moves that it does not
# affect.
MOVE_FIELDS = 16
SOURCE, TARGET, BOTH_CELLS, CELLS_BELOW, CELLS_BETWEEN, IS_UPWARD, REVERSE_WORD, REVERSE_BIT, KEPT = range(9)


def n_words_of(n_cells: int) -> int:
    """Return the number of words of a set of moves."""
    return 1 if 4 * n_cells <= WORD_BITS else 2 if 2 * n_cells <= WORD_BITS else 4


def move_numbers(size: BoardSize) -> dict[tuple[int, int], int]:
    """Return the number of each move (source, target): WORD_BITS * its word + its bit."""
    directions = (-size.width, -1, 1, size.width)
    per_word = len(directions) // n_words_of(size.n_cells)
    numbers = {}
    for source, near in enumerate(size.neighbours):
        for target in near:
            word, place = divmod(directions.index(target - source), per_word)
            numbers[source, target] = WORD_BITS * word + size.n_cells * place + source
    return numbers


def moves_toward_goal(size: BoardSize, goal_cells: Sequence[int]) -> Int64s:
    """Return the moves that bring a tile on a cell nearer to its goal cell, by Manhattan distance.

    int64[labels, n_cells, n_words]; `goal_cells` has the goal cell of each label.
    """
    rows, columns = np.divmod(np.arange(size.n_cells), size.width)
    distances = np.abs(rows - rows[list(goal_cells), None]) + np.abs(columns - columns[list(goal_cells), None])
    words = np.zeros((len(goal_cells), size.n_cells, n_words_of(size.n_cells)), dtype=np.int64)
    for (source, target), number in move_numbers(size).items():
        is_nearer = (distances[:, target] < distances[:, source]).astype(np.int64)
        words[:, source, number // WORD_BITS] |= is_nearer << number % WORD_BITS
    return words


def move_records(size: BoardSize, cost: Cost) -> Int64s:
    """Return the record of each move by its number, int64[WORD_BITS * n_words, MOVE_FIELDS]. Rows without a move are 0.

    If every move counts, each move affects all others, because it moves the blank.
    """
    numbers = move_numbers(size)
    records = np.zeros((WORD_BITS * n_words_of(size.n_cells), MOVE_FIELDS), dtype=np.int64)
    for (source, target), number in numbers.items():
        lower, upper = sorted((source, target))
        reverse_word, reverse_bit = divmod(numbers[target, source], WORD_BITS)
        records[number, :KEPT] = (
            source, target, 1 << source | 1 << target, (1 << lower) - 1, (1 << upper) - (2 << lower), target > source,
            reverse_word, 1 << reverse_bit,
        )  # fmt: skip
    if cost == "additive":
        cells = records[:, BOTH_CELLS]
        is_kept = ((cells[:, None] & cells) == 0) & (cells != 0)
        words = is_kept.reshape(len(records), -1, WORD_BITS) << np.arange(WORD_BITS)
        records[:, KEPT : KEPT + words.shape[1]] = words.sum(axis=2)
    return records
