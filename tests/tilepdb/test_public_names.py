"""The one import: fast, complete and documented. scripts/check checks its types, and those of a user's program."""

import inspect
import os
from pathlib import Path
from types import FunctionType

import pytest

import tilepdb
from tests import ROOT
from tests.command_line import python

PROGRAM = Path(__file__).with_name("user_program.py")


def test_import_is_fast_and_loads_neither_numba_nor_extras() -> None:
    code = "import time; start = time.perf_counter(); import tilepdb, sys; seconds = time.perf_counter() - start"
    unwanted = {"numba", "numpy", "h5py", "typer", "rich", "distributed", "starlette", "matplotlib", "pyarrow"}
    code += (
        f"\nassert not {unwanted} & set(sys.modules)\ntilepdb.Board\nassert 'numba' not in sys.modules\nprint(seconds)"
    )
    assert min(float(python(code).stdout) for _ in range(3)) < 0.5


def test_names_are_listed_and_others_are_missing() -> None:
    assert {"PdbError", "Solver", "__version__"} < set(tilepdb.__all__) == set(dir(tilepdb))
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        tilepdb.solv  # type: ignore[attr-defined]  # noqa: B018


def test_all_names_can_be_imported_without_the_client() -> None:
    code = "import sys; sys.modules['httpx'] = None\nfrom tilepdb import *\nimport tilepdb; print(len(tilepdb.__all__))"
    assert int(python(code).stdout) == len(tilepdb.__all__) - 1


@pytest.mark.parametrize("name", tilepdb.__all__)
def test_public_name_is_documented(name: str) -> None:
    value = getattr(tilepdb, name)
    if not callable(value) or name == "BoardLike":
        return
    assert inspect.getdoc(value)
    for key, member in vars(value).items() if inspect.isclass(value) else ():
        if isinstance(member, FunctionType | classmethod | staticmethod) and not key.startswith("_"):
            assert inspect.getdoc(member), member


def test_program_of_a_user_runs(tmp_path: Path) -> None:
    """It prints this at its end."""
    ran = python(PROGRAM.read_text(), cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert "is not square: it has 3 numbers" in ran.stdout, ran.stderr
