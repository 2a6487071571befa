"""`solve` and `Solver`: optimal solutions with the standard tables or with table files."""

from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Self

from pdb_core.puzzle import Board, BoardLike, BoardSize, as_goal, as_size, check_table_size
from pdb_query import Database, open_database
from pdb_query.table_file import LoadMode
from solver.solution import Solution
from solver.solve import Solver as DatabaseSolver
from tilepdb.standard import standard_table


class Solver(DatabaseSolver):
    """Solver with the tables of one or more databases: `Solver(database, ...)`, `Solver.open`, `Solver.standard`.

    It has all methods of `solver.Solver`. Use it as a context manager, or `close` it; both close the databases.
    """

    @classmethod
    def open(cls, *paths: str | Path, load: LoadMode = "map") -> Self:
        """Return a solver with the tables of one or more files.

        Parameters
        ----------
        load
            How tables are loaded, see `open_database`.

        Raises
        ------
        PdbError
            The errors of `open_database` and `Solver`.
        """
        with ExitStack() as stack:
            databases = [stack.enter_context(open_database(path, load=load)) for path in paths]
            solver = cls(*databases)
            stack.pop_all()
        return solver

    @classmethod
    def standard(cls, size: BoardSize | str = "4x4", goal: BoardLike = "blank-last", *, load: LoadMode = "map") -> Self:
        """Return a solver with the standard table of a size: 663 for the 15-puzzle.

        The first time, the table is built in the cache folder, with a progress bar.

        Parameters
        ----------
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
        return cls.open(standard_table(board_size, as_goal(goal, board_size)), load=load)

    @property
    def databases(self) -> tuple[Database, ...]:
        """The databases, in the order given."""
        return self._databases

    def close(self) -> None:
        """Close the databases. Do not use the solver afterwards."""
        for database in self._databases:
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Solver({', '.join(map(repr, self._databases))})"


@lru_cache(maxsize=8)
def _standard_solver(size: BoardSize, goal: Board) -> Solver:
    return Solver.standard(size, goal)


def solve(board: BoardLike, goal: BoardLike = "blank-last") -> Solution:
    """Return an optimal solution of `board`, up to 6x6, with the standard table of its size.

    The first time, the table is built in the cache folder, with a progress bar. For many boards, limits or threads,
    use a `Solver`.

    Raises
    ------
    BoardError, GoalError
        If the board or the goal is invalid.
    UnsolvableError
        If the board cannot be solved.
    PdbError
        `InputError` for larger boards, and the errors of `build_database` and `open_database`.

    Examples
    --------
    >>> solve("8 6 7/2 5 4/3 0 1").length
    31
    """
    checked = Board(board)
    return _standard_solver(checked.size, as_goal(goal, checked.size)).solve(checked, goal)
