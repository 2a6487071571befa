"""Tables for the boards of a command: those of --db, or the standard table of each board size."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pdb_cli.output import message
from pdb_cli.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_core.puzzle import Board, BoardSize
    from pdb_query import Database, Instance

# Seconds between two checks whether another process has built the standard table.
_POLL_S = 0.2


class OpenDatabases:
    """Databases of --db, or the standard one of each board size, opened when a board needs it. Thread-safe."""

    def __init__(self, paths: list[Path] | None, load: str, *, verify: bool = False) -> None:
        """Prepare for `paths`; with `verify`, files are compared with their digests when they are opened."""
        self._paths, self._load, self._verify = paths or [], load, verify
        self._given: tuple[Database, ...] = ()
        self._standard: dict[tuple[BoardSize, int], Database] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> "OpenDatabases":
        for path in self._paths:
            database = open_file(path, self._load, verify=self._verify)
            if self._given:
                database.check_size(self._given[0].size)
                database.views(self._given[0].goal)  # raises `GoalError` if it cannot serve that goal
            self._given += (database,)
        return self

    def __exit__(self, *_: object) -> None:
        for database in (*self._given, *self._standard.values()):
            database.close()

    def goal_of(self, instance: "Instance", goal: str | None) -> "Board":
        """Return the goal of a board: the first of its own, that of --goal, that of the tables of --db, and blank-last.

        Raises `GoalError`.
        """
        from pdb_core.puzzle import blank_last, parse_goal

        wanted = instance.goal if instance.goal is not None else goal
        if wanted is not None:
            return parse_goal(wanted, instance.size)
        if self._given and self._given[0].size == instance.size:
            return self._given[0].goal
        return blank_last(instance.size)

    def digests(self) -> list[str] | str:
        """Return the digests of the headers of --db, or `standard`."""
        return [database.header.digest() for database in self._given] or "standard"

    def databases_for(self, size: "BoardSize", goal: "Board") -> "tuple[Database, ...]":
        """Return the tables for boards of a size and goal.

        Raises `TableMismatchError`, `InputError` if boards are too large for tables, and the errors of a build.
        """
        from pdb_core.puzzle import check_table_size

        check_table_size(size)
        with self._lock:
            if self._given:
                self._given[0].check_size(size)
                return self._given
            key = size, goal.index(0)
            if key not in self._standard:
                path = standard_table(size, goal)
                self._standard[key] = open_file(path, self._load, verify=self._verify)
            return (self._standard[key],)


def open_file(path: Path, load: str, *, verify: bool) -> "Database":
    """Open a table file; with `verify` compare its tables with their digests, progress on stderr.

    Raises `TableFileError`, `MemoryLimitError`.
    """
    from pdb_query import open_database

    with ProgressLine() as line:
        return open_database(path, load=load, verify=verify, progress=digest_progress(line, path))  # type: ignore[arg-type]


def digest_progress(line: ProgressLine, path: Path) -> Callable[[int, int], None]:
    """Return a function that shows how much of a table file has been compared with its digests."""
    return lambda done, total: line.show(f"{path}: digests, {100 * done // max(1, total)} %")


def standard_table(size: "BoardSize", goal: "Board") -> Path:
    """Return the table file for commands without --db, in the user's cache folder; build it the first time.

    It is 663 for 4x4, 6666 for 5x5, the complete table for 3x3, and for other sizes a partition that builds quickly.
    Raises the errors of a build.
    """
    from pdb_build import build_database, plan_build
    from pdb_core.errors import BuildRunningError, DiskFullError, OutputError, TableFileError
    from pdb_core.jit import cache_home
    from pdb_core.pattern import parse_partition
    from pdb_core.puzzle import BLANK, blank_last
    from pdb_query import read_table_header

    in_corner = goal.index(BLANK) in (0, size.width - 1, size.n_cells - size.width, size.n_cells - 1)
    # One file serves every goal with the blank in a corner.
    goal = blank_last(size) if in_corner else goal
    named = {"3x3": "8", "4x4": "663", "5x5": "6666"}
    partition = parse_partition(named.get(str(size), "auto") if in_corner else "auto", size, goal)
    place = "corner" if in_corner else f"blank{goal.index(BLANK)}"
    path = cache_home() / "tables" / f"{size}-{place}.h5"

    def is_there() -> bool:
        try:
            return read_table_header(path).spec.goal == goal or in_corner
        except TableFileError:
            return False

    if is_there():
        return path
    message(f"pdb: no --db given: building {partition.name} for {size} once, in {path}")
    instead = "set TILE_PDB_CACHE to another folder, or name a table file with --db"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                # Discard what an interrupted build left.
                build_database(plan_build(size, goal, partition, path), fresh=True)
            except BuildRunningError:
                time.sleep(_POLL_S)
                if not is_there():
                    continue
            return path
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; {instead}") from error
    except (OutputError, DiskFullError) as error:
        # The advice of `pdb build` names --out, which this command does not have.
        raise type(error)(f"{str(error).split(';')[0]}; {instead}") from error
