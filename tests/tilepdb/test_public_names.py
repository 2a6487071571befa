"""The one import: fast, complete and documented. scripts/check checks its types, and those of a user's program."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import tilepdb
from pdb_core import errors
from tests import ROOT

PROGRAM = Path(__file__).with_name("user_program.py")


def run(*arguments: str, folder: Path = ROOT) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_import_is_fast_and_loads_neither_numba_nor_extras() -> None:
    code = "import time; start = time.perf_counter(); import tilepdb, sys; print(time.perf_counter() - start)"
    unwanted = {"numba", "numpy", "h5py", "typer", "rich", "distributed", "starlette", "matplotlib", "pyarrow"}
    code += f"\nassert not {unwanted} & set(sys.modules)\ntilepdb.Board\nassert 'numba' not in sys.modules"
    assert min(float(run("-c", code)) for _ in range(3)) < 0.5


def test_names_for_type_checkers_are_those_at_run_time() -> None:
    source = Path(inspect.getfile(tilepdb)).read_text(encoding="utf-8")
    declared = re.findall(r"^        (\w+) as \1,$|^    from \S+ import (\w+) as \2$", source, re.MULTILINE)
    of_errors = {name for name, item in vars(errors).items() if isinstance(item, type)}
    assert sorted({first or second for first, second in declared} | of_errors) == tilepdb.__all__ == dir(tilepdb)
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        tilepdb.solv  # type: ignore[attr-defined]  # noqa: B018


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
    assert "3 numbers, which is no square" in run(str(PROGRAM), folder=tmp_path)
