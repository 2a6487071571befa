"""Naive twins of the tables of standard PDBs, in which every move counts."""

from collections import deque

from pdb_core.puzzle import BoardSize, Tiles
from tests.naive.boards_and_tables import Placement, naive_neighbours, naive_placements

PlacementAndBlank = tuple[Placement, int]


def naive_every_move_distances(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> dict[PlacementAndBlank, int]:
    """Moves to the goal of each placement of the tiles and cell of the blank; the other tiles all look the same."""
    start = tuple(goal.index(tile) for tile in tiles), goal.index(0)
    distances = {start: 0}
    queue = deque([start])
    while queue:
        cells, blank = queue.popleft()
        for near in naive_neighbours(blank, size):
            state = tuple(blank if cell == near else cell for cell in cells), near
            if state not in distances:
                distances[state] = distances[cells, blank] + 1
                queue.append(state)
    return distances


def naive_every_move_bits(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> bytes:
    """The table: for each set of cells and free cell, bit 1 of the distance of each arrangement, lowest bit first."""
    distances = naive_every_move_distances(size, goal, tiles)
    by_cell_set: dict[tuple[int, ...], list[Placement]] = {}
    for placement in naive_placements(size.n_cells, len(tiles)):
        by_cell_set.setdefault(tuple(sorted(placement)), []).append(placement)
    table = bytearray()
    for cell_set, arrangements in by_cell_set.items():
        for blank in sorted(set(range(size.n_cells)) - set(cell_set)):
            bits = [distances.get((cells, blank), 0) >> 1 & 1 for cells in arrangements]
            for first in range(0, len(bits), 8):
                table.append(sum(bit << i for i, bit in enumerate(bits[first : first + 8])))
    return bytes(table)
