"""Tables for the boards of a command: those of --db, or the standard table of each board size."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pdb_core.board_size import BoardSize, check_table_size
from pdb_core.errors import GoalError
from tilepdb.commands.options import TableOptions
from tilepdb.commands.output import message
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_core.puzzle import Tiles
    from pdb_query import Database, Instance
    from solver.answers.requests import Request


class OpenDatabases(ExitStack):
    """Databases of --db, or the standard one of each board size, opened when a board needs it.

    given    the databases of --db, opened on entry
    seconds  time in which tables and solvers were made, without that of compiling
    """

    def __init__(self, options: TableOptions) -> None:
        super().__init__()
        self._options = options
        self.given: tuple[Database, ...] = ()
        self.seconds = 0.0
        self._standard: dict[tuple[BoardSize, int], Database] = {}

    def __enter__(self) -> "OpenDatabases":
        for path in self._options.db or ():
            database = self._open(path)
            if self.size is not None:
                database.check_size(self.size)
                database.views(self.given[0].goal)  # raises `GoalError` if it cannot serve that goal
            self.given += (database,)
        return self

    @property
    def size(self) -> BoardSize | None:
        """Return the board size of --db, None without --db."""
        return self.given[0].size if self.given else None

    def goal_of(self, size: BoardSize, *given: str | None) -> "Tiles":
        """Return the given goal, that of a file of boards or that of --goal, for boards of a size.

        Without any it is the goal of the --db tables, else blank-last. Raises `GoalError`, also if both differ.
        """
        from pdb_core.puzzle import blank_last, goal_name, parse_goal

        goals = [parse_goal(goal, size) for goal in given if goal is not None]
        if len(set(goals)) > 1:
            own, typed = (goal_name(goal, size) for goal in goals)
            raise GoalError(f"the file has boards for the goal {own}, not for {typed}; leave --goal out")
        if goals:
            return goals[0]
        if self.size == size:
            return self.given[0].goal
        return blank_last(size)

    def request(self, instance: "Instance", goal: str | None) -> "Request":
        """Return the request to solve `instance`. Raises `GoalError`."""
        from solver.answers.requests import Request

        goal_tiles = self.goal_of(instance.size, instance.goal, goal)
        return Request(instance.id, instance.board, goal_tiles, instance.optimal_length, instance.published_length)

    def databases_for(self, size: BoardSize, goal: "Tiles") -> "tuple[Database, ...]":
        """Return the tables for boards of a size and goal.

        Raises `TableMismatchError`, `InputError` if boards are too large for tables, and the errors of a build.
        """
        from tilepdb.standard import standard_table

        check_table_size(size)
        if self.given:
            self.given[0].check_size(size)
            return self.given
        key = size, goal.index(0)
        if key not in self._standard:
            self._standard[key] = self._open(standard_table(size, goal, message))
        return (self._standard[key],)

    def _open(self, path: Path) -> "Database":
        return self.enter_context(open_file(path, self._options.load, verify=self._options.verify))


def open_file(path: Path, load: str, *, verify: bool) -> "Database":
    """Open a table file; with `verify` compare its tables with their digests, progress on stderr.

    Raises `TableFileError`, `MemoryLimitError`.
    """
    from pdb_query import open_database

    with ProgressLine(message) as line:

        def show(done: int, total: int) -> None:
            line.show(f"{path}: digests, {100 * done // total} %", done / total)

        return open_database(path, load=load, verify=verify, progress=show)  # type: ignore[arg-type]
