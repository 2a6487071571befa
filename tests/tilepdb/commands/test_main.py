"""The program as a whole: help, completion, and scripts meant for Python's debugger."""

import re
import shlex
from typing import Any

import pytest
import typer.main

from tests.command_line import pdb, python, refused, started_pdb
from tilepdb.commands.main import COMMANDS, STUDIES, app

NAMES = [function.__name__ for function in COMMANDS]
EXAMPLES = [
    line.strip()
    for function in (*COMMANDS, *STUDIES)
    for line in (function.__doc__ or "").partition("Examples:")[2].strip().splitlines()
]


def test_help_lists_the_commands_and_is_quick() -> None:
    """Numba, which takes longest to import, is not imported."""
    program = (
        "import sys; sys.argv = ['pdb', '--help']\n"
        "from tilepdb.commands.main import run\n"
        "try:\n    run()\nfinally:\n    print('numba' in sys.modules)"
    )
    result = python(program)
    *lines, has_numba = result.stdout.splitlines()
    assert (result.returncode, has_numba) == (0, "False")
    listed = [match[1] for line in lines if (match := re.match(r"  (\w+)  ", line))]
    assert listed == [*NAMES, "study"]


def test_help_shortens_no_sentence() -> None:
    for words in ((), ("study",)):
        assert "..." not in pdb(*words, "--help").stdout.partition("Commands:\n")[2]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_help_are_valid(example: str) -> None:
    """Parse the example without running it."""
    program, *words = shlex.split(example)
    assert program == "pdb"
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    assert f"  {example}" in command.epilog.splitlines()
    assert command.make_context("", words).params


def test_scripts_are_for_the_debugger() -> None:
    refused(started_pdb("script.py"), 2, "python -m pdb script.py")


def test_commands_and_options_are_completed() -> None:
    """By the protocol of bash."""
    for line, expected in (("pdb ", {*NAMES, "study"}), ("pdb solve --time", {"--time-limit"})):
        words = {"_PDB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        assert set(pdb(**words).stdout.split()) == expected
