"""Kernels of beam search, which keeps only the best boards of each layer.

Boards consist of pieces, see `pieces_kernels`. The goal is any board with the pieces of the *focus* on their
goal cells. Scores are relative to the first board. A move changes the score by the weighted Manhattan distance of the
piece, or by the fitted values of the piece and of its pairs (see `fitted_values`). To the score, the rank adds the
distance of the blank from the nearest misplaced piece of the focus, and a random number below `NOISE`. Without fitted
values and the random number, a beam fills with near copies of one board.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.bit_kernels import prefetch
from pdb_core.jit import inlined_kernel, kernel
from pdb_core.types import N_MOVES, Int64s
from solver.beams.fitted_values_kernels import FittedValues
from solver.beams.pieces_kernels import Geometry, Int32s, distance

UInt64s = npt.NDArray[np.uint64]

NOT_FOUND = -1
# Upper bound of the random part of a rank.
NOISE = 16
# Classes of the counting sort of a layer by rank.
N_CLASSES = 4096
# Children between a prefetch and the use of what it reads. Parents are in random order.
AHEAD = 8


class Aim(NamedTuple):
    """Goal and ranking of a beam search.

    geometry  cells, whose neighbours are without those that are locked
    weights   int32[n]  cost of each cell between a piece and its goal cell, without fitted values
    fitted    changes of the fitted values
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

    The layer at an even depth is at index 0, the next one at 1. Other arrays of children are like those of boards, and
    all of them have at least 4 * b entries.

    boards      uint8[2, b, n]   pieces on cells; uint16 for more than 255 cells
    places      uint8[2, b, n]   cells of pieces, as `boards`; without a pull, those of the first board
    blanks      int32[2, b]      the blank's cell
    scores      int32[2, b]
    keys        uint64[2, b]     hashes of the boards
    parents     int32[m, b]      by depth: 4 * (index in the layer before) + the move from there
    seen        uint64[2**k]     keys of recent boards
    state       int64[2]         the boards of the last layer, its depth
    child_ranks int32[4 * b]
    child_links int32[4 * b]     as `parents`, by the piece and edge of the move if there are fitted values
    unsorted_links  int32[4 * b]  in the order of the parents
    """

    boards: npt.NDArray[Any]
    places: npt.NDArray[Any]
    blanks: Int32s
    scores: Int32s
    keys: UInt64s
    parents: Int32s
    seen: UInt64s
    state: Int64s
    child_scores: Int32s
    child_keys: UInt64s
    child_ranks: Int32s
    child_links: Int32s
    unsorted_links: Int32s


@kernel
def mixed(number: int) -> np.uint64:
    """Return 64 pseudorandom bits for a number (the finaliser of Steele, Lea and Flood 2014)."""
    bits = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def start_beam(beam: Beam, cells: Int32s, blank_cell: int) -> None:
    """Make the first layer of one board. Beams of different widths get different random numbers."""
    n = len(cells)
    key = mixed(n * n * beam.boards.shape[1])
    for cell in range(n):
        piece = cells[cell]
        beam.boards[0, 0, cell], beam.places[0, 0, piece] = piece, cell
        if cell != blank_cell:
            key ^= mixed(piece * n + cell)
    beam.blanks[0, 0], beam.scores[0, 0], beam.keys[0, 0] = blank_cell, 0, key
    beam.state[0], beam.state[1] = 1, 0


@kernel
def list_children(beam: Beam, aim: Aim) -> int:
    """List the links of the children of the last layer. Returns how many."""
    now, depth = beam.state[1] & 1, beam.state[1]
    edge_of, n_edges = aim.fitted.edge_of, aim.fitted.singles.shape[1]
    counts = np.zeros(len(edge_of) * n_edges + 2, dtype=np.int32)
    n_children = 0
    for i in range(beam.state[0]):
        here = beam.blanks[now, i]
        undoing = N_MOVES - 1 - (beam.parents[depth, i] & 3) if depth > 0 else -1
        for move in range(N_MOVES):
            near = aim.geometry.neighbours[here, move]
            if near >= 0 and move != undoing:
                beam.unsorted_links[n_children] = i * N_MOVES + move
                group = np.int64(beam.boards[now, i, near]) * n_edges + edge_of[here, move] if n_edges > 0 else 0
                counts[group + 1] += 1
                n_children += 1
    # The changes of one piece along one edge fit into the fastest cache.
    for group in range(len(counts) - 1):
        counts[group + 1] += counts[group]
    for k in range(n_children):
        i, move = beam.unsorted_links[k] >> 2, beam.unsorted_links[k] & 3
        here = beam.blanks[now, i]
        piece = np.int64(beam.boards[now, i, aim.geometry.neighbours[here, move]])
        group = piece * n_edges + edge_of[here, move] if n_edges > 0 else 0
        beam.child_links[counts[group]] = beam.unsorted_links[k]
        counts[group] += 1
    return n_children


@inlined_kernel
def prefetch_parent(beam: Beam, link: int) -> None:
    """Prefetch the board and the numbers of a child's parent."""
    _, width, n = beam.boards.shape
    parent = (beam.state[1] & 1) * width + np.int64(link >> 2)
    n_bytes = n * beam.boards.itemsize
    board = beam.boards.ctypes.data + parent * n_bytes
    prefetch(board)
    prefetch(board + n_bytes - 1)
    prefetch(beam.blanks.ctypes.data + 4 * parent)
    prefetch(beam.scores.ctypes.data + 4 * parent)
    prefetch(beam.keys.ctypes.data + 8 * parent)


