"""Library pages of the site have every public name. `scripts/docs` builds the whole site, with warnings as errors."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

from tests import ROOT


def test_library_pages_have_every_exported_name(tmp_path: Path) -> None:
    settings = f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: {ROOT}/docs/api\nhooks: []\nnav: []\n"
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", tmp_path / "mkdocs.yml"]
    subprocess.run(command, check=True, capture_output=True)
    for package in ("tilepdb", "pdb_query", "solver", "pdb_study.labels", "pdb_build"):
        page = (tmp_path / "site" / f"{package}.html").read_text(encoding="utf-8")
        shown = set(re.findall(rf'<h[23] id="{re.escape(package)}\.(\w+)"', page))
        assert shown == set(importlib.import_module(package).__all__), package
