"""The arrays that the IDA* kernel works on: what never changes during a search, and the stacks that do.

Everything is flat and one-dimensional: one row of numbers for each edge, unit or node.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.lookup import Int64s, LookupTables, SumViews
from pdb_core.puzzle import BLANK as EMPTY
from pdb_core.puzzle import Board, BoardSize
from solver.move_pruning.move_pruning import DOWN, LEFT, RIGHT, START, UP, MoveMachine

Number = TypeVar("Number", bound=np.generic)

# A row of `SearchTables.units`: where the parts of this unit's pattern start, and how its labels are packed. Distances
# are found by bit addresses: 8 * the address of a byte + the number of a bit. ROW_BITS are those of a block in bits, of
# a cell set in bytes; ENTRY_SHIFT is 0 or 3. BLOCKS and REGIONS are -1 in bytes.
UNIT_FIELDS = 16
(
    TABLE, ROW_BITS, ENTRY_SHIFT, LOW, HIGH, BLOCKS, REGIONS, PREFIX, SUFFIX, LABEL_BITS, PREFIX_BITS, N_SUFFIXES,
) = range(12)  # fmt: skip
# A row of `SearchTables.edges`, one for each edge and each way to map cells: masks of the cells that the edge becomes,
# and the cell that the tile leaves.
EDGE_FIELDS = 8
BOTH_CELLS, CELLS_BETWEEN, CELLS_BELOW, IS_UPWARD, LEFT_CELL = range(5)
# The blank moves up, left, right or down; children are told by that. Edges are told by blank * N_MOVES + move.
N_MOVES = 4
# A row of `Lanes.rows`: these, the board (in whole 64-bit integers), the words of the units, the sums, the children.
# UNTRIED is the mask of the children that are neither pruned nor entered; TILE was moved to come here; FIRST_SUM is the
# largest, the first one to be asked about the children.
BLANK, MACHINE_STATE, TILE, UNTRIED, FIRST_SUM, BOARD = range(6)
# Of a child in one sum. H_OR_ADDRESS is the bit address until the value has been read.
CHILD_FIELDS = 2
WORD, H_OR_ADDRESS = range(2)
# A row of `Lanes.lanes`.
LANE_FIELDS = 4
PHASE, DEPTH, BASE, SHALLOWEST = range(4)
IDLE, FRESH = -1, -2
# `Lanes.counters`.
N_COUNTERS = 5
GENERATED, EXPANDED, FOUND_DEPTH, FOUND_LANE, SOLUTIONS = range(N_COUNTERS)

# A unit's state in one word: cell set below, packed labels above it, and its distance in the uppermost byte. Every
# table that fits a memory fits the word too: 36 cells and 6 labels of 3 bits, 25 and 8, 16 and 10 labels of 4 bits.
VALUE_SHIFT = 56
STATE_MASK = (1 << VALUE_SHIFT) - 1

_DIRECTIONS = {(-1, False): UP, (-1, True): LEFT, (1, True): RIGHT, (1, False): DOWN}

# Measured: tables up to this size stay in the processor's caches, and there is less to wait for; with many sums the
# lookups of one node wait for each other. See docs/decisions.
_CACHED_TABLE_BYTES = 16_000_000
_MANY_SUMS = 4
_N_LANES_CACHED, _N_LANES_MANY_SUMS, _N_LANES = 2, 3, 4


class SearchTables(NamedTuple):
    """What never changes during a search.

    set_ranks     int32          the lower and upper parts of all cell-set ranks
    order_ranks   uint16         the prefix and suffix parts of all arrangement ranks
    first_block   int32          for units in bits, see `layout.Blocks`
    region_numbers  uint8        the same
    units         int64[u * UNIT_FIELDS]
    edges         int64[ways * n_cells * N_MOVES * EDGE_FIELDS]   first those of each sum's first unit
    edge_cells    int64[n_cells * N_MOVES]   the cell that the tile comes from; 0 where there is none
    cell_moves    int64[n_cells]       mask of the moves that a blank on the cell can make
    unit_of_tile  int64[s * n_cells]   the unit whose distance a move of the tile changes; where every move counts and
                  the tile is of no pattern, ~unit: nothing moves but the blank
    edges_of_tile int64[s * n_cells]   where the edges of that unit start in `edges`
    sum_is_bits   int64[s]             whether its tables are bits
    goal          uint8[n_cells]
    successors    int16[states * N_MOVES]    the machine that prunes duplicate moves, see `move_pruning.MoveMachine`
    allowed       uint8[states]        mask of the moves it does not refuse
    words_at, sums_at, children_at, row_size   of a row of `Lanes`
    shares_tables  whether the units of some sum map cells in different ways, see `pdb_core.sharing`
    """

    set_ranks: npt.NDArray[np.int32]
    order_ranks: npt.NDArray[np.uint16]
    first_block: npt.NDArray[np.int32]
    region_numbers: npt.NDArray[np.uint8]
    units: Int64s
    edges: Int64s
    edge_cells: Int64s
    cell_moves: Int64s
    unit_of_tile: Int64s
    edges_of_tile: Int64s
    sum_is_bits: Int64s
    goal: npt.NDArray[np.uint8]
    successors: npt.NDArray[np.int16]
    allowed: npt.NDArray[np.uint8]
    words_at: int
    sums_at: int
    children_at: int
    row_size: int
    n_cells: int
    low_bits: int
    high_bits: int
    n_sums: int
    n_units: int
    n_lanes: int
    orders_children: int
    shares_tables: int


class Lanes(NamedTuple):
    """The stacks. A *lane* is a depth-first search of one subtree; the lanes take turns, so that while one waits for
    memory the others work. Lane l at depth d uses row l * n_rows + d.

    rows        int64[rows * row_size]
    boards      uint8[8 * rows * row_size]   the same memory, for its boards
    lanes       int64[l * LANE_FIELDS]
    counters    int64[N_COUNTERS]
    """

    rows: Int64s
    boards: npt.NDArray[np.uint8]
    lanes: Int64s
    counters: Int64s
    n_rows: int


class Heuristic(NamedTuple):
    """The sums of one database: its tables, and the views of a board through its symmetries."""

    tables: LookupTables
    views: SumViews

    def sums(self) -> list[tuple[int, tuple[int, ...]]]:
        """Each sum of the search, as a sum of the views and its patterns: all of them, and where every move counts each
        by itself.

        There, a pattern that a symmetry takes to one before is left out: its distances are the same. (The fringe is its
        own reflection.)
        """
        n_sums, n_patterns = self.views.view_of_unit.shape
        if not self.tables.counts_every_move:
            return [(s, tuple(range(n_patterns))) for s in range(n_sums)]
        by_tiles: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
        for s, pattern_of in enumerate(self.views.patterns_of_tiles()):
            for pattern in range(n_patterns):
                tiles = tuple(np.flatnonzero(pattern_of == pattern).tolist())
                by_tiles.setdefault(tiles, (s, (pattern,)))
        return list(by_tiles.values())


def search_tables(
    size: BoardSize, heuristics: Sequence[Heuristic], machine: MoveMachine, *, orders_children: bool
) -> SearchTables:
    """Arrange the tables of databases, the views of a goal and the machine that prunes moves for the kernel.

    The memory of the tables must outlive what is returned. The goal is that of the first one's tables.
    `orders_children`: whether the child with the least sums is searched first, or the one of the last edge.
    """
    edge_cells, cell_moves = blank_moves(size)
    # Empty arrays to begin with: a best-first search may do without a database.
    parts = _Parts(
        [np.empty(0, dtype=np.int32)],
        [np.empty(0, dtype=np.uint16)],
        [np.empty(0, dtype=np.int32)],
        [np.empty(0, dtype=np.uint8)],
    )
    unit_rows = [np.empty((0, UNIT_FIELDS), dtype=np.int64)]
    ways: list[tuple[int, ...]] = []  # how each unit maps the cells
    sum_of_unit: list[int] = []
    unit_of_tile = [np.empty(0, dtype=np.int64)]
    sum_is_bits: list[int] = []
    n_units = table_bytes = 0
    for heuristic in heuristics:
        tables, views = heuristic
        rows, patterns_of_tiles = _unit_rows(tables, parts), views.patterns_of_tiles()
        for s, patterns in heuristic.sums():
            unit_rows.append(rows[list(patterns)])
            ways += map(tuple, views.cell_maps[views.view_of_unit[s, patterns]].tolist())
            sum_of_unit += [len(sum_is_bits)] * len(patterns)
            pattern_of = patterns_of_tiles[s]
            if tables.counts_every_move:
                unit_of_tile.append(np.where(pattern_of == patterns[0], n_units, ~n_units))
            else:
                unit_of_tile.append(n_units + np.maximum(pattern_of, 0))
            sum_is_bits.append(tables.is_bits)
            n_units += len(patterns)
        table_bytes += len(tables.memory)
    unit_of = np.concatenate(unit_of_tile)
    edges, edges_of_unit, shares_tables = _edges(edge_cells, ways, sum_of_unit)
    n_sums = len(sum_is_bits)
    words_at = BOARD + -(-size.n_cells // 8)
    sums_at = words_at + n_units
    children_at = sums_at + n_sums
    return SearchTables(
        set_ranks=np.concatenate(parts.set_ranks),
        order_ranks=np.concatenate(parts.order_ranks),
        first_block=np.concatenate(parts.first_block),
        region_numbers=np.concatenate(parts.region_numbers),
        units=np.concatenate(unit_rows).reshape(-1),
        edges=edges,
        edge_cells=edge_cells.reshape(-1),
        cell_moves=cell_moves,
        unit_of_tile=unit_of,
        edges_of_tile=edges_of_unit[unit_of ^ (unit_of >> 63)],
        sum_is_bits=np.array(sum_is_bits, dtype=np.int64),
        goal=heuristics[0].tables.goal if heuristics else np.zeros(size.n_cells, dtype=np.uint8),
        successors=machine.successors.reshape(-1),
        allowed=((machine.successors >= 0) << np.arange(N_MOVES)).sum(axis=1).astype(np.uint8),
        words_at=words_at,
        sums_at=sums_at,
        children_at=children_at,
        row_size=children_at + n_sums * N_MOVES * CHILD_FIELDS,
        n_cells=size.n_cells,
        low_bits=heuristics[0].tables.low_bits if heuristics else 0,
        high_bits=heuristics[0].tables.high_bits if heuristics else 0,
        n_sums=n_sums,
        n_units=n_units,
        orders_children=int(orders_children),
        shares_tables=int(shares_tables),
        n_lanes=_choose_lanes(table_bytes, n_sums),
    )


def blank_moves(size: BoardSize) -> tuple[Int64s, Int64s]:
    """Where the blank can go: int64[n_cells, N_MOVES], the cell each move takes it to, 0 where there is none; and
    int64[n_cells], the mask of the moves there are.
    """
    edge_cells = np.zeros((size.n_cells, N_MOVES), dtype=np.int64)
    cell_moves = np.zeros(size.n_cells, dtype=np.int64)
    for blank in range(size.n_cells):
        for cell in size.neighbours[blank]:
            move = _DIRECTIONS[int(np.sign(cell - blank)), abs(cell - blank) == 1]
            edge_cells[blank, move] = cell
            cell_moves[blank] |= 1 << move
    return edge_cells, cell_moves


def _choose_lanes(table_bytes: int, n_sums: int) -> int:
    if table_bytes <= _CACHED_TABLE_BYTES:
        return _N_LANES_CACHED
    return _N_LANES_MANY_SUMS if n_sums >= _MANY_SUMS else _N_LANES


class _Parts(NamedTuple):
    """What is gathered from all databases before it is joined."""

    set_ranks: list[npt.NDArray[np.int32]]
    order_ranks: list[npt.NDArray[np.uint16]]
    first_block: list[npt.NDArray[np.int32]]
    region_numbers: list[npt.NDArray[np.uint8]]


def _unit_rows(tables: LookupTables, parts: _Parts) -> Int64s:
    """The rows of one database's patterns; its ranks and blocks are added to `parts`."""
    rows = np.zeros((len(tables.table_start), UNIT_FIELDS), dtype=np.int64)
    rows[:, TABLE] = 8 * (tables.memory.ctypes.data + tables.table_start)
    if tables.is_bits:
        rows[:, ROW_BITS] = (tables.n_orders + 7) // 8 * 8
        rows[:, ENTRY_SHIFT] = 0
        rows[:, BLOCKS] = _append(parts.first_block, tables.first_block) + tables.block_start
        rows[:, REGIONS] = _append(parts.region_numbers, tables.region_numbers) + tables.region_start
    else:
        rows[:, ROW_BITS] = 8 * tables.n_orders
        rows[:, ENTRY_SHIFT] = 3
        rows[:, BLOCKS] = rows[:, REGIONS] = -1
    rows[:, LOW] = _append(parts.set_ranks, tables.low) + tables.low_start
    rows[:, HIGH] = _append(parts.set_ranks, tables.high) + tables.high_start
    rows[:, PREFIX] = _append(parts.order_ranks, tables.prefix) + tables.prefix_start
    rows[:, SUFFIX] = _append(parts.order_ranks, tables.suffix) + tables.suffix_start
    rows[:, LABEL_BITS] = tables.label_bits
    rows[:, PREFIX_BITS] = tables.prefix_bits
    rows[:, N_SUFFIXES] = tables.n_suffixes
    return rows


