"""Kind of search on a card for additive tables in bits: any partitions, many sums of them, boards of up to 26 cells.

A node has its board in shared memory, two bits of each unit's distance, and the slack of each sum, a byte each. A pass
of the search looks up one unit of a child in all lanes: first those of sums without slack, which may drop it.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from pdb_core.encoding import UNREACHED
from solver.cuda.device_search import DROPPED, HEAD, JOB, KEPT, PENDING, Kind
from solver.cuda.dialect import compiled, cuda, device_function, int32, uint8, uint32, uint64

MAX_UNITS, MAX_SUMS, MAX_CELLS, MAX_TILES = 64, 32, 26, 8
# Of the board, tiles of five bits: 12 in each of two words, and the last two in JOB.
TILES_OF_WORD, TILE_BITS, REST_SHIFT = 12, 5, 32
SUMS_OF_WORD = 8
WORDS_OF_BOARD = 2
# Of a record of a cell set: the first block, then four bits a cell, ten of them in its first word.
_BLOCK_BITS, _REGION_BITS, _CELLS_OF_WORD = 24, 4, 10


class UnitShape(NamedTuple):
    """What the kernels of a kind are compiled for.

    n_tiles  of all patterns; 0 if they differ
    """

    n_cells: int
    n_units: int
    n_sums: int
    n_tiles: int
    low_bits: int
    high_bits: int
    block: int

    @property
    def n_slack_words(self) -> int:
        return -(-self.n_sums // SUMS_OF_WORD)

    @property
    def n_plane_words(self) -> int:
        return 1 if self.n_units <= 32 else 2

    @property
    def n_words(self) -> int:
        return WORDS_OF_BOARD + self.n_plane_words + self.n_slack_words

    @property
    def starts(self) -> tuple[int, int, int, int, int]:
        """Where the parts of `UnitTables.small` begin, and its length."""
        frames = MAX_TILES * self.n_units
        units = frames + 32 * self.n_units
        goal = units + 32 * self.n_sums
        n_tiles = goal + 32
        return frames, units, goal, n_tiles, n_tiles + self.n_units


class UnitTables(NamedTuple):
    """Tables on a card.

    small    uint8: the tiles of each unit, 8 each; its frame, 32 each; the unit of each tile in each sum, 32 each; the
             goal, 32; the number of tiles of each unit
    masks    uint64[32]: the units that a move of each tile changes
    sums     uint32[u]: the sums that a unit belongs to, as a mask
    places   uint32[u, 4]: bits of a block; where its low and high parts of ranks and its records begin
    starts   uint64[u]: where its table begins, in bits
    low, high  int32: parts of the ranks of cell sets
    records  uint64[n, 2]: of cell sets
    table    uint32: all tables, a bit an entry
    """

    small: Any
    masks: Any
    sums: Any
    places: Any
    starts: Any
    low: Any
    high: Any
    records: Any
    table: Any


@device_function
def highest_of_32(mask: Any) -> Any:
    """Return the highest bit of a mask, -1 for none."""
    return int32(31) - int32(cuda.clz(mask))


@device_function
def highest_of_64(mask: Any) -> Any:
    """Return the highest bit of a mask, -1 for none."""
    upper = uint32(mask >> uint64(32))
    if upper != uint32(0):
        return int32(63) - int32(cuda.clz(upper))
    return int32(31) - int32(cuda.clz(uint32(mask & uint64(0xFFFFFFFF))))


@device_function
def with_tile(occupied: Any, digits: Any, label: Any, cell: Any) -> Any:
    """Add the next label to a cell set and to the Lehmer digits of an arrangement, three bits each, the first lowest.

    A digit is the number of smaller labels on later cells.
    """
    one = uint32(1) << uint32(cell)
    position = uint32(cuda.popc(occupied & (one - uint32(1))))
    shift = uint32(3) * position
    before = digits & ((uint32(1) << shift) - uint32(1))
    return occupied | one, before | ((uint32(label) - position) << shift) | ((digits ^ before) << uint32(3))


@device_function
def row_of_set(places: Any, tables: Any, unit: Any, occupied: Any, low_bits: Any, high_bits: Any) -> Any:
    """Return the row of a cell set's record."""
    lower = occupied & ((uint32(1) << uint32(low_bits)) - uint32(1))
    upper = (uint32(cuda.popc(lower)) << uint32(high_bits)) + (occupied >> uint32(low_bits))
    rank = tables.low[places[unit, 1] + lower] + tables.high[places[unit, 2] + upper]
    return uint32(rank) + places[unit, 3]


