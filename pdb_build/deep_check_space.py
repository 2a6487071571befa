"""State space of a pattern for the deep check: blocks, and the moves between them.

It shares only the index function with the builder. Regions, moves and permutations are derived in a simpler way, for
whole arrays of cell sets at a time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_build.deep_check_kernels import NO_JUMP, Moves
from pdb_core.board_size import BoardSize
from pdb_core.encoding import Cost
from pdb_core.puzzle import Tiles
from pdb_core.ranking import PatternIndex, lexicographic_arrangements, lexicographic_cell_sets
from pdb_core.types import BLANK, Bytes, Int16s, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class StateSpace:
    """Blocks (cell set, blank region) and the moves between them. If every move counts, each free cell is a region.

    first_block     int64[n_sets + 1]       the blocks of a cell set, regions by their lowest cells
    region_numbers  uint8[n_cells, n_sets]  number of the region of a free cell in its cell set
    """

    size: BoardSize
    n_tiles: int
    first_block: Int64s
    region_numbers: Bytes
    moves: Moves

    @property
    def n_orders(self) -> int:
        return math.factorial(self.n_tiles)

    @property
    def n_sets(self) -> int:
        return len(self.first_block) - 1

    @property
    def n_blocks(self) -> int:
        return int(self.first_block[-1])

    @property
    def n_states(self) -> int:
        return self.n_blocks * self.n_orders

    def state_of(self, board: Tiles, tiles: tuple[int, ...]) -> tuple[int, int]:
        """Return the state of `board`: (block, rank of the arrangement). `tiles` are the pattern's, ascending."""
        cells = np.array([[board.index(tile) for tile in tiles]], dtype=np.uint8)
        cell_set, order = divmod(int(PatternIndex(self.size, self.n_tiles).rank(cells)[0]), self.n_orders)
        return int(self.first_block[cell_set]) + int(self.region_numbers[board.index(BLANK), cell_set]), order


def state_space(size: BoardSize, n_tiles: int, cost: Cost) -> StateSpace:
    """List the blocks of the patterns of `n_tiles` tiles, and every move between them."""
    cell_sets = lexicographic_cell_sets(size.n_cells, n_tiles)
    free, lowest = _blank_regions(size, cell_sets, cost)
    is_first = lowest == np.arange(size.n_cells, dtype=np.uint8)[:, None]
    first_block = np.concatenate([[0], np.cumsum(is_first.sum(axis=0, dtype=np.int64))])
    numbers = np.cumsum(is_first, axis=0, dtype=np.uint8) - np.uint8(1)
    region_numbers = np.take_along_axis(numbers, np.where(free, lowest, np.uint8(0)), axis=0)
    sources, targets, pairs = _moves(size, n_tiles, cell_sets, free, first_block, region_numbers, cost)

    by_source = np.argsort(sources, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=int(first_block[-1])))])
    positions = np.unique(pairs[pairs != NO_JUMP])
    jumps = np.where(pairs == NO_JUMP, NO_JUMP, np.searchsorted(positions, pairs)).astype(np.int16)
    permutations = jump_permutations(n_tiles, [divmod(int(pair), n_tiles) for pair in positions])
    moves = Moves(first, targets[by_source], jumps[by_source], permutations)
    return StateSpace(size, n_tiles, first_block, region_numbers, moves)


def jump_permutations(n_tiles: int, positions: Sequence[tuple[int, int]]) -> npt.NDArray[np.unsignedinteger]:
    """Return the rank of each arrangement after the label at position i moves to position j, a row for each (i, j).

    uint16 or uint32[n_jumps, k!]. Read as decimal digits, arrangements are numbers in the order of their ranks.
    """
    orders = lexicographic_arrangements(n_tiles).astype(np.int64)
    digit_values = 10 ** np.arange(n_tiles - 1, -1, -1)
    numbers = orders @ digit_values
    result = np.empty((len(positions), len(orders)), dtype=permutation_type(len(orders)))
    for row, (i, j) in zip(result, positions, strict=True):
        columns = np.insert(np.delete(np.arange(n_tiles), i), j, i)
        row[:] = np.searchsorted(numbers, orders[:, columns] @ digit_values)
    return result


def _neighbour_pairs(size: BoardSize) -> list[tuple[int, int]]:
    """Return all pairs of a cell and a neighbour."""
    return [(cell, near) for cell in range(size.n_cells) for near in size.neighbours[cell]]


def _blank_regions(size: BoardSize, cell_sets: Int64s, cost: Cost) -> tuple[npt.NDArray[np.bool_], Bytes]:
    """Return which cells are free, and the lowest cell of their blank region (else 255); both [n_cells, n_sets]."""
    cells = np.arange(size.n_cells, dtype=np.uint8)[:, None]
    free = (cell_sets[None, :] >> cells) & 1 == 0
    lowest = np.where(free, cells, np.uint8(255))
    changed = cost == "additive"
    while changed:
        before = lowest.copy()
        for cell, near in _neighbour_pairs(size):
            np.minimum(lowest[cell], lowest[near], out=lowest[cell], where=free[cell])
        changed = not np.array_equal(before, lowest)
    return free, lowest


def _moves(
    size: BoardSize,
    n_tiles: int,
    cell_sets: Int64s,
    free: npt.NDArray[np.bool_],
    first_block: Int64s,
    region_numbers: Bytes,
    cost: Cost,
) -> tuple[Int32s, Int32s, Int16s]:
    """Return every move that counts: the block it leaves, the block it leads to, and how the tiles' order changes.

    The last is (position before) * k + (position after) of the tile among the occupied cells, or NO_JUMP if they are
    equal. All three have shape [n_transitions].
    """
    by_mask = np.argsort(cell_sets)
    sorted_masks = cell_sets[by_mask]
    sources, targets, pairs = [], [], []
    for cell, near in _neighbour_pairs(size):
        # The tile on `cell` moves to `near` in the blank's region, and leaves the blank on `cell`. If every move counts
        # and `cell` is free, the blank swaps with a tile that is not in the pattern.
        before = np.flatnonzero(free[near] if cost == "every-move" else free[near] & ~free[cell])
        is_free = free[cell, before]
        mask_before = cell_sets[before]
        mask_after = np.where(is_free, mask_before, mask_before ^ (1 << cell) ^ (1 << near))
        after = by_mask[np.searchsorted(sorted_masks, mask_after)]
        sources.append((first_block[before] + region_numbers[near, before]).astype(np.int32))
        targets.append((first_block[after] + region_numbers[cell, after]).astype(np.int32))
        position_before = np.bitwise_count(mask_before & ((1 << cell) - 1)).astype(np.int16)
        position_after = np.bitwise_count(mask_after & ((1 << near) - 1)).astype(np.int16)
        keeps_order = is_free | (position_before == position_after)
        pairs.append(np.where(keeps_order, np.int16(NO_JUMP), position_before * n_tiles + position_after))
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(pairs)


def permutation_type(n_orders: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest dtype that holds ranks of arrangements."""
    return np.dtype(np.uint16 if n_orders <= 1 << 16 else np.uint32)
