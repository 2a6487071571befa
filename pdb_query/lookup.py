"""Lookups of boards in the tables of a database: the flat arrays that kernels read, and the calls of the kernels.

A *sum* is the heuristic of one partition through one symmetry of the board. If every move counts, it is the largest of
the patterns' distances, which may not be added up. A *unit* is one pattern of one sum: during a search it has a cell
set and packed labels.

A *view* is a map of the board's cells in a sum. A sum has one view, and one more for each symmetry by which its
patterns use the tables of others (`shared_tables`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import block_bytes
from pdb_core.layout import OCCUPIED, cell_masks, pattern_blocks
from pdb_core.pattern import Pattern
from pdb_core.puzzle import BLANK, BoardSize, Tiles
from pdb_core.ranking import arrangement_ranks, cell_set_ranks
from pdb_core.shared_tables import TableUse, tiles_stood_for
from pdb_core.symmetry import BoardMapping
from pdb_core.table_spec import DatabaseSpec
from pdb_query import descent
from pdb_query.descent import HEADER_FIELDS, RECORD_FIELDS, move_records, moves_toward_goal, n_words_of
from pdb_query.descent_kernels import DESCENT_FIELDS, N_DESCENTS, probe_bits
from pdb_query.lookup_kernels import place_all_units, probe_bytes

Scalar = TypeVar("Scalar", bound=np.generic)
Int64s = npt.NDArray[np.int64]
_NO_INT64S: Int64s = np.empty(0, dtype=np.int64)
# A larger memo of descents does not fit in the processor's caches.
_MOST_MEMO_ENTRIES = 1 << 17
# Units that `probe_distances` looks up between two returns to Python.
_SLICE_UNITS = 1 << 18


class LookupTables(NamedTuple):
    """Tables of one partition, and the arrays that rank their entries. [p] means one entry for each pattern.

    A pattern that uses the table of another has the same values as the other. The last fields are for tables in bits;
    otherwise they are empty or 0.
    """

    memory: npt.NDArray[np.uint8]  # read-only; holds all tables
    table_start: Int64s  # [p] start of the table in `memory`
    low_start: Int64s  # [p] starts in `low`, `high`, `prefix` and `suffix`
    high_start: Int64s
    prefix_start: Int64s
    suffix_start: Int64s
    label_bits: Int64s  # [p] see `ranking.ArrangementRanks`
    prefix_bits: Int64s
    n_suffixes: Int64s
    n_orders: Int64s
    low: npt.NDArray[np.int32]  # cell-set ranks, see `ranking.CellSetRanks`
    high: npt.NDArray[np.int32]
    prefix: npt.NDArray[np.uint16]  # arrangement ranks, see `ranking.ArrangementRanks`
    suffix: npt.NDArray[np.uint16]
    low_bits: int  # cells in the lower and the upper half of a mask
    high_bits: int
    goal: npt.NDArray[np.uint8]  # [n_cells] the goal of the tables
    dark_cells: int  # mask of the cells of one colour of a chessboard
    n_dark: Int64s  # [p] number of tiles that are on dark cells in the goal
    is_bits: int
    counts_every_move: int  # 1 if the blank's moves count: then each free cell is a region
    block_start: Int64s  # [p] starts in `first_block` and `region_numbers`
    region_start: Int64s
    first_block: npt.NDArray[np.int32]  # see `layout.Blocks`
    region_numbers: npt.NDArray[np.uint8]  # see `layout.Blocks`; flat, and 15 more bytes
    set_ranks: npt.NDArray[np.int32]  # `low`, `high` and `first_block`, which are parts of it
    order_ranks: npt.NDArray[np.uint16]  # `prefix` and `suffix`, which are parts of it
    descent: Int64s  # see `descent`

    @property
    def most_regions(self) -> int:
        """The largest number of blank regions of a cell set, 0 for tables in bytes."""
        # OCCUPIED is 255, which becomes 0.
        return int((self.region_numbers + np.uint8(1)).max(initial=0))


class SumViews(NamedTuple):
    """Maps from the cells and tiles of a given board to those of each of v views; a tile has -1 if it has no entry.

    Sum s begins with view s; views beyond the sums are those of patterns that use the tables of others. Of a catalogue,
    s counts the symmetries, and p the patterns of all q partitions.
    """

    cell_maps: Int64s  # [v, n_cells] the cell of the view for each cell of the given board
    given_cells: Int64s  # [v, n_cells] the inverse: the cell of the given board for each cell of the view
    tile_patterns: Int64s  # [v, n_cells] the pattern of each tile of the given board, if it has this view
    tile_labels: Int64s  # [v, n_cells] the label of each tile within the table's pattern
    sum_of_view: Int64s  # [v]
    view_of_unit: Int64s  # [s, p] the view of each pattern of each sum
    unit_maps: Int64s  # [s * p * 2 * n_cells] for each unit its row of `given_cells`, then the label of each tile
    is_in_sum: npt.NDArray[np.bool_]  # [q, p] whether a pattern belongs to a partition

    @property
    def n_sums(self) -> int:
        return len(self.view_of_unit)

    def labels_of_tiles(self) -> Int64s:
        """Return the label of each tile of the given board in each unit, -1 for none: int64[s, p, n_cells]."""
        return self.unit_maps.reshape(*self.view_of_unit.shape, 2, -1)[:, :, 1]


def lookup_tables(
    spec: DatabaseSpec, uses: Sequence[TableUse], memory: npt.NDArray[np.uint8], table_start: Sequence[int]
) -> LookupTables:
    """Return the arrays for lookups. `table_start` has the start of each pattern's table, also if it is of another.

    `memory` must be read-only, so that kernels are compiled for one type.
    """
    size, goal, is_bits = spec.size, spec.goal, spec.encoding == "bits"
    # The patterns that the tables were built for. Their arrays depend only on their numbers of tiles.
    patterns = [spec.partition.patterns[use.index] for use in uses]
    counts = list(dict.fromkeys(pattern.n_tiles for pattern in patterns))
    which = np.array([counts.index(pattern.n_tiles) for pattern in patterns])
    sets = [cell_set_ranks(size.n_cells, n_tiles) for n_tiles in counts]
    orders = [arrangement_ranks(n_tiles) for n_tiles in counts]
    blocks = [pattern_blocks(size, n_tiles, spec.cost) for n_tiles in counts] if is_bits else []
    firsts = [of.first_block for of in blocks] or [np.empty(0, dtype=np.int32)] * len(sets)
    set_ranks, (low, high, first_block), set_starts = _joined([of.low for of in sets], [of.high for of in sets], firsts)
    order_ranks, (prefix, suffix), order_starts = _joined([of.prefix for of in orders], [of.suffix for of in orders])
    # Kernels read 16 bytes at a time, also in the last row.
    regions = [of.region_numbers.reshape(-1) for of in blocks] + [np.full(15 * is_bits, OCCUPIED, dtype=np.uint8)]
    region_numbers, _, (region_starts,) = _joined(regions)
    tables = LookupTables(
        memory=memory,
        table_start=np.array(table_start, dtype=np.int64),
        low_start=set_starts[0][which],
        high_start=set_starts[1][which],
        prefix_start=order_starts[0][which],
        suffix_start=order_starts[1][which],
        label_bits=np.array([of.label_bits for of in orders], dtype=np.int64)[which],
        prefix_bits=np.array([of.prefix_bits for of in orders], dtype=np.int64)[which],
        n_suffixes=np.array([of.n_suffixes for of in orders], dtype=np.int64)[which],
        n_orders=np.array([math.factorial(n_tiles) for n_tiles in counts], dtype=np.int64)[which],
        low=low,
        high=high,
        prefix=prefix,
        suffix=suffix,
        low_bits=sets[0].low_bits,
        high_bits=sets[0].high_bits,
        goal=np.array(goal, dtype=np.uint8),
        dark_cells=sum(1 << cell for cell in range(size.n_cells) if size.is_dark(cell)),
        n_dark=np.array([sum(size.is_dark(goal.index(tile)) for tile in of.tiles) for of in patterns], dtype=np.int64),
        is_bits=int(is_bits),
        counts_every_move=int(is_bits and spec.cost == "every-move"),
        block_start=set_starts[2][which] if is_bits else _NO_INT64S,
        region_start=region_starts[which] if is_bits else _NO_INT64S,
        first_block=first_block,
        region_numbers=region_numbers,
        set_ranks=set_ranks,
        order_ranks=order_ranks,
        descent=_NO_INT64S,
    )
    if is_bits:
        goal_states = [blocks[at].state_of(goal, of.tiles) for at, of in zip(which, patterns, strict=True)]
        tables = tables._replace(descent=_descent_numbers(size, goal, patterns, tables, goal_states))
    return tables


def _descent_numbers(
    size: BoardSize,
    goal: Tiles,
    patterns: Sequence[Pattern],
    tables: LookupTables,
    goal_states: Sequence[tuple[int, int]],
) -> Int64s:
    """Return the array of `descent`; `goal_states` are the block and the arrangement of each pattern in the goal."""
    n_tiles = np.array([pattern.n_tiles for pattern in patterns], dtype=np.int64)
    goal_cells = [[goal.index(tile) for tile in pattern.tiles] for pattern in patterns]
    masked_cells = [[goal.index(BLANK)]] * len(patterns) if tables.counts_every_move else goal_cells
    moves = move_records(size, "every-move" if tables.counts_every_move else "additive").reshape(-1)
    toward = moves_toward_goal(size, [cell for cells in goal_cells for cell in cells]).reshape(-1)
    moves_start = HEADER_FIELDS + RECORD_FIELDS * len(patterns)
    words_of_label = size.n_cells * n_words_of(size.n_cells)
    first_bit = 8 * tables.table_start
    block_bits = np.array([8 * block_bytes(pattern.n_tiles) for pattern in patterns], dtype=np.int64)
    goal_block, goal_order = np.array(goal_states, dtype=np.int64).T
    records = np.zeros((len(patterns), RECORD_FIELDS), dtype=np.int64)
    for field, numbers in {
        descent.LOW_START: tables.low_start,
        descent.HIGH_START: len(tables.low) + tables.high_start,
        descent.REGION_NUMBER_START: tables.region_start,
        descent.BLOCK_START: len(tables.low) + len(tables.high) + tables.block_start,
        descent.PREFIX_START: tables.prefix_start,
        descent.SUFFIX_START: len(tables.prefix) + tables.suffix_start,
        descent.TOWARD_START: moves_start + len(moves) + words_of_label * (np.cumsum(n_tiles) - n_tiles),
        descent.LABEL_BITS: tables.label_bits,
        descent.PREFIX_BITS: tables.prefix_bits,
        descent.N_SUFFIXES: tables.n_suffixes,
        descent.FIRST_BIT: first_bit,
        descent.BLOCK_BITS: block_bits,
        descent.GOAL_ADDRESS: first_bit + goal_block * block_bits + goal_order,
        descent.GOAL_MASK: np.array([sum(1 << cell for cell in cells) for cells in masked_cells], dtype=np.int64),
    }.items():
        records[:, field] = numbers
    _, not_left, not_right = cell_masks(size)
    header = np.zeros(HEADER_FIELDS, dtype=np.int64)
    for field, number in {
        descent.N_CELLS: size.n_cells,
        descent.N_WORDS: n_words_of(size.n_cells),
        descent.N_PATTERNS: len(patterns),
        descent.WIDTH: size.width,
        descent.NOT_LEFT: not_left,
        descent.NOT_RIGHT: not_right,
        descent.DARK_CELLS: tables.dark_cells,
        descent.COUNTS_EVERY_MOVE: tables.counts_every_move,
        descent.LOW_BITS: tables.low_bits,
        descent.HIGH_BITS: tables.high_bits,
        descent.MOVES_START: moves_start,
    }.items():
        header[field] = number
    return np.concatenate([header, records.reshape(-1), moves, toward])


def _joined(
    *groups: list[npt.NDArray[Scalar]],
) -> tuple[npt.NDArray[Scalar], list[npt.NDArray[Scalar]], list[Int64s]]:
    """Concatenate groups of arrays; return the whole, the groups in it, and the starts of arrays in their group."""
    whole = np.concatenate([array for group in groups for array in group])
    ends = [np.cumsum([0, *map(len, group)]) for group in groups]
    return whole, np.split(whole, np.cumsum([end[-1] for end in ends])[:-1]), [end[:-1] for end in ends]


def sum_views(spec: DatabaseSpec, uses: Sequence[TableUse], mappings: Sequence[BoardMapping]) -> SumViews:
    """Return the views of boards through each of `mappings`, which map to boards with the goal of the tables."""
    size, partition = spec.size, spec.partition
    # The first pattern has its own table, so the identity comes first.
    table_maps = list(dict.fromkeys(use.cell_map for use in uses))
    pattern_of = np.full((len(table_maps), size.n_cells), -1, dtype=np.int64)
    label_of = np.full((len(table_maps), size.n_cells), -1, dtype=np.int64)
    label_in = np.full((len(uses), size.n_cells), -1, dtype=np.int64)
    for index, (pattern, use) in enumerate(zip(partition.patterns, uses, strict=True)):
        row, labels = table_maps.index(use.cell_map), partition.patterns[use.index].tiles
        for tile, stood_for in zip(pattern.tiles, tiles_stood_for(spec.goal, pattern, use.cell_map), strict=True):
            pattern_of[row, tile], label_of[row, tile] = index, labels.index(stood_for)
            label_in[index, tile] = labels.index(stood_for)
    tile_maps = np.array([mapping.tile_map for mapping in mappings], dtype=np.int64)
    cell_maps = np.array([mapping.cell_map for mapping in mappings], dtype=np.int64)
    # Map m of sum s is view m * (number of sums) + s.
    all_maps = np.concatenate([np.array(table_map)[cell_maps] for table_map in table_maps])
    n_sums = len(mappings)
    firsts = n_sums * np.array([table_maps.index(use.cell_map) for use in uses], dtype=np.int64)
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
        np.tile(np.arange(n_sums), len(table_maps)),
        view_of_unit,
        np.stack([given_cells[view_of_unit], unit_labels], axis=2).reshape(-1),
        is_in_sum,
    )


def probe_boards(
    boards: npt.NDArray[np.uint8], tables: LookupTables, views: SumViews, memo: Int64s | None = None
) -> tuple[Int64s, Int64s, npt.NDArray[np.uint8]]:
    """Look up every unit of every board (valid boards, contiguous, uint8[m, n_cells]).

    Return the cell sets and the packed labels of the units, int64[m, s, p], and their distances, uint8[m, s, p]:
    UNREACHED for damaged tables or unsolvable boards. `memo` is that of earlier boards, see `_new_memo`.
    """
    values = np.empty((len(boards), *views.view_of_unit.shape), dtype=np.uint8)
    masks, labels = np.empty((2, *values.shape), dtype=np.int64)
    # Separate kernels, so that only those in use are compiled.
    if not tables.is_bits:
        place_all_units(boards, tables, views, masks, labels)
        probe_bytes(tables, masks, labels, values)
        return masks, labels, values
    memo = _new_memo(values.size) if memo is None else memo
    descents = np.empty(min(N_DESCENTS, values.size) * DESCENT_FIELDS, dtype=np.int64)
    probe_bits(
        boards.reshape(-1), views.unit_maps, tables.memory, tables.descent, tables.set_ranks, tables.order_ranks,
        tables.region_numbers, descents, memo, masks.reshape(-1), labels.reshape(-1), values.reshape(-1),
    )  # fmt: skip
    return masks, labels, values


def probe_distances(boards: npt.NDArray[np.uint8], tables: LookupTables, views: SumViews) -> npt.NDArray[np.uint8]:
    """Return the distances of `probe_boards` alone.

    Many boards are looked up in slices of some 0.1 s, and only one slice has its cell sets and labels in memory.
    """
    n_most = max(1, _SLICE_UNITS // views.view_of_unit.size)
    if len(boards) <= n_most:
        return probe_boards(boards, tables, views)[2]
    values = np.empty((len(boards), *views.view_of_unit.shape), dtype=np.uint8)
    memo = _new_memo(values.size)
    for start in range(0, len(boards), n_most):
        values[start : start + n_most] = probe_boards(boards[start : start + n_most], tables, views, memo)[2]
    return values


def _new_memo(n_units: int) -> Int64s:
    """Return an empty memo of descents: a power of 2, about the number of units, since each adds one distance."""
    return np.zeros(min(1 << n_units.bit_length(), _MOST_MEMO_ENTRIES), dtype=np.int64)
