"""IDA* with Manhattan distance on boards packed into one word (Korf 1985).

The word is read from the blank's cell on, around 16 places of four bits: the tile right of the blank is always at place
1, the one below at place `width`, and a move is an exchange with place 0 and a rotation by a fixed number of bits.

A child is written on top of the pile whether it is pruned or not, and the top rises where it is not: no branch depends
on the board. See docs/decisions for what that is worth.

The slack tells the goal: a node as deep as the threshold has f = g + h <= threshold only where h is 0.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount
from pdb_core.jit import kernel
from solver.engine.layout import COUNT_GOALS, EXHAUSTED, EXPANDED, FOUND, GENERATED, PAUSED, SOLUTIONS
from solver.ida_star.classic_tables import (
    BASE,
    BLANK_SHIFT,
    DEPTH_SHIFT,
    FIELD,
    FOUND_DEPTH,
    PACKED_BOARD,
    PACKED_ROW,
    SLACK_SHIFT,
    TOP,
)

_u = np.uint64


@kernel
def search_packed(tables: Any, pile: Any, threshold: int, n_nodes: int, at_goal: int) -> int:
    """Search for the goal among the nodes with f up to `threshold`.

    tables     `PackedTables`
    pile       `Pile`, mutated; a call that returns PAUSED is continued by the next one
    n_nodes    return PAUSED once the counter GENERATED has reached this
    at_goal    as in `engine.search_kernels.search`

    Returns FOUND (the way is in `path`, up to FOUND_DEPTH), EXHAUSTED or PAUSED. The words of pruned children may wrap
    around; nobody reads them.
    """
    words = pile.words
    path = pile.path
    one, tile_mask, field = _u(1), _u(15), _u(FIELD)
    blank_shift, depth_shift, slack_shift = _u(BLANK_SHIFT), _u(DEPTH_SHIFT), _u(SLACK_SHIFT)
    # The rotations that bring the tile right of, left of, below and above the blank to place 0.
    right, left, down, up = _u(4), _u(60), _u(4 * tables.width), _u(64 - 4 * tables.width)
    one_cell, one_row = one << blank_shift, _u(tables.width) << blank_shift
    # One deeper and one less of slack, which a tile that comes nearer gives back.
    deeper = (one << depth_shift) - (one << slack_shift)
    goal_depth = _u(threshold)
    base = _u(pile.counters[BASE] * PACKED_ROW)
    top = _u(pile.counters[TOP] * PACKED_ROW)
    generated = pile.counters[GENERATED]
    expanded = pile.counters[EXPANDED]
    status = PAUSED
    while top > base and generated < n_nodes:
        # Step 1. Take the uppermost node.
        top -= _u(PACKED_ROW)
        place = words[top]
        board = words[top + _u(PACKED_BOARD)]
        depth = (place >> depth_shift) & field
        path[depth] = np.int64(place)
        if depth == goal_depth:
            pile.counters[SOLUTIONS] += 1
            pile.counters[FOUND_DEPTH] = np.int64(depth)
            if at_goal != COUNT_GOALS:
                status = FOUND
                break
            continue
        blank = place >> blank_shift
        state = place & field
        moves = _u(tables.allowed[state]) & tables.cell_moves[blank]
        has_slack = one if (place >> slack_shift) & field != _u(0) else _u(0)
        nearer = tables.nearer[blank]
        after = tables.successors[state]
        base_place = place - state + deeper
        generated += popcount(np.int64(moves))  # type: ignore[arg-type]
        expanded += 1

        # Step 2. Its children, the one above the blank last: so it is searched first.
        tile = (board >> down) & tile_mask
        is_nearer = (nearer >> (tile + _u(48))) & one
        swapped = board ^ tile ^ (tile << down)
        words[top] = base_place + (is_nearer << slack_shift) + one_row + (after >> _u(48))
        words[top + one] = (swapped >> down) | (swapped << up)
        top += ((moves >> _u(3)) & (is_nearer | has_slack)) << one

        tile = (board >> right) & tile_mask
        is_nearer = (nearer >> (tile + _u(32))) & one
        swapped = board ^ tile ^ (tile << right)
        words[top] = base_place + (is_nearer << slack_shift) + one_cell + ((after >> _u(32)) & field)
        words[top + one] = (swapped >> right) | (swapped << left)
        top += ((moves >> _u(2)) & (is_nearer | has_slack)) << one

        tile = (board >> left) & tile_mask
        is_nearer = (nearer >> (tile + _u(16))) & one
        swapped = board ^ tile ^ (tile << left)
        words[top] = base_place + (is_nearer << slack_shift) - one_cell + ((after >> _u(16)) & field)
        words[top + one] = (swapped >> left) | (swapped << right)
        top += ((moves >> one) & (is_nearer | has_slack)) << one

        tile = (board >> up) & tile_mask
        is_nearer = (nearer >> tile) & one
        swapped = board ^ tile ^ (tile << up)
        words[top] = base_place + (is_nearer << slack_shift) - one_row + (after & field)
        words[top + one] = (swapped >> up) | (swapped << down)
        top += (moves & (is_nearer | has_slack)) << one
    if status == PAUSED and top <= base:
        status = EXHAUSTED
    pile.counters[TOP] = np.int64(top) // PACKED_ROW
    pile.counters[GENERATED] = generated
    pile.counters[EXPANDED] = expanded
    return status
