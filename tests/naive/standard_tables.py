"""Naive twins of the tables of standard PDBs, in which every move counts."""

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles
from tests.naive.boards_and_tables import Placement, bits_by_block, breadth_first, naive_neighbours

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
    """The table. The blocks of a set of cells are the free cells."""
    distances = naive_every_move_distances(size, goal, tiles)
    return bits_by_block(size.n_cells, len(tiles), lambda _cells, blank: blank, distances)
