"""The notebooks run from start to end in an empty folder, with the outputs that they keep."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from scripts.notebooks import NOTEBOOKS, run_notebook
from tests import ROOT


def outputs(notebook: Any) -> list[tuple[str, str]]:
    """Return the kinds of the outputs; of texts also the text, without times."""
    found = []
    for cell in notebook.cells:
        printed = "".join(output.text for output in cell.get("outputs", ()) if output.output_type == "stream")
        found.append(("printed", printed))
        for output in cell.get("outputs", ()):
            for kind, text in sorted(output.get("data", {}).items()):
                untimed = re.sub(r"seconds=[\d.e-]+|\b\d+\.\d+ s\b", "...", text)
                found.append((kind, untimed if kind == "text/plain" else ""))
    return found


# The longest one runs with --slow.
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem == "research"), id=path.stem) for path in NOTEBOOKS],
)
def test_notebook_has_the_outputs_that_it_keeps(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To write them, run `python -m scripts.notebooks`."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert outputs(nbformat.read(path, as_version=4)) == outputs(run_notebook(path, tmp_path))
