"""Chart of published programs and this one, docs/images/programs.svg, from docs/figures.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.figures.tables import formatted, program_rows

CHART = Path(__file__).parents[2] / "docs" / "images" / "programs.svg"

_PANELS = (
    ("Build the tables of 7 and 8 tiles", "build_s", "s"),
    ("Random board, one thread, mean", "random_ms", "ms"),
    ("The 17 hardest boards, one thread", "hardest_s", "s"),
)
_LABEL, _BAR, _ROW, _WIDTH = 280, 330, 22, 720
_STYLE = """
text { font: 14px sans-serif; fill: #24292f; } .title { font-weight: bold; }
.bar { fill: #9aa5b1; } .own { fill: #1f6feb; }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .bar { fill: #6e7681; } .own { fill: #58a6ff; } }
"""


def programs_chart(figures: Mapping[str, Any]) -> str:
    """Return the SVG: one panel per measure, one bar per program, shorter is better."""
    programs = program_rows(figures)
    parts: list[str] = []
    y = 0
    for title, column, unit in _PANELS:
        values = {name: row[column] for name, row in programs.items() if row.get(column) is not None}
        y += 26
        parts.append(f'<text class="title" x="8" y="{y}">{title}</text>')
        for name, value in values.items():
            y += _ROW
            width = max(2.0, _BAR * value / max(values.values()))
            kind = "own" if name == "tile-pdb" else "bar"
            parts.append(
                f'<text x="8" y="{y}">{name}</text>'
                f'<rect class="{kind}" x="{_LABEL}" y="{y - 13}" width="{width:.1f}" height="16"/>'
                f'<text x="{_LABEL + width + 8:.1f}" y="{y}">{formatted(value)} {unit}</text>'
            )
        y += 14
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" role="img">\n'
        f"<title>Times of published programs and of tile-pdb; shorter is better</title>\n"
        f"<style>{_STYLE}</style>\n{body}\n</svg>\n"
    )
