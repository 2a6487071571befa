"""Kernels of the layout: blank regions of each cell set, and transitions between blocks."""

from typing import Any, NamedTuple

from pdb_core.bit_kernels import popcount, trailing_zeros
from pdb_core.jit import kernel
from pdb_core.ranking_kernels import CellSetRanks, rank_cell_set
from pdb_core.types import Bytes, Int16s, Int32s, Int64s


class CellMasks(NamedTuple):
    """Masks of all cells, of those outside the left column, and of those outside the right column.

    `width` is that of the board: how far a mask is shifted to the next row.
    """

    all_cells: int
    not_left: int
    not_right: int
    width: int


class BlockArrays(NamedTuple):
    """Blocks of all patterns of some number of tiles, in the order of their cell sets."""

    cell_sets: Int64s  # [n_sets] masks, in lexicographic order
    first_block: Int32s  # [n_sets + 1] the blocks of cell set s are first_block[s] .. first_block[s+1]-1
    regions: Int64s  # [n_blocks] masks of the blank regions, those of a cell set by their lowest cells
    region_numbers: Bytes  # [n_sets, n_cells] of each free cell within its cell set, or OCCUPIED


class Transitions(NamedTuple):
    """Transitions into all blocks, equal for all goals and tiles."""

    first: Int64s  # [n_blocks + 1] running counts of the transitions into the blocks
    sources: Int32s  # [n_transitions] the block a transition comes from
    jumps: Int16s  # [n_transitions] index into `layout.jump_positions`, or -1: ranks stay


@kernel
def flood(start: int, free: int, masks: CellMasks) -> int:
    """Return the cells of `free` connected with `start`, as a mask."""
    region = start
    while True:
        sideways = ((region & masks.not_right) << 1) | ((region & masks.not_left) >> 1)
        grown = (region | (region << masks.width) | (region >> masks.width) | sideways) & free
        if grown == region:
            return region
        region = grown


@kernel
def count_regions(n_tiles: int, masks: CellMasks) -> int:
    """Return the number of blank regions of all sets of `n_tiles` cells, without a list of them."""
    n_blocks = 0
    cell_set = (1 << n_tiles) - 1
    while cell_set <= masks.all_cells:
        free = masks.all_cells & ~cell_set
        while free != 0:
            free &= ~flood(free & -free, free, masks)
            n_blocks += 1
        # The next larger number with as many one bits: a block of ones moves its highest one up, the others down.
        carried = cell_set + (cell_set & -cell_set)
        cell_set = carried | ((cell_set ^ carried) >> (2 + trailing_zeros(cell_set)))
    return n_blocks


@kernel
def fill_regions(blocks: BlockArrays, masks: CellMasks) -> None:
    """List the blank regions of each cell set in all but `cell_sets`. Region numbers of occupied cells are kept."""
    block = 0
    for s in range(blocks.cell_sets.shape[0]):
        blocks.first_block[s] = block
        free = masks.all_cells & ~blocks.cell_sets[s]
        number = 0
        while free != 0:
            region = flood(free & -free, free, masks)
            free &= ~region
            blocks.regions[block] = region
            while region != 0:
                blocks.region_numbers[s, trailing_zeros(region)] = number
                region &= region - 1
            block += 1
            number += 1
    blocks.first_block[blocks.cell_sets.shape[0]] = block


@kernel
def fill_transitions(
    blocks: BlockArrays, ranks: CellSetRanks, neighbour_masks: Any, jump_ids: Any, found: Transitions
) -> None:
    """List in `found` the transitions into each block.

    Before the move, the tile on `cell` was on `origin`, a neighbour in the blank region. Or, if every move counts, the
    blank was on a free cell outside its region. `jump_ids` (int16[k, k]) has the jump at the tile's (position before,
    position after), or -1.
    """
    n_transitions = 0
    first_block, regions = blocks.first_block, blocks.regions
    for s in range(blocks.cell_sets.shape[0]):
        cell_set = blocks.cell_sets[s]
        for block in range(first_block[s], first_block[s + 1]):
            found.first[block] = n_transitions
            region = regions[block]
            outside = ~(cell_set | region)
            while region != 0:
                origin = trailing_zeros(region)
                region &= region - 1
                near = neighbour_masks[origin] & cell_set
                near_outside = neighbour_masks[origin] & outside
                while near_outside != 0:
                    number = blocks.region_numbers[s, trailing_zeros(near_outside)]
                    found.sources[n_transitions] = first_block[s] + number
                    found.jumps[n_transitions] = -1
                    near_outside &= near_outside - 1
                    n_transitions += 1
                while near != 0:
                    cell = trailing_zeros(near)
                    near &= near - 1
                    before = cell_set ^ (1 << cell) ^ (1 << origin)
                    set_before = rank_cell_set(before, ranks)
                    found.sources[n_transitions] = first_block[set_before] + blocks.region_numbers[set_before, cell]
                    position_before = popcount(before & ((1 << origin) - 1))
                    position_after = popcount(cell_set & ((1 << cell) - 1))
                    found.jumps[n_transitions] = jump_ids[position_before, position_after]
                    n_transitions += 1
    found.first[regions.shape[0]] = n_transitions
