"""Breadth-first searches over all boards of a size, up to 12 cells: with the fsm of move pruning, and plain.

The fsm loses no board where an accepted sequence of the shortest length leads to each. The search with the fsm
enters a board once, with the one state of the fsm at which it comes there first.

- That proves enough: to whatever it enters, an accepted sequence of that length leads.
- It misses nothing that the fsm promises, which is to accept the lexicographically first of all shortest ways to a
  board. What such a way begins with is itself the first shortest way to where it leads, and the search goes through its
  layers in lexicographic order, so it enters each board at the end of that way.

Neither search comes to a board before its distance. So where they agree on the number of boards at each depth, they
agree on each board.
"""

import math
from functools import lru_cache

import numpy as np

from pdb_core.puzzle import BoardSize
from solver.move_pruning.move_pruning import START, PruningFsm
from tests.naive.pruned_breadth_first_kernels import advance_plain, advance_with_fsm


def fsm_depth_counts(fsm: PruningFsm, size: BoardSize, start_cell: int) -> list[int]:
    """Return the number of boards that a search with the FSM finds at each depth, with the start's blank on a cell."""
    n_boards = math.factorial(size.n_cells) // 2
    boards, states = np.array([start_cell], dtype=np.int32), np.array([START], dtype=np.int32)
    visited = np.zeros(n_boards // 8 + 1, dtype=np.uint8)
    visited[start_cell // 8] = 1 << start_cell % 8
    digits, swapped = np.empty(size.n_cells - 1, dtype=np.int64), np.empty(size.n_cells - 1, dtype=np.int64)
    counts = []
    while len(boards) > 0:
        counts.append(len(boards))
        # Room for all moves of all boards; memory that is not written takes none.
        next_boards, next_states = np.empty(4 * len(boards), dtype=np.int32), np.empty(4 * len(boards), dtype=np.int32)
        n_next = advance_with_fsm(
            size.width,
            size.height,
            start_cell // size.width,
            fsm.successors,
            boards,
            states,
            visited,
            digits,
            swapped,
            next_boards,
            next_states,
        )
        boards, states = next_boards[:n_next], next_states[:n_next]
    return counts


def plain_depth_counts(size: BoardSize, start_cell: int) -> list[int]:
    """Return the number of boards at each depth, with the start's blank on a cell.

    Boards turned, mirrored or transposed have the same counts, and are searched once.
    """
    row, column = divmod(start_cell, size.width)
    row, column = min(row, size.height - 1 - row), min(column, size.width - 1 - column)
    (width, column), (height, row) = sorted([(size.width, column), (size.height, row)])
    return _plain_depth_counts(BoardSize(width, height), row * width + column)


@lru_cache(maxsize=64)
def _plain_depth_counts(size: BoardSize, start_cell: int) -> list[int]:
    tiles = [*range(1, start_cell + 1), 0, *range(start_cell + 1, size.n_cells)]
    boards = np.array([sum(tile << 4 * cell for cell, tile in enumerate(tiles))], dtype=np.int64)
    visited = np.zeros(math.factorial(size.n_cells) // 8 + 1, dtype=np.uint8)
    start = sum(
        sum(later < tile for later in tiles[cell:]) * math.factorial(size.n_cells - 1 - cell)
        for cell, tile in enumerate(tiles)
    )
    visited[start // 8] = 1 << start % 8
    counts = []
    while len(boards) > 0:
        counts.append(len(boards))
        next_boards = np.empty(4 * len(boards), dtype=np.int64)
        n_next = advance_plain(size.width, size.height, boards, visited, next_boards)
        boards = next_boards[:n_next]
    return counts
