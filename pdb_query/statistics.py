"""Statistics of a database over random boards, used by `pdb stats`."""

import math
from dataclasses import dataclass

import numpy as np

from pdb_core.puzzle import random_boards
from pdb_query.database import Database

_BOARDS_AT_A_TIME = 100_000


@dataclass(frozen=True)
class RandomBoardStatistics:
    """Mean lower bounds over uniformly random solvable boards, each with its standard error.

    `sums` has the mean of each sum, first those of the identity; `maximum` is the mean of the largest sum.
    """

    sums: tuple[tuple[float, float], ...]
    maximum: tuple[float, float]


def random_board_statistics(database: Database, *, n_boards: int = 100_000, seed: int = 1) -> RandomBoardStatistics:
    """Return the statistics of `n_boards` (at least 2) random boards. Equal seeds give equal boards."""
    generator = np.random.default_rng(seed)
    rows = []
    for start in range(0, n_boards, _BOARDS_AT_A_TIME):
        n_now = min(_BOARDS_AT_A_TIME, n_boards - start)
        boards = random_boards(database.size, database.goal, n_now, int(generator.integers(1 << 62)))
        probe = database.probe_batch(boards)
        rows.append(np.column_stack([probe.sums, probe.maximum]))
    values = np.concatenate(rows)
    errors = values.std(axis=0, ddof=1) / math.sqrt(n_boards)
    *sums, maximum = zip(values.mean(axis=0).tolist(), errors.tolist(), strict=True)
    return RandomBoardStatistics(tuple(sums), maximum)
