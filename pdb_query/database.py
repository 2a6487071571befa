"""Database of pattern tables: opening, and lookups of boards."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import FilePath, as_count, as_function, as_path, as_threads, check_functions, check_kind
from pdb_core.board_size import SizeLike, as_size
from pdb_core.errors import InputError, TableFileDamagedError, TableMismatchError, UnsolvableError
from pdb_core.pattern import Partition
from pdb_core.puzzle import Board, BoardLike, Tiles, as_goal, format_board, goal_name, why_unsolvable
from pdb_core.ranking import PatternIndex
from pdb_core.schema import Header, PatternHeader
from pdb_core.symmetry import BoardMapping, mappings_between
from pdb_core.types import Bytes
from pdb_query.arrangement_rows import BitRows, arrangement_rows
from pdb_query.board_rows import checked_rows
from pdb_query.compiled import CompiledLookups, compiled_lookups
from pdb_query.lookup import LookupTables, SumViews, lookup_tables, probe_distances, sum_views
from pdb_query.lookup_kernels import add_up
from pdb_query.probes import BatchProbe, Probe
from pdb_query.table_file import LoadMode, load_table_file
from pdb_query.verify import verify_table_file


class Database:
    """Database of the tables of one partition or catalogue, read-only. `open_database` opens it.

    Any number of threads may look up boards at the same time; lookups release the GIL. Use it as a context manager, or
    `close` it. Another process that unpickles it opens the file again.

    Attributes
    ----------
    path
        The table file.
    header
        The header of the file.
    size, goal
        Size and goal of the boards; lookups also accept each goal that a symmetry of the board maps to this one.
    encoding, cost
        "bits" or "bytes", and "additive" or "every-move", see `pdb_core.encoding`.

    Examples
    --------
    >>> with open_database("data/8.h5") as database:
    ...     database.probe((8, 6, 7, 2, 5, 4, 3, 0, 1)).h
    31
    """

    def __init__(self, path: Path, header: Header, memory: Bytes, load: LoadMode = "map") -> None:
        self.path, self._absolute_path = path, path.absolute()  # the current folder may change
        self.header = header
        self.size, self.goal = header.spec.size, header.spec.goal
        self.encoding, self.cost = header.spec.encoding, header.spec.cost
        self._tables: LookupTables | None = lookup_tables(
            header.spec, header.uses, memory, [entry.offset for entry in header.patterns]
        )
        self.load = load
        self._rows: BitRows | None = None
        # Not of a method: the database would then hold itself, and its file stay mapped until the garbage is collected.
        self._views_of = lru_cache(maxsize=64)(partial(sum_views, header.spec, header.uses))

    def __repr__(self) -> str:
        what = f"{self.size}, {self.partition.name} in {self.encoding}, goal {goal_name(self.goal, self.size)}"
        return f"Database({str(self.path)!r}: {what})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path: the process that reads it opens the file."""
        return partial(open_database, load=self.load), (self._absolute_path,)

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the tables; arrays that were returned stay valid. Lookups afterwards raise `InputError`."""
        self._tables = self._rows = None

    @property
    def lookup_tables(self) -> LookupTables:
        """Tables in the form that kernels read. Raises `InputError` if the database is closed."""
        if self._tables is None:
            raise InputError(f"the database {self.path} is closed")
        return self._tables

    def arrangement_rows(self) -> BitRows:
        """Return tables in bits with a row for each arrangement, always the same: their memory is a second copy.

        Raises `InputError` if the database is closed. The memory raises `MemoryLimitError` if there is too little.
        """
        if self._rows is None:
            self._rows = arrangement_rows(self.size, self.lookup_tables, self.path)
        return self._rows

    def mappings(self, goal: BoardLike | None = None) -> tuple[BoardMapping, ...]:
        """Return all symmetries that map boards with `goal` to boards of this database.

        Parameters
        ----------
        goal
            By default the database's own, for which the identity is the first symmetry.

        Raises
        ------
        GoalError
            There is no symmetry, or the goal is not a board.
        """
        return mappings_between(self._checked_goal(goal), self.goal, self.size)

    def views(self, goal: BoardLike | None = None, *, reflects: bool = True) -> SumViews:
        """Return `mappings` in kernel form. With `reflects=False`, only the first mapping. Raises `GoalError`."""
        return self._views_of(self._checked_goal(goal), bool(reflects))

    def _checked_goal(self, goal: BoardLike | None) -> Tiles:
        return self.goal if goal is None else as_goal(goal, self.size)

    @property
    def partition(self) -> Partition:
        """The partition or catalogue: the patterns of the tables."""
        return self.header.spec.partition

    def check_size(self, size: SizeLike) -> None:
        """Raise `TableMismatchError` if the tables are for boards of another size."""
        size = as_size(size)
        if size != self.size:
            raise TableMismatchError(
                f"{self.path} holds tables for {self.size} boards, this board is {size}; build a table for this size"
            )

    def table(self, index: int) -> npt.NDArray[np.uint8]:
        """Return the table of the pattern at `index` in the partition.

        With `encoding="bytes"`, the entry at the rank of the tiles' cells is the distance, see `index`; 255
        means that these cells cannot be reached. For bits see docs/format.md.

        Returns
        -------
        numpy.ndarray
            uint8[n_bytes], read-only, not copied. If the pattern uses the table of another pattern, that table.

        Raises
        ------
        InputError
            There is no such pattern, or the database is closed.
        """
        entry = self._entry(index)
        return self.lookup_tables.memory[entry.offset : entry.offset + entry.n_bytes]

    def index(self, index: int) -> PatternIndex:
        """Return the index function of the pattern at `index`, with `rank` and `unrank`. Raises `InputError`."""
        return PatternIndex(self.size, self._entry(index).pattern.n_tiles)

    def _entry(self, index: int) -> PatternHeader:
        return self.header.patterns[as_count(index, "index", 0, len(self.header.patterns) - 1)]

    def probe(self, board: BoardLike, goal: BoardLike | None = None) -> Probe:
        """Look up one board.

        Parameters
        ----------
        board
            The board, see `Board`.
        goal
            By default the goal of the database.

        Returns
        -------
        Probe
            The distances of the board and its lower bound.

        Raises
        ------
        BoardError
            It is not a board of this size.
        UnsolvableError
            It cannot be solved.
        GoalError
            The tables cannot serve `goal`.
        TableFileDamagedError
            The tables have no distance for the board.
        InputError
            The database is closed.
        """
        checked = Board(board, self.size)
        batch = self.probe_batch(np.array([checked], dtype=np.uint8), goal)
        if batch.h[0] < 0:
            why = why_unsolvable(checked, self._checked_goal(goal), self.size)
            raise UnsolvableError(f"board {format_board(checked)} cannot be solved: {why}")
        return Probe(tuple(map(tuple, batch.values[0].tolist())), tuple(batch.sums[0].tolist()), int(batch.h[0]))

    def compiled(self, goal: BoardLike | None = None) -> CompiledLookups:
        """Return lookups for a search of your own that numba compiles; docs/how-to/numpy.md has an example.

        `goal` is that of the boards, by default the goal of the database. Raises `GoalError` if the tables cannot serve
        it, and `InputError` if the database is closed.
        """
        return compiled_lookups(self.size, self.lookup_tables, self.views(goal))

    def probe_batch(
        self, boards: npt.ArrayLike, goal: BoardLike | None = None, *, strict: bool = True, n_threads: int | None = None
    ) -> BatchProbe:
        """Look up many boards.

        Parameters
        ----------
        boards
            Integers of shape (m, n_cells) or (m, height, width), or a sequence of strings or arrays, such as a column
            of a data frame.
        goal
            By default the goal of the database.
        strict
            False: give a row that is not a board h = -2 instead of raising `BoardError`.
        n_threads
            By default as many threads as there are cores, if there are thousands of boards.

        Returns
        -------
        BatchProbe
            The distances and lower bounds. h is -1 for boards that cannot be solved.

        Raises
        ------
        BoardError
            A row is not a board, or the boards have another shape or type.
        GoalError
            The tables cannot serve `goal`.
        TableFileDamagedError
            The tables have no distance for a solvable board.
        InputError
            The database is closed, or `n_threads` is below 1.
        """
        if n_threads is not None:
            n_threads = as_threads(n_threads)
        tables, views = self.lookup_tables, self.views(goal)
        rows, verdicts = checked_rows(boards, self.size, self._checked_goal(goal), strict=strict)
        if not strict:
            # Any board in place of what is none, because kernels do not check boards.
            rows = np.where((verdicts < 0)[:, None], tables.goal, rows)
        values = probe_distances(rows, tables, views, n_threads)
        sums = np.empty((len(rows), views.n_sums * len(views.is_in_sum)), dtype=np.int16)
        h = np.empty(len(rows), dtype=np.int16)
        # If every move counts, patterns share moves, so their distances may not be added up.
        damaged = add_up(values, views.is_in_sum, verdicts, tables.counts_every_move, sums, h)
        if damaged >= 0:
            raise TableFileDamagedError(
                f"{self.path} is damaged: its tables have no distance for board "
                f"{format_board(rows[damaged].tolist())}; build it again"
            )
        return BatchProbe(values, sums, h)

    def verify(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Compare every table with its digest, and the other bytes with their digest.

        The bytes compared are those that lookups use: the copy in memory if there is one, otherwise the mapped pages.
        (The digest of the header is checked when the file is opened.)

        Parameters
        ----------
        progress
            Called with (bytes of tables done, bytes of all tables).

        Raises
        ------
        TableFileDamagedError
            They differ.
        InputError
            The database is closed.
        """
        progress = as_function(progress, "progress")
        verify_table_file(self.lookup_tables.memory, self.header, str(self.path), progress)


