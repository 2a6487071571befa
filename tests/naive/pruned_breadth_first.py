"""Breadth-first search over all boards of a size, up to 12 cells, as the FSM of move pruning allows.

The FSM loses no board if an accepted sequence of the optimal length leads to each. The search enters a board once, with
the state at which it comes there first.

- That proves enough: an accepted sequence of that length leads to each board that it enters.
- It misses no board of which the FSM accepts the lexicographically first optimal path. The beginning of such a path is
  itself the first optimal path to its end, and the search goes through its layers in lexicographic order.

It reaches no board before its distance. So if it agrees with a search without FSM on the number of boards at each
depth, both agree on each board.
"""

import math

import numpy as np

from pdb_core.puzzle import BoardSize
from solver.move_pruning.move_pruning import START, PruningFsm
from tests.naive.pruned_breadth_first_kernels import advance_with_fsm


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
