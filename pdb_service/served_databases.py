"""The open databases of a service, by id, and the choice of the one that serves a board."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pdb_core.errors import BoardError, GoalError, UnknownDatabaseError
from pdb_core.messages import shorten
from pdb_core.puzzle import (
    MAX_TABLE_SIDE,
    Board,
    BoardSize,
    Tiles,
    blank_last,
    parse_goal,
    square_size,
)
from pdb_query.database import Database

BoardText = str | list[int]
# Longer than any board with tables.
MAX_CHARACTERS = 400
MAX_NUMBERS = MAX_TABLE_SIDE * MAX_TABLE_SIDE


def check_length(board: Any) -> None:
    """Raise `BoardError` for text or a list that is too long to be a board, before it is read."""
    most, what = (MAX_CHARACTERS, "characters") if isinstance(board, str) else (MAX_NUMBERS, "numbers")
    if isinstance(board, str | list) and len(board) > most:
        raise BoardError(f"a board has up to {most} {what}, this one has {len(board)}")


@dataclass(frozen=True)
class Served:
    """A database, its id, and the goal of a request."""

    id: str
    database: Database
    goal: Tiles

    @property
    def size(self) -> BoardSize:
        return self.database.size


class ServedDatabases:
    """The open databases of a service, in the order in which they are tried."""

    def __init__(self, databases: Iterable[Database]) -> None:
        self._databases: dict[str, Database] = {}
        for database in databases:
            stem = name = database.path.stem
            number = 1
            while name in self._databases:
                number += 1
                name = f"{stem}-{number}"
            self._databases[name] = database
        self._choose = lru_cache(maxsize=256)(self._chosen)

    def __iter__(self) -> Iterator[tuple[str, Database]]:
        return iter(self._databases.items())

    def default_goal(self, database: Database) -> Tiles:
        """Return the goal of a request that names none: blank-last if the tables serve it, else their own."""
        goal = blank_last(database.size)
        return goal if self._serves(database, goal) else database.goal

    def choose(self, size: BoardSize | None, goal: str | None, name: str | None) -> Served:
        """Return the database that serves boards of `size`, with the goal.

        Either `size` or `name` may be None. Raises `UnknownDatabaseError`, `BoardError` if the named database is for
        boards of another size, `GoalError` if the goal is invalid or no database serves it.
        """
        return self._choose(size, goal, name)

    def place(self, board: BoardText, goal: str | None, name: str | None) -> tuple[Board, Served]:
        """Read a board, text or a list of numbers, and choose its database. Raises `BoardError` and as `choose`."""
        check_length(board)
        named = None if name is None else self._named(name).size
        if isinstance(board, str):
            # The size of a named database is needed to read boards that are not square.
            given = Board(board, named)
            return given, self.choose(given.size, goal, name)
        sizes = (database.size for database in self._databases.values() if database.size.n_cells == len(board))
        known = named or square_size(len(board)) or next(sizes, None)
        if known is None:
            raise BoardError(f"a board of {len(board)} numbers is not square; name the database with db")
        return Board(board, known), self.choose(known, goal, name)

    def _chosen(self, size: BoardSize | None, goal_text: str | None, name: str | None) -> Served:
        if name is not None:
            database = self._named(name)
            if size not in (None, database.size):
                raise BoardError(f"database {name!r} is for {database.size} boards, this board is {size}")
            candidates = {name: database}
        else:
            candidates = {key: database for key, database in self._databases.items() if database.size == size}
        if not candidates:
            raise UnknownDatabaseError(f"no database is for {size} boards; /v1/databases lists them")
        first = next(iter(candidates.values()))
        if goal_text is None:
            return Served(next(iter(candidates)), first, self.default_goal(first))
        goal = parse_goal(goal_text, first.size)
        for key, database in candidates.items():
            if self._serves(database, goal):
                return Served(key, database, goal)
        first.views(goal)  # raises the reason
        raise AssertionError("views accepts a goal that _serves rejects")

    def _named(self, name: str) -> Database:
        database = self._databases.get(name)
        if database is None:
            raise UnknownDatabaseError(f"there is no database {shorten(name, 40)!r}; /v1/databases lists them")
        return database

    @staticmethod
    def _serves(database: Database, goal: Tiles) -> bool:
        try:
            database.views(goal)
        except GoalError:
            return False
        return True
