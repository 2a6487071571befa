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
    """

    cells: Int32s
    places: Int32s
    blank: int
    neighbours: Int32s
    locked: Bytes
    path: Int32s
    counts: Int32s


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
def walk_blank(work: Work, wanted: Bytes) -> bool:
    """Move the blank over unlocked cells to the nearest cell with `wanted` 1. Return False if it reaches none."""
    start = work.places[work.blank]
    parents, queue = np.full(len(work.cells), UNSEEN, dtype=np.int32), np.empty(len(work.cells), dtype=np.int32)
    parents[start], queue[0] = start, start
    head, tail = 0, 1
    while head < tail:
        cell = queue[head]
        head += 1
        if wanted[cell] != 0:
            n_steps = 0
            while cell != start:
                queue[n_steps] = cell
                n_steps += 1
                cell = parents[cell]
            for step in range(n_steps - 1, -1, -1):
                move_blank(work, queue[step])
            return True
        for i in range(4):
            near = work.neighbours[cell, i]
            if near >= 0 and work.locked[near] == 0 and parents[near] == UNSEEN:
                parents[near] = cell
                queue[tail] = near
                tail += 1
    return False


@kernel
def distances_to(work: Work, to: int) -> Int32s:
    """Return the length of the shortest way over unlocked cells from each cell to one cell; UNSEEN if there is none."""
    distances, queue = np.full(len(work.cells), UNSEEN, dtype=np.int32), np.empty(len(work.cells), dtype=np.int32)
    distances[to], queue[0] = 0, to
    head, tail = 0, 1
    while head < tail:
        cell = queue[head]
        head += 1
        for i in range(4):
            near = work.neighbours[cell, i]
            if near >= 0 and work.locked[near] == 0 and distances[near] == UNSEEN:
                distances[near] = distances[cell] + 1
                queue[tail] = near
                tail += 1
    return distances


@kernel
def bring_piece(work: Work, piece: int, to: int, stops: Bytes) -> None:
    """Move a piece to the cell `to`, or to the first cell with `stops` 1."""
    distances = distances_to(work, to)
    wanted = np.zeros(len(work.cells), dtype=np.uint8)
    while work.places[piece] != to and stops[work.places[piece]] == 0:
        place = work.places[piece]
        # Of all cells one step nearer, take the one nearest to the blank.
        for i in range(4):
            near = work.neighbours[place, i]
            if near >= 0 and distances[near] == distances[place] - 1:
                wanted[near] = 1
        work.locked[place] = 1
        is_found = walk_blank(work, wanted)
        work.locked[place] = 0
        wanted[:] = 0
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
def solve_line(work: Work, line: Int32s, corner: Int32s) -> None:
    """Place the pieces of a line, or of a part of it, and lock them.

    line    int32[k]  its cells
    corner  int32[m]  if the line ends here: rows of `CORNER_WIDTH` cells, from the line inwards, of which the first two
                      are the last two of `line`; else empty
    """
    stops = np.zeros(len(work.cells), dtype=np.uint8)
    n_single = len(line) - 2 if len(corner) > 0 else len(line)
    for i in range(n_single):
        bring_piece(work, line[i], line[i], stops)
        work.locked[line[i]] = 1
    if len(corner) == 0:
        return
    first, second = line[n_single], line[n_single + 1]
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
    work.locked[first] = work.locked[second] = 1


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
