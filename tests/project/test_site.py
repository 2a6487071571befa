"""Parts of the site of docs/ that are made from the code: library pages, the command page and links."""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests import ROOT

IMAGES = ROOT / "docs" / "images"


@pytest.fixture(scope="module")
def hooks() -> Iterator[ModuleType]:
    """Import scripts/docs_site/hooks.py from its folder, as mkdocs does."""
    sys.path.insert(0, str(ROOT / "scripts" / "docs_site"))
    try:
        yield importlib.import_module("hooks")
    finally:
        sys.path.pop(0)


def test_pictures_are_small_and_used() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    for path in filter(Path.is_file, IMAGES.rglob("*")):
        assert path.stat().st_size < (400_000 if path.suffix == ".webp" else 150_000), path
        assert f"/{path.name})" in pages or path.name == "icon.svg", path


def test_command_page_has_commands_and_options(hooks: ModuleType) -> None:
    page = hooks.command_page()
    assert len(re.findall(r"^## pdb ", page, re.MULTILINE)) >= 12
    for words in ("## pdb study space", "--dry-run", "--encoding <bits|bytes>", "--plot FILE", "  pdb build 663"):
        assert words in page


def test_library_pages_have_every_exported_name(tmp_path: Path) -> None:
    settings = f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: {ROOT}/docs/api\nhooks: []\nnav: []\n"
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", tmp_path / "mkdocs.yml"]
    subprocess.run(command, check=True, capture_output=True)
    for package in ("tilepdb", "pdb_query", "solver", "pdb_study.labels", "pdb_build"):
        page = (tmp_path / "site" / f"{package}.html").read_text(encoding="utf-8")
        shown = set(re.findall(rf'<h[23] id="{re.escape(package)}\.(\w+)"', page))
        assert shown == set(importlib.import_module(package).__all__), package


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("index.md", "docs/http.md", "http.md"),
        ("http.md", "../deploy/README.md", "deploy.md"),
        ("deploy.md", "../docs/http.md#limits", "http.md#limits"),
        ("how-to/service.md", "../../deploy/README.md", "../deploy.md"),
        ("how-to/numpy.md", "../format.md#groups", "../format.md#groups"),
        ("index.md", "https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_links_lead_to_pages_of_the_site(hooks: ModuleType, page: str, link: str, expected: str) -> None:
    assert hooks.links_of_site(f"see [this]({link}).", page) == f"see [this]({expected})."
