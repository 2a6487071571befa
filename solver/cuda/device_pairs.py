"""Kind of search on a card for the 15-puzzle with a pattern of 7 and one of 8 tiles in bits, and the reflected sum.

A node is two words, of the board and of its reflection; each holds the cells of the smaller pattern and the labels of
both. Of the two patterns that a move changes, the *near* one is that of the view in which the tile moves sideways: its
labels keep their order. So it is looked up first. A pass of the search looks up both.
"""

from typing import Any, NamedTuple

from solver.cuda.device_search import DROPPED, HEAD, KEPT, Kind
from solver.cuda.dialect import cuda, device_function, int32, uint8, uint16, uint32, uint64

#              63     61                 37                 16                     0
#     word     | unused | labels of 8 tiles | labels of 7 tiles | cells of 7 tiles  |    three bits a label
#              63     24       16        8                     0
#     third    | unused | slack 1 | slack 0 | distances, mod 4  |    of 7 and 8 tiles, then of the reflection
FIRST_7, FIRST_8, LABEL_BITS, CELLS = 16, 37, 3, 16
SLACK_SHIFT, SLACK_BITS = 8, 8
# An entry of a cell set: its first block, then the number of the region of each cell.
BLOCK_BITS, REGION_BITS = 16, 3
# The parts of ranks: by the first four labels, then by the others; of 7 tiles, then of 8.
PART_BITS = 12
N_RANKS = 4 << PART_BITS
ROW_7, ROW_8 = 5040, 40320
_ALL = (1 << CELLS) - 1
_MASK_7 = (1 << (FIRST_8 - FIRST_7)) - 1


class PairTables(NamedTuple):
    """Tables on a card.

    sets    uint64[1 << 16]: an entry for each set of 7 and of 8 cells, by its mask
    ranks   uint16[N_RANKS]
    starts  uint32[2]: where the tables of 7 and of 8 tiles begin, in bits
    goal    uint64[2]: its word, and its blank's cell
    table   uint32: all tables, a bit an entry
    """

    sets: Any
    ranks: Any
    starts: Any
    goal: Any
    table: Any


@device_function
def transposed(cell: Any) -> Any:
    """Return the cell of the reflection."""
    return (cell >> int32(2)) | ((cell & int32(3)) << int32(2))


@device_function
def moved_sideways(word: Any, blank: Any, cell: Any) -> Any:
    """Move the tile on `cell` to the blank beside it. Return the word, and of the tile's pattern 1 if it has 8 tiles,
    its cells and its labels.
    """
    cells = uint32(word & uint64(_ALL))
    if (cells >> uint32(cell)) & uint32(1):
        cells ^= (uint32(1) << uint32(cell)) | (uint32(1) << uint32(blank))
        labels = uint32(word >> uint64(FIRST_7)) & uint32(_MASK_7)
        return (word & ~uint64(_ALL)) | uint64(cells), uint32(0), cells, labels
    return word, uint32(1), uint32(_ALL) ^ cells ^ (uint32(1) << uint32(cell)), uint32(word >> uint64(FIRST_8))


@device_function
def moved_a_row(word: Any, blank: Any, cell: Any) -> Any:
    """Move the tile on `cell` to the blank above or below it. Return what `moved_sideways` does."""
    of_7 = uint32(word & uint64(_ALL))
    is_8 = uint32(1) ^ ((of_7 >> uint32(cell)) & uint32(1))
    cells = uint32(_ALL) ^ of_7 ^ (uint32(1) << uint32(blank)) if is_8 else of_7
    labels = uint32(word >> uint64(FIRST_8)) if is_8 else uint32(word >> uint64(FIRST_7)) & uint32(_MASK_7)
    # The label of the tile jumps over those between.
    lower = uint32(min(cell, blank))
    n_jumped = uint32(LABEL_BITS) * uint32(cuda.popc((cells >> (lower + uint32(1))) & uint32(7)))
    place = uint32(LABEL_BITS) * uint32(cuda.popc(cells & ((uint32(1) << lower) - uint32(1))))
    mask = (uint32(8) << n_jumped) - uint32(1)
    field = (labels >> place) & mask
    if cell < blank:
        after = (field >> uint32(LABEL_BITS)) | ((field & uint32(7)) << n_jumped)
    else:
        after = ((field << uint32(LABEL_BITS)) & mask) | (field >> n_jumped)
    change = (field ^ after) << place
    cells ^= (uint32(1) << uint32(cell)) | (uint32(1) << uint32(blank))
    if is_8:
        return word ^ (uint64(change) << uint64(FIRST_8)), is_8, cells, labels ^ change
    word = (word ^ (uint64(change) << uint64(FIRST_7))) & ~uint64(_ALL)
    return word | uint64(cells), is_8, cells, labels ^ change


@device_function
def rises(at: Any, tables: Any, is_8: Any, cells: Any, labels: Any, blank: Any, distance: Any) -> Any:
    """Return 1 if the distance of a pattern, `distance` mod 4 before, rose."""
    entry = tables.sets[cells]
    region = uint32(entry >> uint64(uint32(BLOCK_BITS) + uint32(REGION_BITS) * uint32(blank))) & uint32(7)
    block = uint32(entry & uint64((1 << BLOCK_BITS) - 1)) + region
    part = is_8 << uint32(PART_BITS + 1)
    rank = uint32(at[0][part + (labels & uint32((1 << PART_BITS) - 1))])
    rank += uint32(at[0][part + uint32(1 << PART_BITS) + (labels >> uint32(PART_BITS))])
    address = at[1][is_8] + block * (uint32(ROW_8) if is_8 else uint32(ROW_7)) + rank
    bit = (tables.table[address >> uint32(5)] >> (address & uint32(31))) & uint32(1)
    return uint32(bit == ((distance + uint32(1)) >> uint32(1)) & uint32(1))


