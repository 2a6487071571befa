"""One round with heuristics that need no table, child by child, for boards of any size (Korf 1985).

Manhattan distance and linear conflicts are updated with each move; the other heuristics evaluate a whole board.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.puzzle import BLANK
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES
from solver.engine import layout as lay
from solver.engine.round_kernels import take_nodes
from solver.heuristics.evaluate_kernels import evaluate_one
from solver.heuristics.heuristic import HeuristicTables
from solver.heuristics.korf_taylor_kernels import conflicts_after_move
from solver.vectors import vector_kernels as v

_at = np.uint64


class HeuristicStages(NamedTuple):
    """Tables of heuristics, for kernels.

    nearer  uint64[n_cells * N_MOVES]: by blank * N_MOVES + move, the mask of the tiles that the move takes nearer to
            their goal cells
    codes   int64[m]: the heuristics that evaluate a whole board
    uses_manhattan, uses_conflicts  whether Manhattan distance, and Manhattan distance with linear conflicts, prune;
            these are the first two sums
    """

    heuristics: HeuristicTables
    nearer: npt.NDArray[np.uint64]
    codes: Int64s
    uses_manhattan: int
    uses_conflicts: int


@borrowing_kernel
def exceeds(stages: Any, board: Any, h_limit: int) -> bool:
    """Return whether a heuristic that evaluates a whole board (uint8[n_cells]) is above `h_limit`."""
    for i in range(len(stages.codes)):  # noqa: SIM110 (numba compiles no generator)
        if evaluate_one(stages.heuristics, stages.codes[i], board) > h_limit:
            return True
    return False


@borrowing_kernel
def expand_boards(
    stages: Any, tables: Any, at: Any, words: Any, board: Any, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand the nodes of the batch; board: uint8[n_cells], scratch, and words: uint32, the same memory."""
    generated, has_ended = 0, 0
    for i in range(n):
        node = at.batch + 4 * i
        state, left = v.load_word(node + lay.STATE * lay.BATCH_COLUMN), v.load_word(node + lay.LEFT * lay.BATCH_COLUMN)
        for column in range(tables.board_column, tables.n_columns):
            words[_at(column - tables.board_column)] = v.load_word(node + column * lay.BATCH_COLUMN)
        blank = (state >> lay.BLANK_SHIFT) & lay.BLANK_MASK
        moves = (state >> lay.ALLOWED_SHIFT) & v.load_word(tables.legal + 4 * blank)
        parent_slack: Any = left & lay.MAX_SLACK
        # Half of the moves for linear conflicts.
        parent_conflicts = parent_slack - ((left >> lay.SLACK_BITS) & lay.MAX_SLACK)
        for move in range(N_MOVES - 1, -1, -1):
            if (moves >> move) & 1 == 0:
                continue
            generated += 1
            # Step 1. Manhattan distance and linear conflicts change with the tile that moves.
            cell = (blank + v.load_word(tables.steps + 4 * move)) & lay.BLANK_MASK
            tile: Any = np.int64(board[_at(cell)])
            slack, conflicts = parent_slack, parent_conflicts
            if stages.uses_manhattan != 0:
                slack += np.int64((stages.nearer[_at(blank * N_MOVES + move)] >> _at(tile)) & _at(1)) - 1
                if slack < 0:
                    continue
            if stages.uses_conflicts != 0:
                change = conflicts_after_move(stages.heuristics.linear_conflict, board, cell, blank)
                conflicts += change >> 1
                if conflicts > slack:
                    continue
            # Step 2. The other heuristics evaluate the board after the move.
            if len(stages.codes) > 0:
                board[_at(blank)], board[_at(cell)] = tile, BLANK
                is_above = exceeds(stages, board, (left >> lay.MOVES_LEFT_SHIFT) - 1)
                board[_at(cell)], board[_at(blank)] = tile, BLANK
                if is_above:
                    continue
            # Step 3. The child: the tile and the blank change places.
            to = at.stack + 4 * top
            after = v.load_word(tables.successors + 4 * (((state & lay.FSM_STATE_MASK) << 2) | move))
            moves_left = ((left >> lay.MOVES_LEFT_SHIFT) - 1) << lay.MOVES_LEFT_SHIFT
            left_after = moves_left | slack | (((slack - conflicts) & lay.MAX_SLACK) << lay.SLACK_BITS)
            v.store_word(to + lay.STATE * at.stack_column, after | (cell << lay.BLANK_SHIFT))
            v.store_word(to + lay.LINK * at.stack_column, ((first_link + i) << 2) | move)
            v.store_word(to + lay.LEFT * at.stack_column, left_after)
            for column in range(tables.board_column, tables.n_columns):
                v.store_word(to + column * at.stack_column, v.load_word(node + column * lay.BATCH_COLUMN))
            for changed in (blank, cell):
                to_cells = to + (tables.board_column + (changed >> 2)) * at.stack_column
                v.store_word(to_cells, v.load_word(to_cells) ^ (tile << (8 * (changed & 3))))
            has_ended |= 1 if left_after < lay.ONE_MOVE else 0
            top += 1
    return generated, top, has_ended


@kernel
def heuristic_round(stages: Any, tables: Any, at: Any, n: int, top: int, first_link: int) -> tuple[int, int, int]:
    """Expand nodes as `search_kernels.round_of` says. With a batch of one node, the first move's child is on top."""
    take_nodes(tables, at, n, top)
    words = np.empty(tables.n_columns - tables.board_column, dtype=np.uint32)
    return expand_boards(stages, tables, at, words, words.view(np.uint8)[: tables.n_cells], n, top, first_link)
