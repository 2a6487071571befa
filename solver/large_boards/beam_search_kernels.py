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
from solver.large_boards.line_by_line_kernels import NOT_FOUND, Int32s, distance

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]

# Classes of the counting sort of a layer by rank.
N_CLASSES = 4096


class Beam(NamedTuple):
    """Two layers of a beam search of width b, and scratch arrays.

    boards     uint16[2, b, n]     pieces on cells
    places     uint16[2, b, n]     cells of pieces
    blanks     int32[2, b]         the blank's cell
    last       int32[2, b]         the last move, 0 to 3, or -1
    estimates  int64[2, b]         weighted distances to the goal
    values     int64[2, b]         fitted values
    keys       uint64[2, b]        hashes of the boards
    seen       uint64[2**k]        keys of recent boards
    state      int64[4]            the current layer (0 or 1), its boards, its depth, the first estimate
    child_estimates, child_values, child_ranks   int64[3b + 4]  of the children
    child_keys, child_moves, order   uint64[3b + 4], int32[3b + 4] twice
    counts     int64[N_CLASSES + 1]
    astray     int32[n]            cells of the misplaced pieces of the focus
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
    child_estimates: Int64s
    child_values: Int64s
    child_ranks: Int64s
    child_keys: UInt64s
    child_moves: Int32s
    order: Int32s
    counts: Int64s
    astray: Int32s


@kernel
def mixed(number: int) -> np.uint64:
    """Return 64 pseudorandom bits for a number (the finaliser of Steele, Lea and Flood 2014)."""
    bits = np.uint64(np.int64(number) & np.int64(0x7FFFFFFFFFFFFFFF)) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def start_beam(
    beam: Beam, cells: Int32s, blank_cell: int, wanted: Int32s, weights: Int32s, fitted: FittedValues, rows: Int32s,
    columns: Int32s, search: int,
) -> None:  # fmt: skip
    """Make the first layer of one board. `search` is different in each search, so that `seen` need not be cleared."""
    n = len(cells)
    estimate = 0
    key = mixed(-1 - search)
    for cell in range(n):
        piece = cells[cell]
        beam.boards[0, 0, cell] = piece
        beam.places[0, 0, piece] = cell
        if cell != blank_cell:
            estimate += weights[piece] * distance(rows, columns, cell, wanted[piece])
            key ^= mixed(piece * n + cell)
    beam.blanks[0, 0], beam.last[0, 0] = blank_cell, -1
    beam.estimates[0, 0], beam.keys[0, 0] = estimate, key
    beam.values[0, 0] = value_of_board(fitted, cells, blank_cell)
    beam.state[0], beam.state[1], beam.state[2], beam.state[3] = 0, 1, 0, estimate


@kernel
def grow_beam(
    beam: Beam, wanted: Int32s, weights: Int32s, fitted: FittedValues, rows: Int32s, columns: Int32s,
    neighbours: Int32s, focus: Int32s, pull: int, noise: int, parents: Int32s, leasts: Int64s, to_depth: int,
) -> int:  # fmt: skip
    """Grow the beam to the depth `to_depth`, or until it reaches the goal.

    Returns the index of the goal in the last layer, or NOT_FOUND. A layer has the best children, the best first, each
    board once, without recent boards. If it is empty, state[1] is 0.

    wanted, weights, fitted, neighbours, focus, pull, noise   as in `beam_search.Aim`
    parents  int32[m, b]  mutated: 4 * (index in the layer before) + move, for each board of the layer at each depth
    leasts   int64[m]     mutated: the estimate of the best board of each layer
    """
    n = beam.boards.shape[2]
    width = beam.boards.shape[1]
    mask = np.uint64(len(beam.seen) - 1)
    astray = beam.astray
    while beam.state[2] < to_depth and beam.state[1] > 0:
        now = beam.state[0]
        # Step 1. List the children; only the moved piece changes the estimate.
        n_children = 0
        least = np.int64(1) << 60
        for i in range(beam.state[1]):
            here = beam.blanks[now, i]
            n_astray = 0
            for q in range(len(focus)):
                if beam.places[now, i, focus[q]] != wanted[focus[q]]:
                    astray[n_astray] = beam.places[now, i, focus[q]]
                    n_astray += 1
            for move in range(4):
                near = neighbours[here, move]
                if near < 0 or beam.last[now, i] == 3 - move:
                    continue
                piece = np.int64(beam.boards[now, i, near])
                place = wanted[piece]
                change = distance(rows, columns, place, here) - distance(rows, columns, place, near)
                estimate = beam.estimates[now, i] + weights[piece] * change
                key = beam.keys[now, i] ^ mixed(piece * n + near) ^ mixed(piece * n + here)
                value = beam.values[now, i] + value_change(fitted, beam.boards[now, i], piece, near, here)
                rank = estimate + value + np.int64((key >> np.uint64(40)) % np.uint64(noise))
                if n_astray > 0:
                    nearest = n
                    for q in range(n_astray):
                        # The piece that moves may be one of them.
                        cell = here if astray[q] == near else astray[q]
                        nearest = min(nearest, distance(rows, columns, near, cell))
                    rank += pull * nearest
                beam.child_estimates[n_children] = estimate
                beam.child_values[n_children] = value
                beam.child_ranks[n_children] = rank
                beam.child_keys[n_children] = key
                beam.child_moves[n_children] = i * 4 + move
                n_children += 1
                least = min(least, rank)
        # Step 2. Counting sort by rank; all children far from the best share the last class.
        beam.counts[:] = 0
        for j in range(n_children):
            beam.counts[min(beam.child_ranks[j] - least, N_CLASSES - 1) + 1] += 1
        for j in range(N_CLASSES):
            beam.counts[j + 1] += beam.counts[j]
        for j in range(n_children):
            rank = min(beam.child_ranks[j] - least, N_CLASSES - 1)
            beam.order[beam.counts[rank]] = j
            beam.counts[rank] += 1
        # Step 3. Copy the best children to the next layer.
        after = 1 - now
        depth = beam.state[2] + 1
        n_after = 0
        for q in range(n_children):
            j = beam.order[q]
            key = beam.child_keys[j]
            if beam.seen[key & mask] == key:
                continue
            beam.seen[key & mask] = key
            i, move = beam.child_moves[j] >> 2, beam.child_moves[j] & 3
            here = beam.blanks[now, i]
            near = neighbours[here, move]
            for cell in range(n):
                beam.boards[after, n_after, cell] = beam.boards[now, i, cell]
                beam.places[after, n_after, cell] = beam.places[now, i, cell]
            beam.boards[after, n_after, here] = beam.boards[now, i, near]
            blank = beam.boards[now, i, here]
            beam.boards[after, n_after, near] = blank
            beam.places[after, n_after, beam.boards[now, i, near]] = here
            beam.places[after, n_after, blank] = near
            beam.blanks[after, n_after], beam.last[after, n_after] = near, move
            beam.estimates[after, n_after], beam.keys[after, n_after] = beam.child_estimates[j], key
            beam.values[after, n_after] = beam.child_values[j]
            parents[depth, n_after] = beam.child_moves[j]
            n_after += 1
            arrived = beam.child_estimates[j] == 0
            if len(focus) > 0:
                arrived = True
                for q in range(len(focus)):
                    if beam.places[after, n_after - 1, focus[q]] != wanted[focus[q]]:
                        arrived = False
                        break
            if arrived:
                beam.state[0], beam.state[1], beam.state[2], beam.state[3] = after, n_after, depth, 0
                leasts[depth] = -(1 << 60)
                return n_after - 1
            if n_after == width:
                break
        beam.state[0], beam.state[1], beam.state[2] = after, n_after, depth
        leasts[depth] = beam.estimates[after, 0] if n_after > 0 else np.int64(1) << 60
    return NOT_FOUND
