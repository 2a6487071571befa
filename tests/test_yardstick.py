"""The search in C that numba is measured by: it is the same search."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pdb_core.encoding import Encoding
from tests.tables import table_file

ROOT = Path(__file__).parent.parent


def compare(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "yardstick" / "compare.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.fixture
def compiler() -> None:
    """A C compiler is here. Where there is none, .ci/run (CI=true) fails; elsewhere the test is skipped."""
    if not any(shutil.which(name) for name in (*shlex.split(os.environ.get("CC", ""))[:1], "cc", "gcc")):
        message = "there is no C compiler (CC, cc or gcc); on Debian: apt-get install gcc libc6-dev"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("n_lanes", ["1", "4"])
@pytest.mark.parametrize(
    ("partition", "size", "encoding"),
    [("8", "3x3", "bits"), ("1,2,5/3,4,6/7,8", "3x3", "bytes"), ("555", "4x4", "bits"), ("auto", "4x3", "bytes")],
)
def test_search_in_c_has_the_same_nodes(
    partition: str, size: str, encoding: Encoding, n_lanes: str, tmp_path: Path
) -> None:
    path = tmp_path / "yardstick.json"
    result = compare(
        str(table_file(partition, size, encoding=encoding)),
        *("--lanes", n_lanes, "--boards", "3", "--rounds", "1", "--cflags=-O1", "--json", str(path)),
    )
    assert result.returncode == 0, result.stderr
    records = json.loads(path.read_text(encoding="utf-8"))
    assert [record["mode"] for record in records] == ["dfs", f"lanes ({n_lanes})"]
    assert all(record["boards"] == 3 and record["generated"] > 0 for record in records)


def test_without_a_compiler_it_says_so_and_goes_on() -> None:
    result = compare("663", PATH="", CC="")
    assert result.returncode == 0
    assert "no C compiler" in result.stderr
    assert result.stdout == ""
