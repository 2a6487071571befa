"""Small drawings as SVG text: boards, lines, circles and words, legible on light and on dark pages."""

from collections.abc import Mapping
from math import hypot
from xml.sax.saxutils import escape

CELL = 22
# The card has its own background, so that the text on it is legible on every page.
_STYLE = """
.card{fill:#f7f8fa;stroke:#d5d9e0}.ink{fill:#22262e}.soft{fill:#616978}.line{stroke:#616978;fill:none}
.free{fill:#ffffff;stroke:#9aa3b2}.tile{fill:#4f55d6;stroke:#4f55d6}.on{fill:#ffffff}
.one{fill:#bfe3d0;stroke:#9aa3b2}.two{fill:#f6d7a8;stroke:#9aa3b2}.cut{fill:#f7f8fa;stroke:#b3403a}.way{fill:#1d8a5b;stroke:#1d8a5b}
@media (prefers-color-scheme:dark){.card{fill:#232730;stroke:#3a4150}.ink{fill:#e8eaef}.soft{fill:#a5adbb}
.line{stroke:#a5adbb}.free{fill:#2d323d;stroke:#5a6373}.one{fill:#2b6048;stroke:#5a6373}.two{fill:#7a5a22;stroke:#5a6373}
.cut{fill:#232730;stroke:#e58b84}}
"""


class Drawing:
    """SVG drawing of a width and height in pixels."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui,sans-serif" font-size="13" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        ]

    def words(self, x: float, y: float, text: str, *, kind: str = "ink", anchor: str = "start", size: int = 13) -> None:
        """Draw a line of text; its baseline starts, ends or is centred at x, y."""
        self._parts.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, *, arrow: bool = False) -> None:
        """Draw a straight line; an arrow has a head at its end."""
        self._parts.append(f'<path class="line" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')
        if arrow:
            length = hypot(x2 - x1, y2 - y1)
            along_x, along_y = (x2 - x1) / length, (y2 - y1) / length
            left, right = (
                f"{round(x2 - 5 * along_x + side * along_y, 1):g} {round(y2 - 5 * along_y - side * along_x, 1):g}"
                for side in (4, -4)
            )
            self._parts.append(f'<path class="line" d="M{left}L{x2:g} {y2:g}L{right}"/>')

    def circle(self, x: float, y: float, text: str, kind: str) -> None:
        """Draw a node of a tree."""
        self._parts.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="11" stroke-width="1.5"/>')
        self.words(x, y + 4, text, kind="ink" if kind in ("cut", "free") else "on", anchor="middle", size=12)

    def box(self, x: float, y: float, width: float, height: float, text: str = "", kind: str = "free") -> None:
        """Draw a rectangle with a line of text in its middle."""
        self._parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" stroke-width="1"/>'
        )
        if text:
            ink = "on" if kind == "tile" else "ink"
            self.words(x + width / 2, y + height / 2 + 4, text, kind=ink, anchor="middle", size=12)

    def board(
        self, x: float, y: float, width: int, tiles: Mapping[int, str], regions: Mapping[int, str], n_cells: int
    ) -> None:
        """Draw a board: `tiles` has the text on each occupied cell, `regions` the colour of other cells."""
        for cell in range(n_cells):
            left, top = x + cell % width * CELL, y + cell // width * CELL
            kind = "tile" if cell in tiles else regions.get(cell, "free")
            self._parts.append(
                f'<rect class="{kind}" x="{left:g}" y="{top:g}" width="{CELL - 1}" height="{CELL - 1}"/>'
            )
            if cell in tiles:
                self.words(left + CELL / 2 - 0.5, top + CELL / 2 + 4, tiles[cell], kind="on", anchor="middle")

    def text(self) -> str:
        """Return the whole SVG file."""
        return "\n".join([*self._parts, "</svg>"]) + "\n"
