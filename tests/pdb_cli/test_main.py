"""The program as a whole: help, version, and users who meant another one."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdb_core import __version__
from tests.command_line import pdb, refused, started_pdb


def test_help_is_quick_and_lists_the_commands() -> None:
    started_pdb("--help")
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        result = started_pdb("--help")
        seconds.append(time.perf_counter() - start)
    assert result.returncode == 0
    for command in ("build", "solve", "query", "info", "stats", "verify", "bench", "doctor"):
        assert re.search(rf"^  {command} ", result.stdout, re.MULTILINE)
    # 0.3 s is promised; twice that, so that a busy machine does not fail the test.
    assert min(seconds) < 0.6


def test_help_does_not_import_numba() -> None:
    program = (
        "import sys; sys.argv = ['pdb', '--help']\n"
        "from pdb_cli.main import run\n"
        "try:\n    run()\nfinally:\n    print('numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stdout.splitlines()[-1] == "False"


def test_version_is_told() -> None:
    assert pdb("--version").stdout == f"tile-pdb {__version__}\n"


def test_debuggers_users_are_sent_on(tmp_path: Path) -> None:
    refused(pdb("script.py"), 2, "python -m pdb script.py")
    (tmp_path / "script").write_text("print()", encoding="utf-8")
    refused(pdb("script", cwd=tmp_path), 2, "python -m pdb script")


def test_unknown_command_is_a_usage_error() -> None:
    result = pdb("biuld")
    assert result.returncode == 2
    assert "build" in result.stderr


def test_hangup_that_is_ignored_stays_so() -> None:
    """As `nohup` starts a command."""
    program = """
import signal, typer
from pdb_cli.output import command

signal.signal(signal.SIGHUP, signal.SIG_IGN)

@command
def work():
    signal.raise_signal(signal.SIGHUP)
    print("done")

typer.run(work)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=20)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


@pytest.mark.usefixtures("hangup_ends")
@pytest.mark.parametrize(
    ("number", "code", "told"),
    [(1, 129, "pdb: the terminal was closed"), (2, 130, "pdb: interrupted"), (15, 143, "pdb: terminated")],
)
def test_interrupt_that_python_swallows_comes_again(number: int, code: int, told: str) -> None:
    """Not so early that it is swallowed again: the time between the two is 0 here, and threads change at once."""
    program = f"""
import signal, sys, time, typer
from pdb_cli import output
from pdb_cli.output import command

signal.signal(signal.SIGINT, signal.default_int_handler)
output._AGAIN_S = 0
sys.setswitchinterval(1e-6)

class Finalised:
    def __del__(self):
        signal.raise_signal({number})
        time.sleep(1)

@command
def work():
    Finalised()
    time.sleep(30)

typer.run(work)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=20)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", f"{told}\n")
