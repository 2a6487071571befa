"""IDA* with heuristics that need no database (Korf 1985): Manhattan distance, linear conflicts, and the others.

One kernel is for Manhattan distance alone on boards of up to 16 cells, one for all else. Thresholds are searched as in
`ida_star`, in slices and by any number of threads.
"""

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from pdb_core.lookup import Int64s
from pdb_core.puzzle import BLANK, Board, BoardSize, check_table_size, permutation_is_odd
from solver.engine.ida_star import SearchResult
from solver.engine.layout import FOUND, GENERATED, PAUSED, STOP_AT_GOAL
from solver.engine.threshold import Listed, Part, ThresholdSearch, search_threshold
from solver.engine.unit_tables import N_MOVES
from solver.engine.worker_pool import WorkerPool
from solver.heuristics.evaluate_kernels import evaluate
from solver.heuristics.heuristic import PAIRS, TRIPLES
from solver.heuristics.linear_conflict_kernels import conflicts
from solver.heuristics.manhattan_kernels import manhattan
from solver.ida_star.classic_ida_star_kernels import search_boards
from solver.ida_star.classic_tables import (
    BASE,
    BLANK_SHIFT,
    BOARD,
    CONFLICTS,
    DEPTH_SHIFT,
    FIELD,
    FIRST_ROW,
    FOUND_DEPTH,
    PACKED_BOARD,
    PLACE,
    SLACK_SHIFT,
    TOP,
    ClassicTables,
    Pile,
    classic_tables,
    empty_pile,
    pack_board,
)
from solver.ida_star.packed_ida_star_kernels import search_packed
from solver.move_pruning.move_pruning import DEFAULT_LENGTH, UNDO_LENGTH, move_machine
from solver.progress import Iteration, Limits, Report

# Nodes between two looks up, for a kernel of usual speed: some 30 ms.
_SLICE_NODES = 500_000


class ClassicIdaStar:
    """IDA* with the largest of some heuristics of `HEURISTICS`, for one goal. Any number of threads may call `search`
    at the same time.

    Manhattan distance is asked along with all of them but `misplaced`. Duplicate sequences of moves are pruned; with
    `plain` only the move that undoes the last one is, and one thread generates exactly the nodes of Korf 1985.

    >>> from pdb_core.puzzle import BoardSize, blank_last
    >>> size = BoardSize(3, 3)
    >>> ClassicIdaStar(size, blank_last(size), ["manhattan"]).search((1, 2, 3, 4, 0, 6, 7, 5, 8)).tiles
    (5, 8)
    """

    def __init__(
        self,
        size: BoardSize,
        goal: Board,
        heuristic_names: Sequence[str],
        *,
        plain: bool = False,
        keeps_equals: bool = False,
    ) -> None:
        """`keeps_equals` keeps all shortest solutions, for `finds_all`. Raises `InputError` where a heuristic does not
        exist for boards of that size, or the size is larger than 6x6.
        """
        check_table_size(size)
        self._size, self._goal = size, goal
        machine = move_machine(UNDO_LENGTH if plain else DEFAULT_LENGTH, keeps_equals=keeps_equals)
        self._tables = classic_tables(size, goal, heuristic_names, machine)

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
    ) -> SearchResult:
        """A shortest solution of `board`, which must be solvable; all as in `IdaStar.search`.

        A successor is counted when it is its turn: those that stand after the way to the goal are not.
        """
        start = time.perf_counter()
        limits = limits or Limits()
        cells = np.array(board, dtype=np.uint8)
        h = int(evaluate(self._tables.heuristics, cells))
        if board == self._goal:
            if listed is not None:
                listed(())
            return SearchResult((), 1, True, h, (), time.perf_counter() - start)

        # All solutions of a board have the same parity; so have the thresholds.
        threshold = h + (h % 2 != self._length_parity(board))
        finished: list[Iteration] = []
        while True:
            nodes_left = None if limits.nodes is None else limits.nodes - sum(at.generated for at in finished)
            search: ThresholdSearch[_PilePart] = ThresholdSearch(
                threshold, nodes_left, finds_all=finds_all, listed=listed
            )
            part = _PilePart(self._tables, board, threshold, self._pile_at_root(board, cells, threshold))
            finished.append(search_threshold(search, part, limits, start, report, pool))
            if search.status in (FOUND, PAUSED):
                tiles = search.tiles if search.n_solutions else None
                is_complete = finds_all and search.status == FOUND
                seconds = time.perf_counter() - start
                return SearchResult(tiles, search.n_solutions, is_complete, h, tuple(finished), seconds)
            threshold += 2

    def _length_parity(self, board: Board) -> int:
        """Whether the solutions of a board are of odd length: each move is one exchange."""
        return int(permutation_is_odd([self._goal.index(tile) for tile in board]))

    def _pile_at_root(self, board: Board, cells: npt.NDArray[np.uint8], threshold: int) -> Pile:
        """A pile that holds the root alone."""
        tables = self._tables
        pile = empty_pile(tables, threshold)
        row = FIRST_ROW * tables.row_words
        slack = (threshold - int(manhattan(tables.heuristics.manhattan, cells))) // 2 if tables.uses_manhattan else 0
        pile.words[row + PLACE] = (slack << SLACK_SHIFT) | (board.index(BLANK) << BLANK_SHIFT)
        if tables.is_packed:
            pile.words[row + PACKED_BOARD] = pack_board(board)
        else:
            if tables.uses_conflicts:
                pile.words[row + CONFLICTS] = int(conflicts(tables.heuristics.linear_conflict, cells))
            first = 8 * (row + BOARD)
            pile.boards[first : first + tables.n_cells] = cells
        pile.counters[TOP] = FIRST_ROW + 1
        return pile


