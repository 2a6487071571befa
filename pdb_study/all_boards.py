"""Every board of a small size with its distance from the goal."""

import math

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, Boards, BoardSize
from pdb_study.all_boards_kernels import rank_board, spread

# 2x5 and 3x3 are the largest whose boards are kept one by one: 1.8 million.
MAX_CELLS = 10
_BOARDS_AT_A_TIME = 50_000


def all_boards(size: BoardSize, goal: Board) -> tuple[Boards, npt.NDArray[np.uint8]]:
    """The boards that can be solved, nearest first, uint8[m, n_cells] with m = n_cells! / 2, and their distances,
    uint8[m].

    Raises `InputError` for boards of more than 10 cells.
    """
    n = size.n_cells
    if n > MAX_CELLS:
        raise InputError(f"{size} boards are too many to be looked at one by one; that goes up to {MAX_CELLS} cells")
    n_boards = math.factorial(n) // 2
    boards = np.empty((n_boards + 1, n), dtype=np.uint8)
    distances = np.empty(n_boards + 1, dtype=np.uint8)
    neighbours = np.full((n, 4), -1, dtype=np.int64)
    for cell, near in enumerate(size.neighbours):
        neighbours[cell, : len(near)] = near
    seen = np.zeros((math.factorial(n) + 7) // 8, dtype=np.uint8)
    boards[0], distances[0] = goal, 0
    rank = rank_board(boards[0])
    seen[rank >> 3] |= 1 << (rank & 7)
    at, known = 0, 1
    while at < known:
        at, known = spread(boards, distances, neighbours, seen, at, known, _BOARDS_AT_A_TIME)
    return boards[:n_boards], distances[:n_boards]
