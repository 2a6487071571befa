"""A*, weighted A* and greedy best-first search: the setup, and the loop around the slices of the kernel.

Between slices Python lets arrays grow, checks the limits, reports progress, and acts on Ctrl-C.

With any heuristic that never overestimates, A* returns an optimal solution, and weighted A* one of at most w times that
length. On any optimal path there is always an open node reached with its least g, so that g + w * h <= w * optimum,
and the goal is expanded only when no key is less (Pohl 1970; Likhachev, Gordon and Thrun 2003). That needs closed nodes
to be reopened; greedy search guarantees nothing and reopens none.
"""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InputError, LimitReachedError, MemoryLimitError
from pdb_core.puzzle import Board, BoardSize, Tiles
from pdb_query import Database
from pdb_query.lookup import Int64s
from solver.engine.unit_tables import DatabaseSums, UnitTables, sums_of, unit_tables
from solver.graph_search.best_first_kernels import (
    EMPTY,
    EXPANDED,
    FILLED_BITS,
    FIRST_BUCKET,
    FOUND,
    GENERATED,
    LARGEST_KEY,
    MAX_G,
    MAX_H,
    MOVE_MASK,
    MOVE_SHIFT,
    N_COUNTERS,
    N_NODES,
    NO_BUCKETS,
    NO_ROOM,
    PEAK_OPEN,
    REOPENED,
    expand_best,
    push,
)
from solver.graph_search.node_table import NodeTable, known_solution, pack, packing_of, scratch_of
from solver.heuristics import HeuristicTables, heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate
from solver.heuristics.heuristic import TRIPLES
from solver.progress import Clock, Limits, Report
from solver.solution import Solution

# Expansions between two looks at the clock: 10 to 50 ms, also with triples, which take 10 microseconds per 5x5 board.
_SLICE_EXPANSIONS = 20_000
_SLICE_EXPANSIONS_OF_TRIPLES = 2_000
# The g that buckets are made for at first.
_FIRST_G = 128
_MOST_WEIGHT = 100


class Order(NamedTuple):
    """Order of the open list: by key, g_factor * g + h_factor * h in lowest terms, then by h // tie_divisor.

    The h of nodes of one key differ by multiples of g_factor, so that this distinguishes them. The ratio of the factors
    is w, infinite for greedy search, which has one bucket per key.
    """

    g_factor: int
    h_factor: int
    n_ties: int
    tie_divisor: int

    def n_buckets(self, most_g: int) -> int:
        """Return the number of buckets for all nodes with g up to `most_g`."""
        return (self.g_factor * most_g + self.h_factor * MAX_H + 1) * self.n_ties


GREEDY_ORDER = Order(0, 1, 1, MAX_H + 1)


class OpenList(NamedTuple):
    """Buckets of open nodes.

    heads   int32[buckets]  the id of the first node plus 1, or 0
    filled  int64[buckets / FILLED_BITS]  a bit for each bucket, 0 if it is empty
    """

    heads: npt.NDArray[np.int32]
    filled: Int64s


class UnitScratch(NamedTuple):
    """Scratch memory of the kernel: as `Scratch`, and the units of one board."""

    board: npt.NDArray[np.uint8]
    children: Int64s
    slots: Int64s
    words: Int64s


