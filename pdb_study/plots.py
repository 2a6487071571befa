"""Plots of studies with matplotlib, an extra: each function draws on the axes that it is given."""

import io
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pdb_query import Database
    from pdb_study.compare import Comparison
    from pdb_study.heuristics import HeuristicStudy
    from pdb_study.space import StateSpace

# Bands of standard deviations that can be distinguished in a plot.
_MOST_SHADED = 4
# Longer tables are folded.
_MOST_OPEN_ROWS = 12


def html(draw: Callable[[Any], None], header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a plot and a table for a notebook; without matplotlib the table alone."""
    head = "".join(f'<th style="text-align:right">{escape(text)}</th>' for text in header)
    cells = ("".join(f'<td style="text-align:right">{escape(text)}</td>' for text in row) for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>"
    if len(rows) > _MOST_OPEN_ROWS:
        table = f"<details><summary>{len(rows)} rows</summary>{table}</details>"
    return f"<div>{svg(draw)}{table}</div>"


def svg(draw: Callable[[Any], None], *, width: float = 8, height: float = 4.5) -> str:
    """Return a plot as SVG of a size in inches; "" without matplotlib. Other figures and settings are left alone."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    figure = Figure(figsize=(width, height), layout="constrained")
    draw(figure.subplots())
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    # The declaration of XML and of the type may not be within HTML.
    return file.getvalue()[file.getvalue().index("<svg") :]


def draw_heuristics(study: "HeuristicStudy", axes: Any) -> None:
    """Draw the mean of each heuristic by distance; with few heuristics also a band of one standard deviation."""
    shades = len(study.names) <= _MOST_SHADED
    distances = [row.distance for row in study.rows]
    axes.plot(distances, distances, color="black", linewidth=0.8, linestyle=":", label="the distance itself")
    # By decreasing mean, so that the legend has the order of the lines.
    for i in sorted(range(len(study.names)), key=lambda i: -study.overall[i].mean):
        means = np.array([row.spreads[i].mean for row in study.rows])
        deviations = np.array([row.spreads[i].standard_deviation for row in study.rows])
        (line,) = axes.plot(distances, means, marker="o", markersize=3, label=study.names[i])
        if shades:
            axes.fill_between(
                distances, means - deviations, means + deviations, color=line.get_color(), alpha=0.12, linewidth=0
            )
    axes.set_xlabel("distance from the goal (moves)")
    axes.set_ylabel("h: mean and standard deviation" if shades else "mean h")
    axes.set_title(f"Heuristics on {study.boards_text}")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left" if shades else "center left", bbox_to_anchor=None if shades else (1.01, 0.5))


def draw_comparison(comparison: "Comparison", axes: Any) -> None:
    """Draw the mean nodes of the rows that solved all boards, on a logarithmic scale."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    rows = comparison.whole_rows
    labels = [f"{row.heuristic or 'no heuristic'}, {row.search}" for row in rows]
    means = [row.mean_generated or 0.0 for row in rows]
    # Points, because the lengths of bars on a logarithmic scale mean nothing.
    axes.plot(means, labels, "o")
    for label, mean in zip(labels, means, strict=True):
        axes.annotate(f"{mean:,.0f}", (mean, label), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.15, y=0.15)
    axes.set_xlabel("mean nodes generated")
    axes.set_title(f"Mean nodes to solve the same {rows[0].n_solved:,} boards")
    axes.grid(axis="x", alpha=0.3)


def draw_space(space: "StateSpace", axes: Any) -> None:
    """Draw the number of boards by distance."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    counts = space.counts
    axes.bar(range(len(counts)), counts, width=0.85, color="#4878a8")
    axes.set_xlabel("distance from the goal (moves)")
    axes.set_ylabel("boards")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(-0.8, len(counts) - 0.2)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    title = f"Boards of the {space.size} puzzle up to {space.depth} moves from the goal"
    if space.is_complete:
        axes.axvline(space.mean, color="#c44e52", linestyle="--")
        farthest = f"{counts[-1]:,} board" + ("" if counts[-1] == 1 else "s")
        title = (
            f"All {space.n_boards:,} boards of the {space.size} puzzle: mean distance {space.mean:.2f}, "
            f"largest {space.depth} ({farthest})"
        )
    axes.set_title(title)


def draw_histograms(database: "Database", axes: Any) -> None:
    """Draw the share of the entries of each table by distance."""
    for entry in database.header.tables.values():
        share = [100 * n / entry.n_entries for n in entry.histogram]
        mean = sum(distance * n for distance, n in enumerate(entry.histogram)) / sum(entry.histogram)
        tiles = " ".join(map(str, entry.pattern.tiles))
        axes.plot(range(len(share)), share, marker="o", markersize=3, label=f"{{{tiles}}}  mean {mean:.1f}")
    of_tiles = " of the pattern's tiles" if database.cost == "additive" else ""
    axes.set_xlabel(f"distance of an entry (moves{of_tiles})")
    axes.set_ylabel("share of the entries (%)")
    axes.set_title(f"Pattern database {database.partition.name} of the {database.size} board")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(title="pattern")