def _append(arrays: list[npt.NDArray[Number]], array: npt.NDArray[Number]) -> int:
    """Add `array` to those to be joined, if it is not there yet; where it starts."""
    start = 0
    for before in arrays:
        if np.array_equal(before, array):
            return start
        start += len(before)
    arrays.append(array)
    return start


def _edges(
    edge_cells: Int64s, ways: Sequence[tuple[int, ...]], sum_of_unit: Sequence[int]
) -> tuple[Int64s, Int64s, bool]:
    """`SearchTables.edges`, where those of each unit start in it, and `shares_tables`; `ways` is how each unit maps the
    cells.

    Each sum has the edges of its first unit at its own place, which the kernel finds without asking for the unit. Other
    units have those of the first that maps cells in the same way: few rows, which stay in the processor's caches.
    """
    n_cells = len(edge_cells)
    of_sums = [ways[sum_of_unit.index(s)] for s in dict.fromkeys(sum_of_unit)]
    all_ways = of_sums + [way for way in dict.fromkeys(ways) if way not in of_sums]
    at = [s if way == of_sums[s] else all_ways.index(way) for way, s in zip(ways, sum_of_unit, strict=True)]
    edges = _edge_rows(np.array(all_ways, dtype=np.int64).reshape(-1, n_cells), edge_cells).reshape(-1)
    return edges, np.array(at, dtype=np.int64) * (edge_cells.size * EDGE_FIELDS), at != list(sum_of_unit)


