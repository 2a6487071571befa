"""`solve` and `Solver`: optimal solutions with the standard tables or with table files."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Self

from pdb_core.arguments import as_choice, as_names, as_number, as_threads, check_kind
from pdb_core.board_size import BoardSize, SizeLike, as_size, check_table_size
from pdb_core.moves import MovesLike
from pdb_core.puzzle import Board, BoardLike, as_goal
from pdb_query import open_database
from pdb_query.table_file import LoadMode
from solver.algorithms import ALGORITHMS, IDA_STAR
from solver.check import CheckedNotation, SolutionCheck, Solve, check_moves
from solver.engine.worker_pool import WorkerPool
from solver.graph_search.graph_search import GraphSolver
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.solution import Solution, check_solvable
from solver.solve import Solver as DatabaseSolver
from tilepdb.progress import note
from tilepdb.standard import standard_table


class Solver(DatabaseSolver):
    """Solver with the tables of databases: `Solver("data/663.h5")`, `Solver(database, ...)`, `Solver.standard(4)`.

    It has all methods of `solver.solve.Solver`, whose parameters `goal`, `plain` and `reflects` it takes. Use it as a
    context manager, or `close` it; both close the databases."""

    @classmethod
    def standard(cls, size: SizeLike = 4, goal: BoardLike = "blank-last", *, load: LoadMode = "map") -> Self:
        """Return a solver with the standard table of a size: 78 for the 15-puzzle, or 663 if 78 is too large.

        The first time, the table is built in the cache folder, with a progress bar.

        Parameters
        ----------
        goal
            Goal of boards for which none is given.
        load
            How the table is loaded, see `open_database`.

        Raises
        ------
        InputError
            For boards larger than 6x6.
        GoalError
            If the goal is not a board of this size.
        PdbError
            The errors of `build_database` and `open_database`.
        """
        board_size = as_size(size)
        check_table_size(board_size)
        checked_goal = as_goal(goal, board_size)
        return cls(open_database(standard_table(board_size, checked_goal, note), load=load), goal=checked_goal)

    def close(self) -> None:
        """Close the databases. Do not use the solver afterwards."""
        for database in self.databases:
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@lru_cache(maxsize=8)
def _solver(size: BoardSize, goal: Board, algorithm: str, heuristics: tuple[str, ...]) -> DatabaseSolver | GraphSolver:
    if algorithm == IDA_STAR:
        return HeuristicSolver(size, goal, heuristics) if heuristics else Solver.standard(size, goal)
    needs_tables = ALGORITHMS[algorithm].uses_heuristic and not heuristics
    tables = (standard_table(size, goal, note),) if needs_tables else ()
    return GraphSolver(size, goal, algorithm=algorithm, heuristics=heuristics, databases=tables)


def solve(
    board: BoardLike,
    goal: BoardLike = "blank-last",
    *,
    algorithm: str = IDA_STAR,
    heuristic: str | Sequence[str] | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
) -> Solution:
    """Return an optimal solution of `board`, up to 6x6. Ctrl-C ends the search.

    Without a heuristic, the standard table of the board's size is used. The first time, it is built in the cache
    folder, with a progress bar. For many boards, use a `Solver`.

    Parameters
    ----------
    board
        Board to solve.
    goal
        Board to reach, or its name.
    algorithm
        One of `ALGORITHMS`, such as "a-star".
    heuristic
        A heuristic without tables, such as "manhattan", or several: their maximum.
    time_limit
        Seconds. If they are over, the solution has no length, but a lower bound.
    threads
        By default all cores.

    Returns
    -------
    Solution
        It is optimal with `ida-star`, `a-star`, `breadth-first` and `bidirectional`.

    Raises
    ------
    BoardError, GoalError
        If the board or the goal is invalid.
    UnsolvableError
        If the board cannot be solved.
    PdbError
        `InputError` for larger boards and other invalid arguments, and the errors of `build_database` and
        `open_database`.

    Examples
    --------
    >>> solve("8 6 7/2 5 4/3 0 1").length
    31
    >>> solve("8 6 7/2 5 4/3 0 1", algorithm="a-star", heuristic="manhattan").algorithm
    'a-star'
    """
    checked = Board(board)
    size, checked_goal = checked.size, as_goal(goal, checked.size)
    check_table_size(size)
    check_solvable(checked, checked_goal, size)
    as_choice(algorithm, "algorithm", ALGORITHMS)
    limits = None if time_limit is None else as_number(time_limit, "time_limit")
    n_threads = as_threads(threads, "threads")
    names = () if heuristic is None else as_names(heuristic, "heuristic")
    solver = _solver(size, checked_goal, algorithm, names)
    if isinstance(solver, GraphSolver):
        return solver.solve(checked, limits=limits)
    with WorkerPool(n_threads - 1) as pool:
        return solver.solve(checked, checked_goal, limits=limits, pool=pool)


def check_solution(
    board: BoardLike,
    moves: MovesLike | int,
    goal: BoardLike = "blank-last",
    *,
    notation: CheckedNotation = "tiles",
    solve: Solve = solve,
) -> SolutionCheck:
    """Check a solution of `board`: are its moves legal, does it reach the goal, is it optimal, and where is it not.

    Parameters
    ----------
    board
        First board.
    moves
        The moves, as a text or a sequence; or only their number.
    goal
        Board to reach, or its name.
    notation
        "tiles" for the numbers of the tiles that move; "blank" or "tile-directions" for directions in which the blank
        or the tile moves, as letters, words or runs, such as "R3U2"; "deepcubea" or "gym" for actions from 0 to 3.
        "any": numbers are tiles, and letters directions of the blank or of the tiles, whichever reach the goal.
    solve
        Function that returns an optimal solution of a board for a goal, such as the method of a `Solver`. By default
        the standard tables are used.

    Raises
    ------
    BoardError, GoalError, MovesError, InputError
        If an argument is invalid, or the moves are not written in the notation.
    UnsolvableError
        If the board cannot be solved.
    PdbError
        The errors of `solve`.

    Examples
    --------
    >>> check = check_solution("1 2 3/4 5 6/0 7 8", "LRR R", notation="blank")
    >>> check.first_illegal_move, check.first_suboptimal_move, check.optimal_length
    (1, None, 2)
    >>> check_solution("1 2 3/4 5 6/0 7 8", [4, 4, 7, 8]).difference
    2
    """
    check_kind(solve, Callable, "solve", "a function that returns a Solution")
    return check_moves(board, moves, goal, notation, solve)
