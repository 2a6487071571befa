"""The search in C of the benchmark: it has the same nodes as the engine in every threshold."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.yardstick.compare import Run, Threshold, check_same
from tests import ROOT
from tests.tables import table_file


def compare(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "yardstick" / "compare.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.fixture
def compiler() -> None:
    """Require a C compiler. Without one, the test fails in .ci/run (CI=true) and is skipped elsewhere."""
    if not any(shutil.which(name) for name in (*shlex.split(os.environ.get("CC", ""))[:1], "cc", "gcc")):
        message = "there is no C compiler (CC, cc or gcc); on Debian: apt-get install gcc libc6-dev"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    ("partition", "size", "flags"),
    [
        ("8", "3x3", "-O1"),
        ("1,2,3,4/5,6,7,8,9,10/11", "4x3", "-O3 -march=native"),
        ("555", "4x4", "-O3 -march=native"),
    ],
)
def test_search_in_c_has_the_same_nodes(partition: str, size: str, flags: str, tmp_path: Path) -> None:
    path = tmp_path / "yardstick.json"
    table = str(table_file(partition, size, encoding="bits"))
    result = compare(table, "--boards", "3", "--rounds", "1", "--json", str(path), CFLAGS=flags)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    (record,) = json.loads(path.read_text(encoding="utf-8"))
    assert record["boards"] == 3
    assert record["generated"] > 0
    assert record["numba/C"] > 0


def test_different_nodes_are_an_error() -> None:
    def run(last: int) -> Run:
        return Run([[Threshold(20, 80, 40, False), Threshold(22, last, 50, True)]], 1.0)

    check_same("a table", run(90), run(90))
    with pytest.raises(SystemExit, match="a table: the nodes of numba and C differ on board 0"):
        check_same("a table", run(90), run(91))


@pytest.mark.usefixtures("compiler")
def test_tables_in_bytes_are_rejected() -> None:
    result = compare(str(table_file("8", "3x3", encoding="bytes")), "--boards", "3")
    assert result.returncode != 0
    assert "vector stages" in result.stderr


def test_without_a_compiler_the_comparison_is_skipped() -> None:
    result = compare("663.h5", PATH="", CC="")
    assert result.returncode == 0
    assert "no C compiler" in result.stderr
    assert result.stdout == ""
