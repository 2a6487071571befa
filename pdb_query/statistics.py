"""Mean lower bounds of random boards."""

import math
from dataclasses import dataclass

import numpy as np

from pdb_core.arguments import FilePath, as_count
from pdb_core.puzzle import random_boards
from pdb_query.database import Database, as_databases

_BOARDS_AT_A_TIME, _MOST_BOARDS = 100_000, 1_000_000_000


@dataclass(frozen=True)
class RandomBoardStatistics:
    """Mean lower bounds over uniformly random solvable boards: pairs (mean, standard error of the mean), in moves.

    Attributes
    ----------
    sums
        A pair for each sum, in the order of `Probe.sums`.
    h
        The pair of the largest sum.
    """

    sums: tuple[tuple[float, float], ...]
    h: tuple[float, float]


def random_board_statistics(
    database: Database | FilePath, *, n_boards: int = 100_000, seed: int = 0
) -> RandomBoardStatistics:
    """Measure the mean lower bounds of random boards.

    Parameters
    ----------
    database
        The tables to look up: a database, or the path of its file.
    n_boards
        Number of boards, at least 2.
    seed
        Equal seeds give equal boards.

    Raises
    ------
    TableFileError
        The file is missing or cannot be used, or the tables have no distance for a board.
    InputError
        An argument is invalid, or the database is closed.

    Examples
    --------
    >>> random_board_statistics("data/8.h5", n_boards=1000).h[0] > 20
    True
    """
    (database,) = as_databases((database,))
    n_boards = as_count(n_boards, "n_boards", 2, _MOST_BOARDS)
    seed = as_count(seed, "seed")
    generator = np.random.default_rng(seed)
    totals = squares = np.zeros(1, dtype=np.int64)
    for start in range(0, n_boards, _BOARDS_AT_A_TIME):
        n_now = min(_BOARDS_AT_A_TIME, n_boards - start)
        boards = random_boards(database.size, database.goal, n_now, int(generator.integers(1 << 62)))
        probe = database.probe_batch(boards)
        values = np.column_stack([probe.sums, probe.h]).astype(np.int64)
        totals, squares = totals + values.sum(axis=0), squares + (values * values).sum(axis=0)
    *sums, h = (
        (total / n_boards, math.sqrt((n_boards * square - total * total) / (n_boards - 1)) / n_boards)
        for total, square in zip(totals.tolist(), squares.tolist(), strict=True)
    )
    return RandomBoardStatistics(tuple(sums), h)
