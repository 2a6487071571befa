"""The tables of a database, made ready for kernels: everything a lookup reads, in a few flat arrays.

A *sum* is the heuristic of one partition seen through one symmetry: the database's own sum, or the reflected one; where
every move counts, it is the largest of the patterns' distances, which may not be added up. A
*unit* is one pattern of one sum; it is what holds a cell set and packed labels while a search moves tiles about.

A *view* is one way that cells are mapped in a sum. A sum has one view, and one more for each symmetry by which patterns
use the tables of others (`sharing`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import Encoding, block_bytes
from pdb_core.layout import OCCUPIED, grid_masks, pattern_blocks
from pdb_core.pattern import Partition
from pdb_core.puzzle import BLANK, Board, BoardSize
from pdb_core.ranking import arrangement_ranks, cell_set_ranks
from pdb_core.shared_tables import TableUse, own_tables, tiles_stood_for
from pdb_core.symmetry import BoardMapping
from pdb_query import descent
from pdb_query.descent import HEADER_FIELDS, RECORD_FIELDS, move_records, moves_toward_goal, n_words_of

Scalar = TypeVar("Scalar", bound=np.generic)
Int64s = npt.NDArray[np.int64]
_NO_INT64S: Int64s = np.empty(0, dtype=np.int64)


class LookupTables(NamedTuple):
    """The tables of one partition and what ranks their entries. A pattern that uses the table of another has all that
    the other has.

    memory        uint8[...]     read-only; holds all tables
    table_start   int64[p]       where each pattern's table starts in `memory`
    low_start, high_start, prefix_start, suffix_start   int64[p]: where each pattern's part starts in the arrays below
    label_bits, prefix_bits, n_suffixes, n_orders       int64[p]
    low, high     int32          cell-set ranks, see `ranking.CellSetRanks`
    prefix, suffix  uint16       arrangement ranks, see `ranking.ArrangementRanks`
    low_bits, high_bits          cells in the lower and the upper half of a mask
    goal          uint8[n_cells] the goal of the tables
    dark_cells    mask of the cells of one colour of the chess board
    n_dark        int64[p]       the tiles of each pattern that are on dark cells in the goal

    For tables of bits, else empty or 0:
    is_bits       1
    counts_every_move  1 where the blank's moves count, too: each free cell is a region of its own
    block_start, region_start  int64[p]: where each pattern's part starts in the next two
    first_block   int32          see `layout.Blocks`
    region_numbers  uint8        the same, flat, and 15 bytes more
    set_ranks     int32          `low`, `high` and `first_block`, which are parts of it
    order_ranks   uint16         `prefix` and `suffix`, which are parts of it
    descent       int64          see `descent`
    """

    memory: npt.NDArray[np.uint8]
    table_start: Int64s
    low_start: Int64s
    high_start: Int64s
    prefix_start: Int64s
    suffix_start: Int64s
    label_bits: Int64s
    prefix_bits: Int64s
    n_suffixes: Int64s
    n_orders: Int64s
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    prefix: npt.NDArray[np.uint16]
    suffix: npt.NDArray[np.uint16]
    low_bits: int
    high_bits: int
    goal: npt.NDArray[np.uint8]
    dark_cells: int
    n_dark: Int64s
    is_bits: int
    counts_every_move: int
    block_start: Int64s
    region_start: Int64s
    first_block: npt.NDArray[np.int32]
    region_numbers: npt.NDArray[np.uint8]
    set_ranks: npt.NDArray[np.int32]
    order_ranks: npt.NDArray[np.uint16]
    descent: Int64s


class SumViews(NamedTuple):
    """Where the tiles of a board are to be found in each sum. Sum s begins with view s; views beyond the sums are those
    of patterns that use the tables of others.

    cell_maps      int64[v, n_cells]  the cell of a view's board that each cell of the given board becomes
    given_cells    int64[v, n_cells]  the other way: the cell of the given board for each one of a view's board
    tile_patterns  int64[v, n_cells]  the pattern that each tile of the given board belongs to there; -1 for the blank,
                   and for tiles that the sum looks at in another view
    tile_labels    int64[v, n_cells]  its label within the table's pattern; -1 likewise
    sum_of_view    int64[v]
    view_of_unit   int64[s, p]        the view that each pattern of each sum has its tiles in. Of a catalogue, s counts
                   the symmetries, and p the patterns of all partitions
    unit_maps      int64[s * p * 2 * n_cells]  for each unit the row of its view in `given_cells`, then the label that
                   each tile of the given board has in it; -1 for none
    is_in_sum      bool[q, p]         whether a pattern belongs to a partition
    """

    cell_maps: Int64s
    given_cells: Int64s
    tile_patterns: Int64s
    tile_labels: Int64s
    sum_of_view: Int64s
    view_of_unit: Int64s
    unit_maps: Int64s
    is_in_sum: npt.NDArray[np.bool_]

    @property
    def n_sums(self) -> int:
        return len(self.view_of_unit)

    def labels_of_tiles(self) -> Int64s:
        """int64[s, p, n_cells]: the label of each tile of the given board in each unit, -1 for none."""
        return self.unit_maps.reshape(*self.view_of_unit.shape, 2, -1)[:, :, 1]


def lookup_tables(
    size: BoardSize,
    goal: Board,
    partition: Partition,
    encoding: Encoding,
    memory: npt.NDArray[np.uint8],
    table_start: Sequence[int],
    uses: Sequence[TableUse] | None = None,
) -> LookupTables:
    """Gather what lookups in the tables of `partition` need; `memory` must be read-only, so that kernels are compiled
    once.

    `table_start` has a place for each pattern, also for one that uses the table of another; `uses` says which do, by
    default none.
    """
    uses = uses or own_tables(size, len(partition.patterns))
    if encoding == "bits":
        tables = lookup_tables(size, goal, partition, "bytes", memory, table_start, uses)
        return _with_blocks(size, goal, partition, tables, uses)
    sets = [cell_set_ranks(size.n_cells, pattern.n_tiles) for pattern in partition.patterns]
    orders = [arrangement_ranks(pattern.n_tiles) for pattern in partition.patterns]
    low, low_start = _concatenate([ranks.low for ranks in sets])
    high, high_start = _concatenate([ranks.high for ranks in sets])
    prefix, prefix_start = _concatenate([ranks.prefix for ranks in orders])
    suffix, suffix_start = _concatenate([ranks.suffix for ranks in orders])
    return LookupTables(
        memory=memory,
        table_start=np.array(table_start, dtype=np.int64),
        low_start=low_start,
        high_start=high_start,
        prefix_start=prefix_start,
        suffix_start=suffix_start,
        label_bits=np.array([ranks.label_bits for ranks in orders], dtype=np.int64),
        prefix_bits=np.array([ranks.prefix_bits for ranks in orders], dtype=np.int64),
        n_suffixes=np.array([ranks.n_suffixes for ranks in orders], dtype=np.int64),
        n_orders=np.array([math.factorial(pattern.n_tiles) for pattern in partition.patterns], dtype=np.int64),
        low=low,
        high=high,
        prefix=prefix,
        suffix=suffix,
        low_bits=sets[0].low_bits,
        high_bits=sets[0].high_bits,
        goal=np.array(goal, dtype=np.uint8),
        dark_cells=sum(1 << cell for cell in range(size.n_cells) if size.is_dark(cell)),
        n_dark=np.array(
            [sum(size.is_dark(goal.index(tile)) for tile in partition.patterns[use.index].tiles) for use in uses],
            dtype=np.int64,
        ),
        is_bits=0,
        counts_every_move=0,
        block_start=_NO_INT64S,
        region_start=_NO_INT64S,
        first_block=np.empty(0, dtype=np.int32),
        region_numbers=np.empty(0, dtype=np.uint8),
        set_ranks=np.empty(0, dtype=np.int32),
        order_ranks=np.empty(0, dtype=np.uint16),
        descent=_NO_INT64S,
    )


def _with_blocks(
    size: BoardSize, goal: Board, partition: Partition, tables: LookupTables, uses: Sequence[TableUse]
) -> LookupTables:
    """The same for tables of bits."""
    # Walks down end at the goal of the table, so these are the patterns that the tables were made for.
    patterns = [partition.patterns[use.index] for use in uses]
    blocks = [pattern_blocks(size, pattern.n_tiles, partition.cost) for pattern in patterns]
    first_block, block_start = _concatenate([of.first_block for of in blocks])
    # A view is a new object each time: `_concatenate` must see that patterns of one size share their regions.
    flat = {of.n_tiles: of.region_numbers.reshape(-1) for of in blocks}
    region_numbers, region_start = _concatenate([flat[of.n_tiles] for of in blocks])
    # Kernels read 16 bytes at a time, also of the last row.
    region_numbers = np.concatenate([region_numbers, np.full(15, OCCUPIED, dtype=np.uint8)])
    set_ranks, (low, high, first_block) = _joined([tables.low, tables.high, first_block])
    order_ranks, (prefix, suffix) = _joined([tables.prefix, tables.suffix])
    n_tiles = np.array([pattern.n_tiles for pattern in patterns], dtype=np.int64)
    first_bit = 8 * tables.table_start
    block_bits = np.array([8 * block_bytes(int(n)) for n in n_tiles], dtype=np.int64)
    goal_states = [of.state_of(goal, pattern.tiles) for of, pattern in zip(blocks, patterns, strict=True)]
    goal_block, goal_order = np.array(goal_states, dtype=np.int64).T
    goal_cells = [[goal.index(tile) for tile in pattern.tiles] for pattern in patterns]
    every_move = partition.cost == "every-move"
    goal_masks = [sum(1 << cell for cell in ([goal.index(BLANK)] if every_move else cells)) for cells in goal_cells]
    moves = move_records(size, partition.cost).reshape(-1)
    toward = moves_toward_goal(size, [cell for cells in goal_cells for cell in cells]).reshape(-1)
    moves_start = HEADER_FIELDS + RECORD_FIELDS * len(patterns)
    words_of_label = size.n_cells * n_words_of(size.n_cells)
    records = np.zeros((len(patterns), RECORD_FIELDS), dtype=np.int64)
    for field, numbers in {
        descent.LOW_START: tables.low_start,
        descent.HIGH_START: len(low) + tables.high_start,
        descent.REGION_NUMBER_START: region_start,
        descent.BLOCK_START: len(low) + len(high) + block_start,
        descent.PREFIX_START: tables.prefix_start,
        descent.SUFFIX_START: len(prefix) + tables.suffix_start,
        descent.TOWARD_START: moves_start + len(moves) + words_of_label * (np.cumsum(n_tiles) - n_tiles),
        descent.LABEL_BITS: tables.label_bits,
        descent.PREFIX_BITS: tables.prefix_bits,
        descent.N_SUFFIXES: tables.n_suffixes,
        descent.FIRST_BIT: first_bit,
        descent.BLOCK_BITS: block_bits,
        descent.GOAL_ADDRESS: first_bit + goal_block * block_bits + goal_order,
        descent.GOAL_MASK: np.array(goal_masks, dtype=np.int64),
    }.items():
        records[:, field] = numbers
    grid = grid_masks(size)
    header = np.zeros(HEADER_FIELDS, dtype=np.int64)
    for field, number in {
        descent.N_CELLS: size.n_cells,
        descent.N_WORDS: n_words_of(size.n_cells),
        descent.N_PATTERNS: len(patterns),
        descent.WIDTH: size.width,
        descent.NOT_LEFT: grid.not_left,
        descent.NOT_RIGHT: grid.not_right,
        descent.DARK_CELLS: tables.dark_cells,
        descent.COUNTS_EVERY_MOVE: int(every_move),
        descent.LOW_BITS: tables.low_bits,
        descent.HIGH_BITS: tables.high_bits,
        descent.MOVES_START: moves_start,
    }.items():
        header[field] = number
    return tables._replace(
        is_bits=1,
        counts_every_move=int(every_move),
        low=low,
        high=high,
        prefix=prefix,
        suffix=suffix,
        block_start=block_start,
        region_start=region_start,
        first_block=first_block,
        region_numbers=region_numbers,
        set_ranks=set_ranks,
        order_ranks=order_ranks,
        descent=np.concatenate([header, records.reshape(-1), moves, toward]),
    )


def _joined(arrays: list[npt.NDArray[Scalar]]) -> tuple[npt.NDArray[Scalar], list[npt.NDArray[Scalar]]]:
    """Return arrays one after the other as one array, and its parts."""
    whole = np.concatenate(arrays)
    return whole, np.split(whole, np.cumsum([len(array) for array in arrays])[:-1])


def _concatenate(arrays: list[npt.NDArray[Scalar]]) -> tuple[npt.NDArray[Scalar], Int64s]:
    """One array of all different ones, each once, and where each of `arrays` starts in it."""
    starts: dict[int, int] = {}
    parts, total = [], 0
    for array in arrays:
        if id(array) not in starts:
            starts[id(array)] = total
            parts.append(array)
            total += len(array)
    return np.concatenate(parts), np.array([starts[id(array)] for array in arrays], dtype=np.int64)


def sum_views(
    size: BoardSize,
    goal: Board,
    partition: Partition,
    mappings: Sequence[BoardMapping],
    uses: Sequence[TableUse] | None = None,
) -> SumViews:
    """The views of a board through each of `mappings`, which lead to boards with `goal`, that of the tables.

    `uses` says which patterns use the tables of others, by default none.
    """
    uses = uses or own_tables(size, len(partition.patterns))
    # The first pattern has a table of its own, so the identity comes first.
    ways = list(dict.fromkeys(use.cell_map for use in uses))
    pattern_of = np.full((len(ways), size.n_cells), -1, dtype=np.int64)
    label_of = np.full((len(ways), size.n_cells), -1, dtype=np.int64)
    label_in = np.full((len(uses), size.n_cells), -1, dtype=np.int64)
    for index, (pattern, use) in enumerate(zip(partition.patterns, uses, strict=True)):
        way, labels = ways.index(use.cell_map), partition.patterns[use.index].tiles
        for tile, stood_for in zip(pattern.tiles, tiles_stood_for(goal, pattern, use.cell_map), strict=True):
            pattern_of[way, tile], label_of[way, tile] = index, labels.index(stood_for)
            label_in[index, tile] = labels.index(stood_for)
    tile_maps = np.array([mapping.tile_map for mapping in mappings], dtype=np.int64)
    cell_maps = np.array([mapping.cell_map for mapping in mappings], dtype=np.int64)
    # Way w of sum s is view w * (number of sums) + s.
    all_maps = np.concatenate([np.array(way)[cell_maps] for way in ways])
    n_sums = len(mappings)
    firsts = n_sums * np.array([ways.index(use.cell_map) for use in uses], dtype=np.int64)
    given_cells = np.argsort(all_maps, axis=1)
    tile_patterns = pattern_of[:, tile_maps].reshape(all_maps.shape)
    tile_labels = label_of[:, tile_maps].reshape(all_maps.shape)
    view_of_unit = np.arange(n_sums)[:, None] + firsts
    unit_labels = label_in[:, tile_maps].swapaxes(0, 1)
    is_in_sum = np.array([[index in places for index in range(len(uses))] for places in partition.sums])
    return SumViews(
        all_maps,
        given_cells,
        tile_patterns,
        tile_labels,
        np.tile(np.arange(n_sums), len(ways)),
        view_of_unit,
        np.stack([given_cells[view_of_unit], unit_labels], axis=2).reshape(-1),
        is_in_sum,
    )
