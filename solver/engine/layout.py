"""Layout of the memory of a search: the columns of nodes and of lists of children, in 32-bit words.

A node is one word in each of some columns. First come three columns that every search has, then more slacks, the board
(not in vector rounds), and the columns of each sum.
"""

# Most nodes of a round, and the bytes of a column of the batch.
BATCH = 64
BATCH_COLUMN = 4 * BATCH

# STATE packs the state of the operator pruning FSM, the moves that it allows, and the blank's cell. LINK is the node's
# parent and the move from there: (index in the array of links << 2) | move; 0 for a root. LEFT packs the slacks of the
# first two sums, 8 bits each, and the moves left to the threshold. The *slack* of a sum is half of what the threshold
# leaves above g + h: it shrinks by one when h rises, and stays when h falls.
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
# The columns of a list of the vector stages: children, bit addresses, then the digits of each far sum.
ADDRESS, DIGITS = 1, 2
# Those of the scalar stages: children, addresses of 64 bits in two columns, then for each sum the unit that changes:
# its state, 64 bits in two columns, and its distance. The units of a node have the same three columns.
UNITS, SCALAR_COLUMNS = 3, 3
# A child: the index of its parent in the batch, and the move. Then, for the vector stages, the sums whose distance
# rose, and the bit that would say so; for the scalar ones its index in the other columns, and how many sums rose.
PARENT_MASK, MOVE_SHIFT, ROSE_SHIFT, EXPECTED_SHIFT = BATCH - 1, 6, 8, 31
MAX_VECTOR_SUMS = EXPECTED_SHIFT - ROSE_SHIFT
ROSE_MASK = ((1 << EXPECTED_SHIFT) - 1) & ~((1 << ROSE_SHIFT) - 1)
ROW_SHIFT = 8

# The fields of a sum in `EngineTables.sums`. SLACK and SLACK_SHIFT locate its slack. Vector stages: the first columns
# of cell sets (16 bits each, two in a word, none for the first unit) and of digits; the addresses of the tables' memory
# of the map to the sum's frame, and of the steps of the blank's moves there (uint32[16] each); for horizontal and for
# vertical moves the column of a list that holds digits, or -1 if the sum is near; then the fields of each unit. Scalar
# stages: the first column of units.
SUM_FIELDS = 10
N_UNITS, SLACK, SLACK_SHIFT, CELL_SETS, UNIT_DIGITS, MEMORY, FRAME, STEPS, FAR_COLUMN = range(9)
# In wide rounds, which have no far columns: whether the tables are bits, and whether the blank's regions are in records
# of cell sets.
IS_BITS, HAS_SETS = FAR_COLUMN, FAR_COLUMN + 1
UNIT_FIELDS = 3
TABLE_BIT, ROW_BITS, FIRST_DIGIT = range(3)

# Vector stages keep Lehmer digits of the arrangement, three bits each, the last position at bit 21, and above them
# (distance + 1) modulo 4.
DIGIT_BITS, MAX_VECTOR_TILES = 3, 8
VALUE_SHIFT = 24
ONE_VALUE = 1 << VALUE_SHIFT
DIGITS_AND_VALUE = (1 << (VALUE_SHIFT + 2)) - 1
# Entries of `EngineTables.sets`: the number of a cell set's first block, then 3 bits for the blank's region by cell.
BLOCK_BITS, REGION_BITS = 16, 3
MAX_VECTOR_CELLS, MAX_VECTOR_WIDTH = 16, 4
# `EngineTables.jumps`: a marker above the digits of the tile and of those it jumps over; the second half is for tiles
# that move to a higher cell.
JUMPS_UPWARD = 1 << (DIGIT_BITS * MAX_VECTOR_WIDTH + 1)

# The counters of a search. N_ENDED: of the nodes on the top of the stack, those that may have no moves left.
N_COUNTERS = 8
TOP, N_LINKS, GENERATED, EXPANDED, SOLUTIONS, FOUND_LINK, N_ENDED = range(7)

# What a search of a threshold returns.
EXHAUSTED, FOUND, PAUSED, NO_ROOM, TOO_DEEP = range(5)
# What it does at the goal: return FOUND and forget the rest, count and go on, or return FOUND and go on when called
# again.
STOP_AT_GOAL, COUNT_GOALS, LIST_GOALS = range(3)
