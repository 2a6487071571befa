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
from pdb_core.types import N_MOVES, Bytes, Int32s, Int64s, UInt32s, UInt64s
from solver.beams.fitted_values_kernels import BYTE_VALUES, FittedValues
from solver.beams.pieces_kernels import Geometry, distance
from solver.vectors.vector_kernels import (
    LANES,
    PERMUTES_BYTES,
    gather,
    load,
    narrow,
    store,
    store_longs,
    sum_of_bytes,
    where,
)

NOT_FOUND = -1
# Upper bound of the random part of a rank.
NOISE = 16
# Classes of children by rank. All that are far from the best share the last one.
N_CLASSES = 4096
# Children between a prefetch and the use of what it reads.
AHEAD = 24
# Boards whose children are listed, rated and kept at a time, so that these fit into the caches. In a layer of more
# boards, the children of about SAMPLE boards show which ranks to keep.
BLOCK, SAMPLE = 1 << 15, 1 << 12
# Above all ranks.
NO_RANK = 1 << 32
# The tail of a record, the word before its key:
#
#     63      32             16                0
#     | score  | blank's cell | last pieces    |
BLANK_SHIFT, SCORE_SHIFT, PIECES_MASK = np.uint64(16), np.uint64(32), np.uint64(0xFFFF)
# Children that are rated together; of fewer than the second number, the values of pairs are added one by one.
CHUNK, LEAST_SUMMED = 64, 10


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
    """Two layers of a beam search of width b, the path to each board of all layers, and the children of a block.

    The arrays for children have a length of c = 4 * min(b, BLOCK).

    The layer at an even depth is at index 0, the next one at 1. The *record* of a board is the pieces on the n cells
    and, in its last two words, the tail and the key, a hash. It takes one cache line up to 7x7.

    words       uint64[2, b, ...]  records
    boards      uint8[2, b, ...]   their memory; uint16 for more than 255 cells: the first n are the pieces on cells
    places      uint8[2, b, n]     cells of pieces, as `boards`; without a pull, those of the first board
    parents     int32[m, b]        by depth: 4 * (index in the layer before) + the move from there
    seen        uint32[2**k]       upper halves of the keys of recent boards, at the lower bits of the keys
    state       int64[2]           the boards of the last layer, its depth
    unsorted    uint64[c]          links in the lower half, groups in the upper one
    child_links int32[c + CHUNK]   as `parents`, in the order of `list_children`, as the next three
    child_scores, child_ranks  int32[c + CHUNK]
    child_keys  uint64[c + CHUNK]
    chosen      int32[c + 1]       indices of the children that are kept unless they are duplicates
    scratch     uint8[CHUNK * BYTE_VALUES]   from the beginning of a cache line, for `sum_of_bytes`
    sums        int32[CHUNK]
    """

    words: UInt64s
    boards: npt.NDArray[Any]
    places: npt.NDArray[Any]
    parents: Int32s
    seen: UInt32s
    state: Int64s
    unsorted: UInt64s
    child_links: Int32s
    child_scores: Int32s
    child_ranks: Int32s
    child_keys: UInt64s
    chosen: Int32s
    scratch: Bytes
    sums: Int32s


@kernel
def mixed(number: Any) -> np.uint64:
    """Return 64 pseudorandom bits for a number (the finaliser of Steele, Lea and Flood 2014)."""
    bits = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@inlined_kernel
def blank_in(tail: np.uint64) -> np.uint64:
    """Return the blank's cell in the tail of a record."""
    return (tail >> BLANK_SHIFT) & PIECES_MASK


@inlined_kernel
def new_tail(tail: np.uint64, blank: Any, score: Any) -> np.uint64:
    """Return the tail of a record with another cell of the blank and another score."""
    return (tail & PIECES_MASK) | (np.uint64(blank) << BLANK_SHIFT) | (np.uint64(score) << SCORE_SHIFT)


