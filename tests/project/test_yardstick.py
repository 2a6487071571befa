"""The search in C of the benchmark: it has the same nodes as the engine in every threshold."""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests import ROOT
from tests.tables import table_file

COMPARE = ROOT / "scripts" / "yardstick" / "compare.py"


def compare(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, COMPARE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.fixture
def compiler() -> None:
    """Require a C compiler. Without one, the test fails in .ci/run (CI=true) and is skipped elsewhere."""
    if not any(shutil.which(name) for name in (*shlex.split(os.environ.get("CC", ""))[:1], "cc", "gcc")):
        message = "there is no C compiler (CC, cc or gcc); on Debian: apt-get install gcc libc6-dev"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(scope="module")
def module() -> ModuleType:
    """Return compare.py as a module."""
    spec = importlib.util.spec_from_file_location("compare", COMPARE)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["compare"] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    ("partition", "size", "flags"),
    [
        ("8", "3x3", "-O1"),
        ("1,2,5/3,4,6/7,8", "3x3", "-O3 -march=native"),
        ("1,2,3,4/5,6,7,8,9,10/11", "4x3", "-O3 -march=native"),
        ("555", "4x4", "-O3 -march=native"),
    ],
)
def test_search_in_c_has_the_same_nodes(partition: str, size: str, flags: str, tmp_path: Path) -> None:
    path = tmp_path / "yardstick.json"
    table = str(table_file(partition, size, encoding="bits"))
    result = compare(table, "--boards", "3", "--rounds", "1", f"--cflags={flags}", "--json", str(path))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    (record,) = json.loads(path.read_text(encoding="utf-8"))
    assert record["boards"] == 3
    assert record["numba"]["generated"] == record["C"]["generated"] > 0
    assert record["numba/C"] > 0


def test_different_nodes_are_an_error(module: ModuleType) -> None:
    def run(last: int, complete: int) -> object:
        thresholds = (module.Threshold(20, complete, 40, False), module.Threshold(22, last, 50, True))
        return module.Run((thresholds,), 1.0)

    module.check_same("a table", {"numba": run(90, 80), "C": run(90, 80)})
    with pytest.raises(SystemExit, match="a table: the nodes of numba and C differ on board 0"):
        module.check_same("a table", {"numba": run(90, 80), "C": run(91, 80)})


@pytest.mark.usefixtures("compiler")
def test_tables_in_bytes_are_rejected() -> None:
    result = compare(str(table_file("8", "3x3", encoding="bytes")), "--boards", "3")
    assert result.returncode != 0
    assert "vector stages" in result.stderr


def test_without_a_compiler_the_comparison_is_skipped() -> None:
    result = compare("663", PATH="", CC="")
    assert result.returncode == 0
    assert "no C compiler" in result.stderr
    assert result.stdout == ""
