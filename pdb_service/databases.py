"""The open databases of a service, by id, and the choice of the one that serves a board."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pdb_core.board_size import BoardSize
from pdb_core.errors import GoalError, PdbError, UnknownDatabaseError
from pdb_core.messages import did_you_mean, shorten
from pdb_core.puzzle import Board, BoardLike, Tiles, parse_goal, why_unsolvable
from pdb_query.database import Database
from pdb_service.requests import Names


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

    def about(self, board: Board, *, solvable: bool) -> dict[str, Any]:
        """Return the fields of a `BoardAnswer` except for h."""
        about = {"db": self.id, "size": str(self.size), "board": board, "goal": self.goal, "solvable": solvable}
        return about if solvable else about | {"why": why_unsolvable(board, self.goal, self.size)}


class Databases:
    """The databases of a service, by id, in the order in which they are tried.

    An id is the stem of a file, with a number if others have that stem.
    """

    def __init__(self, databases: Iterable[Database]) -> None:
        self.by_id: dict[str, Database] = {}
        for database in databases:
            stem = name = database.path.stem
            number = 1
            while name in self.by_id:
                number += 1
                name = f"{stem}-{number}"
            self.by_id[name] = database
        self.choose = lru_cache(maxsize=256)(self._choose)

    def default_goal(self, database: Database) -> Board:
        """Return the goal of a request that names none: blank-last if the tables serve it, else their own."""
        goal = parse_goal("blank-last", database.size)
        try:
            database.views(goal)
        except GoalError:
            return Board(database.goal, database.size)
        return goal

    def place(self, board: BoardLike, names: Names) -> tuple[Board, Served]:
        """Read a board, of the size of a named database, and choose its database. Raises as `Board` and `_choose`."""
        size = None if names.db is None else self.choose(None, None, names.db).size
        given = Board(board, size)
        return given, self.choose(given.size, names.goal, names.db)

    def _choose(self, size: BoardSize | None, goal_text: str | None, name: str | None) -> Served:
        """Return the database that serves boards of `size`, with the goal. Either `size` or `name` may be None.

        Raises `UnknownDatabaseError`, and `GoalError` if the goal is invalid or no database serves it.
        """
        if name is not None and name not in self.by_id:
            raise UnknownDatabaseError(
                f"there is no database {shorten(name, 40)!r}; /v1/databases lists them{did_you_mean(name, self.by_id)}"
            )
        refused: PdbError = UnknownDatabaseError(f"no database is for {size} boards; /v1/databases lists them")
        for key, database in self.by_id.items():
            if name in (None, key) and size in (None, database.size):
                try:
                    goal = self.default_goal(database) if goal_text is None else parse_goal(goal_text, database.size)
                    database.views(goal)
                except GoalError as error:
                    refused = error
                else:
                    return Served(key, database, goal)
        raise refused
