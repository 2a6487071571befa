"""Breadth-first search over all boards of a size, up to 12 cells, as the FSM of move pruning allows.

The FSM loses no board if an accepted sequence of the optimal length leads to each. The search enters a board once, with
the state at which it comes there first.

- That proves enough: an accepted sequence of that length leads to each board that it enters.
- It misses no board of which the FSM accepts the lexicographically first optimal path. The beginning of such a path is
  itself the first optimal path to its end, and the search goes through its layers in lexicographic order.

It reaches no board before its distance. So if it agrees with a search without FSM on the number of boards at each
depth, both agree on each board.

`advance_with_fsm` takes a board for the order of its tiles, the blank left out, and the cell of the blank:

1. The order of the n - 1 tiles is given by its Lehmer digits: digit i counts the later tiles that are smaller. Of two
   tiles, one right after the other, the first is the larger just where its digit is. Swapped, the digits d, e become
   e, d - 1 where d > e, and e + 1, d where not.
2. A sideways move of the blank leaves the order as it is. A move up or down takes a tile past the width - 1 tiles
   between, that is as many swaps.
3. The digits are a number in the mixed radix n - 1, n - 2, ..., 3. The digit of radix 2 is left out: the sum of all
   digits is even where the order is an even permutation, and that is decided by the row of the blank: each swap changes
   it, so on boards of even width each row that the blank is away from its row at the start does, on others nothing.
"""

import math
from typing import Any

import numpy as np

from pdb_core.jit import kernel
from pdb_core.puzzle import BoardSize
from solver.move_pruning.move_pruning import START, PruningFsm


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


@kernel
def advance_with_fsm(
    width: int,
    height: int,
    start_row: int,
    successors: Any,
    boards: Any,
    states: Any,
    visited: Any,
    digits: Any,
    swapped: Any,
    next_boards: Any,
    next_states: Any,
) -> int:
    """Make all moves that the FSM allows from one layer of the search; return the length of the next one.

    The start has its tiles in ascending order, and the blank in `start_row`. A board is entered once, when it is found
    first, in the order of the layer and then up, left, right, down.

    successors    int32[n_states, 4]  the FSM, negative where a move is refused
    boards, states  int32[m], int32[m]  the layer: numbers of boards and states of the FSM
    visited       uint8[ceil(n! / 16)]  mutated: a bit for each number of a board
    digits, swapped  int64[n - 1]     scratch
    next_boards, next_states  int32, as long as the next layer may get; mutated: the next layer

    Serial: the order of the layer counts.
    """
    n_cells = width * height
    n_digits = n_cells - 1
    n_next = 0
    for place in range(boards.shape[0]):
        # Step 1. The digits of the order. The last one is 0, the one before has the parity that is left.
        order, cell = boards[place] // n_cells, boards[place] % n_cells
        row, column = cell // width, cell % width
        rest = order
        digit_sum = (row - start_row) * (width - 1)
        digits[n_digits - 1] = 0
        for i in range(n_digits - 3, -1, -1):
            digits[i] = rest % (n_digits - i)
            rest //= n_digits - i
            digit_sum += digits[i]
        digits[n_digits - 2] = digit_sum & 1
        for move in range(4):
            if (move == 0 and row == 0) or (move == 1 and column == 0):
                continue
            if (move == 2 and column == width - 1) or (move == 3 and row == height - 1):
                continue
            state = successors[states[place], move]
            if state < 0:
                continue
            # Step 2. The number of the board after the move. In the order, the tiles passed over and the one that moves
            # begin at the higher of the two cells.
            near_order, near_cell = order, cell
            if move == 1:
                near_cell -= 1
            elif move == 2:
                near_cell += 1
            else:
                for i in range(n_digits):
                    swapped[i] = digits[i]
                near_cell += -width if move == 0 else width
                first = min(cell, near_cell)
                for k in range(width - 1):
                    i = first + k if move == 0 else first + width - 2 - k
                    d, e = swapped[i], swapped[i + 1]
                    if d > e:
                        swapped[i], swapped[i + 1] = e, d - 1
                    else:
                        swapped[i], swapped[i + 1] = e + 1, d
                near_order = 0
                for i in range(n_digits - 2):
                    near_order = near_order * (n_digits - i) + swapped[i]
            near = near_order * n_cells + near_cell
            # Step 3. Enter it if it is new.
            bit = 1 << (near & 7)
            if visited[near >> 3] & bit == 0:
                visited[near >> 3] |= bit
                next_boards[n_next], next_states[n_next] = near, state
                n_next += 1
    return n_next
