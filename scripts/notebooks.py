"""Run the notebooks of docs/notebooks, and keep their outputs in them.

.venv/bin/python -m scripts.notebooks
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

from tests import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run_notebook(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Return the notebook at `path` with the outputs of a run in `folder`, without messages about its progress."""
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, record_timing=False, coalesce_streams=True, resources=place).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                output
                for output in cell.outputs
                if output.get("name") != "stderr" and "<progress" not in output.get("data", {}).get("text/html", "")
            ]
    # It has the version of Python, which differs from machine to machine.
    notebook.metadata.pop("language_info", None)
    return notebook


if __name__ == "__main__":
    for path in NOTEBOOKS:
        with TemporaryDirectory() as folder:
            nbformat.write(run_notebook(path, Path(folder)), path)
