"""The one import: light and complete. scripts/check checks its types, and those of a user's program."""

import os
from pathlib import Path

import pytest

import tilepdb
from tests import ROOT
from tests.command_line import python

PROGRAM = Path(__file__).with_name("user_program.py")


def test_import_loads_neither_numba_nor_extras() -> None:
    program = """
import sys, tilepdb
print({"numba", "numpy", "h5py", "typer", "rich", "distributed", "starlette", "matplotlib", "pyarrow"} & {*sys.modules})
tilepdb.Board
print("numba" in sys.modules)
"""
    assert python(program).stdout == "set()\nFalse\n"


def test_names_are_listed_and_others_are_missing() -> None:
    assert {"PdbError", "Solver", "__version__"} < set(tilepdb.__all__) == set(dir(tilepdb))
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        tilepdb.solv  # type: ignore[attr-defined]  # noqa: B018


def test_all_names_can_be_imported_without_the_client() -> None:
    code = "import sys; sys.modules['httpx'] = None\nfrom tilepdb import *\nimport tilepdb; print(len(tilepdb.__all__))"
    assert int(python(code).stdout) == len(tilepdb.__all__) - 1


def test_program_of_a_user_runs(tmp_path: Path) -> None:
    """It prints this at its end."""
    ran = python(PROGRAM.read_text(), cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert "is not square: it has 3 numbers" in ran.stdout, ran.stderr
