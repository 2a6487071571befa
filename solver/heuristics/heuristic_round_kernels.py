"""One round with heuristics that need no table, child by child, for boards of any size (Korf 1985).

Manhattan distance and linear conflicts are updated with each move; the other heuristics evaluate a whole board.
"""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import load_word, store_word
from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.types import BLANK, N_MOVES, Int64s, UInt64s
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import moves_of_node, take_nodes
from solver.engine.search_kernels import ROUNDS
from solver.heuristics.evaluate_kernels import OWN, HeuristicTables, evaluate_one
from solver.heuristics.korf_taylor_kernels import conflicts_after_move
from solver.heuristics.own_kernels import own_value

_index = np.uint64


class HeuristicRoundTables(NamedTuple):
    """Tables of heuristics, for kernels.

    nearer  uint64[n_cells * N_MOVES]: by blank * N_MOVES + move, the mask of the tiles that the move takes nearer to
            their goal cells
    codes   int64[m]: the heuristics that evaluate a whole board
    uses_manhattan, uses_conflicts  whether Manhattan distance, and Manhattan distance with linear conflicts, prune;
            these are the first two sums
    """

    heuristics: HeuristicTables
    nearer: UInt64s
    codes: Int64s
    uses_manhattan: int
    uses_conflicts: int


@borrowing_kernel
def exceeds(round_tables: HeuristicRoundTables, board: Any, h_limit: int) -> bool:
    """Return whether a heuristic that evaluates a whole board (uint8[n_cells]) is above `h_limit`."""
    for i in range(len(round_tables.codes)):
        code = round_tables.codes[i]
        # A call that is handed the tables of all heuristics costs more than a function of one's own.
        h = own_value(code, board) if code >= OWN else evaluate_one(round_tables.heuristics, code, board)
        if h > h_limit:
            return True
    return False


@borrowing_kernel
def expand_boards(
    round_tables: HeuristicRoundTables,
    tables: EngineTables,
    at: StackMemory,
    words: Any,
    board: Any,
    n: int,
    top: int,
    first_link: int,
) -> tuple[int, int, int]:
    """Expand the nodes of the batch; board: uint8[n_cells], scratch, and words: its memory as uint32."""
    generated, has_ended = 0, 0
    for i in range(n):
        node = at.batch + 4 * i
        state = load_word(node + mem.STATE * mem.BATCH_COLUMN)
        left = load_word(node + mem.MOVES_LEFT * mem.BATCH_COLUMN)
        for column in range(tables.board_column, tables.n_columns):
            words[_index(column - tables.board_column)] = load_word(node + column * mem.BATCH_COLUMN)
        blank, moves = moves_of_node(tables, state)
        parent_slack: Any = left & mem.MAX_SLACK
        # Half of the moves for linear conflicts.
        parent_conflicts = parent_slack - ((left >> mem.SLACK_BITS) & mem.MAX_SLACK)
        for move in range(N_MOVES - 1, -1, -1):
            if (moves >> move) & 1 == 0:
                continue
            generated += 1
            # Step 1. Manhattan distance and linear conflicts change with the tile that moves.
            cell = (blank + load_word(tables.steps + 4 * move)) & mem.BLANK_MASK
            tile: Any = np.int64(board[_index(cell)])
            slack, conflicts = parent_slack, parent_conflicts
            if round_tables.uses_manhattan != 0:
                slack += np.int64((round_tables.nearer[_index(blank * N_MOVES + move)] >> _index(tile)) & _index(1)) - 1
                if slack < 0:
                    continue
            if round_tables.uses_conflicts != 0:
                change = conflicts_after_move(round_tables.heuristics.linear_conflict, board, cell, blank)
                conflicts += change >> 1
                if conflicts > slack:
                    continue
            # Step 2. The other heuristics evaluate the board after the move.
            if len(round_tables.codes) > 0:
                board[_index(blank)], board[_index(cell)] = tile, BLANK
                is_above = exceeds(round_tables, board, (left >> mem.MOVES_LEFT_SHIFT) - 1)
                board[_index(cell)], board[_index(blank)] = tile, BLANK
                if is_above:
                    continue
            # Step 3. The child: the tile and the blank change places.
            to = at.stack + 4 * top
            after = load_word(tables.successors + 4 * (((state & mem.FSM_STATE_MASK) << 2) | move))
            moves_left = ((left >> mem.MOVES_LEFT_SHIFT) - 1) << mem.MOVES_LEFT_SHIFT
            left_after = moves_left | slack | (((slack - conflicts) & mem.MAX_SLACK) << mem.SLACK_BITS)
            store_word(to + mem.STATE * at.stack_column, after | (cell << mem.BLANK_SHIFT))
            store_word(to + mem.LINK * at.stack_column, ((first_link + i) << 2) | move)
            store_word(to + mem.MOVES_LEFT * at.stack_column, left_after)
            for column in range(tables.board_column, tables.n_columns):
                store_word(to + column * at.stack_column, load_word(node + column * mem.BATCH_COLUMN))
            for changed in (blank, cell):
                to_cells = to + (tables.board_column + (changed >> 2)) * at.stack_column
                store_word(to_cells, load_word(to_cells) ^ (tile << (8 * (changed & 3))))
            has_ended |= 1 if left_after < mem.ONE_MOVE else 0
            top += 1
    return generated, top, has_ended


@kernel
def heuristic_round(
    round_tables: HeuristicRoundTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`.

    With a batch of one node, the first move's child is on top.
    """
    take_nodes(tables, at, n, top)
    words = np.empty(tables.n_columns - tables.board_column, dtype=np.uint32)
    return expand_boards(round_tables, tables, at, words, words.view(np.uint8)[: tables.n_cells], n, top, first_link)


ROUNDS[HeuristicRoundTables] = heuristic_round
