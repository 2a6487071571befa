"""The arrays that the kernels of the classic IDA* work on: what never changes during a search, and the piles of nodes.

A *pile* holds the nodes that were generated, not pruned and not entered yet; the search takes the uppermost, and lays
its children on top. Those at the bottom are the nearest to the root.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.lookup import Int64s
from pdb_core.puzzle import BLANK, Board, BoardSize
from solver.engine.layout import N_COUNTERS
from solver.engine.unit_tables import N_MOVES
from solver.heuristics import HeuristicTables, heuristic_tables
from solver.heuristics.heuristic import KORF_TAYLOR, LINEAR_CONFLICT, MANHATTAN, MISPLACED
from solver.move_pruning.move_pruning import DOWN, LEFT, RIGHT, UP, MoveMachine

UInt64s = npt.NDArray[np.uint64]

# A row of `Pile.words`: where the search stands, and the board. PLACE packs, from the lowest bits: the state of the
# move machine, the moves made, the slack, the blank's cell, each in 16 bits. The *slack* is half of what threshold
# leaves above f: a move that takes a tile farther from its place takes 1 of it, one that takes it nearer none.
# CONFLICTS are the moves of linear conflicts, in rows of the general kernel alone.
PLACE, PACKED_BOARD = range(2)
PLACE, CONFLICTS, BOARD = range(3)
PACKED_ROW = 2
DEPTH_SHIFT, SLACK_SHIFT, BLANK_SHIFT = 16, 32, 48
FIELD = (1 << 16) - 1
# The first row is where the general kernel keeps the node it is at; the pile begins above it.
FIRST_ROW = 1
# `Pile.counters`, after those of every search: the lowest and the uppermost row of the pile, the latter excluded.
BASE, TOP, FOUND_DEPTH = range(N_COUNTERS, N_COUNTERS + 3)

# A packed board has four bits a cell.
MAX_PACKED_CELLS = 16

_STEPS = {UP: (-1, 0), LEFT: (0, -1), RIGHT: (0, 1), DOWN: (1, 0)}


class PackedTables(NamedTuple):
    """What the kernel of packed boards reads.

    allowed     uint8[states]    mask of the moves that the machine does not refuse
    successors  uint64[states]   the states after each move, 16 bits a move
    cell_moves  uint64[n_cells]  mask of the moves that a blank on the cell can make
    nearer      uint64[n_cells]  for a blank on the cell: bit 16 * move + tile, whether the move takes that tile nearer
                                 to its place
    """

    allowed: npt.NDArray[np.uint8]
    successors: UInt64s
    cell_moves: UInt64s
    nearer: UInt64s
    width: int


class ClassicTables(NamedTuple):
    """What the general kernel reads.

    edge_cells      int64[n_cells * N_MOVES]  the cell that the tile comes from; 0 where there is none
    is_nearer       uint8[n_cells * N_MOVES * n_cells]  whether a move takes a tile nearer to its place, at
                    (blank * N_MOVES + move) * n_cells + tile
    asked           int64[m]   the heuristics that are asked about a whole board
    uses_manhattan  whether Manhattan distance prunes; it is asked first
    uses_conflicts  whether linear conflicts prune; they are asked next
    row_words       of a row of the pile
    """

    packed: PackedTables
    heuristics: HeuristicTables
    edge_cells: Int64s
    is_nearer: npt.NDArray[np.uint8]
    asked: Int64s
    uses_manhattan: int
    uses_conflicts: int
    n_cells: int
    row_words: int

    @property
    def is_packed(self) -> bool:
        """Whether the kernel of packed boards serves: Manhattan distance and nothing else, up to 16 cells."""
        return self.row_words == PACKED_ROW


class Pile(NamedTuple):
    """The nodes to be searched, and the way to the one the search is at.

    words     uint64[rows * row_words]   signed: the same memory; boards: the same, uint8, for its boards
    path      int64[max_depth + 1]       PLACE of each node from the root to the one the search is at
    counters  int64[N_COUNTERS + 3]
    """

    words: UInt64s
    signed: Int64s
    boards: npt.NDArray[np.uint8]
    path: Int64s
    counters: Int64s


def classic_tables(size: BoardSize, goal: Board, names: Sequence[str], machine: MoveMachine) -> ClassicTables:
    """The tables for the largest of some heuristics, and Manhattan distance, which is below all but one of them.

    Raises `InputError` where one of them does not exist for boards of that size.
    """
    n = size.n_cells
    edge_cells = np.zeros((n, N_MOVES), dtype=np.int64)
    cell_moves = np.zeros(n, dtype=np.uint64)
    is_nearer = np.zeros((n, N_MOVES, n), dtype=np.uint8)
    for blank in range(n):
        row, column = size.row_and_column(blank)
        for move, (down, right) in _STEPS.items():
            if not (0 <= row + down < size.height and 0 <= column + right < size.width):
                continue
            cell = edge_cells[blank, move] = size.cell(row + down, column + right)
            cell_moves[blank] |= np.uint64(1 << move)
            for tile in range(1, n):
                place = goal.index(tile)
                is_nearer[blank, move, tile] = _distance(size, blank, place) < _distance(size, int(cell), place)
    heuristics = heuristic_tables(names, size, goal)
    codes = set(heuristics.codes.tolist())
    uses_manhattan = codes != {MISPLACED}
    asked = sorted(codes - {MANHATTAN, LINEAR_CONFLICT} - ({MISPLACED} if uses_manhattan else set()))
    uses_conflicts = bool(codes & {LINEAR_CONFLICT, KORF_TAYLOR})  # korf-taylor only adds to them
    is_packed = n <= MAX_PACKED_CELLS and uses_manhattan and not uses_conflicts and not asked
    nearer = np.zeros(n, dtype=np.uint64)
    if n <= MAX_PACKED_CELLS:
        for blank, move, tile in np.argwhere(is_nearer).tolist():
            nearer[blank] |= np.uint64(1 << (16 * move + tile))
    packed = PackedTables(
        allowed=((machine.successors >= 0) << np.arange(N_MOVES)).sum(axis=1).astype(np.uint8),
        successors=(
            machine.successors.astype(np.uint16).astype(np.uint64) << (16 * np.arange(N_MOVES, dtype=np.uint64))
        )
        .sum(axis=1)
        .astype(np.uint64),
        cell_moves=cell_moves,
        nearer=nearer,
        width=size.width,
    )
    return ClassicTables(
        packed=packed,
        heuristics=heuristics,
        edge_cells=edge_cells.reshape(-1),
        is_nearer=is_nearer.reshape(-1),
        asked=np.array(asked, dtype=np.int64),
        uses_manhattan=int(uses_manhattan),
        uses_conflicts=int(uses_conflicts),
        n_cells=n,
        row_words=PACKED_ROW if is_packed else BOARD + -(-n // 8),
    )


def _distance(size: BoardSize, cell: int, other: int) -> int:
    (row, column), (other_row, other_column) = size.row_and_column(cell), size.row_and_column(other)
    return abs(row - other_row) + abs(column - other_column)


def empty_pile(tables: ClassicTables, max_depth: int, *, n_nodes: int | None = None) -> Pile:
    """A pile with room for a search `max_depth` moves deep, or for `n_nodes` nodes."""
    # A node on the way leaves at most two siblings behind, the root's children three; four children of the last are
    # written before it is known how many stay.
    n_rows = FIRST_ROW + (2 * max_depth + 8 if n_nodes is None else n_nodes)
    words = np.zeros(n_rows * tables.row_words, dtype=np.uint64)
    counters = np.zeros(N_COUNTERS + 3, dtype=np.int64)
    counters[BASE] = counters[TOP] = FIRST_ROW
    return Pile(
        words=words,
        signed=words.view(np.int64),
        boards=words.view(np.uint8),
        path=np.zeros(max_depth + 1, dtype=np.int64),
        counters=counters,
    )


def pack_board(board: Board) -> int:
    """A board of up to 16 cells in four bits a cell, read from the blank's cell on and around: so the cells next to the
    blank are at the same places, wherever it is.
    """
    blank = board.index(BLANK)
    return sum(tile << (4 * ((cell - blank) % MAX_PACKED_CELLS)) for cell, tile in enumerate(board))