class _PilePart(Part):
    """Nodes of a threshold on a pile."""

    def __init__(self, tables: ClassicTables, root: Board, threshold: int, pile: Pile) -> None:
        self._tables, self._root, self._threshold, self._pile = tables, root, threshold, pile
        self.slice_nodes = int(_SLICE_NODES * _speed_of(tables))

    @property
    def counters(self) -> Int64s:
        return self._pile.counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        n_nodes, pile = min(pause_at, max_nodes), self._pile
        if self._tables.is_packed:
            status = int(search_packed(self._tables.packed, pile, self._threshold, n_nodes, at_goal))
        else:
            status = int(search_boards(self._tables, pile, self._threshold, n_nodes, at_goal))
        if status == FOUND and at_goal == STOP_AT_GOAL:
            # The kernel counts all children of a node when it expands it.
            pile.counters[GENERATED] -= _n_after_path(self._tables, pile)
        return status

    def split(self) -> Self | None:
        """Take the node nearest to the root away."""
        counters, row_words = self._pile.counters, self._tables.row_words
        base = int(counters[BASE])
        if counters[TOP] - base < 2:
            return None
        other = empty_pile(self._tables, self._threshold)
        first = FIRST_ROW * row_words
        other.words[first : first + row_words] = self._pile.words[base * row_words : (base + 1) * row_words]
        # Its parent is on the way to the node the search is at.
        depth = int(other.words[first + PLACE]) >> DEPTH_SHIFT & FIELD
        other.path[:depth] = self._pile.path[:depth]
        other.counters[TOP] = FIRST_ROW + 1
        counters[BASE] += 1
        return type(self)(self._tables, self._root, self._threshold, other)

    def tiles(self) -> tuple[int, ...]:
        cells, tiles = list(self._root), []
        way = (self._pile.path[: self._pile.counters[FOUND_DEPTH] + 1] >> BLANK_SHIFT).tolist()
        for blank, cell in pairwise(way):
            tiles.append(cells[cell])
            cells[blank], cells[cell] = cells[cell], BLANK
        return tuple(tiles)


def _speed_of(tables: ClassicTables) -> float:
    """Triples of 5x5 take 10 microseconds a board; and a slice must not keep Ctrl-C waiting."""
    if tables.is_packed:
        return 10
    return 0.02 if TRIPLES in tables.asked else 0.2 if PAIRS in tables.asked else 1


def _n_after_path(tables: ClassicTables, pile: Pile) -> int:
    """The siblings that stand after the nodes on the way to the goal that was found."""
    n = 0
    way = pile.path[: pile.counters[FOUND_DEPTH] + 1].tolist()
    for place, child in pairwise(way):
        blank, cell = place >> BLANK_SHIFT, child >> BLANK_SHIFT
        moves = int(tables.packed.allowed[place & FIELD]) & int(tables.packed.cell_moves[blank])
        move = next(at for at in range(N_MOVES) if moves >> at & 1 and tables.edge_cells[blank * N_MOVES + at] == cell)
        n += (moves >> (move + 1)).bit_count()
    return n
