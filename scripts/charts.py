"""Draw the charts of docs/images from docs/figures.json and docs/korf50.csv: scripts/measure charts."""

import csv
import json
from typing import Any

from matplotlib import rc_context

from pdb_study.plots import save_plot
from scripts.measure import FIGURES

_DOCS = FIGURES.parent
_OWN, _OTHER = "#1f6feb", "#9aa5b1"
# Column of docs/korf50.csv: its name in the chart, and its colour.
_SERIES = {
    "published_6666": ("6-6-6-6, 2002", _OTHER),
    "published_24_small": ("24-small, 2019", "#d4a72c"),
    "published_2013": ("large tables, 2013", "#8250df"),
    "expanded": ("24-large, tile-pdb", _OWN),
}
# Of Clausecker and Schintke 2021: megabytes and eta of 24-small and of their strongest heuristic.
_PUBLISHED = ((249.0, 49_000.0), (3.79e-23, 2.59e-23))


def draw_korf50(axes: Any) -> None:
    """Draw a column for each board, in the order of the oldest counts, with a dot for each search."""
    rows = list(csv.DictReader((_DOCS / "korf50.csv").open(encoding="utf-8")))
    rows.sort(key=lambda row: int(row["published_6666"]))
    for column, (label, colour) in _SERIES.items():
        axes.scatter(range(len(rows)), [int(row[column]) for row in rows], s=14, color=colour, label=label)
    axes.set(yscale="log", xticks=[], xlabel="50 boards, easiest first", ylabel="expanded nodes")
    axes.legend()


def draw_strength(axes: Any) -> None:
    """Draw a dot for each database by its size and its eta, with its standard error."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for name, row in figures["strength"].items():
        if name in figures["builds"]:
            place = figures["builds"][name]["file_mb"], row["eta"]
            axes.errorbar(*place, row["eta_error"], fmt="o", color=_OWN)
            axes.annotate(name, place, xytext=(8, 4), textcoords="offset points")
    axes.scatter(*_PUBLISHED, color=_OTHER, label="Clausecker and Schintke 2021")
    axes.set(xscale="log", yscale="log", xlabel="tables, MB", ylabel="eta; lower is stronger")
    axes.legend()


def main() -> None:
    """Write both charts."""
    # Text stays text, which is smaller.
    with rc_context({"svg.fonttype": "none"}):
        for name, draw in (("korf50", draw_korf50), ("strength", draw_strength)):
            with (_DOCS / "images" / f"{name}.svg").open("wb") as file:
                save_plot(draw, file, "svg")


if __name__ == "__main__":
    main()
