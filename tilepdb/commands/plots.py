"""Option for plots in files. matplotlib, which draws them, is an extra."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from pdb_core.errors import InputError
from pdb_core.messages import how_to_install
from tilepdb.commands.output import message

if TYPE_CHECKING:
    from pdb_study.plots import Draw

_ADVICE = "choose another place with --plot"

PlotOption = Annotated[
    Path | None,
    Option(help="Also draw the result. The suffix sets the format: .svg, .png or .pdf."),
]


def check_plot(path: Path) -> None:
    """Check before the work begins that a plot can be drawn. Raises `InputError`, `OutputError`."""
    if path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise InputError(
            f"{path}: unknown suffix {path.suffix or '(none)'}; give --plot a file that ends in .svg, .png or .pdf"
        )
    from pdb_core.durable_files import check_output

    check_output(path, _ADVICE)
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(f"--plot needs matplotlib, which is not installed; {how_to_install('plot')}")


def write_plot(path: Path | None, draw: "Draw", **size: float) -> None:
    """Write the plot of a study to the file of --plot, if given; `size` as in `save_plot`. Raises `OutputError`."""
    if path is None:
        return
    from pdb_core.durable_files import written_safely
    from pdb_study.plots import save_plot

    with written_safely(path, _ADVICE, is_text=False) as file:
        save_plot(draw, file, path.suffix.lower()[1:], **size)
    message(f"plot written to {path}")
