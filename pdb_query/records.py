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
# the target is the higher cell, the number of the reverse move; from KEPT on the words of the moves that it does not
# affect.
MOVE_FIELDS = 16
SOURCE, TARGET, BOTH_CELLS, CELLS_BELOW, CELLS_BETWEEN, IS_UPWARD, REVERSE, KEPT = range(8)
