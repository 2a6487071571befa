"""The memory of a search: the columns of nodes and of lists of children, in 32-bit words, and what kernels get of them.

A node is one word in each of some columns. First come three columns that every search has, then more slacks, the board
(not in vector rounds), and the columns of each sum.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.types import Int64s

# Most nodes of a round, and the bytes of a column of the batch.
BATCH = 64
BATCH_COLUMN = 4 * BATCH

#             31            26          22                                0
#     STATE   | blank's cell | allowed   | state of the operator pruning FSM |
#             31                                                      2      0
#     LINK    | index of the node's parent in the array of links      | move |
#             31                         16                8               0
#     LEFT    | moves to the threshold   | slack of sum 1  | slack of sum 0 |
#             31                24                16               8               0
#     slacks  | slack of sum 5  | slack of sum 4  | slack of sum 3  | slack of sum 2 |
#     board   | tile on cell 3  | tile on cell 2  | tile on cell 1  | tile on cell 0 |
#
# LINK is 0 for a root. The *slack* of a sum is half of what the threshold leaves above g + h: it shrinks by one when h
# rises, and stays when h falls. There are as many columns of slacks and of the board as are needed.
STATE, LINK, LEFT = range(3)
ALLOWED_SHIFT, BLANK_SHIFT, BLANK_MASK = 22, 26, 63
FSM_STATE_MASK = (1 << ALLOWED_SHIFT) - 1
MOVES_LEFT_SHIFT = 16
ONE_MOVE = 1 << MOVES_LEFT_SHIFT
MAX_SLACK, SLACK_BITS = 255, 8
FIRST_SLACKS, MORE_SLACKS = 2, 4

# Lists of children: those of horizontal moves, those of vertical moves, then those that are left, in two parts. A batch
# has at most 4 * BATCH children. Columns are two vectors longer, since vectors are written whole.
N_LISTS = 4
RISEN, FALLEN = 2, 3
MAX_LANES = 16
MAX_CHILDREN = 4 * BATCH
LIST_COLUMN = 4 * (MAX_CHILDREN + 2 * MAX_LANES)
# The columns of a list of vector rounds: children, bit addresses, then the digits of each far sum.
ADDRESS, DIGITS = 1, 2
# The columns of a list of scalar rounds: children, addresses of 64 bits in two columns, then for each sum the unit that
# changes: its state, 64 bits in two columns, and its distance. A node has three such columns for each of its units.
UNITS, SCALAR_COLUMNS = 3, 3
# A child:
#                    31                24            16       8      6        0
#     vector rounds  | expected | sums whose distance rose    | move | parent |
#     scalar rounds  | number of sums that rose  |   | index  | move | parent |
#     wide rounds    | tile             | sums rose  | cell   | move | parent |
#     catalogue      | tile             |            | index  | move | parent |
#
# `parent` is its index in the batch, `expected` the bit that says that the distance rose, `index` the child's position
# in the other columns, or in the list before some were dropped; `sums rose` the number of sums that rose; `cell` the
# tile's in the view of the unit looked up.
PARENT_MASK, MOVE_SHIFT, ROSE_SHIFT, EXPECTED_SHIFT = BATCH - 1, 6, 8, 31
MAX_VECTOR_SUMS = EXPECTED_SHIFT - ROSE_SHIFT
ROSE_MASK = ((1 << EXPECTED_SHIFT) - 1) & ~((1 << ROSE_SHIFT) - 1)
INDEX_SHIFT, INDEX_MASK = 8, MAX_CHILDREN - 1

# The fields of a sum in `EngineTables.sums`. SLACK and SLACK_SHIFT locate its slack. Vector rounds: the first columns
# of cell sets and of digits; the addresses of the tables' memory, of the map to the sum's frame, and of the steps of
# the blank's moves there (uint32[16] each); for horizontal and for vertical moves the column of a list that holds
# digits, or -1 if the sum is near; then the fields of each unit. Scalar rounds: the first column of units.
SUM_FIELDS = 10
N_UNITS, SLACK, SLACK_SHIFT, CELL_SETS, UNIT_DIGITS, MEMORY, FRAME, STEPS, FAR_COLUMN = range(9)
# In wide rounds, which have no far columns: whether the tables are bits, and whether the blank's regions are in records
# of cell sets.
IS_BITS, HAS_SETS = FAR_COLUMN, FAR_COLUMN + 1
UNIT_FIELDS = 3
TABLE_BIT, ROW_BITS, FIRST_DIGIT = range(3)

# Vector rounds keep the cell sets of a sum's units, but the first one's, in pairs:
#
#     31                    16                     0
#     | cell set of unit 2  | cell set of unit 1   |
CELL_SET_BITS = 16
# Vector and wide rounds keep the Lehmer digits of an arrangement, three bits each. With k tiles, position 0 begins at
# bit 3 * (8 - k):
#
#                    31         26         24              21                         0
#     vector rounds  |           | distance | last position  | ... | position 0 | ...  |
#     wide rounds    | distance             | last position  | ... | position 0 | ...  |
#
# The distance of vector rounds is (distance + 1) modulo 4.
DIGIT_BITS, MAX_VECTOR_TILES = 3, 8
VALUE_SHIFT = 24
ONE_VALUE = 1 << VALUE_SHIFT
DIGITS_AND_VALUE = (1 << (VALUE_SHIFT + 2)) - 1
# An entry of `VectorTables.sets`, 64 bits. A region is that of the blank on the cell:
#
#     63                  61       22                 19                 16             0
#     | region of cell 15  | ...    | region of cell 1  | region of cell 0  | first block |
BLOCK_BITS, REGION_BITS = 16, 3
MAX_VECTOR_CELLS, MAX_VECTOR_WIDTH = 16, 4
# An index of `VectorTables.jumps`, here for a tile that jumps over two others:
#
#     13       13    10  9                6                 3                0
#     | upward | ... | 1 | third position | second position | first position |
#
# The 1 marks the end of the digits. The tile is at the first position if it moves upward, which means to a cell with a
# higher number, and otherwise at the last one.
JUMPS_UPWARD = 1 << (DIGIT_BITS * MAX_VECTOR_WIDTH + 1)

# The counters of a search. N_ENDED: of the nodes on the top of the stack, those that may have no moves left.
N_COUNTERS = 7
TOP, N_LINKS, GENERATED, EXPANDED, SOLUTIONS, FOUND_LINK, N_ENDED = range(N_COUNTERS)

# What a search of a threshold returns.
EXHAUSTED, FOUND, PAUSED, NO_ROOM, TOO_DEEP = range(5)


class EngineTables(NamedTuple):
    """Constants of a search, in the form that kernels read.

    batch         nodes of a round, up to BATCH
    n_columns     of a node; the sums' columns begin at `first_sum_column`, those of the board at `board_column`, which
                  is 0 in vector and packed rounds
    list_columns  of a list of children
    sums          int64[s, SUM_FIELDS + units * UNIT_FIELDS]
    goal          uint8[n_cells]
    Addresses of uint32[64]: `legal`, the mask of moves by the blank's cell; uint32[16]: `steps` of the moves; uint32:
    `successors`, the states of the operator pruning FSM by state and move, with the moves that they allow; and
    `permutations`, see `compress`.
    """

    batch: int
    n_columns: int
    first_sum_column: int
    board_column: int
    list_columns: int
    n_sums: int
    n_cells: int
    sums: Int64s
    goal: npt.NDArray[np.uint8]
    legal: int
    steps: int
    successors: int
    permutations: int


class StackMemory(NamedTuple):
    """The addresses of a stack's memory, for kernels, which call it `at`: `at.batch` is where the batch is.

    stack         uint32[n_columns, capacity]; rows are `stack_column` bytes apart
    batch         uint32[n_columns, BATCH]
    lists         uint32[N_LISTS, list_columns, LIST_COLUMN / 4]; lists are `list_bytes` apart
    links         uint32[link_capacity]: for each expanded node the LINK to its parent
    new_indices   uint32[link_capacity]: scratch of `keep_links`
    signal        uint32: a search pauses while it is not 0
    """

    stack: int
    stack_column: int
    capacity: int
    batch: int
    lists: int
    list_bytes: int
    links: int
    link_capacity: int
    new_indices: int
    signal: int
