"""Commands that the tests fork have the output, exit code and files of commands that a shell starts."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import BOARD, UNSOLVABLE, pdb, started_pdb
from tests.fork_server import fork_server

COMMANDS = {
    "usage": ("biuld",),
    "build": ("build", "8", "--out", "built.h5"),
    "solve": ("solve", "--db", "TABLE", "--instances", "-", "--format", "ndjson"),
    "missing": ("info", "none.h5"),
    "stats": ("stats", "TABLE", "--boards", "100", "--plot", "stats.svg"),
}
Run = Callable[..., subprocess.CompletedProcess[str]]


def outcome(run: Run, words: tuple[str, ...], folder: Path, table: str) -> tuple[int, str, str, dict[str, bytes]]:
    """Return the exit code, output and files of a command, without times and rates."""
    folder.mkdir()
    result = run(*(table if word == "TABLE" else word for word in words), stdin=f"{BOARD}\n{UNSOLVABLE}\n", cwd=folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".build.json")}
    messages = re.sub(r"^pdb: (compiling kernels|pattern \d+ of).*\n", "", result.stderr)  # of the slower run
    time = r"[\d.,]+ (s\b|million/s)|(?<=seconds\": )[\d.e-]+"
    texts = [re.sub(time, "T", text) for text in (result.stdout, messages)]
    return result.returncode, texts[0], texts[1], files


@pytest.mark.parametrize("name", COMMANDS)
def test_forked_command_does_as_a_started_one(name: str, tmp_path: Path, small_table: str) -> None:
    forked = outcome(pdb, COMMANDS[name], tmp_path / "forked", small_table)
    assert forked == outcome(started_pdb, COMMANDS[name], tmp_path / "started", small_table)
    assert "".join(forked[1:3])


def test_environment_that_imports_read_needs_a_start(own_cache: str, tmp_path: Path) -> None:
    here = dict(os.environ)
    server = fork_server()
    assert server.can_run(here)
    assert server.can_run(here | {"TILE_PDB_CACHE": own_cache})
    assert not server.can_run(here | {"TILE_PDB_CACHE": str(tmp_path)})
    assert not server.can_run(here | {"NUMBA_DISABLE_JIT": "1"})
    assert not server.can_run({name: here[name] for name in here if name != "PATH"})


def test_command_that_does_not_end_is_killed() -> None:
    words = ["serve", "--port", "0"]
    with pytest.raises(TimeoutError):
        fork_server().run(words, stdin="", cwd=None, environment=os.environ, timeout_s=0.1)
    assert pdb("--version").returncode == 0
