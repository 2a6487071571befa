"""Plots of docs/results.md."""

from collections.abc import Sequence
from pathlib import Path

from pdb_cli.plots import drawn
from scripts.reproduction.measure import Measured
from scripts.reproduction.rows import Row


def draw_published(rows: Sequence[tuple[Row, Measured]], path: Path) -> None:
    """Plot mean nodes as published and here, on a logarithmic scale; bars are two standard errors."""
    rows = [(row, measured) for row, measured in rows if row.published]
    with drawn(path, width=8, height=3.8) as axes:
        places = range(len(rows))
        axes.errorbar(
            [measured.nodes for _, measured in rows],
            [place + 0.12 for place in places],
            xerr=[2 * measured.nodes_error for _, measured in rows],
            fmt="o",
            capsize=3,
            label="here, with two standard errors",
        )
        axes.plot(
            [row.published.nodes for row, _ in rows if row.published],
            [place - 0.12 for place, (row, _) in zip(places, rows, strict=True) if row.published],
            "D",
            markerfacecolor="none",
            label="published",
        )
        axes.set_yticks(list(places), [row.name for row, _ in rows])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("mean nodes generated, textbook IDA*")
        axes.set_title("Random boards of the 15-puzzle: published means, and these")
        axes.grid(axis="x", alpha=0.3)
        axes.legend(loc="lower right")


def draw_steps(rows: Sequence[Measured], path: Path) -> None:
    """Plot mean nodes and milliseconds per board, from step to step."""
    with drawn(path, width=8, height=3.8) as axes:
        places = range(len(rows))
        names = [row.name if i == 0 else f"+ {row.name}" for i, row in enumerate(rows)]
        names[-2:] = [f"78 + {row.name}" for row in rows[-2:]]
        bars = axes.bar(places, [row.nodes for row in rows], width=0.6, color="tab:blue")
        # Within the bars: the line of the milliseconds is above them.
        axes.bar_label(bars, labels=[f"{row.nodes:,.0f}" for row in rows], label_type="center", color="w", fontsize=8)
        axes.set_xticks(list(places), names, fontsize=8)
        axes.set_ylabel("mean nodes generated", color="tab:blue")
        axes.margins(y=0.15)
        right = axes.twinx()
        right.plot(places, [row.mean_seconds * 1000 for row in rows], "o-", color="tab:orange")
        right.set_ylabel("milliseconds a board, one thread", color="tab:orange")
        right.set_ylim(bottom=0, top=1.5 * max(row.mean_seconds * 1000 for row in rows))
        axes.set_title("From 7-8 with its reflection to fewer nodes")
