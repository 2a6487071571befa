"""One round of the search with additive tables in bits, many partitions of them, for boards of up to 26 cells.

A node holds its board, the cell of each tile, and two bits of each unit's distance, in planes: bit 0 of all units, then
bit 1. Each unit is looked up at most once for a child, whatever the number of sums it belongs to:

1. list     the children of the batch, and for each its *critical* units: those of sums without slack
2. look up  the first critical unit of each child, and drop the children for which it rose
3. look up  the other units of the moved tile, and drop the children for which a critical one rose
4. push     the children that are left, with the slack of each sum

A wave of lookups lists its children by unit, so that all lanes of a vector look up the same table. What it looks up, it
computes from the cells of the tiles: the cell set, its rank, the rank of the arrangement.
"""

from typing import Any, NamedTuple

from pdb_core.bit_kernels import (
    load_byte,
    load_long,
    load_word,
    popcount,
    prefetch,
    stack_array,
    store_long,
    store_word,
    trailing_zeros,
)
from pdb_core.jit import inlined_kernel
from pdb_core.types import Int64s
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import (
    CELL_MASK,
    INDEX_MASK,
    INDEX_SHIFT,
    SET_BYTES,
    TILE_SHIFT,
    TILES_BYTES,
    append,
    blank_and_cell,
    block_of_record,
    in_list,
    list_with_tiles,
    new_counter,
    of_parents,
    parts_of_set,
    push_board,
    push_move,
    sort,
    tiles_below,
)
from solver.vectors import vector_kernels as v

# Masks of units have 32 bits.
MAX_CATALOGUE_UNITS, MAX_CATALOGUE_SUMS = 32, 32
# The columns of a list: children, one that is not used, then masks of units: the critical ones, those that were looked
# up, bit 1 of their distances, those that are looked up in a wave. Then the buckets, one for each unit: the children of
# a wave, the addresses of their bits (two columns), the ranks of their arrangements with the blank's cell above, and
# the ranks of their cell sets.
CRITICAL, DONE, READ, CHOSEN, BUCKETS = range(2, 7)
CHILD_COLUMNS = CHOSEN
BUCKET_COLUMNS = 5
# Vectors that are ranked between the prefetch of a cell set's record and its use.
LAG = 4
# Of a vector in scratch memory.
VECTOR_BYTES = 4 * mem.MAX_LANES
NO_INDEX = 0xFFFFFFFF & ~(INDEX_MASK << INDEX_SHIFT)
# Words of a bucket (the second one has 64 bits), of a tile in scratch memory, and of the list of vectors of a wave:
#
#                31             24                                        0
#     rank       | blank's cell | rank of the arrangement                 |
#                63                                                 3     0
#     address    | address of the byte that holds a distance        | bit |
#                31                               8                       0
#     tile       | smaller labels behind it       | its cell              |
#     vector     | its first child in the bucket  | unit                  |
BLANK_CELL_SHIFT = 24
ARRANGEMENT_MASK = (1 << BLANK_CELL_SHIFT) - 1
DIGIT_SHIFT = VECTOR_SHIFT = 8
UNIT_MASK = (1 << VECTOR_SHIFT) - 1
MAX_CATALOGUE_CELLS = 26
# The fields of a unit, the last ones its tiles.
N_TILES, MEMORY, ROW_BYTES, FRAME, LOW, HIGH, SETS, WEIGHTS, PLACES, UNIT_TILES = range(10)
MAX_CATALOGUE_TILES = 8
N_UNIT_FIELDS = UNIT_TILES + MAX_CATALOGUE_TILES


class CatalogueTables(NamedTuple):
    """Tables of a catalogue round.

    units          int64[u, N_UNIT_FIELDS]: tiles; addresses of the table, of uint8[32], the cells in the unit's frame,
                   of uint32, the parts of cell-set ranks, of the records of cell sets, of uint32[16], the weights of
                   Lehmer digits by position; and a mask of the columns that hold the places of the unit's tiles
    unit_of_tile   address of uint32[s, 32]: the unit of each tile in each sum
    tile_masks     address of uint32[32]: the units that a move of each tile changes, as a mask
    place_column   the first column of a node that holds the cells of tiles, a byte each, those of tiles 0 to 3 first
    plane_column   the first of two columns of a node that hold planes: bits 0 of the distances of all units, then bits
                   1. The lowest bit is that of the first unit
    low_bits, high_bits          of the lower and the upper part of a cell set
    """

    units: Int64s
    unit_of_tile: int
    tile_masks: int
    place_column: int
    plane_column: int
    low_bits: int
    high_bits: int


