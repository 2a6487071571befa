"""Strength of heuristics for the 24-puzzle by size: docs/images/strength.svg, from docs/figures.json."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHART = Path(__file__).parents[2] / "docs" / "images" / "strength.svg"

# Of Clausecker and Schintke 2021: megabytes and eta of 24-small and of their strongest heuristic.
_PUBLISHED = ((249.0, 3.79e-23), (49_000.0, 2.59e-23))
_LEFT, _RIGHT, _TOP, _BOTTOM, _WIDTH, _HEIGHT = 66, 680, 46, 300, 720, 344
# Powers of ten of megabytes and of eta at the ends of the axes.
_SIZES, _ETAS = (0, 5), (-23, -21)
_STYLE = """
text { font: 14px sans-serif; fill: #24292f; } .tick { text-anchor: end; } .size { text-anchor: middle; }
line { stroke: #d0d7de; } .other { fill: #9aa5b1; } .own { fill: #1f6feb; }
@media (prefers-color-scheme: dark) {
text { fill: #d0d7de; } line { stroke: #30363d; } .other { fill: #6e7681; } .own { fill: #58a6ff; } }
"""


def strength_chart(figures: Mapping[str, Any]) -> str:
    """Return the SVG: a dot for each database by its size and its eta, with its standard error, on logarithmic axes."""
    files = figures["builds"]["rows"]
    parts = []
    for power in range(_ETAS[0], _ETAS[1] + 1):
        y = _height(10.0**power)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}"/>')
        tick = (
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 5:.1f}">10<tspan dy="-5" font-size="10">{power}</tspan></text>'
        )
        parts.append(tick)
    for power in range(_SIZES[0], _SIZES[1] + 1):
        size = f"{10**power} MB" if power < 3 else f"{10 ** (power - 3)} GB"
        parts.append(f'<text class="size" x="{_place(10.0**power):.1f}" y="{_BOTTOM + 20}">{size}</text>')
    own = {
        name: (files[name]["file_mb"], float(row["eta"]), float(row["eta_error"]))
        for name, row in figures["strength"]["rows"].items()
        if name in files
    }
    for name, (size_mb, eta, error) in own.items():
        x = _place(size_mb)
        parts.append(
            f'<line x1="{x:.1f}" y1="{_height(eta - error):.1f}" x2="{x:.1f}" y2="{_height(eta + error):.1f}"/>'
        )
        parts.append(_dot("own", x, _height(eta), name))
    parts += [_dot("other", _place(size_mb), _height(eta)) for size_mb, eta in _PUBLISHED]
    parts += [_dot("own", _LEFT + 6, 17, "tile-pdb"), _dot("other", _LEFT + 106, 17, "Clausecker and Schintke 2021")]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">\n'
        f"<title>Eta of databases of the 24-puzzle by their size; lower is stronger</title>\n"
        f"<style>{_STYLE}</style>\n{body}\n"
        f'<text x="{_LEFT}" y="{_HEIGHT - 4}">eta by the size of the tables; lower is stronger</text>\n</svg>\n'
    )


def _dot(kind: str, x: float, y: float, name: str = "") -> str:
    text = f'<text x="{x + 9:.1f}" y="{y + 5:.1f}">{name}</text>' * bool(name)
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>{text}'


def _place(size_mb: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (math.log10(size_mb) - _SIZES[0]) / (_SIZES[1] - _SIZES[0])


def _height(eta: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (math.log10(eta) - _ETAS[0]) / (_ETAS[1] - _ETAS[0])
