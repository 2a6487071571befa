"""Statistics of heuristics: their values by the distance of the boards."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdb_core.arguments import FilePath, as_count, as_function, as_threads, check_functions
from pdb_core.board_size import BoardSize, SizeLike, as_size, check_table_size
from pdb_core.errors import InputError
from pdb_core.messages import ShortRepr
from pdb_core.puzzle import BoardLike, Boards, Tiles, as_goal, random_boards
from pdb_core.types import Int64s
from pdb_query import Database
from pdb_query.database import as_databases
from pdb_study.complete_search import MAX_LISTED_CELLS, all_boards
from pdb_study.plots import Plotted
from solver.heuristics import HEURISTICS, HeuristicsLike, heuristic_tables
from solver.heuristics.heuristic import Heuristic, given_heuristics, heuristic_name
from solver.heuristics.values import evaluated
from solver.solve import Solver

# What is studied.
Studied = Heuristic | Database

_BOARDS_AT_A_TIME, _SOLVED_AT_A_TIME = 100_000, 2000
# Random boards of the 15-puzzle are solved to know their distances; on larger boards that may take hours.
_MAX_SOLVED_CELLS = 16


@dataclass(frozen=True)
class Spread:
    """Values of one heuristic over some boards, in moves, with the standard deviation of a population."""

    mean: float
    standard_deviation: float
    minimum: int
    maximum: int


@dataclass(frozen=True)
class DistanceRow:
    """Boards of one distance, or all boards (None); `spreads` has one entry for each heuristic."""

    distance: int | None
    n_boards: int
    spreads: tuple[Spread, ...]


@dataclass(frozen=True, repr=False)
class HeuristicStudy(ShortRepr, Plotted):
    """Values of heuristics over boards.

    Attributes
    ----------
    names
        The names of the heuristics, then of the databases.
    mean_distance
        None if the distances are unknown.
    rows
        One for each distance; empty if the distances are unknown.
    overall
        The values over all boards, for each heuristic.
    is_sample
        Whether the boards are a sample, so that means have a standard error.
    """

    size: BoardSize
    names: tuple[str, ...]
    n_boards: int
    mean_distance: float | None
    rows: tuple[DistanceRow, ...]
    overall: tuple[Spread, ...]
    is_sample: bool = False

    @property
    def all_rows(self) -> tuple[DistanceRow, ...]:
        """The rows of the distances, then one over all boards."""
        return (*self.rows, DistanceRow(None, self.n_boards, self.overall))

    @property
    def boards_text(self) -> str:
        """Return the number and the size of the boards, such as `181,440 boards of 3x3`."""
        return f"{self.n_boards:,} {'random ' if self.is_sample else ''}boards of {self.size}"

    def draw(self, axes: Any) -> None:
        """Draw the mean of each heuristic by distance, and a band from its minimum to its maximum."""
        if not self.rows:
            return
        distances = [row.distance for row in self.rows]
        axes.plot(distances, distances, color="black", linewidth=0.8, linestyle=":", label="the distance itself")
        # By decreasing mean, so that the legend has the order of the lines.
        for i in sorted(range(len(self.names)), key=lambda i: -self.overall[i].mean):
            means = np.array([row.spreads[i].mean for row in self.rows])
            (line,) = axes.plot(distances, means, marker="o", markersize=3, label=self.names[i])
            lows, highs = zip(*((row.spreads[i].minimum, row.spreads[i].maximum) for row in self.rows), strict=True)
            axes.fill_between(distances, lows, highs, color=line.get_color(), alpha=0.12, linewidth=0)
        axes.set(
            xlabel="distance from the goal (moves)",
            ylabel="h: mean, minimum and maximum",
            title=f"Heuristics on {self.boards_text}",
        )
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left")

    def standard_error(self, spread: Spread, n_boards: int) -> float | None:
        """Return the standard error of the mean over a sample of boards; None if there is one board, or no sample."""
        return spread.standard_deviation / math.sqrt(n_boards - 1) if self.is_sample and n_boards > 1 else None


def checked_study(
    size: SizeLike, heuristics: HeuristicsLike, databases: Any, goal: BoardLike, what: str
) -> tuple[BoardSize, Tiles, tuple[Studied, ...]]:
    """Return the size, the goal and what is studied: heuristics, then databases. `what` is the subject of a refusal."""
    studied = (*given_heuristics(heuristics), *as_databases(databases))
    if not studied:
        raise InputError("there is nothing to study; give a heuristic or a database")
    size = as_size(size)
    check_table_size(size, what=what, instead="choose a smaller size")
    return size, as_goal(goal, size), studied


def studied_values(boards: Boards, size: BoardSize, goal: Tiles, studied: Sequence[Studied]) -> Int64s:
    """Return h of each board by each heuristic, and the largest sum of each database: int64[m, studied].

    Raises `TableMismatchError` and `GoalError` if a database cannot serve the size or the goal, and the errors of
    `heuristic_tables`.
    """
    values: list[Any] = []
    for one in studied:
        if isinstance(one, Database):
            one.check_size(size)
            parts = range(0, len(boards), _BOARDS_AT_A_TIME)  # so that Ctrl-C works
            found = [one.probe_batch(boards[start : start + _BOARDS_AT_A_TIME], goal).h for start in parts]
            values.append(np.concatenate(found))
        else:
            values.append(evaluated(boards, one, goal, size))
    return np.column_stack(values)


def studied_name(one: Studied) -> str:
    """Return the name of a heuristic or of a database."""
    return f"db {one.partition.name} {one.encoding}" if isinstance(one, Database) else heuristic_name(one)


def fitting_heuristics(size: BoardSize, goal: Tiles) -> list[str]:
    """Return the names of the heuristics that exist for this size and goal."""
    found = []
    for name in HEURISTICS:
        with suppress(InputError):
            heuristic_tables((name,), size, goal)
            found.append(name)
    return found


def study_heuristics(
    size: SizeLike,
    heuristics: HeuristicsLike = ("manhattan", "linear-conflict"),
    databases: Database | FilePath | Sequence[Database | FilePath] = (),
    *,
    goal: BoardLike = "blank-last",
    n_boards: int = 1000,
    seed: int = 0,
    solves_with: Callable[[], Sequence[Database]] | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> HeuristicStudy:
    """Return the values of heuristics and databases, by the distance of the boards from the goal.

    Up to 10 cells all boards are evaluated, otherwise random ones. Up to 16 cells their distances are found.

    Parameters
    ----------
    heuristics
        One name or several, see `solver.heuristics.HEURISTICS`. `fitting_heuristics` returns those of a size. Or
        functions as for `HeuristicSolver`.
    databases
        One database or several, open or as paths.
    n_boards
        Number of random boards.
    solves_with
        Returns the databases that random boards are solved with. The default are `databases`.
    progress
        Called with the number of boards solved and to solve.

    Raises
    ------
    InputError
        For boards larger than 6x6, if a heuristic does not exist for the size, or if there is no database to solve
        boards with.
    GoalError
        For an invalid goal, or if a database cannot serve it.
    TableMismatchError
        If a database is of another size.

    Examples
    --------
    >>> study_heuristics("2x2", "manhattan").n_boards
    12
    """
    check_functions(solves_with=solves_with)
    progress = as_function(progress, "progress")
    n_boards, n_threads = as_count(n_boards, "n_boards", 1), as_threads(n_threads)
    seed = as_count(seed, "seed")
    size, checked, studied = checked_study(size, heuristics, databases, goal, "heuristics and optimal solutions")
    distances: Int64s | None = None
    is_whole = size.n_cells <= MAX_LISTED_CELLS
    if is_whole:
        boards, of_boards = all_boards(size, checked)
        distances = of_boards.astype(np.int64)
    else:
        boards = random_boards(size, checked, n_boards, seed).astype(np.uint8)
    # Before boards are solved: it raises at once if a heuristic or a database cannot be used.
    values = studied_values(boards, size, checked, studied)
    if not is_whole and size.n_cells <= _MAX_SOLVED_CELLS:
        solving = [one for one in studied if isinstance(one, Database)] if solves_with is None else solves_with()
        if not solving:
            raise InputError(f"random boards of {size} are solved to know their distances; give a database")
        solver, lengths = Solver(*solving), []
        for first in range(0, len(boards), _SOLVED_AT_A_TIME):
            progress(first, len(boards))
            part = boards[first : first + _SOLVED_AT_A_TIME]
            lengths.append(solver.solve_many(part, checked, n_threads=n_threads).lengths)
        distances = np.concatenate(lengths).astype(np.int64)
    return study_values(size, [*map(studied_name, studied)], values, distances, is_sample=not is_whole)


def study_values(
    size: BoardSize,
    names: Sequence[str],
    values: Int64s,
    distances: Int64s | None,
    *,
    is_sample: bool = False,
) -> HeuristicStudy:
    """Return statistics of `values` (int64[m, heuristics], m at least 1) over boards of these distances (int64[m])."""
    rows = []
    if distances is not None:
        for distance in np.unique(distances).tolist():
            here = values[distances == distance]
            rows.append(DistanceRow(distance, len(here), _spreads(here)))
    return HeuristicStudy(
        size,
        tuple(names),
        len(values),
        None if distances is None else float(distances.mean()),
        tuple(rows),
        _spreads(values),
        is_sample,
    )


def _spreads(values: Int64s) -> tuple[Spread, ...]:
    return tuple(
        Spread(float(column.mean()), float(column.std()), int(column.min()), int(column.max())) for column in values.T
    )
