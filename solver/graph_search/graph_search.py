"""Searches that store every node they generate, unlike IDA*. Read this first.

breadth-first     layer by layer from the board; optimal             breadth_first.py
bidirectional     the same from the board and the goal; optimal      breadth_first.py
a-star            least g + h first; optimal                         best_first.py
weighted-a-star   least g + w * h first; at most w times as long     best_first.py
greedy            least h first; any length                          best_first.py

All pack boards into words, and store them in a hash table (node_table.py) up to a limit of memory.
"""

from collections.abc import Sequence
from dataclasses import replace

from pdb_core.errors import InputError, MemoryLimitError, PdbError, TableFileDamagedError, WrongAnswerError
from pdb_core.puzzle import BLANK, Board, BoardLike, BoardSize, as_goal, as_size, check_table_size
from pdb_query import Database
from solver.algorithms import A_STAR, ALGORITHMS, BIDIRECTIONAL, GREEDY, WEIGHTED_A_STAR
from solver.engine.worker_pool import WorkerPool
from solver.graph_search.best_first import GREEDY_ORDER, BestFirst, order_of
from solver.graph_search.breadth_first import search_breadth_first
from solver.progress import WARM_UP_LIMITS, Limits, Report
from solver.solution import Solution, check_solvable, one_move_away, replay

# The algorithms of this package.
GRAPH_SEARCHES = tuple(name for name, algorithm in ALGORITHMS.items() if algorithm.stores_nodes)


class GraphSolver:
    """Solver for one goal, by a search that stores its nodes. Thread-safe.

    `search` is a-star, weighted-a-star, greedy, breadth-first or bidirectional.

    >>> solver = GraphSolver(BoardSize(3, 3), (1, 2, 3, 4, 5, 6, 7, 8, 0), search="a-star", heuristics=["manhattan"])
    >>> solver.solve((1, 2, 3, 4, 5, 6, 0, 7, 8)).tiles
    (7, 8)
    """

    def __init__(
        self,
        size: BoardSize | str,
        goal: BoardLike,
        *,
        search: str = A_STAR,
        heuristics: Sequence[str] = (),
        databases: Sequence[Database] = (),
        weight: float = 1.0,
        memory_limit_bytes: int | None = None,
    ) -> None:
        """Make a solver. Its h is the largest of the heuristics and of all sums of the databases.

        heuristics          names, see `solver.heuristics.HEURISTICS`; without any, and without databases, manhattan
        weight              w of weighted A*: 1 to 100, rounded down to hundredths
        memory_limit_bytes  for one board at a time; by default three quarters of the available memory

        Raises `InputError` for an unknown search, an impossible weight, boards larger than 6x6, and a heuristic that
        does not exist for the size; `GoalError` for an invalid goal or if a database cannot serve it;
        `TableMismatchError` if a database is for another size.
        """
        if search not in GRAPH_SEARCHES:
            raise InputError(f"search {search!r} is not known; give one of {', '.join(GRAPH_SEARCHES)}")
        size = as_size(size)
        check_table_size(size)
        self._size, self._goal, self._search = size, as_goal(goal, size), search
        self._memory_limit_bytes = memory_limit_bytes
        self._order = GREEDY_ORDER if search == GREEDY else order_of(weight if search == WEIGHTED_A_STAR else 1.0)
        self._best_first: BestFirst | None = None
        if ALGORITHMS[search].uses_heuristic:
            names = tuple(heuristics) or (() if databases else ("manhattan",))
            self._best_first = BestFirst(size, self._goal, names, databases, self._order, memory_limit_bytes)
        self._source = " or ".join(str(database.path) for database in databases)
        # Load or compile the kernels now: the first board's seconds are then those of its search.
        self.solve(one_move_away(self._goal, size), limits=WARM_UP_LIMITS)

    def solve(
        self,
        board: BoardLike,
        *,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,  # noqa: ARG002 (one thread per board; the parameters are those of other solvers)
    ) -> Solution:
        """Return the solution of `board` that the search finds.

        `report` is called several times a second with the current key or depth; an exception from it ends the search.
        If a limit of time or nodes is reached, the solution has no length. `pool` is not used.

        Raises `BoardError`, `UnsolvableError`, `MemoryLimitError` if the nodes exceed the limit (its `solution` has the
        bounds and the node counts so far), `TableFileDamagedError` if the tables contradict the solution, and
        `WrongAnswerError` if the solution fails its replay.
        """
        board = Board(board, self._size)
        check_solvable(board, self._goal, self._size)
        limits = limits or Limits()
        try:
            if self._best_first is not None:
                found = self._best_first.search(board, limits, report)
            else:
                found = search_breadth_first(
                    board, self._goal, self._size, limits, report, self._memory_limit_bytes,
                    from_both_ends=self._search == BIDIRECTIONAL,
                )  # fmt: skip
        except MemoryLimitError as error:
            if isinstance(error.solution, Solution):
                error.solution = self._proved(error.solution)
            raise
        if found.tiles is not None:
            replay(board, found.tiles, self._goal, self._size)
        solution = self._proved(found)
        if solution.length is not None and solution.length < solution.lower_bound:
            raise self._too_short(solution.length, solution.lower_bound)
        return solution

    def _too_short(self, length: int, lower_bound: int) -> PdbError:
        """Return the error of a solution that is shorter than a lower bound."""
        what = f"a solution has {length} moves, fewer than the lower bound {lower_bound}"
        if self._source:
            return TableFileDamagedError(f"{self._source} is damaged: {what}; run pdb verify, and build it again")
        return WrongAnswerError(f"{what}; please report this board")

    def _proved(self, found: Solution) -> Solution:
        """Return what a search found, with what it proves."""
        # Every move takes the blank to a cell of the other colour.
        is_odd = self._size.is_dark(found.board.index(BLANK)) != self._size.is_dark(self._goal.index(BLANK))
        lower_bound = found.lower_bound + (found.lower_bound % 2 != is_odd)
        # A lower bound that the length meets proves it, whichever search found it.
        is_optimal = found.length == lower_bound
        has_bound = found.length is not None and self._search != GREEDY
        bound = self._order.h_factor / self._order.g_factor if has_bound else None
        return replace(
            found,
            search=self._search,
            lower_bound=lower_bound,
            is_optimal=is_optimal,
            bound=1.0 if is_optimal else bound,
        )