@inlined_kernel
def find_critical(round_tables: CatalogueTables, tables: EngineTables, at: StackMemory, n: int) -> None:
    """Number the children of a list, write their critical units, and clear the other masks."""
    children = at.lists
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        v.store(children + 4 * i, child | ((v.iota() + i) << INDEX_SHIFT))
        parent, tile = child & mem.PARENT_MASK, child >> TILE_SHIFT
        critical = v.splat(0)
        column = mem.MOVES_LEFT
        slacks = of_parents(at, column, parent)
        for s in range(tables.n_sums):
            if tables.sums[s, mem.SLACK] != column:
                column += 1
                slacks = of_parents(at, column, parent)
            slack = (slacks >> tables.sums[s, mem.SLACK_SHIFT]) & mem.MAX_SLACK
            unit = v.take(32, round_tables.unit_of_tile + TILES_BYTES * s, tile)
            critical = critical | v.where(slack == 0, v.splat(1) << unit, v.splat(0))
        v.store(in_list(children, CRITICAL, i), critical)
        v.store(in_list(children, DONE, i), v.splat(0))
        v.store(in_list(children, READ, i), v.splat(0))


@inlined_kernel
def choose_units(round_tables: CatalogueTables, at: StackMemory, n: int, is_first: bool) -> None:
    """Choose the units to look up for each child: the first critical one, or all that were not looked up yet."""
    children = at.lists
    for i in range(0, n, v.LANES):
        done = v.load(in_list(children, DONE, i))
        if is_first:
            units = v.load(in_list(children, CRITICAL, i))
            units = units & (v.splat(0) - units)
        else:
            units = v.take(32, round_tables.tile_masks, v.load(children + 4 * i) >> TILE_SHIFT) ^ done
        # Lanes behind the last child hold anything.
        chosen = v.where(v.iota() + i < n, units, v.splat(0))
        v.store(in_list(children, DONE, i), done | chosen)
        v.store(in_list(children, CHOSEN, i), chosen)


@inlined_kernel
def fill_buckets(round_tables: CatalogueTables, tables: EngineTables, at: StackMemory, n: int, counts: Int64s) -> None:
    """List the children by the units that were chosen."""
    for u in range(len(round_tables.units)):
        bucket = at.lists + (BUCKETS + BUCKET_COLUMNS * u) * mem.LIST_COLUMN
        n_found = new_counter()
        for i in range(0, n, v.LANES):
            is_in = ((v.load(in_list(at.lists, CHOSEN, i)) >> u) & 1) != 0
            v.store(bucket + 4 * n_found, v.compress(v.load(at.lists + 4 * i), is_in, tables.permutations))
            n_found += popcount(v.bits_of(is_in))
        counts[u] = n_found


@inlined_kernel
def cells_in_frame(unit: Int64s, cells: Any) -> Any:
    """Return cells, one in each byte, in the frame of a unit."""
    return v.take_bytes_of_32(unit[FRAME], cells)


@inlined_kernel
def rank(
    round_tables: CatalogueTables, tables: EngineTables, at: StackMemory, unit: Int64s, bucket: int, n: int
) -> None:
    """Rank the cell sets and arrangements of up to `LANES` children of a unit, and prefetch records of sets."""
    n_tiles = unit[N_TILES]
    # Scratch: the list of children that fell is not in use yet.
    scratch = at.lists + mem.FALLEN * at.list_bytes
    places = scratch + MAX_CATALOGUE_TILES * VECTOR_BYTES
    child = v.load(bucket)
    parent, tile = child & mem.PARENT_MASK, child >> TILE_SHIFT
    # Step 1. The cells of tiles and blank in the unit's frame.
    blank, new_blank = blank_and_cell(tables, at, parent, (child >> mem.MOVE_SHIFT) & 3)
    blank, new_blank = cells_in_frame(unit, blank) & CELL_MASK, cells_in_frame(unit, new_blank) & CELL_MASK
    columns = unit[PLACES]
    while columns != 0:
        column = trailing_zeros(columns)
        columns &= columns - 1
        of_tiles = of_parents(at, round_tables.place_column + column, parent)
        v.store(places + column * VECTOR_BYTES, cells_in_frame(unit, of_tiles))
    # Step 2. The cell of each tile, and how many tiles with smaller labels are behind it.
    cells = v.splat(0)
    for k in range(n_tiles):
        label = unit[UNIT_TILES + k]
        of_tiles = v.load(places + (label >> 2) * VECTOR_BYTES)
        cell = v.where(tile == label, blank, (of_tiles >> ((label & 3) << 3)) & CELL_MASK)
        digit = v.popcounts(cells >> cell)
        cells = cells | (v.splat(1) << cell)
        v.store(scratch + k * VECTOR_BYTES, cell | (digit << DIGIT_SHIFT))
    # Step 3. The rank of the arrangement.
    arrangement = v.splat(0)
    for k in range(n_tiles):
        of_tile = v.load(scratch + k * VECTOR_BYTES)
        position = tiles_below(cells, of_tile & CELL_MASK)
        arrangement = arrangement + (of_tile >> DIGIT_SHIFT) * v.take(16, unit[WEIGHTS], position)
    v.store(bucket + 3 * mem.LIST_COLUMN, arrangement | (new_blank << BLANK_CELL_SHIFT))
    # Step 4. The rank of the cell set. Lanes behind the last child hold anything.
    is_child = v.iota() < n
    lower, upper = parts_of_set(cells, round_tables.low_bits, round_tables.high_bits)
    upper = v.where(is_child, upper, v.splat(0))
    set_rank = v.gather(32, unit[LOW], lower) + v.gather(32, unit[HIGH], upper)
    v.store(bucket + 4 * mem.LIST_COLUMN, v.where(is_child, set_rank, v.splat(0)))
    for i in range(n):
        prefetch(unit[SETS] + load_word(in_list(bucket, 4, i)) * SET_BYTES)


