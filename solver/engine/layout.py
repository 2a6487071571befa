"""The memory of a search: the columns of nodes and of lists of children, in 32-bit words, and what kernels get of them.

A node is one word in each of some columns. First come three columns that every search has, then more slacks, the board
(not in vector and packed rounds), and the columns of each sum.
"""

from typing import NamedTuple

from pdb_core.types import Bytes, Int64s, UInt32s

# Most nodes of a round, and the bytes of a column of the batch.
BATCH = 64
BATCH_COLUMN = 4 * BATCH

#                 31            26          22                                0
#     STATE       | blank's cell | allowed   | state of the operator pruning FSM |
#                 31                                                      2      0
#     LINK        | index of the node's parent in the array of links      | move |
#                 31                         16                8               0
#     MOVES_LEFT  | moves to the threshold   | slack of sum 1  | slack of sum 0 |
#                 31                24                16               8               0
#     slacks      | slack of sum 5  | slack of sum 4  | slack of sum 3  | slack of sum 2 |
#     board       | tile on cell 3  | tile on cell 2  | tile on cell 1  | tile on cell 0 |
#
# LINK is 0 for a root. The *slack* of a sum is half of what the threshold leaves above g + h: it shrinks by one when h
# rises, and stays when h falls. There are as many columns of slacks and of the board as are needed.
STATE, LINK, MOVES_LEFT = range(3)
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
# The columns of a list: children, then addresses in most rounds, then what a round adds.
ADDRESS = 1
# A child. What it has above these bits is drawn where its round is:
#
#     |   | move  | parent |    parent: its index in the batch
#         8       6        0
PARENT_MASK, MOVE_SHIFT = BATCH - 1, 6

# The fields of a sum in `EngineTables.sums`: where its slack is, then those of its round.
SLACK, SLACK_SHIFT, OWN_FIELDS = range(3)

# The counters of a search. N_ENDED: of the nodes on the top of the stack, those that may have no moves left.
N_COUNTERS = 7
TOP, N_LINKS, GENERATED, EXPANDED, SOLUTIONS, FOUND_LINK, N_ENDED = range(N_COUNTERS)

# From a threshold to the next one: all solutions of a board have the same parity.
THRESHOLD_STEP = 2
# What a search of a threshold returns.
EXHAUSTED, FOUND, PAUSED, NO_ROOM, TOO_DEEP = range(5)


class EngineTables(NamedTuple):
    """Constants of a search, in the form that kernels read.

    batch         nodes of a round, up to BATCH
    n_columns     of a node; the sums' columns begin at `first_sum_column`, those of the board at `board_column`, which
                  is 0 in vector and packed rounds
    list_columns  of a list of children
    sums          int64[s, OWN_FIELDS + fields of the round]
    next_threshold  uint32[n_columns]: what the next threshold adds to a root, two moves and one to each slack
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
    next_threshold: UInt32s
    goal: Bytes
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