def order_of(weight: float) -> Order:
    """Return the order of weighted A*, w in whole hundredths. Raises `InputError`."""
    if not 1 <= weight <= _MOST_WEIGHT:
        raise InputError(
            f"weight {weight} is out of range; give a suboptimality bound from 1, which is A*, to {_MOST_WEIGHT}"
        )
    # Rounded down, so that the bound holds for the given weight too.
    ratio = Fraction(Decimal(repr(float(weight))).quantize(Decimal("0.01"), ROUND_FLOOR))
    return Order(ratio.denominator, ratio.numerator, MAX_H // ratio.denominator + 1, ratio.denominator)


class BestFirst:
    """Best-first search for one goal, with the largest of some heuristics and of all sums of some databases."""

    def __init__(
        self,
        size: BoardSize,
        goal: Board,
        heuristics: Sequence[str],
        databases: Sequence[Database],
        order: Order,
        memory_limit_bytes: int | None,
    ) -> None:
        """Raises `InputError`, `TableMismatchError` and `GoalError` if one of them does not serve the goal."""
        self._order, self._memory_limit_bytes = order, memory_limit_bytes
        for database in databases:
            database.check_size(size)
        self._goal, self._databases = goal, tuple(databases)
        self._packing = packing_of(size, goal)
        self._heuristic: HeuristicTables = heuristic_tables(heuristics, size, goal)
        # The kernel reads these tables by address.
        self._sums = sums = [DatabaseSums(database.lookup_tables, database.views(goal)) for database in databases]
        self._tables: UnitTables = unit_tables(size, sums_of(sums))

    def search(self, board: Board, limits: Limits, report: Report | None) -> Solution:
        """Search a solvable board. Returns what is known, not replayed; `lower_bound` may be of the wrong parity.

        Raises `MemoryLimitError`, with what is known as its `solution` if the search had begun.
        """
        clock = Clock(limits, report)
        order, n_units = self._order, self._tables.n_units
        open_list = _open_list(order.n_buckets(_FIRST_G))
        table = NodeTable(
            self._packing,
            n_notes=1,
            n_values=n_units,
            memory_limit_bytes=self._memory_limit_bytes,
            other_bytes=open_list.heads.nbytes + open_list.filled.nbytes,
        )
        counters = np.zeros(N_COUNTERS, dtype=np.int64)
        scratch = UnitScratch(*scratch_of(self._packing), np.zeros(n_units, dtype=np.int64))
        h = self._push_root(board, table, open_list, counters)
        uses_triples = TRIPLES in self._heuristic.codes
        n_expansions = _SLICE_EXPANSIONS_OF_TRIPLES if uses_triples else _SLICE_EXPANSIONS
        most_nodes = np.iinfo(np.int64).max if limits.nodes is None else limits.nodes

        def is_over() -> bool:
            return clock.is_over(int(counters[LARGEST_KEY]), counters[GENERATED], counters[EXPANDED])

        memory_error = None
        while memory_error is None:
            status = expand_best(
                self._packing, self._heuristic, self._tables, table.nodes, order, open_list, counters,
                scratch, n_expansions, most_nodes,
            )  # fmt: skip
            try:
                if status == NO_ROOM:
                    table.make_room(int(counters[N_NODES]), is_over)
                elif status == NO_BUCKETS:
                    _add_buckets(order, open_list, table)
            except MemoryLimitError as error:
                memory_error = error
            except MemoryError:
                memory_error = table.too_large(int(counters[N_NODES]), by_system=True)
            if status in (FOUND, EMPTY) or is_over() or counters[GENERATED] >= most_nodes:
                break
        tiles = table.path_to(self._goal, 0, _move_of) if status == FOUND else None
        return known_solution(
            board,
            self._goal,
            tiles,
            memory_error,
            h=h,
            lower_bound=_lower_bound(h, order, int(counters[LARGEST_KEY])),
            generated=int(counters[GENERATED]),
            expanded=int(counters[EXPANDED]),
            reopened=int(counters[REOPENED]),
            peak_open=int(counters[PEAK_OPEN]),
            n_nodes=int(counters[N_NODES]),
            n_bytes=table.n_bytes,
            seconds=clock.seconds,
        )

    def _push_root(self, board: Tiles, table: NodeTable, open_list: OpenList, counters: Int64s) -> int:
        """Make the board node 0, and open it. Returns its h."""
        cells = np.array([board], dtype=np.uint8)
        h = int(evaluate(self._heuristic, cells[0]))
        values = [database.probe_batch(cells, self._goal) for database in self._databases]
        h = max([h, *(int(probe.maximum[0]) for probe in values)])
        distances = [
            probe.values[0, s, list(patterns)]
            for probe, heuristic in zip(values, self._sums, strict=True)
            for s, patterns in heuristic.sums()
        ]
        table.nodes.values[: self._tables.n_units] = np.concatenate([np.empty(0, dtype=np.uint8), *distances])
        table.add(pack(self._packing, board), 0)
        counters[N_NODES] = 1
        counters[FIRST_BUCKET] = len(open_list.heads)
        push(table.nodes, self._order, open_list, counters, 0, 0, min(h, MAX_H), 0)
        return h


def _move_of(row: Int64s) -> int:
    return int(row[-1]) >> MOVE_SHIFT & MOVE_MASK


def _lower_bound(h: int, order: Order, largest_key: int) -> int:
    """Return the lower bound that is proved: a key that was the least of all is at most h_factor times the optimum."""
    return h if order.g_factor == 0 else max(h, -(-largest_key // order.h_factor))


def _open_list(n_buckets: int) -> OpenList:
    return OpenList(np.zeros(n_buckets, dtype=np.int32), np.zeros(n_buckets // FILLED_BITS + 1, dtype=np.int64))


def _add_buckets(order: Order, open_list: OpenList, table: NodeTable) -> None:
    """Add as many buckets again. Raises `LimitReachedError` if a node can hold no larger g, and `MemoryLimitError`."""
    n_buckets = 2 * len(open_list.heads)
    if n_buckets > 2 * order.n_buckets(MAX_G):
        raise LimitReachedError(
            f"the search looks into sequences of more than {MAX_G:,} moves; use another search or heuristic"
        )
    table.reserve(n_buckets * 4 + n_buckets // FILLED_BITS * 8)
    open_list.heads.resize(n_buckets, refcheck=False)
    open_list.filled.resize(n_buckets // FILLED_BITS + 1, refcheck=False)