@inlined_kernel
def find_bits(unit: Int64s, bucket: int, to_bits: int, n: int) -> None:
    """Find the bits of the distances of up to `LANES` children of a unit, and prefetch them."""
    sets, memory, row_bytes = unit[SETS], unit[MEMORY], unit[ROW_BYTES]
    for i in range(n):
        word = load_word(in_list(bucket, 3, i))
        cell, arrangement = word >> BLANK_CELL_SHIFT, word & ARRANGEMENT_MASK
        block = block_of_record(sets, load_word(in_list(bucket, 4, i)), cell)
        address = memory + block * row_bytes + (arrangement >> 3)
        prefetch(address)
        store_long(to_bits + 8 * i, (address << 3) | (arrangement & 7))


@inlined_kernel
def read_bucket(at: StackMemory, u: int, bucket: int, n: int) -> None:
    """Read bit 1 of the distances of a unit's children."""
    for i in range(n):
        address = load_long(bucket + mem.LIST_COLUMN + 8 * i)
        bit = (load_byte(address >> 3) >> (address & 7)) & 1
        to_word = in_list(at.lists, READ, (load_word(bucket + 4 * i) >> INDEX_SHIFT) & INDEX_MASK)
        store_word(to_word, load_word(to_word) | (bit << u))


@inlined_kernel
def rises(round_tables: CatalogueTables, at: StackMemory, children: int, i: int, parent: Any) -> Any:
    """Return the units whose distances rose, as a mask: bit 1 is then that of one more."""
    planes = round_tables.plane_column
    one_more = of_parents(at, planes, parent) ^ of_parents(at, planes + 1, parent)
    read = v.load(in_list(children, READ, i))
    return (read ^ one_more ^ 0xFFFFFFFF) & v.load(in_list(children, DONE, i))


@inlined_kernel
def rise_of_sum(round_tables: CatalogueTables, s: int, tile: Any, rose: Any) -> Any:
    """Return whether sum `s` rose, 1 or 0; tile: the tiles that moved; rose: the units whose distances rose."""
    return (rose >> v.take(32, round_tables.unit_of_tile + TILES_BYTES * s, tile)) & 1


@inlined_kernel
def look_up_wave(
    round_tables: CatalogueTables, tables: EngineTables, at: StackMemory, n: int, is_first: bool, counts: Int64s
) -> None:
    """Look up units of a list of children: the first critical one of each, or all that were not looked up yet."""
    choose_units(round_tables, at, n, is_first)
    fill_buckets(round_tables, tables, at, n, counts)
    first = at.lists + BUCKETS * mem.LIST_COLUMN
    bucket_bytes = BUCKET_COLUMNS * mem.LIST_COLUMN
    n_units = len(round_tables.units)
    # Step 1. Number the vectors of all units.
    n_vectors = 0
    vectors = at.lists + mem.RISEN * at.list_bytes
    for u in range(n_units):
        for i in range(0, counts[u], v.LANES):
            store_word(vectors + 4 * n_vectors, (i << VECTOR_SHIFT) | u)
            n_vectors += 1
    # Step 2. The records of a vector's cell sets are on their way while the next ones are ranked.
    for k in range(n_vectors + LAG):
        if k < n_vectors:
            vector = load_word(vectors + 4 * k)
            u, i = vector & UNIT_MASK, vector >> VECTOR_SHIFT
            n_lanes = min(v.LANES, counts[u] - i)
            rank(round_tables, tables, at, round_tables.units[u], first + u * bucket_bytes + 4 * i, n_lanes)
        if k >= LAG:
            vector = load_word(vectors + 4 * (k - LAG))
            u, i = vector & UNIT_MASK, vector >> VECTOR_SHIFT
            bucket = first + u * bucket_bytes
            find_bits(
                round_tables.units[u], bucket + 4 * i, bucket + mem.LIST_COLUMN + 8 * i, min(v.LANES, counts[u] - i)
            )
    # Step 3. Read.
    for u in range(n_units):
        if counts[u] > 0:
            read_bucket(at, u, first + u * bucket_bytes, counts[u])


