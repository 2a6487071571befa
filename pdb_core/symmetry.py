"""Symmetries of the board, and what they are good for: one table serves many goals, and gives each board several sums.

A symmetry maps cells to cells. Together with the relabelling of tiles that it forces, it maps a board to another board
at the same distance from its goal. So a table for one goal answers for every goal whose blank a symmetry takes to the
table's blank, and the symmetries that leave the goal's blank where it is give further lower bounds for the same board:
for a blank in a corner of a square that is the reflection at the diagonal (Culberson and Schaeffer 1998).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pdb_core.errors import GoalError
from pdb_core.puzzle import BLANK, Board, BoardSize, goal_name


@dataclass(frozen=True)
class Symmetry:
    """Symmetry of the board: cell c goes to `cell_map[c]`."""

    name: str
    cell_map: tuple[int, ...]


@dataclass(frozen=True)
class BoardMapping:
    """Mapping of boards of one goal to boards of another: tile t on cell c becomes `tile_map[t]` on `cell_map[c]`."""

    name: str
    cell_map: tuple[int, ...]
    tile_map: tuple[int, ...]

    def apply(self, board: Sequence[int]) -> Board:
        result = [BLANK] * len(self.cell_map)
        for cell, tile in enumerate(board):
            result[self.cell_map[cell]] = self.tile_map[tile]
        return tuple(result)

    def original_tiles(self, tiles: Sequence[int]) -> tuple[int, ...]:
        """Return the tiles of the unmapped board that become these tiles of the mapped one."""
        back = {new: old for old, new in enumerate(self.tile_map)}
        return tuple(back[tile] for tile in tiles)


@lru_cache(maxsize=32)
def symmetries(size: BoardSize) -> tuple[Symmetry, ...]:
    """Return all symmetries of the board, the identity first: 8 of a square, 4 of another rectangle."""
    flips = [
        ("identity", False, False, False),
        ("reflection", True, False, False),
        ("rotation by 180", False, True, True),
        ("anti-reflection", True, True, True),
        ("left-right flip", False, False, True),
        ("top-bottom flip", False, True, False),
        ("rotation by 90", True, False, True),
        ("rotation by 270", True, True, False),
    ]
    result = []
    for name, transpose, flip_rows, flip_columns in flips:
        if transpose and size.width != size.height:
            continue
        cell_map = []
        for cell in range(size.n_cells):
            row, column = size.row_and_column(cell)
            if transpose:
                row, column = column, row
            row = size.height - 1 - row if flip_rows else row
            column = size.width - 1 - column if flip_columns else column
            cell_map.append(size.cell(row, column))
        result.append(Symmetry(name, tuple(cell_map)))
    return tuple(result)


@lru_cache(maxsize=256)
def mappings_between(goal: Board, table_goal: Board, size: BoardSize) -> tuple[BoardMapping, ...]:
    """Return all mappings of boards with `goal` to boards with `table_goal`. The identity is first if the goals agree.

    Raises `GoalError` if no symmetry takes the blank of one goal to the blank of the other.
    """
    result = []
    for symmetry in symmetries(size):
        if symmetry.cell_map[goal.index(BLANK)] == table_goal.index(BLANK):
            tile_map = [0] * size.n_cells
            for cell, tile in enumerate(goal):
                tile_map[tile] = table_goal[symmetry.cell_map[cell]]
            result.append(BoardMapping(symmetry.name, symmetry.cell_map, tuple(tile_map)))
    if not result:
        raise GoalError(
            f"a table for the goal {goal_name(table_goal, size)} cannot serve the goal {goal_name(goal, size)}: no "
            "symmetry of the "
            f"{size} board takes one blank to the other; build one with pdb build ... --size {size} --goal "
            f'"{goal_name(goal, size)}"'
        )
    return tuple(result)


def goal_symmetries(goal: Board, size: BoardSize) -> tuple[BoardMapping, ...]:
    """Return the symmetries that fix the goal's blank, each with its relabelling; the identity first."""
    return mappings_between(goal, goal, size)
