"""Plots of studies with matplotlib, an extra: shown in notebooks, and written to files.

Each study has a method `draw(axes)`. The functions here make the axes for it.
"""

import io
from collections.abc import Callable, Sequence
from html import escape
from typing import IO, Any

# Draws on the axes that it is given.
Draw = Callable[[Any], None]
# Longer tables are folded.
_MOST_OPEN_ROWS = 12


def html(draw: Draw, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a plot and a table for a notebook; without matplotlib the table alone."""
    head = "".join(f'<th style="text-align:right">{escape(text)}</th>' for text in header)
    cells = ("".join(f'<td style="text-align:right">{escape(text)}</td>' for text in row) for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>"
    if len(rows) > _MOST_OPEN_ROWS:
        table = f"<details><summary>{len(rows)} rows</summary>{table}</details>"
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return f"<div>{table}</div>"
    file = io.StringIO()
    save_plot(draw, file, "svg")
    # The declaration of XML and of the type may not be within HTML.
    return f"<div>{file.getvalue()[file.getvalue().index('<svg') :]}{table}</div>"


def save_plot(draw: Draw, file: IO[Any], form: str, *, width: float = 8, height: float = 4.5) -> None:
    """Write a plot of a size in inches to `file`, always as the same bytes. Other figures and settings are left alone.

    `form` is "svg", "png" or "pdf".
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    draw(figure.subplots())
    # Without a salt, the ids in an SVG are random.
    with rc_context({"svg.hashsalt": "tile-pdb"}):
        figure.savefig(file, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
