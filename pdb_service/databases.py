"""The open databases of a service, by id, and the choice of the one that serves a board."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

from pdb_core.board_size import BoardSize
from pdb_core.errors import BoardError, BusyError, GoalError, UnknownDatabaseError
from pdb_core.messages import did_you_mean, shorten
from pdb_core.puzzle import Board, Tiles, parse_goal
from pdb_query.database import Database


class Named(Protocol):
    """The goal and the database of a request."""

    goal: str | None
    db: str | None


@dataclass(frozen=True, eq=False)
class Served:
    """A database, its id, and the goal of a request."""

    id: str
    database: Database
    goal: Board

    @property
    def size(self) -> BoardSize:
        return self.database.size

    @cached_property
    def sums(self) -> list[tuple[int, tuple[int, ...], tuple[Tiles, ...]]]:
        """For each sum its symmetry, its patterns, and the tiles of a given board that each of them represents.

        A catalogue has a sum for each symmetry and partition.
        """
        views = self.database.views(self.goal)
        return [
            (row, places, tuple(tuple(sorted(views.tiles(row, place))) for place in places))
            for row in range(len(views.view_of_unit))
            for places in self.database.partition.sums
        ]


class Databases:
    """The databases of a service that can answer, in the order in which they are tried.

    is_complete  whether all databases are there, or another thread still adds some
    """

    def __init__(self) -> None:
        self.is_complete = False
        self._databases: dict[str, Database] = {}
        self._choose_known = lru_cache(maxsize=256)(self._choose)

    def __iter__(self) -> Iterator[tuple[str, Database]]:
        return iter(self._databases.items())

    def __len__(self) -> int:
        return len(self._databases)

    def add(self, database: Database) -> None:
        """Add a database that can answer. Its id is the stem of its file, with a number if others have that id."""
        stem = name = database.path.stem
        number = 1
        while name in self._databases:
            number += 1
            name = f"{stem}-{number}"
        self._databases = {**self._databases, name: database}  # others may iterate over the old one

    def default_goal(self, database: Database) -> Board:
        """Return the goal of a request that names none: blank-last if the tables serve it, else their own."""
        goal = parse_goal("blank-last", database.size)
        try:
            database.views(goal)
        except GoalError:
            return Board(database.goal, database.size)
        return goal

    def place(self, board: str | list[int], names: Named) -> tuple[Board, Served]:
        """Read a board and choose its database. Raises as `read` and `choose`."""
        given = self.read(board, names.db)
        return given, self.choose(given.size, names.goal, names.db)

    def read(self, board: str | list[int], name: str | None = None) -> Board:
        """Read a board, of the size of the named database. Raises `BoardError`, and as `choose`."""
        if name is not None:
            return Board(board, self.choose(None, None, name).size)
        try:
            return Board(board)
        except BoardError:
            # A list may have the size of any database, if it can have that of no other.
            found = list[Board]()
            for size in {database.size for database in self._databases.values()}:
                with suppress(BoardError):
                    found.append(Board(board, size))
            if len(found) == 1:
                return found[0]
            if isinstance(board, list):
                self._check_complete("no database that is loaded fits this list")
            raise

    def choose(self, size: BoardSize | None, goal: str | None, name: str | None) -> Served:
        """Return the database that serves boards of `size`, with the goal.

        Either `size` or `name` may be None. Raises `UnknownDatabaseError`, `BoardError` if the named database is for
        boards of another size, `GoalError` if the goal is invalid or no database serves it, and instead `BusyError`
        while databases are loaded.
        """
        try:
            return self._choose_known(size, goal, name)
        except (UnknownDatabaseError, GoalError) as error:
            self._check_complete(str(error).partition(";")[0])
            raise

    def _check_complete(self, known: str) -> None:
        """Raise `BusyError` while databases are loaded."""
        if not self.is_complete:
            raise BusyError(f"{known}; other tables are still being loaded, so try again later")

    def _choose(self, size: BoardSize | None, goal_text: str | None, name: str | None) -> Served:
        if name is not None and name not in self._databases:
            raise UnknownDatabaseError(
                f"there is no database {shorten(name, 40)!r}; /v1/databases lists them"
                f"{did_you_mean(name, self._databases)}"
            )
        refusals: list[Exception] = []
        for key, database in self:
            if name not in (None, key) or size not in (None, database.size):
                continue
            goal = self.default_goal(database) if goal_text is None else parse_goal(goal_text, database.size)
            try:
                database.views(goal)
            except GoalError as error:
                refusals.append(error)
            else:
                return Served(key, database, goal)
        if name is not None:
            refusals.append(
                BoardError(f"database {name!r} is for {self._databases[name].size} boards, this board is {size}")
            )
        raise (*refusals, UnknownDatabaseError(f"no database is for {size} boards; /v1/databases lists them"))[0]
