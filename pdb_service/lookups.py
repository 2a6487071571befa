"""What tables say of one board, in the words of the API."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pdb_core.puzzle import Board, is_solvable, why_unsolvable
from pdb_service.served_databases import Served


def look_up(board: Board, served: Served) -> dict[str, Any]:
    """The body of a lookup: a `LookupAnswer`."""
    answer = described(board, served)
    if not answer["solvable"]:
        return {**answer, "h": None, "sums": []}
    # The board is known to be one: as a batch of one it is not looked at again.
    batch = served.database.probe_batch(np.array([board], dtype=np.uint8), served.goal)
    sums = [
        {"h": total, "values": values, "patterns": patterns}
        for total, values, patterns in zip(
            batch.sums[0].tolist(), batch.values[0].tolist(), _pattern_tiles(served), strict=True
        )
    ]
    return {**answer, "h": int(batch.maximum[0]), "sums": sums}


def described(board: Board, served: Served) -> dict[str, Any]:
    """What all answers about a board begin with."""
    solvable = is_solvable(board, served.goal, served.size)
    answer: dict[str, Any] = {
        "db": served.id,
        "size": str(served.size),
        "board": board,
        "goal": served.goal,
        "solvable": solvable,
    }
    if not solvable:
        answer["why"] = why_unsolvable(board, served.goal, served.size)
    return answer


def maxima(boards: Sequence[Board], served: Served) -> list[int]:
    """The h of some solvable boards."""
    batch = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
    return [int(h) for h in batch.maximum]


@lru_cache(maxsize=256)
def _pattern_tiles(served: Served) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The tiles of a given board that each pattern of each sum stands for."""
    labels = served.database.views(served.goal).labels_of_tiles()
    return tuple(tuple(tuple(np.flatnonzero(unit >= 0).tolist()) for unit in units) for units in labels)
