"""The state space of a pattern, laid out in blocks.

A state is (cell set, blank region, arrangement). A *block* is one (cell set, blank region): it holds all k!
arrangements. A move of a tile leads from a whole block to a whole block. If the tile jumps over no other tile along the
cells, the arrangement ranks stay as they are; else they are permuted by one of a few fixed permutations, one for each
*jump*, a pair (position before, position after). So the moves are a property of blocks, and are listed here once for
each block.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pdb_core.layout_kernels import count_regions, fill_regions, fill_transitions, find_block
from pdb_core.puzzle import BLANK, Board, BoardSize
from pdb_core.ranking import arrangement_ranks, cell_set_ranks, lexicographic_arrangements, lexicographic_cell_sets

NO_JUMP = -1


@dataclass(frozen=True, eq=False)
class PatternLayout:
    """Blocks and transitions of all patterns of `n_tiles` tiles on a board; the goal and the tiles' names play no part.

    cell_sets         int64[n_sets]         masks, in lexicographic order
    first_block       int64[n_sets + 1]     the blocks of cell set s are first_block[s] .. first_block[s+1]-1
    regions           int64[n_blocks]       mask of the blank region
    first_transition  int64[n_blocks + 1]   the transitions into block b
    sources           int32[n_transitions]  the block a transition comes from
    jumps             int16[n_transitions]  index into `jump_positions`, or NO_JUMP
    jump_positions    pairs (position before, position after)
    """

    size: BoardSize
    n_tiles: int
    cell_sets: npt.NDArray[np.int64]
    first_block: npt.NDArray[np.int64]
    regions: npt.NDArray[np.int64]
    first_transition: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    jumps: npt.NDArray[np.int16]
    jump_positions: tuple[tuple[int, int], ...]

    @property
    def n_orders(self) -> int:
        """Arrangements in a block: k!."""
        return math.factorial(self.n_tiles)

    @property
    def n_sets(self) -> int:
        return len(self.cell_sets)

    @property
    def n_blocks(self) -> int:
        return len(self.regions)

    def block_of(self, cell_set: int, blank: int) -> int:
        """The block with that cell set (a mask) and the blank on that cell."""
        ranks = cell_set_ranks(self.size.n_cells, self.n_tiles)
        return int(
            find_block(
                cell_set, blank, self.n_orders, ranks.low_bits, ranks.high_bits, ranks.low, ranks.high,
                self.first_block, self.regions,
            )
        )  # fmt: skip

    def goal_state(self, goal: Board, tiles: tuple[int, ...]) -> tuple[int, int]:
        """The goal as (block, arrangement rank) of the pattern `tiles`, ascending."""
        cells = [goal.index(tile) for tile in tiles]
        order = tuple(np.argsort(np.array(cells)).tolist())
        ranks = arrangement_ranks(self.n_tiles)
        labels = sum(label << (ranks.label_bits * position) for position, label in enumerate(order))
        rank = int(ranks.prefix[labels & ((1 << ranks.prefix_bits) - 1)] + ranks.suffix[labels >> ranks.prefix_bits])
        return self.block_of(sum(1 << cell for cell in cells), goal.index(BLANK)), rank


@dataclass(frozen=True)
class Grid:
    """The board as bit masks, for flooding."""

    all_cells: int
    not_left: int
    not_right: int
    neighbour_masks: npt.NDArray[np.int64]


def grid_masks(size: BoardSize) -> Grid:
    """Masks of all cells, of those not in the left column, of those not in the right one, and of each cell's
    neighbours.
    """
    left = sum(1 << size.cell(row, 0) for row in range(size.height))
    right = sum(1 << size.cell(row, size.width - 1) for row in range(size.height))
    all_cells = (1 << size.n_cells) - 1
    masks = [sum(1 << cell for cell in near) for near in size.neighbours]
    return Grid(all_cells, all_cells & ~left, all_cells & ~right, np.array(masks, dtype=np.int64))


def jump_positions(n_tiles: int, width: int) -> tuple[tuple[int, int], ...]:
    """Every (position before, position after) of a tile that jumps over 1 to width-1 others."""
    reach = width - 1
    return tuple((i, j) for i in range(n_tiles) for j in range(n_tiles) if i != j and abs(i - j) <= reach)


@lru_cache(maxsize=4)
def pattern_layout(size: BoardSize, n_tiles: int) -> PatternLayout:
    """Lay out the state space of `n_tiles` tiles on a board."""
    n_cells = size.n_cells
    cell_sets = lexicographic_cell_sets(n_cells, n_tiles)
    grid = grid_masks(size)
    shape = (grid.all_cells, size.width, grid.not_left, grid.not_right)
    first_block = np.empty(len(cell_sets) + 1, dtype=np.int64)
    count_regions(cell_sets, *shape, first_block)
    regions = np.empty(int(first_block[-1]), dtype=np.int64)
    fill_regions(cell_sets, *shape, regions)

    ranks = cell_set_ranks(n_cells, n_tiles)
    positions = jump_positions(n_tiles, size.width)
    jump_ids = np.full((n_tiles, n_tiles), NO_JUMP, dtype=np.int16)
    for jump, pair in enumerate(positions):
        jump_ids[pair] = jump
    first_transition = np.empty(len(regions) + 1, dtype=np.int64)
    sources, jumps = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int16)
    for count_only in (True, False):
        fill_transitions(
            cell_sets, math.factorial(n_tiles), ranks.low_bits, ranks.high_bits, ranks.low, ranks.high, first_block,
            regions, grid.neighbour_masks, jump_ids, first_transition, sources, jumps, count_only,
        )  # fmt: skip
        if count_only:
            sources = np.empty(int(first_transition[-1]), dtype=np.int32)
            jumps = np.empty(int(first_transition[-1]), dtype=np.int16)
    return PatternLayout(
        size, n_tiles, cell_sets, first_block, regions, first_transition, sources, jumps, positions
    )  # fmt: skip


def jump_permutation(n_tiles: int, before: int, after: int) -> npt.NDArray[np.uint32]:
    """Where each arrangement rank goes when the label at position `before` moves to position `after`; uint32[k!]."""
    ranks = arrangement_ranks(n_tiles)
    orders = lexicographic_arrangements(n_tiles)
    columns = list(range(n_tiles))
    columns.insert(after, columns.pop(before))
    labels = np.zeros(len(orders), dtype=np.int64)
    for position, column in enumerate(columns):
        labels |= orders[:, column].astype(np.int64) << (ranks.label_bits * position)
    permutation = ranks.prefix[labels & ((1 << ranks.prefix_bits) - 1)] + ranks.suffix[labels >> ranks.prefix_bits]
    return np.asarray(permutation, dtype=np.uint32)
