"""Plots of studies with matplotlib, an extra: shown in notebooks, and written to files.

Each study has a method `draw(axes)`, for which `save_plot` makes the axes.
"""

import importlib.util
import io
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import IO, Any

# Draws on the axes that it is given.
Draw = Callable[[Any], None]


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
