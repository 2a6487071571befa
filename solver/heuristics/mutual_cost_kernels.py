"""Pairs and triples of tiles: their distances, and the best choice of groups that share no tile."""

import math
from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import popcount, stack_array, trailing_zeros
from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.types import Bytes, Int64s
from solver.heuristics.manhattan_kernels import manhattan_distance

UNREACHED = 255
# A common multiple of the sizes of groups, so that a tile's share of a weight is an integer.
SHARES = 6
# Bits of a word of a set of (tile, cell): all but the sign.
WORD_BITS = 63
# 5 * n_cells + n_words + 2 * groups, which is also enough for the pairs of 36 cells. 38 KB.
MAX_CELLS_OF_TRIPLES = 25
SCRATCH_WORDS = (
    5 * MAX_CELLS_OF_TRIPLES
    - (-(MAX_CELLS_OF_TRIPLES - 3) * MAX_CELLS_OF_TRIPLES // WORD_BITS)
    + 2 * (math.comb(MAX_CELLS_OF_TRIPLES - 1, 2) + math.comb(MAX_CELLS_OF_TRIPLES - 1, 3))
)

_at = np.uint64


class GroupTables(NamedTuple):
    """Half the excess of each group in each placement; tiles ascending, groups in lexicographic order.

    pairs    uint8[n_pairs * n_cells ** 2]    of tiles a < b on cells c, d at (pair * n_cells + c) * n_cells + d
    triples  uint8[n_triples * n_cells ** 3]  of tiles a < b < c on cells d, e, f at
                                              ((triple * n_cells + d) * n_cells + e) * n_cells + f; 0 if one of its
                                              pairs has as much
    thirds   int64[n_pairs * n_cells ** 2 * n_words]  for each pair and placement a set of (third tile, cell), a bit for
                                              each that has an excess in `triples`, which is read only there
    """

    pairs: Bytes
    triples: Bytes
    thirds: Int64s


@borrowing_kernel
def pairs(tables: Any, board: Bytes) -> int:
    """Return the moves of the best pairs that share no tile, and of tiles alone."""
    return manhattan_distance(tables.manhattan, board) + group_excess(tables.groups, False, board)


@borrowing_kernel
def triples(tables: Any, board: Bytes) -> int:
    """Return the moves of the best pairs and triples that share no tile, and of tiles alone."""
    return manhattan_distance(tables.manhattan, board) + group_excess(tables.groups, True, board)


@borrowing_kernel
def group_excess(groups: GroupTables, with_triples: bool, board: Bytes) -> int:
    """Return the most that disjoint groups of tiles add to the Manhattan distance of `board`, uint8[n_cells].

    with_triples  whether triples are chosen from besides pairs
    """
    n_cells = len(board)
    n_tiles = n_cells - 1
    square = n_cells * n_cells
    n_words = len(groups.thirds) // (n_tiles * (n_tiles - 1) // 2 * square)
    # Threads share the tables, so there is no place for scratch there.
    n_groups = n_tiles * (n_tiles - 1) // 2
    if with_triples:
        n_groups += n_groups * (n_tiles - 2) // 3
    scratch = stack_array(SCRATCH_WORDS)
    cells = scratch[:n_cells]
    here = scratch[5 * n_cells : 5 * n_cells + n_words]
    masks = scratch[5 * n_cells + n_words : 5 * n_cells + n_words + n_groups]
    weights = scratch[5 * n_cells + n_words + n_groups :]
    # Step 1. The groups that need more moves than their tiles alone.
    for cell in range(n_cells):
        cells[_at(board[_at(cell)])] = cell
    n_found = 0
    start = 0
    for first in range(1, n_cells):
        for second in range(first + 1, n_cells):
            excess = groups.pairs[_at(start + cells[_at(first)] * n_cells + cells[_at(second)])]
            start += square
            if excess != 0:
                masks[n_found] = (1 << first) | (1 << second)
                weights[n_found] = excess
                n_found += 1
    if with_triples:
        here[:] = 0
        for third in range(3, n_cells):
            place = third_bit(third, cells[third], n_cells)
            here[place // WORD_BITS] |= 1 << (place % WORD_BITS)
        pair, triple = 0, 0
        for first in range(1, n_cells):
            for second in range(first + 1, n_cells):
                pair_cells = cells[_at(first)] * n_cells + cells[_at(second)]
                words = (pair * square + pair_cells) * n_words
                for word in range(n_words):
                    hits = groups.thirds[_at(words + word)] & here[_at(word)]
                    while hits != 0:
                        third = (word * WORD_BITS + trailing_zeros(hits)) // n_cells + 3
                        hits &= hits - 1
                        row = triple + third - second - 1
                        masks[n_found] = (1 << first) | (1 << second) | (1 << third)
                        weights[n_found] = groups.triples[_at((row * square + pair_cells) * n_cells + cells[third])]
                        n_found += 1
                pair += 1
                triple += n_tiles - second
    # Step 2. The best choice of them.
    if n_found == 0:
        return 0
    return 2 * best_packing(masks, weights, n_found, scratch[n_cells : 5 * n_cells])


@borrowing_kernel
def third_bit(third: int, cell: int, n_cells: int) -> int:
    """Return the index of (tile, cell) in a set of them, for tiles that can be the last of three."""
    return (third - 3) * n_cells + cell


@borrowing_kernel
def best_packing(masks: Int64s, weights: Int64s, n_groups: int, scratch: Int64s) -> int:
    """Return the largest sum of weights of groups no two of which share a tile, by branch and bound.

    masks    int64[m]       the tiles of each of the first `n_groups` groups, one to three of them, tile t as bit t;
                            sorted on return, the heaviest first
    weights  int64[m]       above 0; sorted on return in the order of the masks
    scratch  int64[4 * n]   for tiles below n
    """
    n = len(scratch) // 4
    shares, free, sums, places = scratch[:n], scratch[n : 2 * n], scratch[2 * n : 3 * n], scratch[3 * n :]
    # Step 1. The heaviest first: good choices found early cut off the others.
    for i in range(1, n_groups):
        mask, weight = masks[i], weights[i]
        j = i
        while j > 0 and weights[j - 1] < weight:
            masks[j], weights[j] = masks[j - 1], weights[j - 1]
            j -= 1
        masks[j], weights[j] = mask, weight
    # Step 2. The most that a tile can bring: its share of the best group it is in.
    shares[:] = 0
    tiles = 0
    for i in range(n_groups):
        tiles |= masks[i]
        share = weights[i] * SHARES // popcount(masks[i])
        rest = masks[i]
        while rest != 0:
            tile = trailing_zeros(rest)
            shares[tile] = max(shares[tile], share)
            rest &= rest - 1
    # Step 3. Groups that hang together, each such component by itself.
    total = 0
    while tiles != 0:
        component = tiles & -tiles
        grows = True
        while grows:
            grows = False
            for i in range(n_groups):
                if masks[i] & component != 0 and masks[i] & ~component != 0:
                    component |= masks[i]
                    grows = True
        tiles &= ~component
        total += _best_of_component(masks, weights, n_groups, component, shares, free, sums, places)
    return total


@borrowing_kernel
def _best_of_component(
    masks: Int64s,
    weights: Int64s,
    n_groups: int,
    component: int,
    shares: Int64s,
    free: Int64s,
    sums: Int64s,
    places: Int64s,
) -> int:
    """Search depth first: the lowest free tile goes into each group it can, or into none.

    At each depth `free` holds the tiles not decided upon, `sums` the weight so far, `places` the next group to try.
    """
    best = 0
    depth = 0
    free[0], sums[0], places[0] = component, 0, 0
    while depth >= 0:
        if places[depth] == 0:
            best = max(best, sums[depth])
            bound = 0
            rest = free[depth]
            while rest != 0:
                bound += shares[trailing_zeros(rest)]
                rest &= rest - 1
            if sums[depth] + bound // SHARES <= best:
                depth -= 1
                continue
        lowest = free[depth] & -free[depth]
        group = places[depth]
        while group < n_groups and (masks[group] & lowest == 0 or masks[group] & ~free[depth] != 0):
            group += 1
        if group < n_groups:
            places[depth] = group + 1
            free[depth + 1] = free[depth] & ~masks[group]
            sums[depth + 1] = sums[depth] + weights[group]
            depth += 1
            places[depth] = 0
        else:
            free[depth] &= ~lowest
            places[depth] = 0
    return best


@kernel
def search_group(
    regions: Bytes,
    neighbours: Int64s,
    strides: Int64s,
    goal_cells: Int64s,
    blank: int,
    seen: Bytes,
    queue: Int64s,
    distances: Bytes,
) -> None:
    """Write the moves of a group's tiles from each of its placements to the goal, by breadth-first search from there.

    The blank goes about its region at no cost, and the least over its regions counts (Korf and Felner 2002).

    regions     uint8[n_cells ** n_tiles * n_cells], see `mutual_cost._regions`
    neighbours  int64[n_cells, 4]   -1 if there is none
    strides     int64[n_tiles]      what a step of a tile's cell adds to the placement
    goal_cells  int64[n_tiles]
    seen        uint8[len(regions)]  scratch
    queue       int64[len(regions)]  scratch
    distances   uint8[n_cells ** n_tiles]  mutated; UNREACHED if no sequence of moves leads there
    """
    n_cells = len(neighbours)
    seen[:] = 0
    distances[:] = UNREACHED
    placement = 0
    for i in range(len(strides)):
        placement += strides[i] * goal_cells[i]
    # A state is a placement and the label of the blank's region.
    queue[0] = placement * n_cells + regions[placement * n_cells + blank]
    seen[queue[0]] = 1
    n_done, n_queued, depth = 0, 1, 0
    while n_done < n_queued:
        level_end = n_queued
        while n_done < level_end:
            placement, region = queue[n_done] // n_cells, queue[n_done] % n_cells
            n_done += 1
            distances[placement] = min(np.int64(distances[placement]), depth)  # type: ignore[call-overload]
            for i in range(len(strides)):
                cell = placement // strides[i] % n_cells
                for side in range(4):
                    target = neighbours[cell, side]
                    if target < 0 or regions[placement * n_cells + target] != region:
                        continue
                    near = placement + (target - cell) * strides[i]
                    state = near * n_cells + regions[near * n_cells + cell]
                    if seen[state] == 0:
                        seen[state] = 1
                        queue[n_queued] = state
                        n_queued += 1
        depth += 1
