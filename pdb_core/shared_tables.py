"""Patterns that share a table: a symmetry of the board maps one onto the other, so their distances are the same.

Pattern j may use the table of pattern i through a symmetry s of the board if s takes the goal cells of j's tiles to
those of i's, and the blank region of j's goal that holds the goal's blank to that of i's. A state of j, its cells and
the blank's mapped by s, is then a state of i as many moves from where the search began; a tile of j stands for the tile
of i whose goal cell s takes it to. Where every move counts, the region is the blank's cell alone, and s keeps it.
"""

from dataclasses import dataclass

from pdb_core.cost import Cost
from pdb_core.pattern import Partition, Pattern
from pdb_core.puzzle import BLANK, Board, BoardSize
from pdb_core.symmetry import symmetries


@dataclass(frozen=True)
class TableUse:
    """How a pattern finds its distances: in the table of the pattern at `index`, cell c as `cell_map[c]`."""

    index: int
    cell_map: tuple[int, ...]

    def symmetry(self, size: BoardSize) -> str:
        """The name of the symmetry."""
        return next(symmetry.name for symmetry in symmetries(size) if symmetry.cell_map == self.cell_map)


def own_tables(size: BoardSize, n_patterns: int) -> tuple[TableUse, ...]:
    """Every pattern has a table of its own."""
    return tuple(TableUse(index, tuple(range(size.n_cells))) for index in range(n_patterns))


def shared_tables(size: BoardSize, goal: Board, partition: Partition) -> tuple[TableUse, ...]:
    """Which table each pattern of a partition uses: that of the first pattern it fits, by the first symmetry, in the
    order of `symmetries`; else its own, by the identity.
    """
    uses: list[TableUse] = []
    for index, use in enumerate(own_tables(size, len(partition.patterns))):
        fitting = (
            TableUse(first.index, symmetry.cell_map)
            for at, first in enumerate(uses)
            if first.index == at
            for symmetry in symmetries(size)
            if may_share(
                size, goal, partition.patterns[index], partition.patterns[at], symmetry.cell_map, partition.cost
            )
        )
        uses.append(next(fitting, use))
    return tuple(uses)


def may_share(
    size: BoardSize, goal: Board, pattern: Pattern, first: Pattern, cell_map: tuple[int, ...], cost: Cost
) -> bool:
    """Whether `pattern` may use the table of `first` through `cell_map`."""
    if all(symmetry.cell_map != cell_map for symmetry in symmetries(size)):
        return False
    # Cells first: regions of patterns whose tiles do not fit need not be looked at.
    return {cell_map[goal.index(tile)] for tile in pattern.tiles} == {goal.index(tile) for tile in first.tiles} and {
        cell_map[cell] for cell in _goal_region(size, goal, pattern, cost)
    } == _goal_region(size, goal, first, cost)


def tiles_stood_for(goal: Board, pattern: Pattern, cell_map: tuple[int, ...]) -> tuple[int, ...]:
    """The tile of the table's pattern that each tile of `pattern` stands for, in their order."""
    return tuple(goal[cell_map[goal.index(tile)]] for tile in pattern.tiles)


def _goal_region(size: BoardSize, goal: Board, pattern: Pattern, cost: Cost) -> set[int]:
    """The cells that the goal's blank may roam at no cost while the tiles of the pattern are in their places."""
    region, waiting = set(), [goal.index(BLANK)]
    while waiting:
        cell = waiting.pop()
        region.add(cell)
        if cost != "every-move":
            near = (cell for cell in size.neighbours[cell] if goal[cell] not in pattern.tiles)
            waiting += [cell for cell in near if cell not in region]
    return region
