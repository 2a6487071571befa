"""A*, weighted A* and greedy best-first search, which differ in their order of the open nodes.

With any heuristic that never overestimates, A* returns an optimal solution, and weighted A* one of at most w times that
length. On any optimal path there is always an open node reached with its least g, so that g + w * h <= w * optimum,
and the goal is expanded only when no key is less (Pohl 1970; Likhachev, Gordon and Thrun 2003). That needs closed nodes
to be reopened; greedy search guarantees nothing and reopens none.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pdb_core.arguments import as_number
from pdb_core.board_size import BoardSize
from pdb_core.errors import LimitReachedError
from pdb_core.puzzle import Board
from pdb_query import Database
from solver.engine.rounds.scalar import unit_tables
from solver.engine.sums import DatabaseSums, sums_of
from solver.graph_search.best_first_kernels import (
    FILLED_BITS,
    FIRST_BUCKET,
    LARGEST_KEY,
    MAX_G,
    MAX_H,
    BestFirst,
    OpenList,
    Order,
    expand_best,
    push,
)
from solver.graph_search.node_table import NodeTable
from solver.graph_search.node_table_kernels import FOUND, NO_BUCKETS, Packing
from solver.heuristics import HeuristicsLike, heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate
from solver.heuristics.heuristic import own_share
from solver.progress import Clock

# Expansions between two looks at the clock: 10 to 50 ms.
_SLICE_EXPANSIONS = 20_000
# The g that buckets are made for at first.
_FIRST_G = 128
_MOST_WEIGHT = 100


def _order(g_factor: int, h_factor: int) -> Order:
    divisor = g_factor or MAX_H + 1
    return Order(g_factor, h_factor, MAX_H // divisor + 1, divisor)


GREEDY_ORDER = _order(0, 1)


def order_of(weight: float) -> Order:
    """Return the order of weighted A*, w in whole hundredths. Raises `InputError`."""
    # Rounded down, so that the bound holds for the given weight too.
    ratio = Fraction(int(as_number(weight, "weight", 1, _MOST_WEIGHT) * 100 + 1e-6), 100)
    return _order(ratio.denominator, ratio.numerator)


def _n_buckets(order: Order, most_g: int) -> int:
    """Return the number of buckets for all nodes with g up to `most_g`."""
    return (order.g_factor * most_g + order.h_factor * MAX_H + 1) * order.n_ties


class Evaluation:
    """Tables of the largest of some heuristics and of all sums of some databases, for one goal."""

    def __init__(self, size: BoardSize, goal: Board, heuristics: HeuristicsLike, databases: Sequence[Database]) -> None:
        """Raises `InputError`, `TableMismatchError` and `GoalError` if one of them does not serve the goal."""
        for database in databases:
            database.check_size(size)
        self.goal, self._databases = goal, databases
        self.heuristic = heuristic_tables(heuristics, size, goal, may_be_none=bool(databases))
        self.slice_expansions = max(1, int(_SLICE_EXPANSIONS * own_share(size, goal, self.heuristic)))
        # The kernel reads these tables by address.
        self._sums = [DatabaseSums(database.lookup_tables, database.views(goal)) for database in databases]
        self.units = unit_tables(size, sums_of(self._sums))

    def of_board(self, board: Board) -> tuple[int, list[int]]:
        """Return h of a board, and the distance of each unit."""
        cells = np.array([board], dtype=np.uint8)
        h, distances = int(evaluate(self.heuristic, cells[0])), []
        for database, sums in zip(self._databases, self._sums, strict=True):
            probe = database.probe_batch(cells, self.goal)
            h = max(h, int(probe.h[0]))
            for view, patterns in sums.sums():
                distances += probe.values[0, view, list(patterns)].tolist()
        return h, distances


class BestFirstSearch:
    """Best-first search of one board, which must be solvable."""

    def __init__(
        self, board: Board, packing: Packing, evaluation: Evaluation, order: Order, memory_limit_bytes: int | None
    ) -> None:
        """Raises `MemoryLimitError` if the limit is less than the smallest table."""
        self._evaluation, self._order = evaluation, order
        self.suboptimality_bound = order.h_factor / order.g_factor if order.g_factor else None
        n_buckets = _n_buckets(order, _FIRST_G)
        self._open = OpenList(np.zeros(n_buckets, np.int32), np.zeros(n_buckets // FILLED_BITS + 1, np.int64))
        self.table = NodeTable(
            packing,
            n_notes=1,
            n_values=evaluation.units.n_units,
            memory_limit_bytes=memory_limit_bytes,
            other_bytes=self._open.heads.nbytes + self._open.filled.nbytes,
        )
        self.h, distances = evaluation.of_board(board)
        self.table.add(board)
        self.table.nodes.values[: len(distances)] = distances
        self.table.counters[FIRST_BUCKET] = n_buckets
        push(self.table.nodes, order, self._open, self.table.counters, 0, 0, min(self.h, MAX_H))

    @property
    def lower_bound(self) -> int:
        """Return the lower bound that is proved; it may be of the wrong parity."""
        # A key that was the least of all is at most h_factor times the optimum.
        largest_key = int(self.table.counters[LARGEST_KEY])
        return max(self.h, -(-largest_key // self._order.h_factor) if self._order.g_factor else 0)

    def find(self, clock: Clock) -> tuple[int, ...] | None:
        """Return the tiles moved in a solution, or None if a limit is reached first.

        Raises `MemoryLimitError` if the nodes exceed the limit.
        """
        tables, table = self._evaluation, self.table
        board = np.empty(table.packing.n_cells, dtype=np.uint8)

        def expand() -> int:
            status = NO_BUCKETS
            while status == NO_BUCKETS:
                search = BestFirst(
                    table.packing,
                    tables.heuristic,
                    tables.units,
                    self._order,
                    table.nodes,
                    self._open,
                    table.counters,
                    board,
                )
                status = expand_best(search, tables.slice_expansions, clock.most_nodes)
                if status == NO_BUCKETS:
                    self._add_buckets()
            return status

        status = table.run(expand, lambda: int(table.counters[LARGEST_KEY]), clock)
        return table.path_to(tables.goal, 0) if status == FOUND else None

    def _add_buckets(self) -> None:
        """Double the buckets. Raises `LimitReachedError` if a node can hold no larger g, and `MemoryLimitError`."""
        n_buckets = 2 * len(self._open.heads)
        if n_buckets > 2 * _n_buckets(self._order, MAX_G):
            raise LimitReachedError(
                f"the search looks into sequences of more than {MAX_G:,} moves; use another search or heuristic"
            )
        self.table.reserve(n_buckets * 4 + n_buckets // FILLED_BITS * 8)
        self._open.heads.resize(n_buckets, refcheck=False)
        self._open.filled.resize(n_buckets // FILLED_BITS + 1, refcheck=False)
