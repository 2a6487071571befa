"""`pdb study space --plot`."""

from pathlib import Path

from tests.command_line import pdb


def test_plot_is_drawn_the_same_each_time(tmp_path: Path) -> None:
    plots = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for plot in plots:
        pdb("study", "space", "3x2", "--plot", str(plot), code=0)
    assert plots[0].read_bytes() == plots[1].read_bytes()
