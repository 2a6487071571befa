"""Bad input and failing surroundings: one line on stderr and an exit code, from every command."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import BOARD, UNSOLVABLE, pdb
from tests.faults.driver import Running
from tests.fork_server import fork_server
from tilepdb.commands.process import errors_as_exit_codes


def test_closed_pipe_is_no_error(small_table: str) -> None:
    result = fork_server().run(
        ["info", small_table], stdin="", cwd=None, environment=os.environ, streams={"1": "reader gone"}
    )
    assert (result.returncode, result.stderr) == (141, "")


def test_unwritable_cache_is_one_warning(tmp_path: Path, small_table: str) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    result = pdb("info", small_table, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    result = pdb("query", "--db", small_table, BOARD, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    assert result.stderr.count("compiled anew in every run") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("info", "TABLE"),
        ("info", "TABLE", "--format", "csv"),
        ("verify", "TABLE"),
        ("verify", "OTHER", "TABLE"),
        ("stats", "TABLE", "--boards", "9", "--plot", "TABLE.svg"),
        ("query", "--db", "TABLE", "--instances", "BOARDS"),
        ("solve", "--db", "TABLE", "--instances", "BOARDS", "--log", "TABLE.log"),
        ("solve", "--db", "TABLE", "--instances", "BOARDS", "--all", "--list"),
        ("label", "--instances", "BOARDS", "--out", "TABLE.csv"),
    ],
)
def test_control_characters_in_names_and_files_are_escaped(
    words: tuple[str, ...], tmp_path: Path, small_table: str
) -> None:
    """They could steer the terminal: escape sequences, ends of lines, the bell, a C1 control."""
    name = "a\x1b[31m\nb\x07\x9b"
    table, other, boards = (tmp_path / f"{name}{end}" for end in (".h5", ".txt", ".csv"))
    table.write_bytes(Path(small_table).read_bytes())
    other.write_text("no table", encoding="utf-8")
    boards.write_text(f'id,board\n"{name}",{BOARD}\n"{name}2",{UNSOLVABLE}\n', encoding="utf-8")
    places = {"TABLE": str(table), "OTHER": str(other), "BOARDS": str(boards)}
    result = pdb(*(re.sub("[A-Z]{5,}", lambda at: places[at[0]], word) for word in words), cwd=tmp_path)
    shown = (result.stdout + result.stderr).replace("\n", "")
    assert shown.isprintable(), shown
    assert r"a\x1b[31m\nb\x07\x9b" in shown


@pytest.mark.parametrize("megabytes", [60, 150, 300])
def test_address_space_that_is_too_small_for_the_libraries_is_one_sentence(small_table: str, megabytes: int) -> None:
    ended = Running(["info", small_table], limits={resource.RLIMIT_AS: megabytes << 20}).wait()
    expected = "pdb: the limit of the address space is too small to load NumPy and Numba; raise it (ulimit -v 400000)\n"
    assert (ended.code, ended.stdout, ended.stderr) == (5, "", expected)


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (ImportError("libblas.so.3: failed to map segment from shared object"), "not enough memory to load a library"),
        (ImportError("x.so: cannot allocate memory in static TLS block"), "not enough memory to load a library"),
        (RuntimeError("can't start new thread"), "the system starts no more threads; raise its limits"),
    ],
)
def test_library_or_thread_that_the_system_refuses_is_one_sentence(
    error: Exception, match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_as_exit_codes():
        raise error
    assert ended.value.code == 5
    said = capsys.readouterr().err
    assert match in said
    assert said.count("\n") == 1


def test_openblas_starts_no_threads(small_table: str) -> None:
    """If it could not, it would send SIGINT to the process."""
    program = (
        "import atexit, sys, psutil\n"
        f"sys.argv = ['pdb', 'info', {small_table!r}]\n"
        "atexit.register(lambda: print(psutil.Process().num_threads(), 'numpy' in sys.modules))\n"
        "from tilepdb.commands.main import run\n"
        "run()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert result.stdout.splitlines()[-1] == "1 True"
