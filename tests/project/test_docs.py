"""The pages agree with the code: exit codes, commands, sets of boards, examples in docstrings."""

import doctest
import importlib
import re
from pathlib import Path

import pytest
import typer.main

from pdb_core import errors
from pdb_query import instance_sets
from tests import ROOT
from tests.tables import table_file
from tilepdb.commands.main import app


def page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_exit_codes_page_lists_every_code() -> None:
    codes = page("docs/exit-codes.md").partition("## Exceptions")[0]
    listed = map(int, re.findall(r"^\| (\d+) \|", codes, re.MULTILINE))
    of_errors = {item.exit_code for item in vars(errors).values() if isinstance(item, type)}
    assert set(listed) == of_errors | {0, 129, 130, 143}


def test_readme_lists_every_command_and_set_of_boards() -> None:
    text = page("README.md")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {name for name in commands if f"pdb {name}" not in text} == set()
    assert {name for name in instance_sets() if f"`{name}`" not in page("data/README.md")} == set()


# Modules with examples.
MODULES = """
pdb_build pdb_core tilepdb.commands.label pdb_core.messages pdb_core.puzzle pdb_core.ranking pdb_build.plan
pdb_build.build pdb_core.arguments pdb_query.instances pdb_query.statistics pdb_study.compare
pdb_study.heuristics pdb_study.labels pdb_study.labels.dataset pdb_study.labels.labelling
pdb_study.labels.sources pdb_query pdb_query.database solver solver.graph_search.graph_search
solver.heuristics.heuristic_solver solver.heuristics.values solver.large_boards.suboptimal solver.textbook
solver.solve tilepdb tilepdb.named_build tilepdb.solver
"""


@pytest.mark.parametrize("module", MODULES.split())
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name, size in (("8", "3x3"), ("663", "4x4")):
        Path(f"data/{name}.h5").symlink_to(table_file(name, size))
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
