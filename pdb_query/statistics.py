"""Mean lower bounds of random boards."""

import math
from dataclasses import dataclass

import numpy as np

from pdb_core.puzzle import random_boards
from pdb_query.database import Database

_BOARDS_AT_A_TIME = 100_000


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


def random_board_statistics(database: Database, *, n_boards: int = 100_000, seed: int = 1) -> RandomBoardStatistics:
    """Measure the mean lower bounds of random boards.

    Parameters
    ----------
    database
        The tables to look up.
    n_boards
        Number of boards, at least 2.
    seed
        Equal seeds give equal boards.

    Raises
    ------
    TableFileDamagedError
        The tables have no distance for a board.
    ValueError
        The database is closed.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for start in range(0, n_boards, _BOARDS_AT_A_TIME):
        n_now = min(_BOARDS_AT_A_TIME, n_boards - start)
        boards = random_boards(database.size, database.goal, n_now, int(generator.integers(1 << 62)))
        probe = database.probe_batch(boards)
        rows.append(np.column_stack([probe.sums, probe.h]))
    values = np.concatenate(rows)
    errors = values.std(axis=0, ddof=1) / math.sqrt(n_boards)
    *sums, h = zip(values.mean(axis=0).tolist(), errors.tolist(), strict=True)
    return RandomBoardStatistics(tuple(sums), h)
