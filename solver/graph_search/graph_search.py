"""Searches that store every node they generate, unlike IDA*. Read this first.

breadth-first     layer by layer from the board; optimal                       breadth_first.py
bidirectional     layer by layer from the board and from the goal; optimal     breadth_first.py
a-star            least g + h first; optimal                                   best_first.py
weighted-a-star   least g + w * h first; at most w times as long               best_first.py
greedy            least h first; any length                                    best_first.py

All pack boards into words, and store them in a hash table (node_table.py) up to a limit of memory.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from pdb_core.arguments import FilePath, as_choice, as_count
from pdb_core.board_size import SizeLike, as_size, check_table_size
from pdb_core.errors import InputError, MemoryLimitError, PdbError, TableFileDamagedError, WrongAnswerError
from pdb_core.puzzle import Board, BoardLike, as_goal
from pdb_query import Database
from pdb_query.database import as_databases
from solver.algorithms import A_STAR, ALGORITHMS, BIDIRECTIONAL, DEFAULT_WEIGHT, GREEDY, WEIGHTED_A_STAR
from solver.graph_search.best_first import GREEDY_ORDER, BestFirstSearch, Evaluation, order_of
from solver.graph_search.breadth_first import BreadthFirstSearch
from solver.graph_search.node_table import packing_of
from solver.graph_search.node_table_kernels import EXPANDED, GENERATED, N_NODES, PEAK_OPEN, REOPENED
from solver.heuristics import HeuristicsLike
from solver.heuristics.heuristic import checked_solution
from solver.progress import WARM_UP_LIMITS, Clock, LimitsLike, Report, as_limits
from solver.solution import Solution, check_replay, check_solvable, least_length, one_move_away, solution_of

# The algorithms of this package.
GRAPH_SEARCHES = tuple(name for name, algorithm in ALGORITHMS.items() if algorithm.stores_nodes)


class GraphSolver:
    """Solver for one goal, by a search that stores its nodes. Thread-safe.

    Its h is the largest of the heuristics and of all sums of the databases.

    Parameters
    ----------
    size
        Size of the boards, up to 6x6, such as "4x3", 4 or (4, 3).
    goal
        Board to reach, or its name.
    algorithm
        ``"a-star"``, ``"weighted-a-star"``, ``"greedy"``, ``"breadth-first"`` or ``"bidirectional"``.
    heuristics
        One name from `solver.heuristics.HEURISTICS`, or several, or a function as for `HeuristicSolver`.
        Without any, and without databases, ``manhattan``.
    databases
        One database for this size, which serves the goal, or several; open, or as paths.
    weight
        Suboptimality bound w of weighted A*: 1 to 100, rounded down to hundredths; 1.5 by default.
    memory_limit_bytes
        Limit for one board at a time; by default three quarters of the available memory.

    Raises
    ------
    InputError
        If the algorithm is unknown, the weight impossible or for another algorithm, the board larger than 6x6, or a
        heuristic does not exist for the size.
    GoalError
        If the goal is invalid, or a database cannot serve it.
    TableMismatchError
        If a database is for another size.

    Examples
    --------
    >>> solver = GraphSolver("3x3", algorithm="a-star", heuristics="manhattan")
    >>> solver.solve((1, 2, 3, 4, 5, 6, 0, 7, 8)).moves
    (7, 8)
    """

    def __init__(
        self,
        size: SizeLike,
        goal: BoardLike = "blank-last",
        *,
        algorithm: str = A_STAR,
        heuristics: HeuristicsLike = (),
        databases: Database | FilePath | Sequence[Database | FilePath] = (),
        weight: float | None = None,
        memory_limit_bytes: int | None = None,
    ) -> None:
        as_choice(algorithm, "algorithm", GRAPH_SEARCHES)
        if weight is not None and algorithm != WEIGHTED_A_STAR:
            raise InputError(f"{algorithm} has no weight; leave it out, or give the algorithm {WEIGHTED_A_STAR}")
        size, opened = as_size(size), as_databases(databases)
        if (heuristics or opened) and not ALGORITHMS[algorithm].uses_heuristic:
            raise InputError(f"{algorithm} uses no heuristic; leave out heuristics and databases")
        self._made = partial(
            type(self),
            size,
            goal,
            algorithm=algorithm,
            heuristics=heuristics,
            databases=opened,
            weight=weight,
            memory_limit_bytes=memory_limit_bytes,
        )
        check_table_size(size)
        self._size, self._goal, self._algorithm = size, as_goal(goal, size), algorithm
        limit = memory_limit_bytes
        self._memory_limit_bytes = None if limit is None else as_count(limit, "memory_limit_bytes")
        self._packing = packing_of(size, self._goal)
        if weight is None:
            weight = DEFAULT_WEIGHT if algorithm == WEIGHTED_A_STAR else 1.0
        self._order = GREEDY_ORDER if algorithm == GREEDY else order_of(weight)
        self._evaluation: Evaluation | None = None
        if ALGORITHMS[algorithm].uses_heuristic:
            names = heuristics or (() if opened else "manhattan")
            self._evaluation = Evaluation(size, self._goal, names, opened)
        self._source = " or ".join(str(database.path) for database in opened)
        # Load or compile the kernels now: the first board's seconds are then those of its search.
        self.solve(one_move_away(self._goal, size), limits=WARM_UP_LIMITS)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made, ()

    def __repr__(self) -> str:
        return f"GraphSolver({self._size}, {self._algorithm})"

    def solve(self, board: BoardLike, *, limits: LimitsLike = None, report: Report | None = None) -> Solution:
        """Return the solution of `board` that the search finds.

        Parameters
        ----------
        board
            Board to solve.
        limits
            Seconds, or limits of time and nodes. If one is reached, the solution has no length.
        report
            Function that is called several times a second with the current key or depth. An exception from it ends the
            search.

        Raises
        ------
        BoardError
            If the board is not one of the solver's size.
        UnsolvableError
            If the board cannot be solved.
        MemoryLimitError
            If the nodes exceed the limit. Its `solution` has the bounds and the node counts so far.
        TableFileDamagedError
            If the tables contradict the solution.
        WrongAnswerError
            If the solution fails its replay.
        """
        board = Board(board, self._size)
        check_solvable(board, self._goal, self._size)
        clock = Clock(as_limits(limits), report)
        search = self._search_of(board)
        try:
            tiles = search.find(clock)
        except MemoryLimitError as error:
            error.solution = self._solution(board, search, None, clock)
            raise
        if tiles is not None:
            check_replay(board, tiles, self._goal, self._size)
        solution = self._solution(board, search, tiles, clock)
        if solution.length is not None and solution.length < solution.lower_bound:
            raise self._too_short(solution.length, solution.lower_bound)
        return solution

    def _search_of(self, board: Board) -> BestFirstSearch | BreadthFirstSearch:
        """Return the search of a board, which has not begun."""
        if self._evaluation is not None:
            return BestFirstSearch(board, self._packing, self._evaluation, self._order, self._memory_limit_bytes)
        return BreadthFirstSearch(
            board, self._goal, self._packing, self._memory_limit_bytes, from_both_ends=self._algorithm == BIDIRECTIONAL
        )

    def _too_short(self, length: int, lower_bound: int) -> PdbError:
        """Return the error of a solution that is shorter than a lower bound."""
        what = f"a solution has {length} moves, fewer than the lower bound {lower_bound}"
        if self._source:
            return TableFileDamagedError(f"{self._source} is damaged: {what}; run pdb verify, and build it again")
        return WrongAnswerError(f"{what}; please report this board")

    def _solution(
        self, board: Board, search: BestFirstSearch | BreadthFirstSearch, tiles: tuple[int, ...] | None, clock: Clock
    ) -> Solution:
        """Return what a search found, and what it proves."""
        counters = search.table.counters.tolist()
        # A lower bound that the length meets proves it, whichever search found it.
        solution = solution_of(
            board,
            self._goal,
            tiles,
            least_length(search.lower_bound, board, self._goal),
            search.suboptimality_bound,
            h=search.h,
            generated=counters[GENERATED],
            expanded=counters[EXPANDED],
            reopened=counters[REOPENED],
            peak_open=counters[PEAK_OPEN],
            n_nodes=counters[N_NODES],
            n_bytes=search.table.n_bytes,
            n_solutions=int(tiles is not None),
            seconds=clock.seconds,
            algorithm=self._algorithm,
        )
        return solution if self._evaluation is None else checked_solution(solution, self._evaluation.heuristic)
