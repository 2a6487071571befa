"""The layout of the state space: regions and transitions, against naive ones."""

import math
from collections import deque

import numpy as np
import pytest

from pdb_core.layout import NO_JUMP, block_transitions, jump_permutation, jump_positions, pattern_blocks
from pdb_core.puzzle import BoardSize, blank_last
from tests.naive import boards_and_tables as naive

SMALL = [
    (BoardSize(2, 2), 1), (BoardSize(2, 2), 3), (BoardSize(2, 3), 2), (BoardSize(3, 2), 3), (BoardSize(3, 3), 1),
    (BoardSize(3, 3), 2), (BoardSize(3, 3), 3), (BoardSize(3, 3), 4), (BoardSize(3, 3), 5), (BoardSize(2, 5), 4),
    (BoardSize(5, 2), 4), (BoardSize(4, 3), 3), (BoardSize(3, 4), 4),
]  # fmt: skip


def cells_of(mask: int) -> tuple[int, ...]:
    return tuple(cell for cell in range(36) if mask >> cell & 1)


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "n_tiles"), SMALL, ids=str)
def test_regions_are_the_connected_free_cells(size: BoardSize, n_tiles: int) -> None:
    blocks = pattern_blocks(size, n_tiles)
    assert blocks.n_sets == math.comb(size.n_cells, n_tiles)
    for s, mask in enumerate(blocks.cell_sets.tolist()):
        occupied = cells_of(mask)
        expected = {naive.naive_region(c, occupied, size) for c in range(size.n_cells) if c not in occupied}
        first, last = blocks.first_block[s], blocks.first_block[s + 1]
        regions = [cells_of(region) for region in blocks.regions[first:last].tolist()]
        assert {frozenset(region) for region in regions} == expected
        assert regions == sorted(regions)
        for region in regions:
            for cell in region:
                assert blocks.regions[first + blocks.region_numbers[s, cell]] == sum(1 << c for c in region)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "goal", "tiles"),
    [
        (BoardSize(2, 3), (1, 2, 3, 4, 5, 0), (1, 2, 5)),
        (BoardSize(3, 2), (0, 5, 4, 3, 2, 1), (2, 3, 4, 5)),
        (BoardSize(3, 3), (1, 2, 3, 8, 0, 4, 7, 6, 5), (2, 3, 7)),
        (BoardSize(3, 3), (1, 2, 3, 4, 5, 6, 7, 8, 0), (1, 4, 7, 8)),
        (BoardSize(4, 3), blank_last(BoardSize(4, 3)), (3, 6, 10)),
    ],
    ids=str,
)
def test_distances_along_the_transitions_equal_naive(
    size: BoardSize, goal: tuple[int, ...], tiles: tuple[int, ...]
) -> None:
    """A search from the goal by blocks, jumps and arrangement ranks alone; each state it meets, and its distance."""
    blocks = pattern_blocks(size, len(tiles))
    layout = block_transitions(blocks, 0, blocks.n_sets)
    positions = jump_positions(len(tiles), size.width)
    permutations = [jump_permutation(len(tiles), *before_after).tolist() for before_after in positions]
    moves: dict[int, list[tuple[int, int]]] = {}
    for block in range(blocks.n_blocks):
        for t in range(layout.first[block], layout.first[block + 1]):
            moves.setdefault(int(layout.sources[t]), []).append((block, int(layout.jumps[t])))
    start = blocks.state_of(goal, tiles)
    distances = {start: 0}
    queue = deque([start])
    while queue:
        block, rank = queue.popleft()
        for target, jump in moves.get(block, []):
            state = (target, rank if jump == NO_JUMP else permutations[jump][rank])
            if state not in distances:
                distances[state] = distances[block, rank] + 1
                queue.append(state)

    placements = naive.naive_placements(size.n_cells, len(tiles))
    found = {}
    for (block, rank), distance in distances.items():
        cell_set = int(np.searchsorted(blocks.first_block, block, side="right")) - 1
        region = frozenset(cells_of(int(blocks.regions[block])))
        found[placements[cell_set * blocks.n_orders + rank], region] = distance
    assert found == naive.naive_pattern_distances(size, goal, tiles)


@pytest.mark.parametrize(
    ("size", "n_tiles", "n_sets", "n_blocks"),
    [
        (BoardSize(4, 4), 6, 8_008, 16_412),
        (BoardSize(4, 4), 7, 11_440, 27_748),
        (BoardSize(4, 4), 8, 12_870, 35_347),
        (BoardSize(4, 4), 9, 11_440, 34_012),
        (BoardSize(5, 5), 6, 177_100, 251_400),
    ],
    ids=str,
)
def test_blocks_are_as_many_as_known(size: BoardSize, n_tiles: int, n_sets: int, n_blocks: int) -> None:
    blocks = pattern_blocks(size, n_tiles)
    assert (blocks.n_sets, blocks.n_blocks) == (n_sets, n_blocks)
