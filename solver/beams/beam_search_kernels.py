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
from pdb_core.types import N_MOVES, Bytes, Int16s, Int32s, Int64s, UInt16s, UInt64s
from solver.beams.fitted_values_kernels import BYTE_VALUES, FittedValues
from solver.beams.pieces_kernels import Geometry, distance
from solver.vectors.vector_kernels import PERMUTES_BYTES, sum_of_bytes

NOT_FOUND = -1
# Upper bound of the random part of a rank.
NOISE = 16
# Classes of the counting sort of a layer by rank.
N_CLASSES = 4096
# Children between a prefetch and the use of what it reads. Parents are in random order.
AHEAD = 8
# Where a record has the blank's cell and the score, in halves and in numbers from its end.
BLANK_FROM_END, SCORE_FROM_END = 7, 3
# Children that are rated together; of fewer than the second number, the values of pairs are added one by one.
BATCH, LEAST_SUMMED = 64, 10


class Aim(NamedTuple):
    """Goal and ranking of a beam search.

    geometry  cells, whose neighbours are without those that are locked
    weights   int32[n]  cost of each cell between a piece and its goal cell, without fitted values
    fitted    changes of the fitted values
    focus     int32[k]  the pieces that must reach their goal cells
    pull      cost of each cell between the blank and the nearest misplaced piece of the focus; 0 with fitted values
    """

    geometry: Geometry
    weights: Int32s
    fitted: FittedValues
    focus: Int32s
    pull: int


class Beam(NamedTuple):
    """Two layers of a beam search of width b, the children of a layer, and the path to each board of all layers.

    The layer at an even depth is at index 0, the next one at 1. The *record* of a board is the pieces on the n cells
    and, at its end, the blank's cell, the score and the key, a hash. It is read and written through arrays of four
    types on the same memory, and takes one cache line up to 7x7.

    boards      uint8[2, b, ...]   uint16 for more than 255 cells: the first n are the pieces on cells
    halves      uint16[2, b, ...]  the blank's cell is at BLANK_FROM_END
    numbers     int32[2, b, ...]   the score is at SCORE_FROM_END
    words       uint64[2, b, ...]  the last is the key
    places      uint8[2, b, n]     cells of pieces, as `boards`; without a pull, those of the first board
    parents     int32[m, b]        by depth: 4 * (index in the layer before) + the move from there
    seen        uint64[2**k]       keys of recent boards
    state       int64[2]           the boards of the last layer, its depth
    child_ranks int32[4 * b]
    child_links int32[4 * b + BATCH]   as `parents`, by the piece and edge of the move if there are fitted values
    child_words uint64[4 * b, 2]   key; score in the upper half, link in the lower one
    scratch     uint8[BATCH * BYTE_VALUES]   from the beginning of a cache line, for `sum_of_bytes`
    sums        int16[BATCH]
    """

    boards: npt.NDArray[Any]
    halves: UInt16s
    numbers: Int32s
    words: UInt64s
    places: npt.NDArray[Any]
    parents: Int32s
    seen: UInt64s
    state: Int64s
    child_ranks: Int32s
    child_links: Int32s
    child_words: UInt64s
    scratch: Bytes
    sums: Int16s


@kernel
def mixed(number: Any) -> np.uint64:
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
    end = beam.words.shape[2]
    (
        beam.halves[0, 0, 4 * end - BLANK_FROM_END],
        beam.numbers[0, 0, 2 * end - SCORE_FROM_END],
        beam.words[0, 0, end - 1],
    ) = blank_cell, 0, key
    beam.state[0], beam.state[1] = 1, 0


@kernel
def list_children(beam: Beam, aim: Aim) -> Int32s:
    """List the links of the children of the last layer, by the piece and edge of the move if there are fitted values.

    Returns the end of each group of children; the last one is the number of children.
    """
    now, depth = beam.state[1] & 1, beam.state[1]
    # Unsigned indices, because numba compares signed ones with zero.
    cells, halves = beam.boards[now].reshape(-1), beam.halves[now].reshape(-1)
    n_cells, n_halves = np.uint64(beam.boards.shape[2]), np.uint64(beam.halves.shape[2])
    neighbours, edge_of = aim.geometry.neighbours.reshape(-1), aim.fitted.edge_of.reshape(-1)
    unsorted_links, groups, parents = beam.child_words.view(np.int32)[:, 0], beam.child_ranks, beam.parents[depth]
    n_edges = aim.fitted.singles.shape[1]
    counts = np.zeros(len(aim.fitted.edge_of) * n_edges + 2, dtype=np.int32)
    n_children = group = np.uint64(0)
    for i in range(np.uint64(beam.state[0])):
        here = np.uint64(halves[i * n_halves + n_halves - np.uint64(BLANK_FROM_END)])
        undoing = N_MOVES - 1 - (parents[i] & 3) if depth > 0 else -1
        for move in range(N_MOVES):
            step = here * np.uint64(N_MOVES) + np.uint64(move)
            if neighbours[step] >= 0 and move != undoing:
                if n_edges > 0:
                    piece = np.uint64(cells[i * n_cells + np.uint64(neighbours[step])])
                    group = piece * np.uint64(n_edges) + np.uint64(edge_of[step])
                unsorted_links[n_children], groups[n_children] = i * np.uint64(N_MOVES) + np.uint64(move), group
                counts[group + np.uint64(1)] += 1
                n_children += np.uint64(1)
    # The changes of one piece along one edge fit into the fastest cache.
    for g in range(len(counts) - 1):
        counts[g + 1] += counts[g]
    for k in range(n_children):
        group = np.uint64(groups[k])
        beam.child_links[np.uint64(counts[group])] = unsorted_links[k]
        counts[group] += 1
    return counts


