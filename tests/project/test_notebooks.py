"""The notebooks run from start to end in an empty folder, with the outputs that they keep."""

import re
from pathlib import Path

import nbformat
import pytest

from scripts.notebooks import NOTEBOOKS, run_notebook
from tests import ROOT


def unchanging(notebook: str) -> str:
    """Return the text of a notebook without times and plots."""
    return re.sub(r'seconds=[\d.e-]+|\b\d+\.\d+ s\b|"image/.*?(?="text/plain")', "...", notebook, flags=re.DOTALL)


# The longest one runs with --slow.
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem == "research"), id=path.stem) for path in NOTEBOOKS],
)
def test_notebook_has_the_outputs_that_it_keeps(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To write them, run `python -m scripts.notebooks`."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert unchanging(path.read_text()) == unchanging(nbformat.writes(run_notebook(path, tmp_path)) + "\n")
