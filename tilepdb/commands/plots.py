"""Plots in files, drawn by matplotlib, which is an extra."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pdb_core.durable_files import written_safely
from pdb_core.errors import InputError, OutputError
from tilepdb.commands.output import message

PlotOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also draw the result. The suffix sets the format: .svg, .png or .pdf."),
]
_FORMATS = (".svg", ".png", ".pdf")


def check_plot(path: Path | None) -> None:
    """Check before the work begins that a plot can be drawn. Raises `InputError`, `OutputError`."""
    if path is None:
        return
    if path.suffix.lower() not in _FORMATS:
        raise InputError(f"cannot draw into {path}; give --plot a file that ends in .svg, .png or .pdf")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no such folder; choose another place with --plot")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("--plot needs matplotlib; install it with pip install 'tile-pdb[plot]'") from None


@contextmanager
def drawn(path: Path, *, width: float = 8, height: float = 4.5) -> Iterator[Any]:
    """Yield the axes of a plot of a size in inches; write it to `path` at the end, always as the same bytes.

    Raises `OutputError`.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    # Without a salt, the ids in an SVG are random.
    with matplotlib.rc_context({"svg.hashsalt": "tile-pdb"}):
        figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
        try:
            yield axes
            with written_safely(path, option="--plot", is_text=False) as file:
                figure.savefig(
                    file,
                    format=path.suffix.lower()[1:],
                    dpi=150,
                    metadata={"Date": None} if path.suffix.lower() == ".svg" else None,
                )
        finally:
            pyplot.close(figure)
    message(f"pdb: plot written to {path}")
