"""The notebooks run from start to end in an empty folder, with the outputs that they keep."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from scripts.notebooks import NOTEBOOKS, run_notebook
from tests import ROOT


def outputs(notebook: Any) -> list[str]:
    """Return the texts that are printed or shown, without times, and the kinds of other outputs."""
    found = []
    for cell in notebook.cells:
        given = cell.get("outputs", ())
        found.append("".join(output.get("text", "") for output in given))
        shown = [item for output in given for item in sorted(output.get("data", {}).items())]
        found += [text if kind == "text/plain" else kind for kind, text in shown]
    return [re.sub(r"seconds=[\d.e-]+|\b\d+\.\d+ s\b", "...", text) for text in found]


# The longest one runs with --slow.
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem == "research"), id=path.stem) for path in NOTEBOOKS],
)
def test_notebook_has_the_outputs_that_it_keeps(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To write them, run `python -m scripts.notebooks`."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert outputs(nbformat.read(path, as_version=4)) == outputs(run_notebook(path, tmp_path))
