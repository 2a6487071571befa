"""The 50 boards of the 24-puzzle: docs/korf50.csv and docs/images/korf50.svg, from docs/figures.json."""

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdb_query import read_instances

_DOCS = Path(__file__).parents[2] / "docs"
CSV, CHART = _DOCS / "korf50.csv", _DOCS / "images" / "korf50.svg"

# Column of docs/figures.json -> its name in the chart, and the class of its dots.
_SERIES = {
    "published_6666": ("6-6-6-6, 2002", "old"),
    "published_24_small": ("24-small, 2019", "small"),
    "published_2013": ("large tables, 2013", "large"),
    "expanded": ("24-large, tile-pdb", "own"),
}
_COLUMNS = ("generated", "expanded", "seconds_s", "published_6666", "published_24_small", "published_2013")
_LEFT, _RIGHT, _TOP, _BOTTOM, _WIDTH, _HEIGHT = 60, 710, 46, 330, 720, 360
# Powers of ten at the lower and the upper end of the axis.
_LEAST, _MOST = 6, 13
_STYLE = """
text { font: 14px sans-serif; fill: #24292f; } .tick { text-anchor: end; } line { stroke: #d0d7de; }
.old { fill: #9aa5b1; } .small { fill: #d4a72c; } .large { fill: #8250df; } .own { fill: #1f6feb; }
@media (prefers-color-scheme: dark) {
text { fill: #d0d7de; } line { stroke: #30363d; } .old { fill: #6e7681; } .large { fill: #a371f7; }
.own { fill: #58a6ff; } }
"""


def korf50_csv(figures: Mapping[str, Any]) -> str:
    """Return a line for each board: its optimal length, nodes and seconds, and published expanded nodes."""
    lengths = {board.id: board.optimal_length for board in read_instances("korf50-24puzzle")}
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("board", "length", *_COLUMNS))
    for name, row in figures["korf50"]["rows"].items():
        lines.writerow((name, lengths[name], *(row.get(column) for column in _COLUMNS)))
    return text.getvalue()


def korf50_chart(figures: Mapping[str, Any]) -> str:
    """Return the SVG: a column for each board, in the order of the oldest counts, and a dot for each search."""
    rows = sorted(figures["korf50"]["rows"].values(), key=lambda row: row["published_6666"])
    parts = []
    for power in range(_LEAST, _MOST + 1):
        y = _height(10**power)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 5:.1f}">10<tspan dy="-5" font-size="10">{power}</tspan></text>'
        )
    for number, (column, (label, kind)) in enumerate(_SERIES.items()):
        x = _LEFT + 6 + 165 * number
        parts.append(f'<circle class="{kind}" cx="{x}" cy="17" r="5"/><text x="{x + 10}" y="22">{label}</text>')
        for place, row in enumerate(rows):
            if row[column] is not None:
                x_of_board = _LEFT + 10 + place * (_RIGHT - _LEFT - 20) / (len(rows) - 1)
                parts.append(f'<circle class="{kind}" cx="{x_of_board:.1f}" cy="{_height(row[column]):.1f}" r="3.5"/>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">\n'
        f"<title>Expanded nodes for 50 boards of the 24-puzzle, published and of tile-pdb</title>\n"
        f"<style>{_STYLE}</style>\n{body}\n"
        f'<text x="{_LEFT}" y="{_HEIGHT - 8}">expanded nodes of 50 boards, easiest first</text>\n</svg>\n'
    )


def _height(nodes: float) -> float:
    """Return the y of a number of nodes, on a logarithmic axis."""
    return _BOTTOM - (_BOTTOM - _TOP) * (math.log10(nodes) - _LEAST) / (_MOST - _LEAST)
