"""Every board of a small size with its distance from the goal."""

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, Boards, BoardSize
from pdb_study.layer_search import PackedOrders, layers

# 2x5 and 3x3 are the largest sizes whose boards are kept in memory: 1.8 million boards.
MAX_CELLS = 10


def all_boards(size: BoardSize, goal: Board) -> tuple[Boards, npt.NDArray[np.uint8]]:
    """Return the solvable boards, nearest first, uint8[m, n_cells], and their distances, uint8[m]; m is n_cells! / 2.

    Raises `InputError` for boards of more than 10 cells.
    """
    if size.n_cells > MAX_CELLS:
        raise InputError(f"{size} boards are too many to evaluate each; the largest sizes have {MAX_CELLS} cells")
    orders = PackedOrders(size)
    found = [np.concatenate([orders.boards(*rows) for rows in sorted(layer.items())]) for layer in layers(size, goal)]
    return np.concatenate(found), np.repeat(np.arange(len(found), dtype=np.uint8), [len(boards) for boards in found])