def open_database(
    path: FilePath,
    *,
    load: LoadMode = "map",
    verify: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Database:
    """Open a table file.

    Parameters
    ----------
    path
        The file.
    load
        "map" shares the pages with other processes, and opens in milliseconds. "copy" reads the file into memory.
        "huge" reads it into huge pages, for the fastest lookups; for a search of boards of up to 16 cells, a second
        copy in another order is made, in which random boards of the 15-puzzle take 0.7 times as long.
    verify
        Read all bytes and compare them with their digests, as `Database.verify` does. Otherwise a table whose bytes
        were changed opens, and lookups in it give wrong distances.
    progress
        Called by `Database.verify`.

    Returns
    -------
    Database
        The open database. Close it, or use it as a context manager.

    Raises
    ------
    TableFileError
        The file cannot be read. `TableFileMissingError`, `TableFileForeignError`, `TableFileVersionError` and
        `TableFileDamagedError` tell why.
    MemoryLimitError
        There is too little memory.
    InputError
        An argument is invalid.

    Examples
    --------
    >>> with open_database("data/8.h5") as database:
    ...     str(database.size)
    '3x3'
    """
    check_functions(progress=progress)
    path = as_path(path)
    database = Database(path, *load_table_file(path, load), load)
    if verify:
        database.verify(progress)
    return database


def as_databases(databases: Any) -> tuple[Database, ...]:
    """Return databases, given as one or several, each open or as the path of its file, which is opened.

    Raises `InputError` and the errors of `open_database`.
    """
    given = [databases] if isinstance(databases, Database | str | PathLike) else databases
    check_kind(given, Sequence, "databases", "databases, or paths of table files")
    return tuple(item if isinstance(item, Database) else open_database(item) for item in given)
