"""Kernels of the layout: blank regions of each cell set, and transitions between blocks."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import popcount, trailing_zeros
from pdb_core.jit import kernel
from pdb_core.ranking_kernels import rank_cell_set


@kernel
def flood(start: int, free: int, width: int, not_left: int, not_right: int) -> int:
    """Return the cells of `free` connected with `start`, as a mask. `not_left`, `not_right` lack a border column."""
    region = start
    while True:
        grown = (
            region | (region << width) | (region >> width) | ((region & not_right) << 1) | ((region & not_left) >> 1)
        )
        grown &= free
        if grown == region:
            return region
        region = grown


@kernel
def count_regions(cell_sets: Any, all_cells: int, width: int, not_left: int, not_right: int, first_block: Any) -> None:
    """Fill `first_block` (int32[n_sets + 1]) with running counts of blank regions of `cell_sets` (int64[n_sets])."""
    n_blocks = 0
    for s in range(cell_sets.shape[0]):
        first_block[s] = n_blocks
        free = all_cells & ~cell_sets[s]
        while free != 0:
            free &= ~flood(free & -free, free, width, not_left, not_right)
            n_blocks += 1
    first_block[cell_sets.shape[0]] = n_blocks


@kernel
def fill_regions(
    cell_sets: Any, all_cells: int, width: int, not_left: int, not_right: int, regions: Any, region_numbers: Any
) -> None:
    """List the blank regions of each of `cell_sets` (int64[n_sets]), by their lowest cells.

    regions         int64[n_blocks]        mutated: their masks
    region_numbers  uint8[n_sets, n_cells]  mutated: number of the region of each free cell, from 0; other cells keep
                    their value
    """
    block = 0
    for s in range(cell_sets.shape[0]):
        free = all_cells & ~cell_sets[s]
        number = 0
        while free != 0:
            region = flood(free & -free, free, width, not_left, not_right)
            free &= ~region
            regions[block] = region
            while region != 0:
                region_numbers[s, trailing_zeros(region)] = number
                region &= region - 1
            block += 1
            number += 1


@kernel
def find_block(
    cell_set: int, blank: int, low_bits: int, high_bits: int, low: Any, high: Any, first_block: Any, region_numbers: Any
) -> int:
    """Return the block of `cell_set` (a mask) whose blank region has the free cell `blank`."""
    s = rank_cell_set(cell_set, low_bits, high_bits, low, high)
    return np.int64(first_block[s]) + np.int64(region_numbers[s, blank])  # type: ignore[return-value]


@kernel
def fill_transitions(
    cell_sets: Any, low_bits: int, high_bits: int, low: Any, high: Any, first_block: Any, regions: Any,
    region_numbers: Any, neighbour_masks: Any, jump_ids: Any, first_transition: Any, sources: Any, jumps: Any,
    count_only: bool, first_set: int, last_set: int,
) -> None:  # fmt: skip
    """List the transitions into each block of cell sets `first_set` to `last_set`-1.

    Before the move, the tile on `cell` was on `origin`, a neighbour in the blank region. Or, if every move counts, the
    blank was on a free cell outside its region.

    first_transition  int64[blocks of these cell sets + 1]  mutated: running counts
    sources           int32[n_transitions]  mutated unless `count_only`: source blocks
    jumps             int16[n_transitions]  mutated unless `count_only`: `jump_ids` (int16[k, k]) at the tile's
                      (position before, position after), or -1
    """
    n_transitions = 0
    own = first_block[first_set]
    for s in range(first_set, last_set):
        cell_set = cell_sets[s]
        for block in range(first_block[s], first_block[s + 1]):
            first_transition[block - own] = n_transitions
            region = regions[block]
            outside = ~(cell_set | region)
            while region != 0:
                origin = trailing_zeros(region)
                region &= region - 1
                near = neighbour_masks[origin] & cell_set
                near_outside = neighbour_masks[origin] & outside
                if count_only:
                    n_transitions += popcount(near) + popcount(near_outside)
                    continue
                while near_outside != 0:
                    sources[n_transitions] = first_block[s] + region_numbers[s, trailing_zeros(near_outside)]
                    jumps[n_transitions] = -1
                    near_outside &= near_outside - 1
                    n_transitions += 1
                while near != 0:
                    cell = trailing_zeros(near)
                    near &= near - 1
                    before = cell_set ^ (1 << cell) ^ (1 << origin)
                    sources[n_transitions] = find_block(
                        before, cell, low_bits, high_bits, low, high, first_block, region_numbers
                    )
                    position_before = popcount(before & ((1 << origin) - 1))
                    position_after = popcount(cell_set & ((1 << cell) - 1))
                    jumps[n_transitions] = jump_ids[position_before, position_after]
                    n_transitions += 1
    first_transition[first_block[last_set] - own] = n_transitions
