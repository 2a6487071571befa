"""Lookups of boards in the tables of a database: the flat arrays that kernels read, and the calls of the kernels.

A *sum* is the heuristic of one partition through one symmetry of the board. If every move counts, it is the largest of
the patterns' distances, which may not be added up. A *unit* is one pattern of one sum: on a board it has a state, see
`records`.

A *view* is a map of the board's cells in a sum. A sum has one view, and one more for each symmetry by which its
patterns use the tables of others (`shared_tables`).
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize
from pdb_core.encoding import block_bytes
from pdb_core.layout import Blocks, cell_masks, pattern_blocks
from pdb_core.puzzle import Tiles
from pdb_core.ranking import arrangement_ranks, cell_set_ranks
from pdb_core.resources import available_cores
from pdb_core.shared_tables import TableUse, tiles_stood_for
from pdb_core.symmetry import mappings_between
from pdb_core.table_spec import DatabaseSpec
from pdb_core.types import BLANK, Bytes, Int64s
from pdb_query import records
from pdb_query.descent_kernels import DESCENT_FIELDS, MOST_DESCENTS, WORD_FIELDS, probe_bits
from pdb_query.lookup_kernels import probe_bytes
from pdb_query.move_records import move_records, moves_toward_goal, n_words_of

# A larger memo of descents does not fit in the processor's caches.
_MOST_MEMO_ENTRIES = 1 << 17
# Units that `probe_distances` looks up between two returns to Python.
_SLICE_UNITS = 1 << 18
# Fewer units are not worth a further thread.
_THREAD_UNITS = 1 << 14
# The start of each array of ranks is a multiple of this. Kernels read up to 15 bytes beyond the last one.
_ALIGNMENT = 64


class LookupTables(NamedTuple):
    """Tables of one partition, and what kernels need to find their entries. [p] means one entry for each pattern.

    A pattern that uses the table of another has the same values as the other.
    """

    memory: Bytes  # read-only; holds all tables
    n_tiles: Int64s  # [p]
    records: Int64s  # [p * RECORD_FIELDS], see `records`
    moves: Int64s  # [moves * MOVE_FIELDS], see `records`
    toward: Int64s  # see `moves_toward_goal`
    ranks: Bytes  # what the records refer to by address
    goal: Bytes  # [n_cells] the goal of the tables
    n_cells: int
    n_words: int  # of a set of moves
    width: int
    not_left: int  # masks of the cells outside the left and the right column, and of those of one chessboard colour
    not_right: int
    dark_cells: int
    low_bits: int  # cells in the lower and the upper half of a mask
    high_bits: int
    is_bits: int
    counts_every_move: int  # 1 if the blank's moves count: then each free cell is a region

    def blocks(self, size: BoardSize, n_tiles: int) -> Blocks:
        """Return the blocks of the patterns of `n_tiles` tiles in tables in bits."""
        return pattern_blocks(size, n_tiles, "every-move" if self.counts_every_move else "additive")


class SumViews(NamedTuple):
    """Maps from the cells and tiles of a given board to those of each of v views.

    Sum s begins with view s; views beyond the sums are those of patterns that use the tables of others. Of a catalogue,
    s counts the symmetries, and p the patterns of all q partitions.
    """

    cell_maps: Int64s  # [v, n_cells] the cell of the view for each cell of the given board
    view_of_unit: Int64s  # [s, p] the view of each pattern of each sum
    unit_maps: Int64s  # [s * p * 2 * n_cells] for each unit the cell of the view for each cell of the given board, then
    # the given board's tile for each label of the table's pattern, then 0
    is_in_sum: npt.NDArray[np.bool_]  # [q, p] whether a pattern belongs to a partition

    @property
    def n_sums(self) -> int:
        return len(self.view_of_unit)

    def tiles(self, s: int, pattern: int) -> tuple[int, ...]:
        """Return the tiles of the given board that a unit looks up, in the order of their labels."""
        tiles = self.unit_maps.reshape(*self.view_of_unit.shape, 2, -1)[s, pattern, 1]
        return tuple(tiles[tiles != BLANK].tolist())


def lookup_tables(
    spec: DatabaseSpec, uses: Sequence[TableUse], memory: Bytes, table_start: Sequence[int]
) -> LookupTables:
    """Return what lookups need. `table_start` has the start of each pattern's table, also if it is of another.

    `memory` must be read-only, so that kernels are compiled for one type.
    """
    size, goal, is_bits = spec.size, spec.goal, spec.encoding == "bits"
    counts_every_move = spec.cost == "every-move"
    # The patterns that the tables were built for.
    patterns = [spec.partition.patterns[use.index] for use in uses]
    goal_cells = [[goal.index(tile) for tile in pattern.tiles] for pattern in patterns]
    n_tiles = np.array([pattern.n_tiles for pattern in patterns], dtype=np.int64)
    _, not_left, not_right, _ = cell_masks(size)
    sets, n_words = cell_set_ranks(size.n_cells, patterns[0].n_tiles), n_words_of(size.n_cells)
    ranks, addresses = _ranks(spec, sorted(set(n_tiles.tolist())))
    first_toward = size.n_cells * n_words * (np.cumsum(n_tiles) - n_tiles)
    rows = np.zeros((len(patterns), records.RECORD_FIELDS), dtype=np.int64)
    for row, pattern, cells, start, toward in zip(rows, patterns, goal_cells, table_start, first_toward, strict=True):
        orders, goal_bit = arrangement_ranks(pattern.n_tiles), 0
        block_bits = 8 * (block_bytes if is_bits else math.factorial)(pattern.n_tiles)
        if is_bits:
            block, order = pattern_blocks(size, pattern.n_tiles, spec.cost).state_of(goal, pattern.tiles)
            goal_bit = 8 * start + block * block_bits + order
        # If every move counts, the blank's cell tells the parity.
        goal_mask = sum(1 << cell for cell in ([goal.index(BLANK)] if counts_every_move else cells))
        row[: records.GOAL_MASK + 1] = (
            *addresses[pattern.n_tiles], 8 * start, block_bits, 0 if is_bits else 3, orders.label_bits,
            orders.prefix_bits, orders.n_suffixes, toward, goal_bit, goal_mask,
        )  # fmt: skip
    return LookupTables(
        memory=memory,
        n_tiles=n_tiles,
        records=rows.reshape(-1),
        moves=move_records(size, spec.cost).reshape(-1),
        toward=moves_toward_goal(size, [cell for cells in goal_cells for cell in cells]).reshape(-1),
        ranks=ranks,
        goal=np.array(goal, dtype=np.uint8),
        n_cells=size.n_cells,
        n_words=n_words,
        width=size.width,
        not_left=not_left,
        not_right=not_right,
        dark_cells=size.dark_cells,
        low_bits=sets.low_bits,
        high_bits=sets.high_bits,
        is_bits=int(is_bits),
        counts_every_move=int(counts_every_move),
    )


def _ranks(spec: DatabaseSpec, counts: Sequence[int]) -> tuple[Bytes, dict[int, list[int]]]:
    """Return the arrays of ranks in one piece of memory, and for each number of tiles the first fields of a record."""
    arrays: list[Bytes] = []
    for n_tiles in counts:
        sets, orders = cell_set_ranks(spec.size.n_cells, n_tiles), arrangement_ranks(n_tiles)
        found: list[npt.NDArray[Any]] = [sets.low, sets.high, orders.prefix, orders.suffix]
        if spec.encoding == "bits":
            blocks = pattern_blocks(spec.size, n_tiles, spec.cost)
            found += [blocks.first_block, blocks.region_numbers]
        arrays += [array.reshape(-1).view(np.uint8) for array in found]
    arrays = [np.pad(array, (0, -len(array) % _ALIGNMENT)) for array in arrays]
    starts = np.cumsum([0, *map(len, arrays)])[:-1]
    ranks = np.concatenate([*arrays, np.zeros(_ALIGNMENT, dtype=np.uint8)])
    fields = np.zeros((len(counts), records.REGIONS + 1), dtype=np.int64)
    fields[:, : len(arrays) // len(counts)] = (ranks.ctypes.data + starts).reshape(len(counts), -1)
    return ranks, dict(zip(counts, fields.tolist(), strict=True))


def sum_views(spec: DatabaseSpec, uses: Sequence[TableUse], goal: Tiles, reflects: bool) -> SumViews:
    """Return the views of boards with `goal` through all symmetries, or through the first. Raises `GoalError`."""
    size, partition = spec.size, spec.partition
    mappings = mappings_between(goal, spec.goal, size)[: None if reflects else 1]
    # The first pattern has its own table, so the identity comes first.
    table_maps = list(dict.fromkeys(use.cell_map for use in uses))
    tiles_of = np.full((len(uses), size.n_cells), BLANK)
    for row, pattern, use in zip(tiles_of, partition.patterns, uses, strict=True):
        labels = tiles_stood_for(spec.goal, pattern, use.cell_map)
        row[: pattern.n_tiles] = [tile for _, tile in sorted(zip(labels, pattern.tiles, strict=True))]
    cell_maps = np.array([mapping.cell_map for mapping in mappings], dtype=np.int64)
    given_tiles = np.argsort([mapping.tile_map for mapping in mappings], axis=1)
    # Map m of sum s is view m * (number of sums) + s.
    all_maps = np.concatenate([np.array(table_map)[cell_maps] for table_map in table_maps])
    n_sums = len(mappings)
    firsts = n_sums * np.array([table_maps.index(use.cell_map) for use in uses], dtype=np.int64)
    view_of_unit = np.arange(n_sums)[:, None] + firsts
    unit_maps = np.stack([all_maps[view_of_unit], given_tiles[:, tiles_of]], axis=2)
    is_in_sum = np.array([[index in places for index in range(len(uses))] for places in partition.sums])
    return SumViews(all_maps, view_of_unit, unit_maps.reshape(-1), is_in_sum)


def probe_boards(
    boards: Bytes, tables: LookupTables, views: SumViews, memo: Int64s | None = None
) -> tuple[Int64s, Bytes]:
    """Look up every unit of every board (valid boards, contiguous, uint8[m, n_cells]).

    Return the states of the units, int64[m, s, p], and their distances, uint8[m, s, p]: UNREACHED for damaged tables or
    unsolvable boards. `memo` is that of earlier boards, see `_new_memo`.
    """
    values = np.empty((len(boards), *views.view_of_unit.shape), dtype=np.uint8)
    states = np.empty(values.shape, dtype=np.int64)
    given = boards.reshape(-1), views.unit_maps, tables, states.reshape(-1), values.reshape(-1)
    # Separate kernels, so that only those in use are compiled.
    if tables.is_bits:
        n_descents = min(MOST_DESCENTS, values.size)
        cells = np.empty(tables.n_cells, dtype=np.int64)
        descents = np.empty((n_descents, DESCENT_FIELDS), dtype=np.int64)
        moves = np.empty((n_descents, 2, tables.n_words, WORD_FIELDS), dtype=np.int64)
        probe_bits(*given, cells, descents, moves, _new_memo(values.size) if memo is None else memo)
    else:
        probe_bytes(*given)
    return states, values


def probe_distances(boards: Bytes, tables: LookupTables, views: SumViews, n_threads: int | None) -> Bytes:
    """Return the distances of `probe_boards` alone.

    Many boards are looked up in slices of some 0.1 s, by at most `n_threads` threads (None: one for each core). Only
    the slices that are being looked up have their states in memory.
    """
    n_units = len(boards) * views.view_of_unit.size
    most_threads = n_units // _THREAD_UNITS
    if most_threads < 2:
        return probe_boards(boards, tables, views)[1]
    n_threads = min(most_threads, n_threads or available_cores())
    n_boards = max(1, min(_SLICE_UNITS, -(-n_units // n_threads)) // views.view_of_unit.size)
    slices = [boards[start : start + n_boards] for start in range(0, len(boards), n_boards)]
    memos = [_new_memo(n_units // n_threads) for _ in range(n_threads)]

    def look_up(part: Bytes) -> Bytes:
        memo = memos.pop()
        values = probe_boards(part, tables, views, memo)[1]
        memos.append(memo)
        return values

    with ThreadPoolExecutor(n_threads) as pool:
        return np.concatenate(list(pool.map(look_up, slices)))


def _new_memo(n_units: int) -> Int64s:
    """Return an empty memo of descents: a power of 2, about the number of units, since each adds one distance."""
    return np.zeros(min(1 << n_units.bit_length(), _MOST_MEMO_ENTRIES), dtype=np.int64)