@inlined_kernel
def prefetch_parent(beam: Beam, link: Any) -> None:
    """Prefetch the ends of the record of a child's parent."""
    _, width, n_words = beam.words.shape
    record = beam.words.ctypes.data + ((beam.state[1] & 1) * width + np.int64(link >> 2)) * n_words * 8
    prefetch(record)
    if beam.words.shape[2] > 8:
        prefetch(record + beam.words.shape[2] * 8 - 1)


@kernel
def rate_by_values(beam: Beam, aim: Aim, ends: Int32s) -> None:
    """Compute the scores, keys and ranks of the listed children by fitted values. A group shares a row of them."""
    # No views of arrays inside the loop, which would double its time, and unsigned indices, as above.
    boards, now, end = beam.boards, beam.state[1] & 1, beam.words.shape[2]
    numbers, words = beam.numbers[now].reshape(-1), beam.words[now].reshape(-1)
    score_at, key_at, n_words = np.uint64(2 * end - SCORE_FROM_END), np.uint64(end - 1), np.uint64(end)
    fitted, n, n_children = aim.fitted, len(aim.geometry.rows), np.int64(ends[-1])
    n_edges, n_table_words = fitted.singles.shape[1], fitted.pairs.shape[2] // 8
    blank = boards[now, 0, beam.halves[now, 0, 4 * end - BLANK_FROM_END]]
    # The blank's cell before a move along an edge up or to the left, and before the opposite move.
    cells_before = np.zeros((n_edges, 2), dtype=np.int64)
    for cell in range(n):
        for move in range(N_MOVES):
            if fitted.edge_of[cell, move] >= 0:
                cells_before[fitted.edge_of[cell, move], move // 2] = cell
    sums, links, records = beam.sums, beam.child_links, beam.words[now].ctypes.data
    links[n_children : n_children + BATCH] = 0
    first = n_prefetched = np.int64(0)
    for group in range(len(ends)):
        if first == ends[group]:
            continue
        piece, edge = group // n_edges, group % n_edges
        one, other = cells_before[edge]
        key_change = mixed(piece * n + one) ^ mixed(piece * n + other)
        # The pair with the blank has no value. The opposite move starts where the piece arrives.
        change = np.int64(fitted.singles[piece, edge]) - np.int64(fitted.pairs[piece, edge, one, blank])
        opposite_change = np.int64(fitted.pairs[piece, edge, other, blank]) - np.int64(fitted.singles[piece, edge])
        while first < ends[group]:
            n_here = min(np.int64(BATCH), ends[group] - first)
            while n_prefetched < min(first + 2 * BATCH, n_children):
                prefetch_parent(beam, links[np.uint64(n_prefetched)])
                n_prefetched += 1
            if PERMUTES_BYTES and n_here >= LEAST_SUMMED:
                batch = int(links.ctypes.data + 4 * first)
                tables = fitted.pairs.ctypes.data + group * n_table_words * 8 * BYTE_VALUES
                sum_of_bytes(records, 8 * end, batch, tables, n_table_words, beam.scratch.ctypes.data, sums.ctypes.data)
            else:
                for q in range(n_here):
                    i, value = links[first + q] >> 2, np.int16(0)
                    for cell in range(n):
                        value += np.int16(fitted.pairs[piece, edge, cell, boards[now, i, cell]])
                    sums[q] = value
            for q in range(np.uint64(n_here)):
                k = np.uint64(first) + q
                link, total = np.int64(links[k]), np.int64(sums[q])
                record = np.uint64(link >> 2) * n_words
                score = numbers[np.uint64(2) * record + score_at] + (
                    change + total if link & 3 < 2 else opposite_change - total
                )
                keep_rating(beam, k, link, score, words[record + key_at] ^ key_change)
            first += n_here


@kernel
def rate_by_weights(beam: Beam, aim: Aim, n_children: Any) -> None:
    """Compute the scores, keys and ranks of the listed children by weighted Manhattan distances."""
    boards, now, n, end = beam.boards, beam.state[1] & 1, len(aim.geometry.rows), beam.words.shape[2]
    for k in range(n_children):
        if k + AHEAD < n_children:
            prefetch_parent(beam, beam.child_links[k + AHEAD])
        link = np.int64(beam.child_links[k])
        i, move = link >> 2, link & 3
        here = np.int64(beam.halves[now, i, 4 * end - BLANK_FROM_END])
        near = np.int64(aim.geometry.neighbours[here, move])
        piece = np.int64(boards[now, i, near])
        cells = distance(aim.geometry, piece, here) - distance(aim.geometry, piece, near)  # type: ignore[arg-type]
        score = np.int64(beam.numbers[now, i, 2 * end - SCORE_FROM_END]) + aim.weights[piece] * cells
        key = beam.words[now, i, end - 1] ^ mixed(piece * n + near) ^ mixed(piece * n + here)
        keep_rating(beam, k, link, score, key)
        if aim.pull > 0:
            beam.child_ranks[k] += np.int32(aim.pull * nearest_astray(aim, beam.places[now, i], near, here))


@inlined_kernel
def keep_rating(beam: Beam, k: Any, link: Any, score: Any, key: Any) -> None:
    """Write the key, score and link of a child, and its rank without the pull."""
    beam.child_words[k, 0], beam.child_words[k, 1] = key, np.uint64(score << 32 | link)
    beam.child_ranks[k] = score + np.int64((key >> np.uint64(40)) % np.uint64(NOISE))


@inlined_kernel
def nearest_astray(aim: Aim, places: Any, near: Any, here: Any) -> int:
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
        counts[np.uint64(min(rank - least, N_CLASSES - 1) + 1)] += 1
    for j in range(N_CLASSES):
        counts[j + 1] += counts[j]
    for child in range(len(ranks)):
        of_class = np.uint64(min(ranks[child] - least, N_CLASSES - 1))
        order[np.uint64(counts[of_class])] = child
        counts[of_class] += 1
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
    boards, halves, numbers, words, places = beam.boards, beam.halves, beam.numbers, beam.words, beam.places
    n, end, mask = len(aim.geometry.rows), words.shape[2], np.uint64(len(beam.seen) - 1)
    n_copied, n_words, all_words = np.uint64((n * boards.itemsize + 7) // 8), np.uint64(end), words.reshape(-1)
    while beam.state[1] < to_depth and beam.state[0] > 0:
        ends = list_children(beam, aim)
        n_children = np.int64(ends[-1])
        if len(aim.fitted.edge_of) > 0:
            rate_by_values(beam, aim, ends)
        else:
            rate_by_weights(beam, aim, n_children)
        now, depth = beam.state[1] & 1, beam.state[1] + 1
        after = 1 - now
        n_after = 0
        order = sort_children(beam.child_ranks[:n_children])
        for k in range(n_children):
            if k + 2 * AHEAD < n_children:
                prefetch(beam.child_words.ctypes.data + 16 * np.int64(order[k + 2 * AHEAD]))
                soon = order[k + AHEAD]
                prefetch(beam.seen.ctypes.data + 8 * np.int64(beam.child_words[soon, 0] & mask))
                prefetch_parent(beam, np.int64(beam.child_words[soon, 1] & np.uint64(0xFFFFFFFF)))
            key, score_and_link = beam.child_words[order[k], 0], np.int64(beam.child_words[order[k], 1])
            if beam.seen[key & mask] == key:
                continue
            beam.seen[key & mask] = key
            link = score_and_link & 0xFFFFFFFF
            i, move = link >> 2, link & 3
            here = np.int64(halves[now, i, 4 * end - BLANK_FROM_END])
            near = np.int64(aim.geometry.neighbours[here, move])
            of_board, of_parent = np.uint64(after * len(words[0]) + n_after), np.uint64(now * len(words[0]) + i)
            for j in range(n_copied):
                all_words[of_board * n_words + j] = all_words[of_parent * n_words + j]
            boards[after, n_after, here] = boards[now, i, near]
            boards[after, n_after, near] = boards[now, i, here]
            if aim.pull > 0:
                for piece in range(n):
                    places[after, n_after, piece] = places[now, i, piece]
                places[after, n_after, boards[now, i, near]] = here
                places[after, n_after, boards[now, i, here]] = near
            halves[after, n_after, 4 * end - BLANK_FROM_END], words[after, n_after, end - 1] = near, key
            numbers[after, n_after, 2 * end - SCORE_FROM_END] = score_and_link >> 32
            beam.parents[depth, n_after] = link
            n_after += 1
            if is_goal(aim, boards, after, n_after - 1):
                beam.state[0], beam.state[1] = n_after, depth
                return n_after - 1
            if n_after == width:
                break
        beam.state[0], beam.state[1] = n_after, depth
    return NOT_FOUND