@kernel
def rate_children(beam: Beam, aim: Aim, n_children: int) -> None:
    """Compute the scores, keys and ranks of the listed children. Only the piece that moves changes the score."""
    # Views of arrays inside the loop would double its time.
    boards, fitted, n, now = beam.boards, aim.fitted, beam.boards.shape[2], beam.state[1] & 1
    for k in range(n_children):
        if k + AHEAD < n_children:
            prefetch_parent(beam, beam.child_links[k + AHEAD])
        i, move = beam.child_links[k] >> 2, beam.child_links[k] & 3
        here = beam.blanks[now, i]
        near = aim.geometry.neighbours[here, move]
        piece = np.int64(boards[now, i, near])
        if len(fitted.edge_of) > 0:
            edge = fitted.edge_of[here, move]
            change = np.int32(fitted.singles[piece, edge])
            for cell in range(n):
                change += np.int32(fitted.pairs[piece, edge, cell, boards[now, i, cell]])
            # The pair with the blank has no value.
            change -= np.int32(fitted.pairs[piece, edge, here, boards[now, i, here]])
            # Moves of the blank to the right and down start at the first cell of the edge, where the piece arrives.
            if move >= N_MOVES // 2:
                change = -change
        else:
            change = aim.weights[piece] * np.int32(
                distance(aim.geometry, piece, here) - distance(aim.geometry, piece, near)  # type: ignore[arg-type]
            )
        score = beam.scores[now, i] + change
        key = beam.keys[now, i] ^ mixed(piece * n + near) ^ mixed(piece * n + here)
        rank = score + np.int32((key >> np.uint64(40)) % np.uint64(NOISE))
        if aim.pull > 0:
            rank += np.int32(aim.pull * nearest_astray(aim, beam.places[now, i], near, here))
        beam.child_scores[k], beam.child_keys[k], beam.child_ranks[k] = score, key, rank


@inlined_kernel
def nearest_astray(aim: Aim, places: Any, near: int, here: int) -> int:
    """Return the distance of the blank from the nearest misplaced piece of the focus, after its move from `here` to
    `near`; 0 without one before the move."""
    nearest = -1
    for q in range(len(aim.focus)):
        place = np.int64(places[aim.focus[q]])
        if place != aim.focus[q]:
            # The piece that moves may be one of them.
            away = distance(aim.geometry, near, here if place == near else place)  # type: ignore[arg-type]
            nearest = away if nearest < 0 else min(nearest, away)
    return max(nearest, 0)


@kernel
def sort_children(ranks: Int32s) -> Int32s:
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


@inlined_kernel
def is_goal(aim: Aim, boards: Any, layer: int, i: int) -> bool:
    """Return whether all pieces of the focus are on their goal cells."""
    q = 0
    while q < len(aim.focus) and boards[layer, i, aim.focus[q]] == aim.focus[q]:
        q += 1
    return q == len(aim.focus)


@kernel
def grow_beam(beam: Beam, aim: Aim, width: int, to_depth: int) -> int:
    """Grow the beam to the depth `to_depth`, or until it reaches the goal.

    Returns the index of the goal in the last layer, or NOT_FOUND. A layer has the best `width` children, the best
    first, each board once, without recent boards. If it is empty, state[0] is 0.
    """
    boards, places, n, mask = beam.boards, beam.places, beam.boards.shape[2], np.uint64(len(beam.seen) - 1)
    while beam.state[1] < to_depth and beam.state[0] > 0:
        n_children = list_children(beam, aim)
        rate_children(beam, aim, n_children)
        now, depth = beam.state[1] & 1, beam.state[1] + 1
        after = 1 - now
        n_after = 0
        order = sort_children(beam.child_ranks[:n_children])
        for k in range(n_children):
            if k + 2 * AHEAD < n_children:
                later = np.int64(order[k + 2 * AHEAD])
                prefetch(beam.child_keys.ctypes.data + 8 * later)
                prefetch(beam.child_scores.ctypes.data + 4 * later)
                prefetch(beam.child_links.ctypes.data + 4 * later)
                soon = order[k + AHEAD]
                prefetch(beam.seen.ctypes.data + 8 * np.int64(beam.child_keys[soon] & mask))
                prefetch_parent(beam, beam.child_links[soon])
            child = order[k]
            key = beam.child_keys[child]
            if beam.seen[key & mask] == key:
                continue
            beam.seen[key & mask] = key
            i, move = beam.child_links[child] >> 2, beam.child_links[child] & 3
            here = beam.blanks[now, i]
            near = aim.geometry.neighbours[here, move]
            for cell in range(n):
                boards[after, n_after, cell] = boards[now, i, cell]
            boards[after, n_after, here] = boards[now, i, near]
            boards[after, n_after, near] = boards[now, i, here]
            if aim.pull > 0:
                for piece in range(n):
                    places[after, n_after, piece] = places[now, i, piece]
                places[after, n_after, boards[now, i, near]] = here
                places[after, n_after, boards[now, i, here]] = near
            beam.blanks[after, n_after], beam.keys[after, n_after] = near, key
            beam.scores[after, n_after] = beam.child_scores[child]
            beam.parents[depth, n_after] = beam.child_links[child]
            n_after += 1
            if is_goal(aim, boards, after, n_after - 1):
                beam.state[0], beam.state[1] = n_after, depth
                return n_after - 1
            if n_after == width:
                break
        beam.state[0], beam.state[1] = n_after, depth
    return NOT_FOUND
