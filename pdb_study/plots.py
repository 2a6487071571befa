"""Plots of studies with matplotlib, an extra: shown in notebooks, and written to files.

Each study has a method `draw(axes)`, for which `save_plot` makes the axes.
"""

import importlib.util
import io
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import IO, Any

# Draws on the axes that it is given.
Draw = Callable[[Any], None]
# Characters of a line of a label in a plot.
_LABEL_WIDTH = 40


class Plotted(ABC):
    """Base of studies: a notebook shows their plot if matplotlib is installed, otherwise their text."""

    @abstractmethod
    def draw(self, axes: Any) -> None:
        """Draw the study."""

    def _repr_svg_(self) -> str | None:
        if importlib.util.find_spec("matplotlib") is None:
            return None
        file = io.StringIO()
        save_plot(self.draw, file, "svg")
        return file.getvalue()


def draw_points(axes: Any, points: Sequence[tuple[str, float, float]], form: str) -> None:
    """Draw points with a name, a value and its standard error, on a logarithmic scale; `form` formats the values."""
    names, values, errors = zip(*points, strict=True)
    labels = [textwrap.fill(name, _LABEL_WIDTH) for name in names]
    axes.figure.set_size_inches(8, max(4.5, 1.5 + 0.4 * len(labels)))
    # Points, because the lengths of bars on a logarithmic scale mean nothing.
    axes.errorbar(values, labels, xerr=errors, fmt="o", capsize=3)
    for at in zip(values, labels, strict=True):
        axes.annotate(format(at[0], form), at, xytext=(0, 5), textcoords="offset points", ha="center", fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.15, y=0.15)
    axes.grid(axis="x", alpha=0.3)


def save_plot(draw: Draw, file: IO[Any], form: str) -> None:
    """Write a plot to `file`, always as the same bytes. Other figures and settings are left alone.

    `form` is "svg", "png" or "pdf". `draw` may change the size of the figure.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    draw(figure.subplots())
    # Without a salt, the ids in an SVG are random.
    with rc_context({"svg.hashsalt": "tile-pdb"}):
        figure.savefig(file, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
