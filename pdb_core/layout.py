"""Layout of the state space of a pattern in blocks, and the transitions between them.

A state is (cell set, blank region, arrangement). A *block* is one (cell set, blank region), with all k! arrangements.
A move of a tile leads from a whole block to a whole block. If the tile passes no other tile along the cells, the ranks
of arrangements stay the same. Otherwise they are permuted by one of a few fixed permutations, one for each *jump*, a
pair (position before, position after). So moves are a property of blocks, and are listed once for each block.

If every move counts (`cost`), each free cell is a region. The blank's moves to free cells are transitions too, which
do not change the arrangement.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.encoding import DEFAULT_COST, Cost
from pdb_core.layout_kernels import BlockArrays, CellMasks, Transitions, count_regions, fill_regions, fill_transitions
from pdb_core.puzzle import Tiles
from pdb_core.ranking import (
    PatternIndex,
    arrangement_ranks,
    cell_set_ranks,
    lexicographic_arrangements,
    lexicographic_cell_sets,
    packed_labels,
    ranks_of_arrangements,
)
from pdb_core.types import BLANK, Bytes, Int32s, Int64s, UInt32s

# Width of a row that takes every cell out of the mask, up or down.
_NO_ROW = 63
NO_JUMP = -1
OCCUPIED = 255


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of all patterns of `n_tiles` tiles on a board. If every move counts, a region is a free cell."""

    size: BoardSize
    n_tiles: int
    cell_sets: Int64s
    first_block: Int32s
    regions: Int64s
    region_numbers: Bytes
    cost: Cost

    @property
    def arrays(self) -> BlockArrays:
        """The four arrays, as kernels read them."""
        return BlockArrays(self.cell_sets, self.first_block, self.regions, self.region_numbers)

    @property
    def n_sets(self) -> int:
        return len(self.cell_sets)

    @property
    def n_blocks(self) -> int:
        return len(self.regions)

    def parities(self) -> Bytes:
        """Return the parity of each block, uint8[n_blocks]. Moves between blocks of equal parity are even in number.

        A move changes the colour of the tile's cell and of the blank's cell.
        """
        moved = self.regions if self.cost == "every-move" else np.repeat(self.cell_sets, np.diff(self.first_block))
        parities: Bytes = np.bitwise_count(moved & self.size.dark_cells) & np.uint8(1)
        return parities

    def state_of(self, board: Tiles, tiles: tuple[int, ...]) -> tuple[int, int]:
        """Return the block and the arrangement rank of the pattern `tiles` (ascending) on a board."""
        entry = PatternIndex(self.size, self.n_tiles).rank([[board.index(tile) for tile in tiles]])[0]
        cell_set, rank = divmod(int(entry), math.factorial(self.n_tiles))
        return int(self.first_block[cell_set]) + int(self.region_numbers[cell_set, board.index(BLANK)]), rank


def cell_masks(size: BoardSize, cost: Cost = DEFAULT_COST) -> CellMasks:
    """Return the masks for boards of a size. If every move counts, no cell is connected with another."""
    all_cells = (1 << size.n_cells) - 1
    if cost == "every-move":
        return CellMasks(all_cells, 0, 0, _NO_ROW)
    left = sum(1 << cell for cell in range(0, size.n_cells, size.width))
    return CellMasks(all_cells, all_cells & ~left, all_cells & ~(left << (size.width - 1)), size.width)


def jump_positions(n_tiles: int, width: int) -> tuple[tuple[int, int], ...]:
    """Return every (position before, position after) of a tile that jumps over 1 to width-1 others."""
    return tuple((i, j) for i in range(n_tiles) for j in range(n_tiles) if 0 < abs(i - j) < width)


@lru_cache(maxsize=32)
def count_blocks(size: BoardSize, n_tiles: int, cost: Cost) -> int:
    """Return the number of blocks: blank regions, over all sets of `n_tiles` cells."""
    if cost == "every-move":
        return math.comb(size.n_cells, n_tiles) * (size.n_cells - n_tiles)
    return count_regions(n_tiles, cell_masks(size))


def count_transitions(size: BoardSize, n_tiles: int, cost: Cost) -> int:
    """Return the number of moves between blocks, each counted from both ends.

    They are pairs of an occupied cell and a free neighbour. If every move counts, also pairs of two free cells, between
    which the blank moves.
    """
    n_others = size.n_cells - 2
    n_sets = math.comb(n_others, n_tiles - 1)
    if cost == "every-move":
        n_sets += math.comb(n_others, n_tiles)
    return sum(map(len, size.neighbours)) * n_sets


@lru_cache(maxsize=8)
def pattern_blocks(size: BoardSize, n_tiles: int, cost: Cost = DEFAULT_COST) -> Blocks:
    """List the blocks of the patterns of `n_tiles` tiles on a board."""
    cell_sets = lexicographic_cell_sets(size.n_cells, n_tiles)
    first_block = np.empty(len(cell_sets) + 1, dtype=np.int32)
    regions = np.empty(count_blocks(size, n_tiles, cost), dtype=np.int64)
    region_numbers = np.full((len(cell_sets), size.n_cells), OCCUPIED, dtype=np.uint8)
    arrays = BlockArrays(cell_sets, first_block, regions, region_numbers)
    fill_regions(arrays, cell_masks(size, cost))
    return Blocks(size, n_tiles, *arrays, cost)


def block_transitions(blocks: Blocks) -> Transitions:
    """Return the transitions into all blocks."""
    size, n_tiles = blocks.size, blocks.n_tiles
    ranks = cell_set_ranks(size.n_cells, n_tiles)
    neighbour_masks = np.array([sum(1 << cell for cell in near) for near in size.neighbours], dtype=np.int64)
    jump_ids = np.full((n_tiles, n_tiles), NO_JUMP, dtype=np.int16)
    for jump, pair in enumerate(jump_positions(n_tiles, size.width)):
        jump_ids[pair] = jump
    n_transitions = count_transitions(size, n_tiles, blocks.cost)
    found = Transitions(
        np.empty(blocks.n_blocks + 1, np.int64), np.empty(n_transitions, np.int32), np.empty(n_transitions, np.int16)
    )
    fill_transitions(blocks.arrays, ranks, neighbour_masks, jump_ids, found)
    return found


def jump_permutation(n_tiles: int, before: int, after: int) -> UInt32s:
    """Return the rank of each arrangement after the label at position `before` moves to `after`; uint32[k!]."""
    ranks = arrangement_ranks(n_tiles)
    columns = list(range(n_tiles))
    columns.insert(after, columns.pop(before))
    labels = packed_labels(lexicographic_arrangements(n_tiles)[:, columns], ranks.label_bits)
    return ranks_of_arrangements(labels, ranks).astype(np.uint32)