def _edge_rows(cell_maps: Int64s, edge_cells: Int64s) -> Int64s:
    """int64[ways, n_cells * N_MOVES, EDGE_FIELDS] for the edges to each cell from those in `edge_cells`, the cells
    mapped by each of `cell_maps`, int64[ways, n_cells].
    """
    target = np.repeat(cell_maps, N_MOVES, axis=1)
    source = cell_maps[:, edge_cells.reshape(-1)]
    lower, upper = np.minimum(target, source), np.maximum(target, source)
    one = np.int64(1)
    rows = np.zeros((*target.shape, EDGE_FIELDS), dtype=np.int64)
    rows[:, :, BOTH_CELLS] = (one << lower) | (one << upper)
    rows[:, :, CELLS_BETWEEN] = (one << upper) - (2 * one << lower)
    rows[:, :, CELLS_BELOW] = (one << lower) - one
    rows[:, :, IS_UPWARD] = target > source
    rows[:, :, LEFT_CELL] = source
    return rows


def empty_lanes(tables: SearchTables, max_depth: int) -> Lanes:
    """Stacks for paths of up to `max_depth` moves."""
    # One row for the root, and one more for the last move, which is written before it is known to be the last.
    n_rows = max_depth + 2
    rows = np.zeros(tables.n_lanes * n_rows * tables.row_size, dtype=np.int64)
    return Lanes(
        rows=rows,
        boards=rows.view(np.uint8),
        lanes=np.zeros(tables.n_lanes * LANE_FIELDS, dtype=np.int64),
        counters=np.zeros(N_COUNTERS, dtype=np.int64),
        n_rows=n_rows,
    )


def put_root(
    tables: SearchTables, lanes: Lanes, board: Board, words: Int64s, sums: Int64s, machine_state: int = START
) -> None:
    """Put a root into the first row, for `start_at_root`; `machine_state` is that after the moves made before it."""
    lanes.boards[8 * BOARD : 8 * BOARD + tables.n_cells] = board
    lanes.rows[BLANK] = board.index(EMPTY)
    lanes.rows[MACHINE_STATE] = machine_state
    lanes.rows[tables.words_at : tables.sums_at] = words
    lanes.rows[tables.sums_at : tables.children_at] = sums