@device_function
def with_distance(distances: Any, unit: Any, change: Any) -> Any:
    """Return the distances with `change` added to that of a unit, mod 4."""
    shift = uint32(2) * unit
    value = ((distances >> shift) + change) & uint32(3)
    return (distances & ~(uint32(3) << shift)) | (value << shift)


@device_function
def _prepare(tables: Any) -> Any:
    ranks = cuda.shared.array(N_RANKS, uint16)
    starts = cuda.shared.array(2, uint32)
    for i in range(cuda.threadIdx.x, N_RANKS, cuda.blockDim.x):
        ranks[i] = tables.ranks[i]
    for i in range(cuda.threadIdx.x, 2, cuda.blockDim.x):
        starts[i] = tables.starts[i]
    return ranks, starts


@device_function
def _load(at: Any, items: Any, row: Any) -> Any:
    third = items[row, HEAD + 2]
    slack_0 = int32((third >> uint64(SLACK_SHIFT)) & uint64(255))
    slack_1 = int32((third >> uint64(SLACK_SHIFT + SLACK_BITS)) & uint64(255))
    return items[row, HEAD], items[row, HEAD + 1], uint32(third & uint64(255)), slack_0, slack_1


@device_function
def _store(at: Any, state: Any, items: Any, row: Any) -> None:
    items[row, HEAD], items[row, HEAD + 1] = state[0], state[1]
    slacks = uint64(state[3]) | (uint64(state[4]) << uint64(SLACK_BITS))
    items[row, HEAD + 2] = uint64(state[2]) | (slacks << uint64(SLACK_SHIFT))


@device_function
def _begin(at: Any, state: Any, cell: Any) -> Any:
    return state[0], state[1], uint32(0), uint32(0), uint32(0), uint32(0)


@device_function
def _look_up(at: Any, tables: Any, state: Any, child: Any, blank: Any, cell: Any) -> Any:
    is_sideways = abs(blank - cell) == int32(1)
    # Step 1. The view in which the tile moves sideways.
    blank_1, cell_1 = transposed(blank), transposed(cell)
    near, far = (int32(0), int32(1)) if is_sideways else (int32(1), int32(0))
    near_word, near_is_8, cells, labels = moved_sideways(
        state[0] if is_sideways else state[1], blank if is_sideways else blank_1, cell if is_sideways else cell_1
    )
    distance = (state[2] >> (uint32(4) * uint32(near) + uint32(2) * near_is_8)) & uint32(3)
    near_rose = rises(at, tables, near_is_8, cells, labels, cell if is_sideways else cell_1, distance)
    if (state[3] if is_sideways else state[4]) < int32(near_rose):
        return int32(DROPPED), child
    # Step 2. The other view.
    far_word, far_is_8, cells, labels = moved_a_row(
        state[1] if is_sideways else state[0], blank_1 if is_sideways else blank, cell_1 if is_sideways else cell
    )
    distance = (state[2] >> (uint32(4) * uint32(far) + uint32(2) * far_is_8)) & uint32(3)
    far_rose = rises(at, tables, far_is_8, cells, labels, cell_1 if is_sideways else cell, distance)
    if (state[4] if is_sideways else state[3]) < int32(far_rose):
        return int32(DROPPED), child
    if is_sideways:
        return int32(KEPT), (near_word, far_word, near_rose, far_rose, near_is_8, far_is_8)
    return int32(KEPT), (far_word, near_word, far_rose, near_rose, far_is_8, near_is_8)


@device_function
def _push(at: Any, state: Any, child: Any, blank: Any, cell: Any) -> Any:
    word_0, word_1, rose_0, rose_1, is_8_0, is_8_1 = child
    distances = with_distance(state[2], is_8_0, uint32(1) if rose_0 else uint32(3))
    distances = with_distance(distances, uint32(2) + is_8_1, uint32(1) if rose_1 else uint32(3))
    after = word_0, word_1, distances, state[3] - int32(rose_0), state[4] - int32(rose_1)
    return after, uint8(rose_0 | (rose_1 << uint32(1)))


@device_function
def _pop(at: Any, state: Any, record: Any, blank: Any, before: Any) -> Any:
    blank_1, before_1 = transposed(blank), transposed(before)
    if abs(blank - before) == int32(1):
        word_0, is_8_0, _cells, _labels = moved_sideways(state[0], blank, before)
        word_1, is_8_1, _cells, _labels = moved_a_row(state[1], blank_1, before_1)
    else:
        word_0, is_8_0, _cells, _labels = moved_a_row(state[0], blank, before)
        word_1, is_8_1, _cells, _labels = moved_sideways(state[1], blank_1, before_1)
    rose_0, rose_1 = uint32(record) & uint32(1), uint32(record) >> uint32(1)
    distances = with_distance(state[2], is_8_0, uint32(3) if rose_0 else uint32(1))
    distances = with_distance(distances, uint32(2) + is_8_1, uint32(3) if rose_1 else uint32(1))
    return word_0, word_1, distances, state[3] + int32(rose_0), state[4] + int32(rose_1)


@device_function
def _is_goal(at: Any, tables: Any, state: Any, blank: Any) -> Any:
    return state[0] == tables.goal[0] and uint64(blank) == tables.goal[1]


PAIR_KIND = Kind(3, uint8, _prepare, _load, _store, _begin, _look_up, _push, _pop, _is_goal)
