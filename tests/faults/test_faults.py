"""The programs of this folder lose nothing. docs/design/around.md has figures of larger runs."""

import json
import re
import subprocess
import sys

import pytest

from tests import ROOT, marked_rows

# Program and its options | the fewest trials.
PROGRAMS = """
failing_builds --every 23 | 32 |
failing_search --tried 16 --interrupts 8 | 24 |
damaged_tables --tried 8 --samples 4 | 80 |
failing_builds | 250 | slow
failing_search --tried 2000 --interrupts 1000 --seed 2 | 3000 | slow
damaged_tables --tried 2000 --seed 2 | 20000 | slow
NUMBA_BOUNDSCHECK=1 damaged_tables --tried 2000 --seed 2 | 20000 | slow
killed_commands --tried 5 | 15 | slow
"""


@pytest.mark.parametrize(("command", "at_least"), marked_rows(PROGRAMS))
def test_nothing_is_lost(command: str, at_least: str) -> None:
    variables, program, options = re.fullmatch(r"(\S+=\S+ )?(\w+)(.*)", command).groups("")
    started = ["env", *variables.split(), sys.executable, "-m", f"tests.faults.{program}", *options.split()]
    # stderr is shown if the test fails.
    result = subprocess.run(started, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert sum(record["tried"] for record in json.loads(result.stdout).values()) >= int(at_least)
