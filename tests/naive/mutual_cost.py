"""Naive twins of pairs and triples: all partitions of the tiles into groups, and the moves of each group."""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

from pdb_core.puzzle import Board, BoardSize
from tests.naive.boards_and_tables import Placement, naive_pattern_distances


@cache
def naive_group_distances(size: BoardSize, goal: Board, tiles: tuple[int, ...]) -> dict[Placement, int]:
    """The moves of these tiles alone from each of their placements, the least over the blank's regions."""
    least: dict[Placement, int] = {}
    for (cells, _region), distance in naive_pattern_distances(size, goal, tiles).items():
        least[cells] = min(distance, least.get(cells, distance))
    return least


def naive_groupings(tiles: Sequence[int], n_in_group: int) -> Iterator[list[tuple[int, ...]]]:
    """All ways to put tiles into groups of up to that many."""
    if not tiles:
        yield []
        return
    first, others = tiles[0], tiles[1:]
    for n_others in range(n_in_group):
        for chosen in itertools.combinations(others, n_others):
            for groups in naive_groupings([tile for tile in others if tile not in chosen], n_in_group):
                yield [(first, *chosen), *groups]


def naive_grouped(board: Board, goal: Board, size: BoardSize, n_in_group: int) -> int:
    """The most that the tiles need in groups of up to that many."""
    needs = {
        tiles: naive_group_distances(size, goal, tiles)[tuple(board.index(tile) for tile in tiles)]
        for n_tiles in range(1, n_in_group + 1)
        for tiles in itertools.combinations(range(1, size.n_cells), n_tiles)
    }
    return max(sum(needs[group] for group in groups) for groups in naive_groupings(range(1, size.n_cells), n_in_group))


def naive_pairs(board: Board, goal: Board, size: BoardSize) -> int:
    return naive_grouped(board, goal, size, 2)


def naive_triples(board: Board, goal: Board, size: BoardSize) -> int:
    return naive_grouped(board, goal, size, 3)


def naive_best_packing(groups: Sequence[tuple[frozenset[int], int]]) -> int:
    """The largest sum of weights of groups that share nothing, by trying all sets of them."""
    if not groups:
        return 0
    (tiles, weight), *others = groups
    return max(
        naive_best_packing(others),
        weight + naive_best_packing([group for group in others if not group[0] & tiles]),
    )
