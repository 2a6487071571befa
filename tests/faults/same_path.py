"""Commands that write one path at the same time from two containers, in which both have the same process id.

    python -m tests.faults.same_path [--tried 20]

Two pid namespaces stand for the containers (`unshare`, which root may use; otherwise the program ends with an error). A
trial is survived if a command succeeds, the other one succeeds, too, or is refused in one sentence, the files are
right, and nothing else is left behind.
"""

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.command_line import PROGRAM
from tests.faults.driver import Ended, Running, Tally, main
from tests.faults.killed_commands import Command, Run, trials

_CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc")
# Most seconds between the two starts.
_APART_S = 0.5


def _loss(command: Command, folder: Path, ends: list[Ended], whole: Run) -> str | None:
    """Return what two runs at the same time have lost."""
    for ended in ends:
        if ended.problem():
            return ended.problem()
        if ended.code != 0:
            last = ended.stderr.splitlines()[-1:]
            if command.refusal is None or ended.code != command.refusal[0] or command.refusal[1] not in "".join(last):
                return f"exit code {ended.code}: {ended.stderr[-200:]}"
    if problem := command.left_behind(folder):
        return problem
    losses = [command.loss(Run(folder, ended), whole) for ended in ends if ended.code == 0]
    return next(filter(None, losses), None) if losses else "both were refused"


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Run each command `options.tried` times in two containers at the same time."""
    program = (*_CONTAINER, *PROGRAM)
    shown = subprocess.run(
        [*_CONTAINER, sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    if shown.stdout != "1\n":
        sys.exit(f"pid namespaces cannot be made here; run this program as root: {shown.stderr.strip()}")
    chance = random.Random(options.seed)
    for command, whole, folder, _ in trials(options.tried):
        first = Running(command.arguments, cwd=folder, program=program)
        time.sleep(_APART_S * chance.random())
        second = Running(command.arguments, cwd=folder, program=program)
        ends = [first.wait(), second.wait()]
        tally.count(f"two {command.name}", _loss(command, folder, ends, whole))


if __name__ == "__main__":
    main(attack, tried=20, seed=1)
