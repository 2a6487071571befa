"""The program as a whole: help, version, signals, and scripts meant for Python's debugger."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from pdb_core import __version__
from tests.command_line import BOARD, PROGRAM, pdb, refused
from tilepdb.commands.main import COMMANDS, STUDIES, app


def test_help_lists_the_commands_and_is_quick() -> None:
    """Numba, which takes longest to import, is not imported."""
    program = (
        "import sys; sys.argv = ['pdb', '--help']\n"
        "from tilepdb.commands.main import run\n"
        "try:\n    run()\nfinally:\n    print('numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    *lines, has_numba = result.stdout.splitlines()
    assert (result.returncode, has_numba) == (0, "False")
    listed = [match[1] for line in lines if (match := re.match(r"  (\w+)  ", line))]
    assert listed == [*(function.__name__ for function, _ in COMMANDS), "study"]


def test_help_of_a_command_has_groups_and_an_example() -> None:
    for width in ("60", "120"):
        shown = pdb("solve", "--help", COLUMNS=width, TERMINAL_WIDTH=width).stdout
        titles = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
        assert titles == [
            "Arguments", "Boards", "Tables", "Limits", "IDA*", "Cluster", "Output", "Options", "Examples"
        ]  # fmt: skip
        assert max(map(len, shown.partition("Examples:")[0].splitlines())) < int(width)
        assert re.search(r"Tables:\n  --db FILE", shown)


def test_help_of_the_program_shortens_no_sentence() -> None:
    for words in ((), ("study",)):
        shown = pdb(*words, "--help").stdout
        assert "..." not in shown.partition("Commands:\n")[2]


def test_usage_marks_optional_and_repeated_arguments() -> None:
    for command, usage in (("solve", "solve [OPTIONS] [BOARD]..."), ("info", "info [OPTIONS] FILE...")):
        assert pdb(command, "--help").stdout.splitlines()[0].endswith(usage)


def test_every_option_with_a_value_names_it() -> None:
    for words in [[function.__name__] for function, _ in COMMANDS] + [["study", at.__name__] for at, _ in STUDIES]:
        assert not re.search(r"<(int|float|list|str)\b", pdb(*words, "--help").stdout), words


@pytest.mark.parametrize("example", [example for _, examples in (*COMMANDS, *STUDIES) for example in examples])
def test_examples_of_the_help_are_valid(example: str) -> None:
    """Parse the example without running it."""
    program, *words = shlex.split(example)
    assert program == "pdb"
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    assert example in command.epilog.splitlines()
    assert command.make_context("", words).params


def test_version_is_printed() -> None:
    assert pdb("--version").stdout == f"tile-pdb {__version__}\n"


def test_scripts_are_for_the_debugger(tmp_path: Path) -> None:
    refused(pdb("script.py"), 2, "python -m pdb script.py")
    (tmp_path / "script").write_text("print()", encoding="utf-8")
    refused(pdb("script", cwd=tmp_path), 2, "python -m pdb script")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT"])
def test_ignored_signal_stays_ignored(name: str) -> None:
    """As `nohup` starts a command, and as a shell starts one in the background."""
    program = f"""
import signal, typer
from tilepdb.commands.process import command

signal.signal(signal.{name}, signal.SIG_IGN)

@command
def work():
    signal.raise_signal(signal.{name})
    print("done")

typer.run(work)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=20)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_ctrl_c_ends_a_loop_of_a_shell(small_table: str) -> None:
    loop = f"for i in 1 2 3; do {shlex.join([*PROGRAM, 'query', '--db', small_table, '--instances', '-'])}; done"
    start = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp('bash', sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", start, "bash", "-c", loop],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{BOARD}\n")
            process.stdin.flush()
            assert process.stdout.readline()
            # As a terminal does: to all processes. The input stays open.
            os.killpg(process.pid, signal.SIGINT)
            process.wait(30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
    assert (process.returncode, said.splitlines()[-1]) == (-signal.SIGINT, "pdb: interrupted")
    assert said.count("interrupted") == 1
