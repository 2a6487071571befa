"""IDA* with any heuristics that need no database, on boards of any size (Korf 1985)."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import borrowing_kernel
from solver.engine.layout import COUNT_GOALS, EXHAUSTED, EXPANDED, FOUND, GENERATED, PAUSED, SOLUTIONS
from solver.engine.unit_tables import N_MOVES
from solver.heuristics.evaluate_kernels import evaluate_one
from solver.heuristics.linear_conflict_kernels import conflicts_after_move
from solver.ida_star.classic_tables import (
    BASE,
    BLANK_SHIFT,
    BOARD,
    CONFLICTS,
    DEPTH_SHIFT,
    FIELD,
    FOUND_DEPTH,
    PLACE,
    SLACK_SHIFT,
    TOP,
)

_at = np.uint64


@borrowing_kernel
def exceeds(tables: Any, board: Any, h_limit: int) -> bool:
    """Whether one of the heuristics that look at a whole board (uint8[n_cells]) says more than `h_limit`."""
    for i in range(len(tables.asked)):  # noqa: SIM110 (numba compiles no generator)
        if evaluate_one(tables.heuristics, tables.asked[i], board) > h_limit:
            return True
    return False


@borrowing_kernel
def search_boards(tables: Any, pile: Any, threshold: int, n_nodes: int, at_goal: int) -> int:
    """Search for the goal among the nodes with f up to `threshold`; tables: `ClassicTables`.

    The rest is as in `packed_ida_star_kernels.search_packed`. The node that is expanded is kept in the first row, where
    moves are made and undone; a child that is not pruned is copied to the top of the pile.
    """
    rows = pile.signed
    # A name for the one board that changes: the others are copies.
    board = pile.boards[8 * BOARD : 8 * BOARD + tables.n_cells]
    row_words = tables.row_words
    base = pile.counters[BASE]
    top = pile.counters[TOP]
    generated = pile.counters[GENERATED]
    expanded = pile.counters[EXPANDED]
    status = PAUSED
    while top > base and generated < n_nodes:
        # Step 1. Take the uppermost node.
        top -= 1
        row = top * row_words
        place = rows[_at(row + PLACE)]
        depth = (place >> DEPTH_SHIFT) & FIELD
        pile.path[_at(depth)] = place
        if depth == threshold:
            pile.counters[SOLUTIONS] += 1
            pile.counters[FOUND_DEPTH] = depth
            if at_goal != COUNT_GOALS:
                status = FOUND
                break
            continue
        for i in range(CONFLICTS, row_words):
            rows[_at(i)] = rows[_at(row + i)]
        conflicts = rows[_at(CONFLICTS)]
        blank = place >> BLANK_SHIFT
        state = place & FIELD
        slack = (place >> SLACK_SHIFT) & FIELD
        moves = np.int64(tables.packed.allowed[_at(state)]) & np.int64(tables.packed.cell_moves[_at(blank)])
        after = tables.packed.successors[_at(state)]
        generated += popcount(moves)  # type: ignore[arg-type]
        expanded += 1

        # Step 2. Its children, the one above the blank last: so it is searched first.
        for move in range(N_MOVES - 1, -1, -1):
            if (moves >> move) & 1 == 0:
                continue
            edge = blank * N_MOVES + move
            cell = tables.edge_cells[_at(edge)]
            tile = np.int64(board[_at(cell)])
            slack_left = slack
            if tables.uses_manhattan != 0:
                slack_left += np.int64(tables.is_nearer[_at(edge * tables.n_cells + tile)]) - 1
                if slack_left < 0:
                    continue
            conflicts_left = conflicts
            if tables.uses_conflicts != 0:
                conflicts_left += conflicts_after_move(tables.heuristics.linear_conflict, board, cell, blank)
                if conflicts_left > 2 * slack_left:
                    continue
            board[_at(blank)] = tile
            board[_at(cell)] = 0
            if not exceeds(tables, board, threshold - depth - 1):
                new = top * row_words
                next_state = np.int64((after >> _at(16 * move)) & _at(FIELD))
                rows[_at(new + PLACE)] = (
                    next_state | ((depth + 1) << DEPTH_SHIFT) | (slack_left << SLACK_SHIFT) | (cell << BLANK_SHIFT)
                )
                rows[_at(new + CONFLICTS)] = conflicts_left
                for i in range(BOARD, row_words):
                    rows[_at(new + i)] = rows[_at(i)]
                top += 1
            board[_at(cell)] = tile
            board[_at(blank)] = 0
    if status == PAUSED and top <= base:
        status = EXHAUSTED
    pile.counters[TOP] = top
    pile.counters[GENERATED] = generated
    pile.counters[EXPANDED] = expanded
    return status
