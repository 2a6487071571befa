"""The pages agree with the code: exit codes, exceptions, the reader of tables, examples in docstrings."""

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from pdb_core import errors
from pdb_core.puzzle import random_boards
from pdb_query import open_database
from tests import PACKAGES, module_name, source_files, text_of
from tests.pdb_query.test_table_file import SHARED
from tests.tables import table_file


def test_page_lists_every_exit_code_and_exception() -> None:
    codes, exceptions = text_of("docs/files.md").partition("## Exit codes\n")[2].split("### Exceptions")
    of_errors = {name: item.exit_code for name, item in vars(errors).items() if isinstance(item, type)}
    listed = map(int, re.findall(r"^\| (\d+) \|", codes, re.MULTILINE))
    assert set(listed) == {*of_errors.values(), 0, 129, 130, 143}
    rows = re.findall(r"^\| (\d) \| (`.*`) \|$", exceptions, re.MULTILINE)
    assert {name: int(code) for code, names in rows for name in re.findall(r"\w+", names)} == of_errors


def test_reader_of_the_format_page_agrees_with_the_library() -> None:
    """Read tables and shared tables on a square and on a rectangle, without importing this project."""
    (reader,) = (
        code for code in re.findall(r"```python\n(.*?)```", text_of("docs/format.md"), re.DOTALL) if "def " in code
    )
    assert not {*PACKAGES} & {*re.findall(r"^(?:import|from) (\w+)", reader, re.MULTILINE)}
    names: dict[str, Any] = {}
    exec(reader, names)
    for path in (table_file(SHARED, "3x3"), table_file("6,7,9/1,2,3/4,5,8", "5x2", "blank-first")):
        look_up = names["read_tables"](path)
        with open_database(path) as database:
            for board in random_boards(database.size, database.goal, 30).tolist():
                assert tuple(look_up(board)) == database.probe(board).values[0]


# Modules with examples that run without a server.
MODULES = [module_name(path) for path in source_files() if re.search(r">>> (?!.*\+SKIP)", path.read_text())]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name, size in (("8", "3x3"), ("663", "4x4")):
        # As the examples build them: a build replaces what a link names.
        Path(f"data/{name}.h5").symlink_to(table_file(name, size, encoding="bits"))
    assert doctest.testmod(importlib.import_module(module)).failed == 0
