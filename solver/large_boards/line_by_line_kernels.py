"""Kernels that solve a board line by line, and the rest by IDA*.

Boards consist of *pieces*: the number of a piece is its goal cell. `cells[c]` is the piece on cell c, `places[p]` the
cell of piece p. A kernel that moves pieces updates both, and appends the new cell of the blank to the path.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.jit import kernel

Int32s = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

UNSEEN = -1
NOT_FOUND = -1
# The last two pieces of a line are placed within a corner of this size.
CORNER_WIDTH, CORNER_DEPTH = 2, 4
CORNER_CELLS = CORNER_WIDTH * CORNER_DEPTH


class Geometry(NamedTuple):
    """Cells of a board size.

    rows, columns  int32[n]     of each cell
    neighbours     int32[n, 4]  the cells above, left, right and below each cell, else -1
    """

    rows: Int32s
    columns: Int32s
    neighbours: Int32s


class Work(NamedTuple):
    """Board that is being solved.

    cells       int32[n]        the piece on each cell
    places      int32[n]        the cell of each piece
    blank       int             the piece that is the blank
    neighbours  int32[n, 4]     the cells above, left, right and below each cell, else -1
    locked      uint8[n]        1 for a cell whose piece may not move
    path        int32[m]        the cells that the blank moved to
    counts      int32[1]        the number of moves; moves after the first m are counted, not stored
    parents     int32[n]        the previous cell of each cell of the last walk, see `walk_distance`
    """

    cells: Int32s
    places: Int32s
    blank: int
    neighbours: Int32s
    locked: Bytes
    path: Int32s
    counts: Int32s
    parents: Int32s


@kernel
def move_blank(work: Work, to: int) -> None:
    """Exchange the blank with the piece on a neighbouring cell."""
    blank_cell = work.places[work.blank]
    piece = work.cells[to]
    work.cells[blank_cell], work.cells[to] = piece, work.blank
    work.places[piece], work.places[work.blank] = blank_cell, to
    if work.counts[0] < len(work.path):
        work.path[work.counts[0]] = to
    work.counts[0] += 1


@kernel
def play(cells: Int32s, blank_cell: int, path: Int32s) -> None:
    """Move the blank of `cells` (mutated) to each cell of `path`."""
    for to in path:
        cells[blank_cell], cells[to] = cells[to], cells[blank_cell]
        blank_cell = to


@kernel
def walk_distance(work: Work, start: int, to: int) -> int:
    """Return the length of the shortest walk of the blank between two cells over unlocked cells, or -1.

    `parents` then has the previous cell of each cell of the walk.
    """
    if start == to:
        return 0
    distances = np.full(len(work.cells), UNSEEN, dtype=np.int32)
    queue = np.empty(len(work.cells), dtype=np.int32)
    distances[start], queue[0] = 0, start
    head, tail = 0, 1
    while head < tail:
        cell = queue[head]
        head += 1
        for i in range(4):
            near = work.neighbours[cell, i]
            if near >= 0 and work.locked[near] == 0 and distances[near] == UNSEEN:
                distances[near] = distances[cell] + 1
                work.parents[near] = cell
                if near == to:
                    return int(distances[near])
                queue[tail] = near
                tail += 1
    return -1


@kernel
def walk_blank(work: Work, to: int) -> bool:
    """Move the blank to a cell on the shortest walk around locked cells. Return False if there is none."""
    # From the end to the blank, so that parents are the walk of the blank.
    start = work.places[work.blank]
    if walk_distance(work, to, start) < 0:
        return False
    while start != to:
        start = work.parents[start]
        move_blank(work, start)
    return True


@kernel
def bring_piece(work: Work, piece: int, to: int, stops: Bytes) -> bool:
    """Move a piece to the cell `to`, or to the first cell of `stops` (uint8[n]). Return False if it is stuck."""
    while work.places[piece] != to and stops[work.places[piece]] == 0:
        place = work.places[piece]
        best, shortest = -1, 0
        left = walk_distance(work, to, place)
        if left < 0:
            return False
        # Of all cells one step nearer, take the one nearest to the blank.
        blank_cell = work.places[work.blank]
        for i in range(4):
            near = work.neighbours[place, i]
            if near < 0 or work.locked[near] != 0:
                continue
            if walk_distance(work, to, near) != left - 1:
                continue
            work.locked[place] = 1
            walk = walk_distance(work, near, blank_cell)
            work.locked[place] = 0
            if walk >= 0 and (best < 0 or walk < shortest):
                best, shortest = near, walk
        if best < 0:
            return False
        work.locked[place] = 1
        walk_blank(work, best)
        work.locked[place] = 0
        move_blank(work, place)
    return True


@kernel
def corner_number(corner: Int32s, n_corner: int, cell: int) -> int:
    """Return the index of a cell in the corner, or -1."""
    for i in range(n_corner):
        if corner[i] == cell:
            return i
    return -1


@kernel
def solve_corner(work: Work, corner: Int32s, n_corner: int, first: int, second: int) -> bool:
    """Place two pieces by breadth-first search over the cells of both and of the blank within `corner`.

    Returns False if one of the three is outside the corner.
    """
    one = corner_number(corner, n_corner, work.places[first])
    two = corner_number(corner, n_corner, work.places[second])
    blank = corner_number(corner, n_corner, work.places[work.blank])
    if min(one, two, blank) < 0:
        return False
    goal_one, goal_two = corner_number(corner, n_corner, first), corner_number(corner, n_corner, second)
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
            cell = -1 if near < 0 else corner_number(corner, n_corner, near)
            if cell < 0:
                continue
            next_one, next_two = blank if one == cell else one, blank if two == cell else two
            after = (next_one * size + next_two) * size + cell
            if parents[after] == UNSEEN:
                parents[after] = state
                queue[tail] = after
                tail += 1
    if parents[here] == UNSEEN:
        return False
    while parents[here] != here:
        here = parents[here]
        move_blank(work, corner[here % size])
    return True


@kernel
def solve_pieces(work: Work, line: Int32s, n_pieces: int, stops: Bytes) -> bool:
    """Place the pieces of the first `n_pieces` cells of a line, and lock them. `stops` is as in `solve_line`."""
    for i in range(n_pieces):
        if not bring_piece(work, line[i], line[i], stops):
            return False
        work.locked[line[i]] = 1
    return True


@kernel
def solve_line(work: Work, line: Int32s, corner: Int32s, stops: Bytes) -> bool:
    """Place the pieces of a line, and lock it.

    line    int32[k]  its cells; the last two are the first two of `corner`
    corner  int32[m]  rows of `CORNER_WIDTH` cells, from the line inwards
    stops   uint8[n]  scratch, zeros
    """
    n_line = len(line)
    if not solve_pieces(work, line, n_line - 2, stops):
        return False
    first, second = line[n_line - 2], line[n_line - 1]
    if work.places[first] == first and work.places[second] == second:
        work.locked[first] = work.locked[second] = 1
        return True
    # Step 1. Move the last but one piece to the last cell of the line.
    if not bring_piece(work, first, second, stops):
        return False
    # Step 2. Move the last piece into the corner, then the blank.
    work.locked[second] = 1
    for cell in corner:
        stops[cell] = 1
    good = bring_piece(work, second, corner[3], stops)
    stops[:] = 0
    if good and corner_number(corner, len(corner), work.places[work.blank]) < 0:
        place = work.places[second]
        work.locked[place] = 1
        best, shortest = -1, 0
        for cell in corner:
            if work.locked[cell] == 0:
                walk = walk_distance(work, cell, work.places[work.blank])
                if walk >= 0 and (best < 0 or walk < shortest):
                    best, shortest = cell, walk
        good = best >= 0 and walk_blank(work, best)
        work.locked[place] = 0
    work.locked[second] = 0
    # Step 3. Place both by search.
    good = good and solve_corner(work, corner, len(corner), first, second)
    work.locked[first] = work.locked[second] = 1
    return good


@kernel
def distance(geometry: Geometry, one: int, two: int) -> int:
    """Return the Manhattan distance of two cells."""
    rows, columns = geometry.rows, geometry.columns
    return int(abs(rows[one] - rows[two]) + abs(columns[one] - columns[two]))


@kernel
def find_path(cells: Int32s, blank_cell: int, geometry: Geometry, path: Int32s) -> int:
    """Find an optimal path to the goal by IDA* with Manhattan distance (Korf 1985).

    Returns its length, or NOT_FOUND if it has more moves than `path` has entries but one.

    cells     int32[n]  mutated: the goal if it was found, else as before
    geometry  pieces on cells that no other one has as its neighbour stay there
    path      int32[m]  mutated: the cells that the blank goes to
    """
    moves, estimates = np.empty(len(path), dtype=np.int32), np.empty(len(path), dtype=np.int32)
    blank = cells[blank_cell]
    h = 0
    for cell in range(len(cells)):
        if cell != blank_cell:
            h += distance(geometry, cell, cells[cell])
    # A move changes the estimate by one, so all paths have the parity of the first estimate.
    for threshold in range(h, len(path), 2):
        depth = 0
        estimates[0] = h
        moves[0] = -1
        here = blank_cell
        while depth >= 0:
            if estimates[depth] == 0:
                return depth
            moves[depth] += 1
            move = moves[depth]
            if move == 4:
                depth -= 1
                if depth >= 0:
                    before = blank_cell if depth == 0 else path[depth - 1]
                    cells[here], cells[before] = cells[before], blank
                    here = before
                continue
            if depth > 0 and move == 3 - moves[depth - 1]:
                continue
            near = geometry.neighbours[here, move]
            if near < 0:
                continue
            place = cells[near]
            estimate = estimates[depth] + distance(geometry, place, here) - distance(geometry, place, near)
            if depth + 1 + estimate > threshold:
                continue
            cells[here], cells[near] = cells[near], blank
            path[depth] = near
            here = near
            depth += 1
            estimates[depth] = estimate
            moves[depth] = -1
    return NOT_FOUND
