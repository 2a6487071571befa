"""Naive twin of the test that patterns may share a table: it compares all their distances."""

from typing import Any

from pdb_core.board_size import BoardSize
from pdb_core.encoding import Cost
from pdb_core.puzzle import Tiles
from tests.naive.boards_and_tables import naive_pattern_distances
from tests.naive.standard_tables import naive_every_move_distances


def naive_may_share(
    size: BoardSize,
    goal: Tiles,
    tiles: tuple[int, ...],
    first_tiles: tuple[int, ...],
    cell_map: tuple[int, ...],
    cost: Cost,
) -> bool:
    """Return True if every state of `tiles` has the distance of the state of `first_tiles` on the mapped cells."""
    stood_for = [goal[cell_map[goal.index(tile)]] for tile in tiles]
    if sorted(stood_for) != sorted(first_tiles):
        return False
    order = [stood_for.index(tile) for tile in first_tiles]

    distances: Any = naive_every_move_distances if cost == "every-move" else naive_pattern_distances

    def mapped(cells: tuple[int, ...], blank: int | frozenset[int]) -> tuple[tuple[int, ...], int | frozenset[int]]:
        at = cell_map[blank] if isinstance(blank, int) else frozenset(cell_map[cell] for cell in blank)
        return tuple(cell_map[cells[place]] for place in order), at

    found = {mapped(*state): distance for state, distance in distances(size, goal, tiles).items()}
    return bool(found == distances(size, goal, first_tiles))
