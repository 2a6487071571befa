"""Naive twin of the test that patterns may share a table: it compares all their distances."""

from pdb_core.encoding import Cost
from pdb_core.puzzle import BoardSize, Tiles
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

    def mapped(cells: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(cell_map[cells[at]] for at in order)

    if cost == "every-move":
        moves = naive_every_move_distances(size, goal, tiles)
        return {(mapped(cells), cell_map[blank]): d for (cells, blank), d in moves.items()} == (
            naive_every_move_distances(size, goal, first_tiles)
        )
    of_regions = naive_pattern_distances(size, goal, tiles)
    return {
        (mapped(cells), frozenset(cell_map[c] for c in region)): d for (cells, region), d in of_regions.items()
    } == (naive_pattern_distances(size, goal, first_tiles))
