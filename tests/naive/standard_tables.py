"""Naive twins of the tables of standard PDBs, in which every move counts."""

from pdb_core.puzzle import BoardSize, Tiles
from tests.naive.boards_and_tables import Placement, breadth_first, naive_neighbours, naive_placements, packed_bits

PlacementAndBlank = tuple[Placement, int]


def naive_every_move_distances(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> dict[PlacementAndBlank, int]:
    """Moves to the goal of each placement of the tiles and cell of the blank; the other tiles all look the same."""

    def moves(state: PlacementAndBlank) -> list[PlacementAndBlank]:
        cells, blank = state
        return [
            (tuple(blank if cell == near else cell for cell in cells), near) for near in naive_neighbours(blank, size)
        ]

    return breadth_first((tuple(goal.index(tile) for tile in tiles), goal.index(0)), moves)


def naive_every_move_bits(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> bytes:
    """The table: for each set of cells and free cell, bit 1 of the distance of each arrangement, lowest bit first."""
    distances = naive_every_move_distances(size, goal, tiles)
    by_cell_set: dict[tuple[int, ...], list[Placement]] = {}
    for placement in naive_placements(size.n_cells, len(tiles)):
        by_cell_set.setdefault(tuple(sorted(placement)), []).append(placement)
    table = b""
    for cell_set, arrangements in by_cell_set.items():
        for blank in sorted(set(range(size.n_cells)) - set(cell_set)):
            table += packed_bits(distances.get((cells, blank), 0) for cells in arrangements)
    return table
