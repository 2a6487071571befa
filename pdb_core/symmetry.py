"""Symmetries of the board: one table serves several goals, and gives each board several sums.

A symmetry maps cells to cells. Together with the relabelling of tiles that it forces, it maps a board to another board
at the same distance from its goal. So a table for one goal serves every goal whose blank a symmetry takes to the
table's blank. The symmetries that keep the goal's blank give further lower bounds for the same board: for a blank in a
corner of a square that is the reflection at the diagonal (Culberson and Schaeffer 1998).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.errors import GoalError
from pdb_core.puzzle import Tiles, goal_name
from pdb_core.types import BLANK


@dataclass(frozen=True)
class BoardMapping:
    """Mapping of boards of one goal to boards of another: tile t on cell c becomes `tile_map[t]` on `cell_map[c]`."""

    name: str
    cell_map: tuple[int, ...]
    tile_map: tuple[int, ...]

    def apply(self, board: Sequence[int]) -> Tiles:
        result = [BLANK] * len(self.cell_map)
        for cell, tile in enumerate(board):
            result[self.cell_map[cell]] = self.tile_map[tile]
        return tuple(result)

    def original_tiles(self, tiles: Sequence[int]) -> tuple[int, ...]:
        """Return the tiles of the unmapped board that become these tiles of the mapped one."""
        return tuple(map(self.tile_map.index, tiles))


@lru_cache(maxsize=32)
def symmetries(size: BoardSize) -> dict[str, tuple[int, ...]]:
    """Return all symmetries of the board by name, the identity first: 8 of a square, 4 of another rectangle.

    A symmetry takes cell c to `cell_map[c]`.
    """
    cells = np.arange(size.n_cells).reshape(size.height, size.width)
    moved = {
        "identity": cells,
        "reflection": cells.T,
        "rotation by 180": cells[::-1, ::-1],
        "anti-reflection": cells[::-1, ::-1].T,
        "left-right flip": cells[:, ::-1],
        "top-bottom flip": cells[::-1],
        "rotation by 90": np.rot90(cells, -1),
        "rotation by 270": np.rot90(cells),
    }
    return {name: tuple(np.argsort(of, axis=None).tolist()) for name, of in moved.items() if of.shape == cells.shape}


@lru_cache(maxsize=256)
def mappings_between(goal: Tiles, table_goal: Tiles, size: BoardSize) -> tuple[BoardMapping, ...]:
    """Return all mappings of boards with `goal` to boards with `table_goal`. The identity is first if the goals agree.

    Raises `GoalError` if no symmetry takes the blank of one goal to the blank of the other.
    """
    result = []
    for name, cell_map in symmetries(size).items():
        if cell_map[goal.index(BLANK)] == table_goal.index(BLANK):
            tile_map = tuple(table_goal[cell_map[goal.index(tile)]] for tile in range(size.n_cells))
            result.append(BoardMapping(name, cell_map, tile_map))
    if not result:
        raise GoalError(
            f"a table for the goal {goal_name(table_goal, size)} cannot serve the goal {goal_name(goal, size)}: no "
            f"symmetry of the {size} board takes one blank to the other; "
            "build a table for this size and goal with pdb build"
        )
    return tuple(result)
