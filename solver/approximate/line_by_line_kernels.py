"""Kernels that solve a board line by line.

Boards consist of *pieces*: the number of a piece is its goal cell. `cells[c]` is the piece on cell c, `places[p]` the
cell of piece p. A kernel that moves pieces updates both, and appends the blank's move to the path.
"""

from typing import NamedTuple

import numpy as np

from pdb_core.jit import kernel
from pdb_core.types import Bytes, Int32s

UNSEEN = -1
# The last two pieces of a line are placed within a corner of this size.
CORNER_WIDTH, CORNER_DEPTH = 2, 4
CORNER_CELLS = CORNER_WIDTH * CORNER_DEPTH


class Work(NamedTuple):
    """Board that is being solved.

    cells       int32[n]        the piece on each cell
    places      int32[n]        the cell of each piece
    blank       int             the piece that is the blank
    neighbours  int32[n, 4]     the cells above, left, right and below each cell, else -1
    locked      uint8[n]        1 for a cell whose piece may not move
    path        uint8[m]        the moves of the blank
    counts      int32[1]        the number of moves; moves after the first m are counted, not stored
    """

    cells: Int32s
    places: Int32s
    blank: int
    neighbours: Int32s
    locked: Bytes
    path: Bytes
    counts: Int32s


@kernel
def move_blank(work: Work, to: int) -> None:
    """Exchange the blank with the piece on a neighbouring cell."""
    blank_cell = work.places[work.blank]
    piece = work.cells[to]
    work.cells[blank_cell], work.cells[to] = piece, work.blank
    work.places[piece], work.places[work.blank] = blank_cell, to
    move = 0
    while work.neighbours[blank_cell, move] != to:
        move += 1
    if work.counts[0] < len(work.path):
        work.path[work.counts[0]] = move
    work.counts[0] += 1


@kernel
def steps_to(work: Work, wanted: Bytes, start: int) -> Int32s:
    """Return the steps over unlocked cells to the nearest one with `wanted` 1, from `start` and from all cells that
    are nearer. UNSEEN for other cells, and for `start` if there is no path.
    """
    steps, queue = np.full(len(work.cells), UNSEEN, dtype=np.int32), np.empty(len(work.cells), dtype=np.int32)
    head = tail = 0
    for cell in range(len(wanted)):
        if wanted[cell] != 0 and work.locked[cell] == 0:
            steps[cell], queue[tail] = 0, cell
            tail += 1
    while head < tail and steps[start] == UNSEEN:
        cell = queue[head]
        head += 1
        for i in range(4):
            near = work.neighbours[cell, i]
            if near >= 0 and work.locked[near] == 0 and steps[near] == UNSEEN:
                steps[near] = steps[cell] + 1
                queue[tail] = near
                tail += 1
    return steps


@kernel
def walk_blank(work: Work, wanted: Bytes) -> bool:
    """Move the blank over unlocked cells to the nearest cell with `wanted` 1. Return False if it reaches none."""
    steps = steps_to(work, wanted, work.places[work.blank])
    while steps[work.places[work.blank]] > 0:
        here = work.places[work.blank]
        near = work.neighbours[here]
        i = 0
        while near[i] < 0 or steps[near[i]] != steps[here] - 1:
            i += 1
        move_blank(work, near[i])
    return steps[work.places[work.blank]] == 0  # type: ignore[no-any-return]


@kernel
def bring_piece(work: Work, piece: int, to: int, stops: Bytes) -> None:
    """Move a piece to the cell `to`, or to the first cell with `stops` 1."""
    wanted = np.zeros(len(work.cells), dtype=np.uint8)
    wanted[to] = 1
    steps = steps_to(work, wanted, work.places[piece])
    while work.places[piece] != to and stops[work.places[piece]] == 0:
        place = work.places[piece]
        # Of all cells one step nearer, take the one nearest to the blank.
        wanted[:] = 0
        for i in range(4):
            near = work.neighbours[place, i]
            if near >= 0 and steps[near] == steps[place] - 1:
                wanted[near] = 1
        work.locked[place] = 1
        is_found = walk_blank(work, wanted)
        work.locked[place] = 0
        if not is_found:
            return
        move_blank(work, place)


@kernel
def corner_number(corner: Int32s, cell: int) -> int:
    """Return the index of a cell in the corner, or -1."""
    for i in range(len(corner)):
        if corner[i] == cell:
            return i
    return -1


@kernel
def solve_corner(work: Work, corner: Int32s, first: int, second: int) -> None:
    """Place two pieces by breadth-first search over the cells of both and of the blank, all within `corner`."""
    n_corner = len(corner)
    one = corner_number(corner, work.places[first])
    two = corner_number(corner, work.places[second])
    blank = corner_number(corner, work.places[work.blank])
    goal_one, goal_two = corner_number(corner, first), corner_number(corner, second)
    size = CORNER_CELLS
    here = (one * size + two) * size + blank
    parents, queue = np.full(size**3, UNSEEN, dtype=np.int32), np.empty(size**3, dtype=np.int32)
    # Backwards from all boards with both pieces placed, so that parents are the solution.
    head = tail = 0
    for cell in range(n_corner):
        if cell not in (goal_one, goal_two):
            state = (goal_one * size + goal_two) * size + cell
            parents[state] = state
            queue[tail] = state
            tail += 1
    while head < tail and parents[here] == UNSEEN:
        state = queue[head]
        head += 1
        blank, two, one = state % size, state // size % size, state // size // size
        for i in range(4):
            near = work.neighbours[corner[blank], i]
            cell = -1 if near < 0 else corner_number(corner, near)
            if cell < 0:
                continue
            next_one, next_two = blank if one == cell else one, blank if two == cell else two
            after = (next_one * size + next_two) * size + cell
            if parents[after] == UNSEEN:
                parents[after] = state
                queue[tail] = after
                tail += 1
    while parents[here] != here:
        here = parents[here]
        move_blank(work, corner[here % size])


@kernel
def solve_part(work: Work, part: Int32s, corner: Int32s) -> None:
    """Place the pieces of a part of a line, one after another, the last two of a line together.

    part    int32[k]  its cells
    corner  int32[m]  if the line ends here: rows of `CORNER_WIDTH` cells, from the line inwards, of which the first has
                      the last two of `part`; else empty
    """
    stops = np.zeros(len(work.cells), dtype=np.uint8)
    n_single = len(part) - 2 if len(corner) > 0 else len(part)
    for i in range(n_single):
        bring_piece(work, part[i], part[i], stops)
        work.locked[part[i]] = 1
    if len(corner) == 0:
        return
    first, second = part[n_single], part[n_single + 1]
    if work.places[first] != first or work.places[second] != second:
        # Step 1. Move the last but one piece to the last cell of the line.
        bring_piece(work, first, second, stops)
        # Step 2. Move the last piece into the corner, then the blank.
        work.locked[second] = 1
        for cell in corner:
            stops[cell] = 1
        bring_piece(work, second, corner[3], stops)
        place = work.places[second]
        work.locked[place] = 1
        walk_blank(work, stops)
        work.locked[place] = work.locked[second] = 0
        # Step 3. Place both by search.
        solve_corner(work, corner, first, second)
