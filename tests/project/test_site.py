"""Parts of the site of docs/ that are made from the code: references and links."""

import doctest
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from scripts.docs_site.badges import badges
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


def test_badges_are_of_this_version() -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in (IMAGES / "badges").iterdir()}
    assert files == badges(), "run python -m scripts.docs_site.badges"


def test_command_page_has_commands_and_options(hooks: ModuleType) -> None:
    page = hooks.command_page()
    assert len(re.findall(r"^## pdb ", page, re.MULTILINE)) >= 12
    for words in ("## pdb study space", "`--dry-run`", "`--encoding <bits|bytes>`", "`--plot FILE`"):
        assert words in page


@pytest.mark.parametrize("package", ["tilepdb", "pdb_query", "solver", "pdb_study.labels", "pdb_build"])
def test_library_pages_have_every_exported_name(hooks: ModuleType, package: str) -> None:
    page = hooks.package_page(package)
    assert set(re.findall(r"^## (\w+)$", page, re.MULTILINE)) == set(importlib.import_module(package).__all__)


def test_library_pages_begin_with_an_example_and_groups_of_names(hooks: ModuleType) -> None:
    references = sys.modules["references"]
    assert set(references.GROUPS) == set(references.PACKAGES)
    for package in references.PACKAGES:
        beginning = hooks.package_page(package).partition("\n## ")[0]
        assert ">>> " in beginning, package
        for title, names in references.GROUPS[package].items():
            assert f"| {title} | |" in beginning
            assert all(f"| [{name}](#" in beginning for name in names)


def test_examples_of_library_pages_run(hooks: ModuleType) -> None:
    references = sys.modules["references"]
    assert hooks.package_page("pdb_core")
    for package, text in references.EXAMPLES.items():
        test = doctest.DocTestParser().get_doctest(text, {}, package, None, None)
        assert doctest.DocTestRunner().run(test).failed == 0


def test_library_pages_have_signatures_and_inherited_methods(hooks: ModuleType) -> None:
    solver = hooks.package_page("solver")
    assert {"### Solver.solve", "### Solver.solve_many", "### HeuristicSolver.solve_all"} <= set(solver.splitlines())
    page = hooks.package_page("pdb_query")
    assert "def open_database(\n    path: str | Path,\n    *,\n" in page
    assert "maximum: npt.NDArray[np.int16]" in page
    assert "@cached_property\ndef neighbours(self) -> tuple[" in hooks.package_page("pdb_core")


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("index.md", "docs/http.md", "http.md"),
        ("index.md", "docs/decisions/README.md", "decisions/README.md"),
        ("http.md", "../deploy/README.md", "deploy.md"),
        ("deploy.md", "../docs/http.md#limits", "http.md#limits"),
        ("how-to/service.md", "../../deploy/README.md", "../deploy.md"),
        ("how-to/numpy.md", "../format.md#groups", "../format.md#groups"),
        ("index.md", "https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_links_lead_to_pages_of_the_site(hooks: ModuleType, page: str, link: str, expected: str) -> None:
    assert hooks.links_of_site(f"see [this]({link}).", page) == f"see [this]({expected})."