@kernel
def layer_at(beam: Beam, index: Any) -> Any:
    """Return the records of a layer, as words and as cells: the same memory twice.

    Both are flat, for unsigned indices, because numba compares signed ones with zero.
    """
    return beam.words[index].reshape(-1), beam.boards[index].reshape(-1)


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
    beam.words[0, 0, end - 2], beam.words[0, 0, end - 1] = new_tail(beam.words[0, 0, end - 2], blank_cell, 0), key
    beam.state[0], beam.state[1] = 1, 0


@kernel
def list_children(beam: Beam, aim: Aim, boards: Any) -> Int32s:
    """List the links of the children of boards of the last layer, by the piece and edge of the move, and by its
    direction, if there are fitted values.

    boards  the index of the first one, the end, and the step from one to the next

    Returns the end of each group of children: for each piece and edge, moves up or to the left, then the opposite ones.
    The last end is the number of children.
    """
    now, depth = beam.state[1] & 1, beam.state[1]
    first, last, stride = np.uint64(boards[0]), np.uint64(boards[1]), np.uint64(boards[2])
    words, cells = layer_at(beam, now)
    parents = beam.parents[depth]
    n_cells, n_words = np.uint64(beam.boards.shape[2]), np.uint64(beam.words.shape[2])
    neighbours, edge_of = aim.geometry.neighbours.reshape(-1), aim.fitted.edge_of.reshape(-1)
    unsorted, tail = beam.unsorted, n_words - np.uint64(2)
    n_edges = aim.fitted.singles.shape[1]
    counts = np.zeros(len(aim.fitted.edge_of) * n_edges * 2 + 2, dtype=np.int32)
    n_children = np.uint64(0)
    while first < last:
        # Boards with the same last move are side by side and have the same moves.
        here, last_move = blank_in(words[first * n_words + tail]), parents[first] & 3
        end = first + stride
        while end < last and blank_in(words[end * n_words + tail]) == here and parents[end] & 3 == last_move:
            end += stride
        for move in range(N_MOVES):
            step = here * np.uint64(N_MOVES) + np.uint64(move)
            if neighbours[step] < 0 or (depth > 0 and move == N_MOVES - 1 - last_move):
                continue
            near = np.uint64(neighbours[step])
            for i in range(first, end, stride):
                group = np.uint64(0)
                if n_edges > 0:
                    piece = np.uint64(cells[i * n_cells + near])
                    group = (piece * np.uint64(n_edges) + np.uint64(edge_of[step])) * np.uint64(2) + np.uint64(move > 1)
                unsorted[n_children] = group << np.uint64(32) | i << np.uint64(2) | np.uint64(move)
                counts[group + np.uint64(1)] += 1
                n_children += np.uint64(1)
        first = end
    # The changes of one piece along one edge fit into the fastest cache.
    for g in range(len(counts) - 1):
        counts[g + 1] += counts[g]
    for k in range(n_children):
        group = unsorted[k] >> np.uint64(32)
        beam.child_links[np.uint64(counts[group])] = np.int32(unsorted[k] & np.uint64(0xFFFFFFFF))
        counts[group] += 1
    return counts


@inlined_kernel
def prefetch_parent(beam: Beam, layer: Any, link: Any) -> None:
    """Prefetch the ends of the record of a child's parent, which is in the layer at this index."""
    _, width, n_words = beam.words.shape
    record = beam.words.ctypes.data + (layer * width + np.int64(link >> 2)) * n_words * 8
    prefetch(record)
    if n_words > 8:
        prefetch(record + n_words * 8 - 1)


