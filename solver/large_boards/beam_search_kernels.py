"""Kernels of beam search, which keeps only the best boards of each layer.

Boards consist of pieces, as in `line_by_line_kernels`. The goal is one board, or any board with the pieces of the
*focus* on their goal cells. The rank of a board is the sum of four terms: the weighted Manhattan distances of its
pieces, fitted values of its pieces and of its pairs of pieces (see `fitted_values`), the distance of the blank from the
nearest misplaced piece of the focus, and a small random number. Without fitted values and the random number, a beam
fills with near copies of one board. Boards of equal rank keep the order of their parents.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.jit import kernel
from solver.large_boards.fitted_values_kernels import FittedValues, value_change, value_of_board
from solver.large_boards.line_by_line_kernels import NOT_FOUND, Geometry, Int32s, distance

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]

# Classes of the counting sort of a layer by rank.
N_CLASSES = 4096


class Aim(NamedTuple):
    """Goal and ranking of a beam search.

    geometry  cells, whose neighbours are without those that are locked
    weights   int32[n]  cost of each cell between a piece and its goal cell
    fitted    values of the pieces and of their pairs
    noise     upper bound of the random part of a rank, at least 1
    focus     int32[k]  the pieces that must reach their goal cells; all pieces if empty
    pull      cost of each cell between the blank and the nearest misplaced piece of the focus
    """

    geometry: Geometry
    weights: Int32s
    fitted: FittedValues
    noise: int
    focus: Int32s
    pull: int


class Beam(NamedTuple):
    """Two layers of a beam search of width b, and the path to each board of all layers.

    boards     uint16[2, b, n]     pieces on cells
    places     uint16[2, b, n]     cells of pieces
    blanks     int32[2, b]         the blank's cell
    last       int32[2, b]         the last move, 0 to 3, or -1
    estimates  int64[2, b]         weighted distances to the goal
    values     int64[2, b]         fitted values
    keys       uint64[2, b]        hashes of the boards
    seen       uint64[2**k]        keys of recent boards
    state      int64[3]            the current layer (0 or 1), its boards, its depth
    parents    int32[m, b]         by depth: 4 * (index in the layer before) + the move from there
    leasts     int64[m]            the estimate of the best board at each depth
    """

    boards: npt.NDArray[np.uint16]
    places: npt.NDArray[np.uint16]
    blanks: Int32s
    last: Int32s
    estimates: Int64s
    values: Int64s
    keys: UInt64s
    seen: UInt64s
    state: Int64s
    parents: Int32s
    leasts: Int64s


@kernel
def mixed(number: int) -> np.uint64:
    """Return 64 pseudorandom bits for a number (the finaliser of Steele, Lea and Flood 2014)."""
    bits = np.uint64(np.int64(number) & np.int64(0x7FFFFFFFFFFFFFFF)) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def start_beam(beam: Beam, aim: Aim, cells: Int32s, blank_cell: int, search: int) -> None:
    """Make the first layer of one board. `search` is different in each search, so that `seen` need not be cleared."""
    n = len(cells)
    estimate = 0
    key = mixed(-1 - search)
    for cell in range(n):
        piece = cells[cell]
        beam.boards[0, 0, cell] = piece
        beam.places[0, 0, piece] = cell
        if cell != blank_cell:
            estimate += aim.weights[piece] * distance(aim.geometry, cell, piece)
            key ^= mixed(piece * n + cell)
    beam.blanks[0, 0], beam.last[0, 0] = blank_cell, -1
    beam.estimates[0, 0], beam.keys[0, 0] = estimate, key
    beam.values[0, 0] = value_of_board(aim.fitted, cells, blank_cell)
    beam.state[0], beam.state[1], beam.state[2] = 0, 1, 0
    beam.leasts[0] = estimate


@kernel
def grow_beam(beam: Beam, aim: Aim, to_depth: int) -> int:
    """Grow the beam to the depth `to_depth`, or until it reaches the goal.

    Returns the index of the goal in the last layer, or NOT_FOUND. A layer has the best children, the best first, each
    board once, without recent boards. If it is empty, state[1] is 0.
    """
    n = beam.boards.shape[2]
    width = beam.boards.shape[1]
    mask = np.uint64(len(beam.seen) - 1)
    most_children = 3 * width + 4
    child_estimates, child_values = np.empty(most_children, dtype=np.int64), np.empty(most_children, dtype=np.int64)
    child_ranks, child_keys = np.empty(most_children, dtype=np.int64), np.empty(most_children, dtype=np.uint64)
    child_moves, order = np.empty(most_children, dtype=np.int32), np.empty(most_children, dtype=np.int32)
    counts, astray = np.empty(N_CLASSES + 1, dtype=np.int64), np.empty(n, dtype=np.int32)
    focus = aim.focus
    while beam.state[2] < to_depth and beam.state[1] > 0:
        now = beam.state[0]
        # Step 1. List the children; only the moved piece changes the estimate.
        n_children = 0
        least = np.int64(1) << 60
        for i in range(beam.state[1]):
            here = beam.blanks[now, i]
            n_astray = 0
            for q in range(len(focus)):
                if beam.places[now, i, focus[q]] != focus[q]:
                    astray[n_astray] = beam.places[now, i, focus[q]]
                    n_astray += 1
            for move in range(4):
                near = aim.geometry.neighbours[here, move]
                if near < 0 or beam.last[now, i] == 3 - move:
                    continue
                piece = np.int64(beam.boards[now, i, near])
                change = distance(aim.geometry, piece, here) - distance(aim.geometry, piece, near)  # type: ignore[arg-type]
                estimate = beam.estimates[now, i] + aim.weights[piece] * change
                key = beam.keys[now, i] ^ mixed(piece * n + near) ^ mixed(piece * n + here)
                value = beam.values[now, i] + value_change(aim.fitted, beam.boards[now, i], piece, near, here)
                rank = estimate + value + np.int64((key >> np.uint64(40)) % np.uint64(aim.noise))
                if n_astray > 0:
                    nearest = n
                    for q in range(n_astray):
                        # The piece that moves may be one of them.
                        cell = here if astray[q] == near else astray[q]
                        nearest = min(nearest, distance(aim.geometry, near, cell))
                    rank += aim.pull * nearest
                child_estimates[n_children] = estimate
                child_values[n_children] = value
                child_ranks[n_children] = rank
                child_keys[n_children] = key
                child_moves[n_children] = i * 4 + move
                n_children += 1
                least = min(least, rank)
        # Step 2. Counting sort by rank; all children far from the best share the last class.
        counts[:] = 0
        for j in range(n_children):
            counts[min(child_ranks[j] - least, N_CLASSES - 1) + 1] += 1
        for j in range(N_CLASSES):
            counts[j + 1] += counts[j]
        for j in range(n_children):
            rank = min(child_ranks[j] - least, N_CLASSES - 1)
            order[counts[rank]] = j
            counts[rank] += 1
        # Step 3. Copy the best children to the next layer.
        after = 1 - now
        depth = beam.state[2] + 1
        n_after = 0
        for q in range(n_children):
            j = order[q]
            key = child_keys[j]
            if beam.seen[key & mask] == key:
                continue
            beam.seen[key & mask] = key
            i, move = child_moves[j] >> 2, child_moves[j] & 3
            here = beam.blanks[now, i]
            near = aim.geometry.neighbours[here, move]
            for cell in range(n):
                beam.boards[after, n_after, cell] = beam.boards[now, i, cell]
                beam.places[after, n_after, cell] = beam.places[now, i, cell]
            beam.boards[after, n_after, here] = beam.boards[now, i, near]
            blank = beam.boards[now, i, here]
            beam.boards[after, n_after, near] = blank
            beam.places[after, n_after, beam.boards[now, i, near]] = here
            beam.places[after, n_after, blank] = near
            beam.blanks[after, n_after], beam.last[after, n_after] = near, move
            beam.estimates[after, n_after], beam.keys[after, n_after] = child_estimates[j], key
            beam.values[after, n_after] = child_values[j]
            beam.parents[depth, n_after] = child_moves[j]
            n_after += 1
            arrived = child_estimates[j] == 0
            if len(focus) > 0:
                arrived = True
                for q in range(len(focus)):
                    if beam.places[after, n_after - 1, focus[q]] != focus[q]:
                        arrived = False
                        break
            if arrived:
                beam.state[0], beam.state[1], beam.state[2] = after, n_after, depth
                beam.leasts[depth] = -(1 << 60)
                return n_after - 1
            if n_after == width:
                break
        beam.state[0], beam.state[1], beam.state[2] = after, n_after, depth
        beam.leasts[depth] = beam.estimates[after, 0] if n_after > 0 else np.int64(1) << 60
    return NOT_FOUND
