"""The notebooks run from start to end, in an empty folder, show what they promise, and end in a picture."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# Kinds of output that a notebook shows, and how many of each at least.
PICTURES = {"course": 5, "dataset": 1, "research": 3}


def test_every_notebook_is_listed() -> None:
    assert {path.stem for path in NOTEBOOKS} == PICTURES.keys()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # outputs are made, not kept
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [
        kind
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        for kind in output.get("data", {})
        if kind in ("image/svg+xml", "text/html")
    ]
    assert len(kinds) >= PICTURES[path.stem]
    assert any("image/png" in output.get("data", {}) for output in notebook.cells[-1].outputs)
