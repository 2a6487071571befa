"""Pairs of tiles: their distances, and the best choice of pairs that share no tile."""

import math
from typing import Any

import numpy as np

from pdb_core.bit_kernels import stack_array, trailing_zeros
from pdb_core.jit import borrowing_kernel, kernel
from pdb_core.types import Bytes, Int64s
from solver.heuristics.manhattan_kernels import manhattan_distance

UNREACHED = 255
# Numbers that the evaluation of the largest board, 6x6, needs: 5 for each cell, and 2 for each pair of tiles.
SCRATCH_WORDS = 5 * 36 + 2 * math.comb(35, 2)

_index = np.uint64


@borrowing_kernel
def pairs(tables: Any, board: Bytes) -> int:
    """Return the moves of the best pairs that share no tile, and of tiles alone, for `board`, uint8[n_cells].

    `tables.pairs` has half the excess of each pair in each placement: uint8[n_pairs * n_cells ** 2], that of tiles
    a < b on cells c, d at (pair * n_cells + c) * n_cells + d. Pairs are in lexicographic order.
    """
    n_cells = len(board)
    # Threads share the tables, so there is no place for scratch there.
    scratch = stack_array(SCRATCH_WORDS)
    cells = scratch[:n_cells]
    masks = scratch[5 * n_cells : 5 * n_cells + (n_cells - 1) * (n_cells - 2) // 2]
    weights = scratch[5 * n_cells + len(masks) :]
    # Step 1. The pairs that need more moves than their tiles alone.
    for cell in range(n_cells):
        cells[_index(board[_index(cell)])] = cell
    n_found = 0
    start = 0
    for first in range(1, n_cells):
        for second in range(first + 1, n_cells):
            excess = tables.pairs[_index(start + cells[_index(first)] * n_cells + cells[_index(second)])]
            start += n_cells * n_cells
            if excess != 0:
                masks[n_found] = (1 << first) | (1 << second)
                weights[n_found] = excess
                n_found += 1
    # Step 2. The best choice of them.
    h = manhattan_distance(tables.manhattan, board)
    if n_found == 0:
        return h
    return h + 2 * best_matching(masks, weights, n_found, scratch[n_cells : 5 * n_cells])


@borrowing_kernel
def best_matching(masks: Int64s, weights: Int64s, n_pairs: int, scratch: Int64s) -> int:
    """Return the largest sum of weights of pairs no two of which share a tile, by branch and bound.

    masks    int64[m]       the tiles of each of the first `n_pairs` pairs, tile t as bit t; sorted on return, the
                            heaviest first
    weights  int64[m]       above 0; sorted on return in the order of the masks
    scratch  int64[4 * n]   for tiles below n
    """
    n = len(scratch) // 4
    most, free, sums, places = scratch[:n], scratch[n : 2 * n], scratch[2 * n : 3 * n], scratch[3 * n :]
    # Step 1. The heaviest first: good choices found early cut off the others.
    for i in range(1, n_pairs):
        mask, weight = masks[i], weights[i]
        j = i
        while j > 0 and weights[j - 1] < weight:
            masks[j], weights[j] = masks[j - 1], weights[j - 1]
            j -= 1
        masks[j], weights[j] = mask, weight
    # Step 2. Twice the most that a tile can bring: half of the heaviest pair it is in.
    most[:] = 0
    tiles = 0
    for i in range(n_pairs):
        tiles |= masks[i]
        rest = masks[i]
        while rest != 0:
            tile = trailing_zeros(rest)
            most[tile] = max(most[tile], weights[i])
            rest &= rest - 1
    # Step 3. Pairs that hang together, each such component by itself.
    total = 0
    while tiles != 0:
        component = tiles & -tiles
        grows = True
        while grows:
            grows = False
            for i in range(n_pairs):
                if masks[i] & component != 0 and masks[i] & ~component != 0:
                    component |= masks[i]
                    grows = True
        tiles &= ~component
        total += _best_of_component(masks, weights, n_pairs, component, most, free, sums, places)
    return total


@borrowing_kernel
def _best_of_component(
    masks: Int64s,
    weights: Int64s,
    n_pairs: int,
    component: int,
    most: Int64s,
    free: Int64s,
    sums: Int64s,
    places: Int64s,
) -> int:
    """Search depth first: the lowest free tile goes into each pair it can, or into none.

    At each depth `free` holds the tiles not decided upon, `sums` the weight so far, `places` the next pair to try.
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
                bound += most[trailing_zeros(rest)]
                rest &= rest - 1
            if sums[depth] + bound // 2 <= best:
                depth -= 1
                continue
        lowest = free[depth] & -free[depth]
        pair = places[depth]
        while pair < n_pairs and (masks[pair] & lowest == 0 or masks[pair] & ~free[depth] != 0):
            pair += 1
        if pair < n_pairs:
            places[depth] = pair + 1
            free[depth + 1] = free[depth] & ~masks[pair]
            sums[depth + 1] = sums[depth] + weights[pair]
            depth += 1
            places[depth] = 0
        else:
            free[depth] &= ~lowest
            places[depth] = 0
    return best


@kernel
def search_pair(
    regions: Bytes, neighbours: Int64s, start: int, blank: int, seen: Bytes, queue: Int64s, distances: Bytes
) -> None:
    """Write the moves of a pair's tiles from each of its placements to the goal, by breadth-first search from there.

    The blank goes about its region at no cost, and the least over its regions counts (Korf and Felner 2002).

    regions     uint8[n_cells ** 3], see `mutual_cost._regions`
    neighbours  int64[n_cells, 4]   -1 if there is none
    start       the placement in the goal: (cell of the first tile) * n_cells + (cell of the second tile)
    seen        uint8[len(regions)]  scratch
    queue       int64[len(regions)]  scratch
    distances   uint8[n_cells ** 2]  mutated; UNREACHED if no sequence of moves leads there
    """
    n_cells = len(neighbours)
    seen[:] = 0
    distances[:] = UNREACHED
    # A state is a placement and the label of the blank's region.
    queue[0] = start * n_cells + np.int64(regions[start * n_cells + blank])
    seen[queue[0]] = 1
    n_done, n_queued, depth = 0, 1, 0
    while n_done < n_queued:
        level_end = n_queued
        while n_done < level_end:
            placement, region = queue[n_done] // n_cells, queue[n_done] % n_cells
            n_done += 1
            distances[placement] = min(np.int64(distances[placement]), depth)  # type: ignore[call-overload]
            for stride in (n_cells, 1):
                cell = placement // stride % n_cells
                for side in range(4):
                    target = neighbours[cell, side]
                    if target < 0 or regions[placement * n_cells + target] != region:
                        continue
                    near = placement + (target - cell) * stride
                    state = near * n_cells + np.int64(regions[near * n_cells + cell])
                    if seen[state] == 0:
                        seen[state] = 1
                        queue[n_queued] = state
                        n_queued += 1
        depth += 1
