"""Statistics of heuristics: their values by the distance of the boards."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import Boards, BoardSize, Tiles
from pdb_query import Database
from solver.heuristics import heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate_many

Values = npt.NDArray[np.int64]
_BOARDS_AT_A_TIME = 100_000


@dataclass(frozen=True)
class Spread:
    """Values of one heuristic over some boards, with the standard deviation of a population."""

    mean: float
    standard_deviation: float
    minimum: int
    maximum: int


@dataclass(frozen=True)
class DistanceRow:
    """Boards of one distance; `spreads` has one entry for each heuristic."""

    distance: int
    n_boards: int
    spreads: tuple[Spread, ...]


@dataclass(frozen=True)
class HeuristicStudy:
    """Values of heuristics over boards.

    mean_distance  None if the distances are unknown
    rows           one for each distance; empty if the distances are unknown
    overall        over all boards, for each heuristic
    exceeds        exceeds[i][j]: the number of boards on which heuristic i is larger than heuristic j
    is_sample      the boards are a sample, so that means have a standard error
    """

    names: tuple[str, ...]
    n_boards: int
    mean_distance: float | None
    rows: tuple[DistanceRow, ...]
    overall: tuple[Spread, ...]
    exceeds: tuple[tuple[int, ...], ...]
    is_sample: bool = False

    def standard_error(self, spread: Spread, n_boards: int) -> float | None:
        """Return the standard error of the mean over a sample of boards; None if there is one board, or no sample."""
        return spread.standard_deviation / math.sqrt(n_boards - 1) if self.is_sample and n_boards > 1 else None


def heuristic_values(
    boards: Boards, size: BoardSize, goal: Tiles, names: Sequence[str], databases: Sequence[Database] = ()
) -> Values:
    """Return h of each board by each heuristic, then the largest sum of each database: int64[m, heuristics].

    Raises `GoalError` if a database cannot serve the goal, and the errors of `heuristic_tables`.
    """
    values = np.empty((len(boards), len(names) + len(databases)), dtype=np.int64)
    one = np.empty((len(boards), 1), dtype=np.uint16)
    for column, name in enumerate(names):
        tables = heuristic_tables((name,), size, goal)
        for start in range(0, len(boards), _BOARDS_AT_A_TIME):  # so that Ctrl-C works
            evaluate_many(tables, boards[start : start + _BOARDS_AT_A_TIME], one[start : start + _BOARDS_AT_A_TIME])
        values[:, column] = one[:, 0]
    for column, database in enumerate(databases, start=len(names)):
        for start in range(0, len(boards), _BOARDS_AT_A_TIME):
            probe = database.probe_batch(boards[start : start + _BOARDS_AT_A_TIME], goal)
            values[start : start + _BOARDS_AT_A_TIME, column] = probe.maximum
    return values


def study_values(
    names: Sequence[str], values: Values, distances: npt.NDArray[np.int64] | None, *, is_sample: bool = False
) -> HeuristicStudy:
    """Return statistics of `values` (int64[m, heuristics], m at least 1) over boards of these distances (int64[m])."""
    rows = []
    if distances is not None:
        for distance in np.unique(distances).tolist():
            here = values[distances == distance]
            rows.append(DistanceRow(distance, len(here), _spreads(here)))
    exceeds = tuple(
        tuple(int(np.count_nonzero(values[:, i] > values[:, j])) for j in range(values.shape[1]))
        for i in range(values.shape[1])
    )
    return HeuristicStudy(
        tuple(names),
        len(values),
        None if distances is None else float(distances.mean()),
        tuple(rows),
        _spreads(values),
        exceeds,
        is_sample,
    )


def _spreads(values: Values) -> tuple[Spread, ...]:
    return tuple(
        Spread(float(column.mean()), float(column.std()), int(column.min()), int(column.max())) for column in values.T
    )
