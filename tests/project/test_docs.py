"""The pages say what the code does."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

from pdb_core import errors
from pdb_core.pattern import named_partitions
from pdb_query import instance_sets
from tests import ROOT
from tests.tables import table_file


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.tiny
def test_exit_codes_page_lists_the_codes_and_their_exceptions() -> None:
    rows = re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|$", page("docs/exit-codes.md"), re.MULTILINE)
    documented = {int(code): set(re.findall(r"`(\w+)`", names)) for code, names in rows}
    classes = [item for item in vars(errors).values() if isinstance(item, type)]
    expected: dict[int, set[str]] = {0: set(), 129: set(), 130: set(), 143: set()}
    for item in classes:
        expected.setdefault(item.exit_code, set()).add(item.__name__)
    assert documented == expected


@pytest.mark.tiny
def test_readme_names_every_set_and_command() -> None:
    text = page("README.md")
    for name in instance_sets():
        assert f"`{name}`" in text
        assert f"`{name}`" in page("data/README.md")
    for command in ("build", "solve", "query", "info", "stats", "verify", "bench", "doctor"):
        assert f"pdb {command}" in text
    for name in ("663", "78", "555", "8", "6666"):
        assert name in named_partitions()
        assert name in text


@pytest.mark.tiny
def test_links_lead_somewhere() -> None:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path}: {target}"


@pytest.mark.parametrize(
    "module",
    [
        "pdb_core.messages",
        "pdb_core.puzzle",
        "pdb_core.ranking",
        "pdb_query.database",
        "solver.graph_search.graph_search",
        "solver.solve",
    ],
    ids=str,
)
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "8.h5").symlink_to(table_file("8", "3x3"))
    (tmp_path / "data" / "663.h5").symlink_to(table_file("663", "4x4"))
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