@kernel
def rate_by_values(beam: Beam, aim: Aim, ends: Int32s) -> None:
    """Compute the scores, keys and ranks of the listed children by fitted values. A group shares a row of them."""
    # No views of arrays inside the loop, which would double its time.
    boards, now, end = beam.boards, beam.state[1] & 1, beam.words.shape[2]
    records = beam.words[now].ctypes.data
    fitted, n, n_children = aim.fitted, len(aim.geometry.rows), np.int64(ends[-1])
    n_edges, n_table_words = fitted.singles.shape[1], fitted.pairs.shape[2] // 8
    blank = boards[now, 0, blank_in(beam.words[now, 0, end - 2])]
    # The blank's cell before a move along an edge up or to the left, and before the opposite move.
    cells_before = np.zeros((n_edges, 2), dtype=np.int64)
    for cell in range(n):
        for move in range(N_MOVES):
            if fitted.edge_of[cell, move] >= 0:
                cells_before[fitted.edge_of[cell, move], move // 2] = cell
    sums, links = beam.sums, beam.child_links
    links[n_children : n_children + CHUNK] = 0
    first = n_prefetched = np.int64(0)
    for group in range(len(ends) // 2):
        last = np.int64(ends[2 * group + 1])
        if first == last:
            continue
        piece, edge = group // n_edges, group % n_edges
        one, other = cells_before[edge]
        key_change = mixed(piece * n + one) ^ mixed(piece * n + other)
        # The pair with the blank has no value. The opposite move starts where the piece arrives.
        change = np.int64(fitted.singles[piece, edge]) - np.int64(fitted.pairs[piece, edge, one, blank])
        opposite_change = np.int64(fitted.pairs[piece, edge, other, blank]) - np.int64(fitted.singles[piece, edge])
        while first < last:
            n_here = min(np.int64(CHUNK), last - first)
            while n_prefetched < min(first + 2 * CHUNK, n_children):
                prefetch_parent(beam, now, links[np.uint64(n_prefetched)])
                n_prefetched += 1
            if PERMUTES_BYTES and n_here >= LEAST_SUMMED:
                chunk = int(links.ctypes.data + 4 * first)
                tables = fitted.pairs.ctypes.data + group * n_table_words * 8 * BYTE_VALUES
                sum_of_bytes(records, 8 * end, chunk, tables, n_table_words, beam.scratch.ctypes.data, sums.ctypes.data)
            else:
                for q in range(n_here):
                    i, value = links[first + q] >> 2, np.int32(0)
                    for cell in range(n):
                        value += np.int32(fitted.pairs[piece, edge, cell, boards[now, i, cell]])
                    sums[q] = value
            rate_chunk(beam, int(first), int(n_here), change, opposite_change, key_change)
            first += n_here


@inlined_kernel
def rate_chunk(
    beam: Beam, first: int, n_children: int, change: Any, opposite_change: Any, key_change: np.uint64
) -> None:
    """Write the scores, keys and ranks of listed children, from `first` on, whose values of pairs add up to
    `beam.sums`. Whatever is written beyond them is overwritten by the next ones."""
    end, records = beam.words.shape[2], beam.words[beam.state[1] & 1].ctypes.data
    scores_at, keys_at = records + 8 * end - 12, records + 8 * end - 8
    for q in range(0, n_children, LANES):
        k, total = first + q, load(beam.sums.ctypes.data + 4 * q)
        link = load(beam.child_links.ctypes.data + 4 * k)
        parent, is_opposite = link >> 2, (link & 3) >= 2
        score = gather(32, scores_at, parent * (2 * end))
        score = score + where(is_opposite, opposite_change - total, change + total)
        key = gather(64, keys_at, parent * end) ^ key_change
        store(beam.child_scores.ctypes.data + 4 * k, score)
        store(beam.child_ranks.ctypes.data + 4 * k, score + (narrow(key >> 40) & (NOISE - 1)))
        store_longs(beam.child_keys.ctypes.data + 8 * k, key)


@kernel
def rate_by_weights(beam: Beam, aim: Aim, n_children: Any) -> None:
    """Compute the scores, keys and ranks of the listed children by weighted Manhattan distances."""
    boards, now, n, end = beam.boards, beam.state[1] & 1, len(aim.geometry.rows), beam.words.shape[2]
    for k in range(n_children):
        if k + AHEAD < n_children:
            prefetch_parent(beam, now, beam.child_links[k + AHEAD])
        link = np.int64(beam.child_links[k])
        i, move = link >> 2, link & 3
        tail = beam.words[now, i, end - 2]
        here = np.int64(blank_in(tail))
        near = np.int64(aim.geometry.neighbours[here, move])
        piece = np.int64(boards[now, i, near])
        cells = distance(aim.geometry, piece, here) - distance(aim.geometry, piece, near)  # type: ignore[arg-type]
        score = (np.int64(tail) >> np.int64(SCORE_SHIFT)) + aim.weights[piece] * cells
        key = beam.words[now, i, end - 1] ^ mixed(piece * n + near) ^ mixed(piece * n + here)
        beam.child_keys[k], beam.child_scores[k] = key, score
        beam.child_ranks[k] = score + np.int64((key >> np.uint64(40)) % np.uint64(NOISE))
        if aim.pull > 0:
            beam.child_ranks[k] += np.int32(aim.pull * nearest_astray(aim, beam.places[now, i], near, here))


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


@inlined_kernel
def is_goal(aim: Aim, boards: Any, layer: Any, i: Any) -> bool:
    """Return whether all pieces of the focus are on their goal cells."""
    q = 0
    while q < len(aim.focus) and boards[layer, i, aim.focus[q]] == aim.focus[q]:
        q += 1
    return q == len(aim.focus)


@kernel
def count_classes(ranks: Int32s) -> tuple[int, Int64s]:
    """Return the least rank of the children, and the number of children in each class."""
    least = ranks.min() if len(ranks) > 0 else 0
    counts = np.zeros(N_CLASSES, dtype=np.int64)
    for rank in ranks:
        counts[np.uint64(min(rank - least, N_CLASSES - 1))] += 1
    return least, counts


@kernel
def choose_children(ranks: Int32s, first_rank: Any, end_rank: Any, chosen: Int32s) -> np.uint64:
    """List the children with ranks from `first_rank` on and below `end_rank`, and return their number."""
    n_chosen, n_ranks = np.uint64(0), np.uint64(end_rank - first_rank)
    # Without a branch: half of the children are chosen, at random.
    for k in range(np.uint64(len(ranks))):
        chosen[n_chosen] = k
        n_chosen += np.uint64(np.uint64(ranks[k] - first_rank) < n_ranks)
    return n_chosen


@kernel
def keep_children(beam: Beam, aim: Aim, width: int, n_chosen: Any) -> int:
    """Add the chosen children of the last layer to the next one, until it has `width` boards; state[0] counts them.

    Returns the index of the goal that has the least rank, or NOT_FOUND.
    """
    boards, words, places, seen = beam.boards, beam.words, beam.places, beam.seen
    n, end, mask = len(aim.geometry.rows), words.shape[2], np.uint64(len(seen) - 1)
    before, parents = beam.state[1] & 1, beam.parents[beam.state[1] + 1]
    after = 1 - before
    n_copied, n_words = np.uint64((n * boards.itemsize + 7) // 8), np.uint64(end)
    n_cells, tail = np.uint64(boards.shape[2]), n_words - np.uint64(2)
    old_words, old_cells = layer_at(beam, before)
    new_words, new_cells = layer_at(beam, after)
    neighbours = aim.geometry.neighbours.reshape(-1)
    keys, scores, links, chosen = beam.child_keys, beam.child_scores, beam.child_links, beam.chosen
    found, least, j = np.int64(NOT_FOUND), np.int32(0), np.uint64(beam.state[0])
    for c in range(n_chosen):
        if j == width:
            break
        if c + np.uint64(AHEAD) < n_chosen:
            soon = np.uint64(chosen[c + np.uint64(AHEAD)])
            prefetch(seen.ctypes.data + 4 * np.int64(keys[soon] & mask))
            prefetch_parent(beam, before, links[soon])
        k = np.uint64(chosen[c])
        link, key = np.uint64(links[k]), keys[k]
        if seen[key & mask] == np.uint32(key >> np.uint64(32)):
            continue
        seen[key & mask] = key >> np.uint64(32)
        i = link >> np.uint64(2)
        old_record, new_record = i * n_words, j * n_words
        old_tail = old_words[old_record + tail]
        here = blank_in(old_tail)
        near = np.uint64(neighbours[here * np.uint64(N_MOVES) + (link & np.uint64(3))])
        for word in range(n_copied):
            new_words[new_record + word] = old_words[old_record + word]
        new_words[new_record + tail] = new_tail(old_tail, near, scores[k])
        new_words[new_record + tail + np.uint64(1)] = key
        new_cells[j * n_cells + here] = old_cells[i * n_cells + near]
        new_cells[j * n_cells + near] = old_cells[i * n_cells + here]
        if aim.pull > 0:
            for piece in range(n):
                places[after, j, piece] = places[before, i, piece]
            places[after, j, boards[before, i, near]] = here
            places[after, j, boards[before, i, here]] = near
        parents[j] = link
        if is_goal(aim, boards, after, j) and (found == NOT_FOUND or beam.child_ranks[k] < least):
            found, least = np.int64(j), beam.child_ranks[k]
        j += np.uint64(1)
    beam.state[0] = j
    return int(found)


@kernel
def rate_children(beam: Beam, aim: Aim, boards: Any) -> Int32s:
    """List and rate the children of boards of the last layer, see `list_children`. Return their ranks."""
    ends = list_children(beam, aim, boards)
    if len(aim.fitted.edge_of) > 0:
        rate_by_values(beam, aim, ends)
    else:
        rate_by_weights(beam, aim, np.int64(ends[-1]))
    return beam.child_ranks[: ends[-1]]


@kernel
def grow_beam(beam: Beam, aim: Aim, width: int, to_depth: int) -> int:
    """Grow the beam to the depth `to_depth`, or until it reaches the goal.

    Returns the index of the goal in the last layer, or NOT_FOUND. A layer has at most `width` boards: the children up
    to some rank, each board once, without recent boards. If these are less than half of `width`, children of higher
    ranks are added. If the layer is empty, state[0] is 0.
    """
    while beam.state[1] < to_depth and beam.state[0] > 0:
        n_boards, low = beam.state[0], 0
        # In a layer of several blocks, the children of a sample are rated first, and again with their block.
        stride = 1 if n_boards <= BLOCK else n_boards // SAMPLE
        ranks = rate_children(beam, aim, (0, n_boards, stride))
        least, counts = count_classes(ranks)
        beam.state[0] = 0
        while 2 * beam.state[0] < width and low < N_CLASSES:
            # Whole classes, because the children of a class are not in a random order.
            high, n_chosen = low + 1, counts[low] * stride
            while high < N_CLASSES and beam.state[0] + n_chosen + counts[high] * stride <= width:
                n_chosen += counts[high] * stride
                high += 1
            # Children outside the sample may have ranks below or above all of it.
            first_rank = least + low if low > 0 else np.int64(-NO_RANK)
            end_rank = least + high if high < N_CLASSES else np.int64(NO_RANK)
            for first in range(0, n_boards, BLOCK):
                if stride > 1:
                    ranks = rate_children(beam, aim, (first, min(first + BLOCK, n_boards), 1))
                n_listed = choose_children(ranks, first_rank, end_rank, beam.chosen)
                found = keep_children(beam, aim, width, n_listed)
                if found != NOT_FOUND:
                    beam.state[1] += 1
                    return found
            low = high
        beam.state[1] += 1
    return NOT_FOUND
