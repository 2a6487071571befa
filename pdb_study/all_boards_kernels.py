"""Breadth-first search over all boards of a small size, kept as they are."""

from typing import Any

import numpy as np

from pdb_core.jit import kernel

_at = np.uint64


@kernel
def rank_board(board: Any) -> int:
    """Lexicographic rank of a board (uint8[n]) among all permutations."""
    rank = 0
    n = len(board)
    for cell in range(n):
        smaller = 0
        for other in range(cell + 1, n):
            smaller += 1 if board[other] < board[cell] else 0
        rank = rank * (n - cell) + smaller
    return rank


@kernel
def spread(
    boards: Any, distances: Any, neighbours: Any, seen: Any, next_board: int, n_boards: int, n_now: int
) -> tuple[int, int]:
    """Go on with a breadth-first search: look at `n_now` boards from `next_board` on. Returns where it stands: the next
    board to be looked at, and how many are known; it is over where they are equal.

    boards      uint8[m + 1, n], mutated: in the order they are found, the goal first, and room for one more
    distances   uint8[m], mutated
    neighbours  int64[n, 4]   cells next to each, -1 where there is none
    seen        uint8[n! / 8 rounded up], mutated: a bit for each rank
    """
    last = min(next_board + n_now, len(boards))
    while next_board < n_boards and next_board < last:
        board = boards[next_board]
        blank = 0
        while board[blank] != 0:
            blank += 1
        for i in range(4):
            cell = neighbours[blank, i]
            if cell < 0:
                continue
            near = boards[n_boards]  # kept where it is new
            near[:] = board
            near[blank] = board[cell]
            near[cell] = 0
            rank = rank_board(near)
            if (seen[_at(rank >> 3)] >> (rank & 7)) & 1 == 0:
                seen[_at(rank >> 3)] |= 1 << (rank & 7)
                distances[n_boards] = distances[next_board] + 1
                n_boards += 1
        next_board += 1
    return next_board, n_boards
