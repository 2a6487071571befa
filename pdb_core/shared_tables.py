"""Patterns that share a table, because a symmetry of the board maps one onto the other.

Pattern j may use the table of pattern i through a symmetry s of the board if s takes the goal cells of j's tiles to
those of i's, and the goal's blank region of j to that of i. Then s maps each state of j to a state of i with the same
distance. A tile of j corresponds to the tile of i to whose goal cell s takes its goal cell. If every move counts, the
region is only the blank's cell, and s keeps it.
"""

from dataclasses import dataclass

from pdb_core.board_size import BoardSize
from pdb_core.encoding import Cost
from pdb_core.pattern import Partition, Pattern
from pdb_core.puzzle import Tiles
from pdb_core.symmetry import symmetries
from pdb_core.types import BLANK


@dataclass(frozen=True)
class TableUse:
    """Table that a pattern uses: that of the pattern at `index`, with cell c mapped to `cell_map[c]`."""

    index: int
    cell_map: tuple[int, ...]

    def symmetry(self, size: BoardSize) -> str:
        """Return the name of the symmetry."""
        return next(name for name, cell_map in symmetries(size).items() if cell_map == self.cell_map)


def shared_tables(size: BoardSize, goal: Tiles, partition: Partition) -> tuple[TableUse | None, ...]:
    """Return the table that each pattern of a partition uses, None if it has its own.

    That is the table of the first pattern that it fits, by the first symmetry in the order of `symmetries`.
    """
    uses: list[TableUse | None] = []
    for pattern in partition.patterns:
        fitting = (
            TableUse(at, cell_map)
            for at, use in enumerate(uses)
            if use is None
            for cell_map in symmetries(size).values()
            if _may_share(size, goal, pattern, partition.patterns[at], cell_map, partition.cost)
        )
        uses.append(next(fitting, None))
    return tuple(uses)


def _may_share(
    size: BoardSize, goal: Tiles, pattern: Pattern, first: Pattern, cell_map: tuple[int, ...], cost: Cost
) -> bool:
    """Return whether `pattern` may use the table of `first` through `cell_map`."""
    # Cells first: regions matter only if the tiles fit.
    return {cell_map[goal.index(tile)] for tile in pattern.tiles} == {goal.index(tile) for tile in first.tiles} and {
        cell_map[cell] for cell in _goal_region(size, goal, pattern, cost)
    } == _goal_region(size, goal, first, cost)


def tiles_stood_for(goal: Tiles, pattern: Pattern, cell_map: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tile of the table's pattern that each tile of `pattern` corresponds to."""
    return tuple(goal[cell_map[goal.index(tile)]] for tile in pattern.tiles)


def _goal_region(size: BoardSize, goal: Tiles, pattern: Pattern, cost: Cost) -> set[int]:
    """Return the cells that the goal's blank can reach at no cost while the tiles of the pattern stay."""
    region, waiting = set(), [goal.index(BLANK)]
    while waiting:
        cell = waiting.pop()
        region.add(cell)
        if cost != "every-move":
            near = (cell for cell in size.neighbours[cell] if goal[cell] not in pattern.tiles)
            waiting += [cell for cell in near if cell not in region]
    return region
