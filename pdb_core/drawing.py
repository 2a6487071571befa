"""Pictures of boards as SVG, for notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pdb_core.pattern import Partition
    from pdb_core.puzzle import Board

# Light colours that stay apart in most kinds of colour blindness (after Okabe and Ito 2008); black text is on them.
COLOURS = ("#9fd3f5", "#f5c56b", "#8fd9b6", "#f2a27e", "#e0b3d6", "#f3ec8a", "#b9c4f2", "#cfcfcf")
_PLAIN = "#e8e4da"
_CELL, _GAP = 40, 2


class HasPartition(Protocol):
    """Any object with a partition, such as a `Database`."""

    @property
    def partition(self) -> "Partition":
        """The patterns."""


@dataclass(frozen=True)
class Drawing:
    """Picture in SVG, which a notebook shows."""

    svg: str

    def __repr__(self) -> str:
        return f"Drawing({len(self.svg)} characters of SVG)"

    def _repr_svg_(self) -> str:
        return self.svg


def tile_colours(n_cells: int, patterns: Sequence[Sequence[int]]) -> list[str]:
    """Return the colour of each tile by its pattern, one colour for tiles in no pattern."""
    result = [_PLAIN] * n_cells
    for number, tiles in enumerate(patterns):
        for tile in tiles:
            result[tile] = COLOURS[number % len(COLOURS)]
    return result


def pattern_colours(board: "Board", database: HasPartition | None) -> list[str]:
    """Return the colour of each tile by the patterns of a database: of a catalogue those of its first partition."""
    if database is None:
        return tile_colours(board.size.n_cells, [])
    partition = database.partition
    return tile_colours(board.size.n_cells, [partition.patterns[place].tiles for place in partition.sums[0]])


def board_drawing(board: "Board", database: HasPartition | None) -> Drawing:
    """Return the picture of `board`; see `Board.draw`."""
    size, colours = board.size, pattern_colours(board, database)
    width, height = (side * _CELL + _GAP for side in (size.width, size.height))
    label = escape(repr(board), quote=True)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{label}">',
        f'<rect width="{width}" height="{height}" rx="4" fill="#6b6357"/>',
    ]
    for cell, tile in enumerate(board):
        if tile:
            row, column = size.row_and_column(cell)
            x, y, side = column * _CELL + _GAP, row * _CELL + _GAP, _CELL - _GAP
            parts.append(
                f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="4" fill="{colours[tile]}"/>'
                f'<text x="{x + side / 2}" y="{y + side / 2}" font-family="sans-serif" font-size="{side * 0.45:.1f}" '
                f'text-anchor="middle" dominant-baseline="central" fill="#222">{tile}</text>'
            )
    return Drawing("".join([*parts, "</svg>"]))
