"""Kernels of beam search, which keeps only the best boards of each layer.

Boards consist of pieces, as in `line_by_line_kernels`. The goal is any board with the pieces of the *focus* on their
goal cells. The score of a board is the sum of the weighted Manhattan distances of its pieces, and of the fitted values
of its pieces and pairs of pieces (see `fitted_values`). To the score, its rank adds the distance of the blank from the
nearest misplaced piece of the focus, and a random number below `NOISE`. Without fitted values and the random number, a
beam fills with near copies of one board. Boards of equal rank keep the order of their parents.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.jit import kernel
from solver.board_arrays import N_MOVES
from solver.large_boards.fitted_values_kernels import FittedValues, value_change, value_of_board
from solver.large_boards.line_by_line_kernels import NOT_FOUND, Geometry, Int32s, distance

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]

# Upper bound of the random part of a rank.
NOISE = 16
# Classes of the counting sort of a layer by rank.
N_CLASSES = 4096


class Aim(NamedTuple):
    """Goal and ranking of a beam search.

    geometry  cells, whose neighbours are without those that are locked
    weights   int32[n]  cost of each cell between a piece and its goal cell
    fitted    values of the pieces and of their pairs
    focus     int32[k]  the pieces that must reach their goal cells
    pull      cost of each cell between the blank and the nearest misplaced piece of the focus
    """

    geometry: Geometry
    weights: Int32s
    fitted: FittedValues
    focus: Int32s
    pull: int


class Beam(NamedTuple):
    """Two layers of a beam search of width b, the children of a layer, and the path to each board of all layers.

    The layer at an even depth is at index 0, the next one at 1. Other arrays of children are like those of boards.

    boards      uint16[2, b, n]  pieces on cells
    places      uint16[2, b, n]  cells of pieces
    blanks      int32[2, b]      the blank's cell
    scores      int64[2, b]
    keys        uint64[2, b]     hashes of the boards
    parents     int32[m, b]      by depth: 4 * (index in the layer before) + the move from there
    seen        uint64[2**k]     keys of recent boards
    state       int64[2]         the boards of the last layer, its depth
    child_ranks int64[4 * b]
    child_links int32[4 * b]     as `parents`
    """

    boards: npt.NDArray[np.uint16]
    places: npt.NDArray[np.uint16]
    blanks: Int32s
    scores: Int64s
    keys: UInt64s
    parents: Int32s
    seen: UInt64s
    state: Int64s
    child_scores: Int64s
    child_keys: UInt64s
    child_ranks: Int64s
    child_links: Int32s


@kernel
def mixed(number: int) -> np.uint64:
    """Return 64 pseudorandom bits for a number (the finaliser of Steele, Lea and Flood 2014)."""
    bits = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def start_beam(beam: Beam, aim: Aim, cells: Int32s, blank_cell: int) -> None:
    """Make the first layer of one board."""
    n = len(cells)
    score = value_of_board(aim.fitted, cells, blank_cell)
    key = mixed(n * n)
    for cell in range(n):
        piece = cells[cell]
        beam.boards[0, 0, cell], beam.places[0, 0, piece] = piece, cell
        if cell != blank_cell:
            score += aim.weights[piece] * distance(aim.geometry, cell, piece)
            key ^= mixed(piece * n + cell)
    beam.blanks[0, 0], beam.scores[0, 0], beam.keys[0, 0] = blank_cell, score, key
    beam.state[0], beam.state[1] = 1, 0


@kernel
def list_children(beam: Beam, aim: Aim) -> int:
    """List the children of the last layer. Returns how many; only the moved piece changes the score."""
    n, depth = beam.boards.shape[2], beam.state[1]
    now = depth & 1
    astray = np.empty(len(aim.focus), dtype=np.int32)
    n_children = 0
    for i in range(beam.state[0]):
        here = beam.blanks[now, i]
        undoing = N_MOVES - 1 - (beam.parents[depth, i] & 3) if depth > 0 else -1
        n_astray = 0
        for q in range(len(aim.focus) if aim.pull > 0 else 0):
            if beam.places[now, i, aim.focus[q]] != aim.focus[q]:
                astray[n_astray] = beam.places[now, i, aim.focus[q]]
                n_astray += 1
        for move in range(N_MOVES):
            near = aim.geometry.neighbours[here, move]
            if near < 0 or move == undoing:
                continue
            piece = np.int64(beam.boards[now, i, near])
            change = distance(aim.geometry, piece, here) - distance(aim.geometry, piece, near)  # type: ignore[arg-type]
            score = beam.scores[now, i] + aim.weights[piece] * change
            score += value_change(aim.fitted, beam.boards[now, i], piece, near, here)
            key = beam.keys[now, i] ^ mixed(piece * n + near) ^ mixed(piece * n + here)
            rank = score + np.int64((key >> np.uint64(40)) % np.uint64(NOISE))
            nearest = n if n_astray > 0 else 0
            for q in range(n_astray):
                # The piece that moves may be one of them.
                nearest = min(nearest, distance(aim.geometry, near, here if astray[q] == near else astray[q]))
            beam.child_scores[n_children], beam.child_keys[n_children] = score, key
            beam.child_ranks[n_children] = rank + aim.pull * nearest
            beam.child_links[n_children] = i * N_MOVES + move
            n_children += 1
    return n_children


@kernel
def sort_children(ranks: Int64s) -> Int32s:
    """Return the indices of children by rank, by counting sort. All that are far from the best share the last class."""
    least = ranks.min() if len(ranks) > 0 else 0
    counts, order = np.zeros(N_CLASSES + 1, dtype=np.int64), np.empty(len(ranks), dtype=np.int32)
    for rank in ranks:
        counts[min(rank - least, N_CLASSES - 1) + 1] += 1
    for j in range(N_CLASSES):
        counts[j + 1] += counts[j]
    for child in range(len(ranks)):
        j = min(ranks[child] - least, N_CLASSES - 1)
        order[counts[j]] = child
        counts[j] += 1
    return order


@kernel
def is_goal(aim: Aim, cells: npt.NDArray[np.uint16]) -> bool:
    """Return whether all pieces of the focus are on their goal cells."""
    q = 0
    while q < len(aim.focus) and cells[aim.focus[q]] == aim.focus[q]:
        q += 1
    return q == len(aim.focus)


@kernel
def grow_beam(beam: Beam, aim: Aim, to_depth: int) -> int:
    """Grow the beam to the depth `to_depth`, or until it reaches the goal.

    Returns the index of the goal in the last layer, or NOT_FOUND. A layer has the best children, the best first, each
    board once, without recent boards. If it is empty, state[0] is 0.
    """
    width, mask = beam.boards.shape[1], np.uint64(len(beam.seen) - 1)
    while beam.state[1] < to_depth and beam.state[0] > 0:
        n_children = list_children(beam, aim)
        now, depth = beam.state[1] & 1, beam.state[1] + 1
        after = 1 - now
        n_after = 0
        for child in sort_children(beam.child_ranks[:n_children]):
            key = beam.child_keys[child]
            if beam.seen[key & mask] == key:
                continue
            beam.seen[key & mask] = key
            i, move = beam.child_links[child] >> 2, beam.child_links[child] & 3
            here = beam.blanks[now, i]
            near = aim.geometry.neighbours[here, move]
            cells, places = beam.boards[after, n_after], beam.places[after, n_after]
            for cell in range(len(cells)):
                cells[cell], places[cell] = beam.boards[now, i, cell], beam.places[now, i, cell]
            cells[here], cells[near] = cells[near], cells[here]
            places[cells[here]], places[cells[near]] = here, near
            beam.blanks[after, n_after], beam.keys[after, n_after] = near, key
            beam.scores[after, n_after] = beam.child_scores[child]
            beam.parents[depth, n_after] = beam.child_links[child]
            n_after += 1
            if is_goal(aim, cells):
                beam.state[0], beam.state[1] = n_after, depth
                return n_after - 1
            if n_after == width:
                break
        beam.state[0], beam.state[1] = n_after, depth
    return NOT_FOUND