@device_function
def region_of(tables: Any, row: Any, cell: Any) -> Any:
    """Return the number of the blank's region if the blank is on a free cell."""
    if cell < uint32(_CELLS_OF_WORD):
        region = uint32(tables.records[row, 0] >> uint64(uint32(_BLOCK_BITS) + uint32(_REGION_BITS) * cell))
    else:
        shift = uint32(_REGION_BITS) * (cell - uint32(_CELLS_OF_WORD))
        region = uint32(tables.records[row, 1] >> uint64(shift))
    return region & uint32(15)


@device_function
def bit_of(places: Any, starts: Any, tables: Any, unit: Any, row: Any, digits: Any, n_tiles: Any, blank: Any) -> Any:
    """Return bit 1 of the distance of an arrangement, with the blank on a cell of the frame."""
    rank = uint32(0)
    for i in range(n_tiles):
        rank = rank * uint32(n_tiles - i) + (digits & uint32(7))
        digits >>= uint32(3)
    first = uint32(tables.records[row, 0] & uint64((1 << _BLOCK_BITS) - 1)) + region_of(tables, row, blank)
    address = starts[unit] + uint64(first) * uint64(places[unit, 0]) + uint64(rank)
    return (tables.table[address >> uint64(5)] >> uint32(address & uint64(31))) & uint32(1)


def mask_functions(shape: UnitShape) -> tuple[Any, Any]:
    """Return the type of masks of units, and the function that returns their highest bit."""
    return (uint32, highest_of_32) if shape.n_units <= 32 else (uint64, highest_of_64)