@inlined_kernel
def push_catalogue(
    round_tables: CatalogueTables,
    tables: EngineTables,
    at: StackMemory,
    children: int,
    n: int,
    top: int,
    first_link: int,
) -> int:
    """Write a list of children to the stack from `top` on. Returns whether one of them has no moves left."""
    has_ended = 0
    for i in range(0, n, v.LANES):
        child = v.load(children + 4 * i)
        parent, tile = child & mem.PARENT_MASK, (child >> TILE_SHIFT) & CELL_MASK
        to = at.stack + 4 * (top + i)
        # Step 1. The move and the slacks.
        left = push_move(tables, at, child, to, first_link)
        rose = rises(round_tables, at, children, i, parent)
        has_ended |= v.bits_of((v.iota() + i < n) & (left < mem.ONE_MOVE))
        slacks = left
        column = mem.MOVES_LEFT
        for s in range(tables.n_sums):
            if tables.sums[s, mem.SLACK] != column:
                v.store(to + column * at.stack_column, slacks)
                column += 1
                slacks = of_parents(at, column, parent)
            slacks = slacks - (rise_of_sum(round_tables, s, tile, rose) << tables.sums[s, mem.SLACK_SHIFT])
        v.store(to + column * at.stack_column, slacks)
        # Step 2. The tile and the blank change places.
        blank, cell = blank_and_cell(tables, at, parent, (child >> mem.MOVE_SHIFT) & 3)
        push_board(tables, at, parent, tile, blank, cell, to)
        change = (blank ^ cell) << ((tile & 3) << 3)
        for k in range((tables.n_cells + 3) >> 2):
            column = round_tables.place_column + k
            word = of_parents(at, column, parent)
            v.store(to + column * at.stack_column, word ^ v.where((tile >> 2) == k, change, v.splat(0)))
        # Step 3. The planes.
        column = round_tables.plane_column
        units = v.take(32, round_tables.tile_masks, tile)
        v.store(to + column * at.stack_column, of_parents(at, column, parent) ^ units)
        others = of_parents(at, column + 1, parent) & (units ^ 0xFFFFFFFF)
        v.store(to + (column + 1) * at.stack_column, others | v.load(in_list(children, READ, i)))
    return has_ended


@inlined_kernel
def catalogue_round(
    round_tables: CatalogueTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`."""
    counts = stack_array(MAX_CATALOGUE_UNITS)
    # Step 1. List the children, and what can prune them.
    n_children: Any = list_with_tiles(tables, at, n, top)
    generated = n_children
    find_critical(round_tables, tables, at, n_children)
    # Step 2. Look up the first critical unit of each child, then the others.
    n_rose, n_fell = new_counter(), new_counter()
    for wave in range(2):
        look_up_wave(round_tables, tables, at, n_children, wave == 0, counts)
        n_left = new_counter()
        for i in range(0, n_children, v.LANES):
            child = v.load(at.lists + 4 * i)
            parent = child & mem.PARENT_MASK
            rose = rises(round_tables, at, at.lists, i, parent)
            stays = (v.iota() + i < n_children) & ((rose & v.load(in_list(at.lists, CRITICAL, i))) == 0)
            if wave == 0:
                v.store(at.lists + 4 * i, child & NO_INDEX)
                first_left = n_left
                n_left = append(tables, at.lists, i, at.lists, n_left, stays, CHILD_COLUMNS)
                moved = v.load(at.lists + 4 * first_left)
                v.store(at.lists + 4 * first_left, moved | ((v.iota() + first_left) << INDEX_SHIFT))
            else:
                n_rises = v.splat(0)
                for s in range(tables.n_sums):
                    n_rises = n_rises + rise_of_sum(round_tables, s, child >> TILE_SHIFT, rose)
                n_rose, n_fell = sort(tables, at, at.lists, i, stays, n_rises, n_rose, n_fell, CHILD_COLUMNS)
        n_children = n_left
    # Step 3. Vectors are written whole, so those that rose are finished before the others, which are expanded first.
    has_ended = 0
    for f in range(mem.RISEN, mem.FALLEN + 1):
        n_list = n_rose if f == mem.RISEN else n_fell
        has_ended |= push_catalogue(round_tables, tables, at, at.lists + f * at.list_bytes, n_list, top, first_link)
        top += n_list
    return generated, top, has_ended
