"""Charts of the pages as SVG, and the table that is too long for a page, from docs/figures.json."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pdb_query import read_instances
from scripts.figures.tables import formatted, program_rows

Figures = Mapping[str, Any]

_DOCS = Path(__file__).parents[2] / "docs"
_WIDTH = 720


def charts(figures: Figures) -> dict[Path, str]:
    """Return the text of each file."""
    images = _DOCS / "images"
    return {
        images / "programs.svg": programs_chart(figures),
        images / "korf50.svg": korf50_chart(figures),
        images / "strength.svg": strength_chart(figures),
        _DOCS / "korf50.csv": korf50_csv(figures),
    }


def _svg(title: str, height: int, style: str, parts: Sequence[str]) -> str:
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{title}</title>",
        f"<style>{style}</style>",
        *parts,
        "</svg>\n",
    ))  # fmt: skip


def _on_axis(value: float, powers: tuple[int, int], start: int, stop: int) -> float:
    """Return the place of a value on a logarithmic axis, which has two powers of ten at its ends."""
    return start + (stop - start) * (math.log10(value) - powers[0]) / (powers[1] - powers[0])


def _powers_of_ten(powers: tuple[int, int], left: int, right: int, bottom: int, top: int) -> Iterator[str]:
    """Yield the lines and the labels of a vertical axis."""
    for power in range(powers[0], powers[1] + 1):
        y = _on_axis(10.0**power, powers, bottom, top)
        yield f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        label = f'10<tspan dy="-5" font-size="10">{power}</tspan>'
        yield f'<text class="tick" x="{left - 8}" y="{y + 5:.1f}">{label}</text>'


# Published programs and this one

_PANELS = (
    ("Build the tables of 7 and 8 tiles", "build_s", "s"),
    ("Random board, one thread, mean", "random_ms", "ms"),
    ("The 17 hardest boards, one thread", "hardest_s", "s"),
)
_LABEL, _BAR, _ROW = 280, 330, 22
_PROGRAMS_STYLE = """
text { font: 14px sans-serif; fill: #24292f; } .title { font-weight: bold; }
.bar { fill: #9aa5b1; } .own { fill: #1f6feb; }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .bar { fill: #6e7681; } .own { fill: #58a6ff; } }
"""


def programs_chart(figures: Figures) -> str:
    """Return one panel per measure, with one bar per program; shorter is better."""
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
    return _svg("Times of published programs and of tile-pdb; shorter is better", y, _PROGRAMS_STYLE, parts)


# The 50 boards of the 24-puzzle

# Column of docs/figures.json -> its name in the chart, and the class of its dots.
_SERIES = {
    "published_6666": ("6-6-6-6, 2002", "old"),
    "published_24_small": ("24-small, 2019", "small"),
    "published_2013": ("large tables, 2013", "large"),
    "expanded": ("24-large, tile-pdb", "own"),
}
_COLUMNS = ("generated", "expanded", "seconds_s", "published_6666", "published_24_small", "published_2013")
_KORF50_STYLE = """
text { font: 14px sans-serif; fill: #24292f; } .tick { text-anchor: end; } line { stroke: #d0d7de; }
.old { fill: #9aa5b1; } .small { fill: #d4a72c; } .large { fill: #8250df; } .own { fill: #1f6feb; }
@media (prefers-color-scheme: dark) {
text { fill: #d0d7de; } line { stroke: #30363d; } .old { fill: #6e7681; } .large { fill: #a371f7; }
.own { fill: #58a6ff; } }
"""


def korf50_csv(figures: Figures) -> str:
    """Return a line for each board: its optimal length, nodes and seconds, and published expanded nodes."""
    lengths = {board.id: board.optimal_length for board in read_instances("korf50-24puzzle")}
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("board", "length", *_COLUMNS))
    for name, row in figures["korf50"]["rows"].items():
        lines.writerow((name, lengths[name], *(row.get(column) for column in _COLUMNS)))
    return text.getvalue()


def korf50_chart(figures: Figures) -> str:
    """Return a column for each board, in the order of the oldest counts, with a dot for each search."""
    rows = sorted(figures["korf50"]["rows"].values(), key=lambda row: row["published_6666"])
    powers, left, right, bottom, top = axis = (6, 13), 60, 710, 330, 46
    parts = [*_powers_of_ten(*axis)]
    for number, (column, (label, kind)) in enumerate(_SERIES.items()):
        x = left + 6 + 165 * number
        parts.append(f'<circle class="{kind}" cx="{x}" cy="17" r="5"/><text x="{x + 10}" y="22">{label}</text>')
        for place, row in enumerate(rows):
            if row[column] is not None:
                x_of_board = left + 10 + place * (right - left - 20) / (len(rows) - 1)
                y = _on_axis(row[column], powers, bottom, top)
                parts.append(f'<circle class="{kind}" cx="{x_of_board:.1f}" cy="{y:.1f}" r="3.5"/>')
    parts.append(f'<text x="{left}" y="352">expanded nodes of 50 boards, easiest first</text>')
    title = "Expanded nodes for 50 boards of the 24-puzzle, published and of tile-pdb"
    return _svg(title, 360, _KORF50_STYLE, parts)


# Strength of heuristics for the 24-puzzle by size

# Of Clausecker and Schintke 2021: megabytes and eta of 24-small and of their strongest heuristic.
_PUBLISHED = ((249.0, 3.79e-23), (49_000.0, 2.59e-23))
_STRENGTH_STYLE = """
text { font: 14px sans-serif; fill: #24292f; } .tick { text-anchor: end; } .size { text-anchor: middle; }
line { stroke: #d0d7de; } .other { fill: #9aa5b1; } .own { fill: #1f6feb; }
@media (prefers-color-scheme: dark) {
text { fill: #d0d7de; } line { stroke: #30363d; } .other { fill: #6e7681; } .own { fill: #58a6ff; } }
"""


def strength_chart(figures: Figures) -> str:
    """Return a dot for each database by its size and its eta, with its standard error, on logarithmic axes."""
    files, sizes = figures["builds"]["rows"], (0, 5)
    etas, left, right, bottom, top = axis = (-23, -21), 66, 680, 300, 46

    def place(size_mb: float) -> float:
        return _on_axis(size_mb, sizes, left, right)

    def height(eta: float) -> float:
        return _on_axis(eta, etas, bottom, top)

    parts = [*_powers_of_ten(*axis)]
    for power in range(sizes[0], sizes[1] + 1):
        size = f"{10**power} MB" if power < 3 else f"{10 ** (power - 3)} GB"
        parts.append(f'<text class="size" x="{place(10.0**power):.1f}" y="{bottom + 20}">{size}</text>')
    for name, row in figures["strength"]["rows"].items():
        if name in files:
            x, eta, error = place(files[name]["file_mb"]), float(row["eta"]), float(row["eta_error"])
            parts.append(
                f'<line x1="{x:.1f}" y1="{height(eta - error):.1f}" x2="{x:.1f}" y2="{height(eta + error):.1f}"/>'
            )
            parts.append(_dot("own", x, height(eta), name))
    parts += [_dot("other", place(size_mb), height(eta)) for size_mb, eta in _PUBLISHED]
    parts += [_dot("own", left + 6, 17, "tile-pdb"), _dot("other", left + 106, 17, "Clausecker and Schintke 2021")]
    parts.append(f'<text x="{left}" y="340">eta by the size of the tables; lower is stronger</text>')
    return _svg("Eta of databases of the 24-puzzle by their size; lower is stronger", 344, _STRENGTH_STYLE, parts)


def _dot(kind: str, x: float, y: float, name: str = "") -> str:
    text = f'<text x="{x + 9:.1f}" y="{y + 5:.1f}">{name}</text>' * bool(name)
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>{text}'