def item_functions(shape: UnitShape) -> tuple[Any, Any]:
    """Return `load` and `store` of a kind."""
    n_cells, n_units, n_sums, n_slack_words = shape.n_cells, shape.n_units, shape.n_sums, shape.n_slack_words
    mask_type, _ = mask_functions(shape)
    planes = HEAD + WORDS_OF_BOARD
    first_slack = planes + shape.n_plane_words

    @device_function
    def load(at, items, row):
        board, cells, slacks, me = at[5], at[6], at[7], cuda.threadIdx.x
        for c in range(n_cells):
            if c < WORDS_OF_BOARD * TILES_OF_WORD:
                word = items[row, HEAD + c // TILES_OF_WORD] >> uint64(TILE_BITS * (c % TILES_OF_WORD))
            else:
                word = items[row, JOB] >> uint64(REST_SHIFT + TILE_BITS * (c - WORDS_OF_BOARD * TILES_OF_WORD))
            tile = uint8(word & uint64(31))
            board[c, me] = tile
            cells[tile, me] = uint8(c)
        if n_units <= 32:
            bit_0 = mask_type(items[row, planes] & uint64(0xFFFFFFFF))
            bit_1 = mask_type(items[row, planes] >> uint64(32))
        else:
            bit_0, bit_1 = mask_type(items[row, planes]), mask_type(items[row, planes + 1])
        full = uint32(0)
        for s in range(n_sums):
            word = items[row, first_slack + s // SUMS_OF_WORD] >> uint64(8 * (s % SUMS_OF_WORD))
            slacks[s, me] = uint8(word & uint64(255))
            full |= uint32(slacks[s, me] == uint8(0)) << uint32(s)
        return bit_0, bit_1, full

    @device_function
    def store(at, state, items, row):
        board, slacks, me = at[5], at[7], cuda.threadIdx.x
        for w in range(WORDS_OF_BOARD):
            word = uint64(0)
            for i in range(TILES_OF_WORD):
                if TILES_OF_WORD * w + i < n_cells:
                    word |= uint64(board[TILES_OF_WORD * w + i, me]) << uint64(TILE_BITS * i)
            items[row, HEAD + w] = word
        for c in range(WORDS_OF_BOARD * TILES_OF_WORD, n_cells):
            shift = uint64(REST_SHIFT + TILE_BITS * (c - WORDS_OF_BOARD * TILES_OF_WORD))
            items[row, JOB] |= uint64(board[c, me]) << shift
        if n_units <= 32:
            items[row, planes] = uint64(state[0]) | (uint64(state[1]) << uint64(32))
        else:
            items[row, planes], items[row, planes + 1] = uint64(state[0]), uint64(state[1])
        for w in range(n_slack_words):
            word = uint64(0)
            for i in range(min(SUMS_OF_WORD, n_sums - SUMS_OF_WORD * w)):
                word |= uint64(slacks[SUMS_OF_WORD * w + i, me]) << uint64(8 * i)
            items[row, first_slack + w] = word

    return load, store


def move_functions(shape: UnitShape) -> tuple[Any, Any]:
    """Return `push` and `pop` of a kind."""
    mask_type, highest = mask_functions(shape)

    @device_function
    def changed(at, full, rose, change):
        """Add `change` to the slacks of the sums that rose. Return the sums without one."""
        slacks, me = at[7], cuda.threadIdx.x
        while rose != mask_type(0):
            unit = highest(rose)
            rose ^= mask_type(1) << mask_type(unit)
            sums = at[4][unit]
            while sums != uint32(0):
                s = highest_of_32(sums)
                one = uint32(1) << uint32(s)
                sums ^= one
                slack = int32(slacks[s, me]) + change
                slacks[s, me] = uint8(slack)
                full = full | one if slack == int32(0) else full & ~one
        return full

    @device_function
    def move_tile(at, tile, source, target):
        board, cells, me = at[5], at[6], cuda.threadIdx.x
        board[target, me] = uint8(tile)
        board[source, me] = uint8(0)
        cells[tile, me] = uint8(target)

    @device_function
    def push(at, state, child, blank, cell):
        tile, rose, mask = child[0], child[3], at[1][child[0]]
        move_tile(at, tile, cell, blank)
        bit_0 = state[0] ^ mask
        bit_1 = (state[1] & ~mask) | (~(rose ^ state[0] ^ state[1]) & mask)
        return (bit_0, bit_1, changed(at, state[2], rose, int32(-1))), rose

    @device_function
    def pop(at, state, rose, blank, before):
        tile = int32(at[5][before, cuda.threadIdx.x])
        mask = at[1][tile]
        move_tile(at, tile, before, blank)
        bit_1 = state[1] ^ ((rose ^ state[0]) & mask)
        return state[0] ^ mask, bit_1, changed(at, state[2], rose, int32(1))

    return push, pop


@lru_cache(maxsize=8)
def unit_kind(shape: UnitShape) -> Kind:
    """Return the device functions for tables of a shape."""
    n_cells, n_units, n_sums, n_tiles, low_bits, high_bits, block = shape
    frames, units, goal, sizes, n_small = shape.starts
    mask_type, highest = mask_functions(shape)

    @device_function
    def prepare(tables):
        small = cuda.shared.array(n_small, uint8)
        masks = cuda.shared.array(32, mask_type)
        places = cuda.shared.array((n_units, 4), uint32)
        starts = cuda.shared.array(n_units, uint64)
        sums = cuda.shared.array(n_units, uint32)
        board = cuda.shared.array((n_cells, block), uint8)
        cells = cuda.shared.array((n_cells, block), uint8)
        slacks = cuda.shared.array((n_sums, block), uint8)
        for i in range(cuda.threadIdx.x, n_small, cuda.blockDim.x):
            small[i] = tables.small[i]
        for i in range(cuda.threadIdx.x, 32, cuda.blockDim.x):
            masks[i] = mask_type(tables.masks[i])
        for u in range(cuda.threadIdx.x, n_units, cuda.blockDim.x):
            starts[u], sums[u] = tables.starts[u], tables.sums[u]
            for i in range(4):
                places[u, i] = tables.places[u, i]
        return small, masks, places, starts, sums, board, cells, slacks

    @device_function
    def begin(at, state, cell):
        tile = int32(at[5][cell, cuda.threadIdx.x])
        todo = at[1][tile]
        if state[2] != uint32(0):
            unit = int32(at[0][units + 32 * highest_of_32(state[2]) + tile])
        else:
            unit = highest(todo)
        return tile, unit, todo, mask_type(0)

    @device_function
    def look_up(at, tables, state, child, blank, cell):
        small, cells, me = at[0], at[6], cuda.threadIdx.x
        tile, unit, todo, rose = child
        # Step 1. The cell set, and the Lehmer digits of the arrangement: how many smaller labels are behind each.
        k = int32(n_tiles) if n_tiles else int32(small[sizes + unit])
        occupied, digits = uint32(0), uint32(0)
        for i in range(k):
            of_unit = int32(small[MAX_TILES * unit + i])
            place = blank if of_unit == tile else int32(cells[of_unit, me])
            occupied, digits = with_tile(occupied, digits, i, small[frames + 32 * unit + place])
        # Step 2. Bit 1 of its distance: the distance rose if it is that of one more.
        row = row_of_set(at[2], tables, unit, occupied, low_bits, high_bits)
        in_frame = uint32(small[frames + 32 * unit + cell])
        bit = mask_type(bit_of(at[2], at[3], tables, unit, row, digits, k, in_frame))
        one_more = ((state[0] ^ state[1]) >> mask_type(unit)) & mask_type(1)
        has_risen = mask_type(1) ^ bit ^ one_more
        todo &= ~(mask_type(1) << mask_type(unit))
        rose |= has_risen << mask_type(unit)
        status = int32(PENDING)
        if has_risen != mask_type(0) and (at[4][unit] & state[2]) != uint32(0):
            status = int32(DROPPED)
        elif todo == mask_type(0):
            status = int32(KEPT)
        else:
            unit = highest(todo)
        return status, (tile, unit, todo, rose)

    @device_function
    def is_goal(at, tables, state, blank):
        small, board, me = at[0], at[5], cuda.threadIdx.x
        for c in range(n_cells):
            if board[c, me] != small[goal + c]:
                return False
        return True

    load_and_store, push_and_pop = item_functions(shape), move_functions(shape)
    return Kind(shape.n_words, mask_type, prepare, *load_and_store, begin, look_up, *push_and_pop, is_goal)


@lru_cache(maxsize=8)
def descent_kernel(shape: UnitShape, width: int) -> Any:
    """Return the kernel that finds distances: it walks down from each board to the goal of each unit.

    Its arguments: boards, uint8[m, n_cells]; distances to fill, uint8[m, n_units], UNREACHED if a walk does not end at
    the goal; tables.
    """
    n_cells, n_units, low_bits, high_bits = shape.n_cells, shape.n_units, shape.low_bits, shape.high_bits
    frames, _, goal, sizes, _ = shape.starts

    @device_function
    def look_up(tables, unit, k, places, blank):
        """Return the cell set, the row of its record, and bit 1 of the distance."""
        occupied, digits = uint32(0), uint32(0)
        for i in range(k):
            occupied, digits = with_tile(occupied, digits, i, places[i])
        row = row_of_set(tables.places, tables, unit, occupied, low_bits, high_bits)
        return occupied, row, bit_of(tables.places, tables.starts, tables, unit, row, digits, k, uint32(blank))

    def descend(boards, distances, tables):
        places = cuda.local.array(MAX_TILES, int32)
        targets = cuda.local.array(MAX_TILES, int32)
        small = tables.small
        for i in range(cuda.grid(1), boards.shape[0] * n_units, cuda.gridsize(1)):
            board, unit = i // n_units, int32(i % n_units)
            # Step 1. The cells of the tiles, and the parity of the distance.
            k = int32(small[sizes + unit])
            blank, blank_target, parity = int32(0), int32(0), int32(0)
            for c in range(n_cells):
                cell = int32(small[frames + 32 * unit + c])
                if boards[board, c] == 0:
                    blank = cell
                if small[goal + c] == 0:
                    blank_target = cell
                for label in range(k):
                    tile = small[MAX_TILES * unit + label]
                    if boards[board, c] == tile:
                        places[label] = cell
                    if small[goal + c] == tile:
                        targets[label] = cell
            for label in range(k):
                parity += abs(places[label] // width - targets[label] // width)
                parity += abs(places[label] % width - targets[label] % width)
            occupied, row, bit = look_up(tables, unit, k, places, blank)
            left = (uint32(parity) & uint32(1)) | (bit << uint32(1))
            # Step 2. Walk down: bit 1 tells which neighbour is one nearer.
            n_steps, is_over = int32(0), False
            while not is_over:
                at_goal = region_of(tables, row, uint32(blank)) == region_of(tables, row, uint32(blank_target))
                for label in range(k):
                    at_goal = at_goal and places[label] == targets[label]
                if at_goal:
                    break
                left = (left - uint32(1)) & uint32(3)
                region = region_of(tables, row, uint32(blank))
                has_moved = False
                for label in range(k):
                    for direction in range(4):
                        source = places[label]
                        column = source % width
                        target = (
                            source + (width if direction > 1 else -width)
                            if direction % 3 == 0
                            else (source + (1 if direction == 2 else -1))
                        )
                        is_legal = not has_moved and 0 <= target < n_cells
                        is_legal = is_legal and not (direction == 1 and column == 0)
                        is_legal = is_legal and not (direction == 2 and column == width - 1)
                        if is_legal and (occupied >> uint32(target)) & uint32(1) == uint32(0):
                            if region_of(tables, row, uint32(target)) == region:
                                places[label] = target
                                _set, _row, bit = look_up(tables, unit, k, places, source)
                                if bit == left >> uint32(1):
                                    has_moved = True
                                    blank = source
                                else:
                                    places[label] = source
                if has_moved:
                    occupied, row, bit = look_up(tables, unit, k, places, blank)
                    n_steps += int32(1)
                is_over = not has_moved or n_steps == int32(UNREACHED)
            distances[board, unit] = uint8(UNREACHED) if is_over else uint8(n_steps)

    return compiled(descend)
