"""Pictures of boards as SVG, for notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

# Light colours that stay apart in most kinds of colour blindness (after Okabe and Ito 2008); black text is on them.
_COLOURS = ("#9fd3f5", "#f5c56b", "#8fd9b6", "#f2a27e", "#e0b3d6", "#f3ec8a", "#b9c4f2", "#cfcfcf")
_PLAIN = "#e8e4da"
_CELL, _GAP = 40, 2


@dataclass(frozen=True)
class Drawing:
    """Picture in SVG, which a notebook shows."""

    svg: str

    def __repr__(self) -> str:
        return f"Drawing({len(self.svg)} characters of SVG)"

    def _repr_svg_(self) -> str:
        return self.svg


def board_drawing(rows: Sequence[Sequence[int]], label: str, database: Any) -> Drawing:
    """Return the picture of a board. Each pattern of a database, or of a catalogue's first sum, has a colour."""
    colours: dict[int, str] = {}
    if database is not None:
        for number, place in enumerate(database.partition.sums[0]):
            colours |= dict.fromkeys(database.partition.patterns[place].tiles, _COLOURS[number % len(_COLOURS)])
    width, height, side = len(rows[0]) * _CELL + _GAP, len(rows) * _CELL + _GAP, _CELL - _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(label, quote=True)}">',
        f'<rect width="{width}" height="{height}" rx="4" fill="#6b6357"/>',
    ]
    for row, tiles in enumerate(rows):
        for column, tile in enumerate(tiles):
            if tile:
                x, y = column * _CELL + _GAP, row * _CELL + _GAP
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="4" fill="{colours.get(tile, _PLAIN)}"/>'
                    f'<text x="{x + side / 2}" y="{y + side / 2}" font-family="sans-serif" '
                    f'font-size="{side * 0.45:.1f}" text-anchor="middle" dominant-baseline="central" '
                    f'fill="#222">{tile}</text>'
                )
    return Drawing("".join([*parts, "</svg>"]))
