"""Commands that write one path at the same time from two containers, in which both have the same process id.

    python -m tests.faults.same_path [--tried 20]

Two pid namespaces stand for the containers (`unshare`, which root may use; otherwise the program ends with an error). A
trial is survived if a command succeeds, the other one succeeds, too, or is refused in one sentence, the files are
right, and nothing else is left behind.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.command_line import PROGRAM
from tests.faults.counting import Tally
from tests.faults.driver import Ended, Running, main
from tests.faults.killed_commands import same_file, solve_loss

_CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc")
# Most seconds between the two starts.
_APART_S = 0.5


@dataclass(frozen=True)
class Command:
    """Command whose files are in the current folder.

    expected  names of its files
    refusal   exit code and part of the message if another process writes the file
    loss      returns what is lost, from the folder, that of the undisturbed run, the end of a run that succeeded, and
              that of the undisturbed run
    """

    name: str
    arguments: tuple[str, ...]
    expected: tuple[str, ...]
    refusal: tuple[int, str] | None
    loss: Callable[[Path, Path, Ended, Ended], str | None]


def _built(folder: Path, whole: Path, ended: Ended, undisturbed: Ended) -> str | None:
    tables = [json.loads((each / "t.build.json").read_text(encoding="utf-8"))["tables"] for each in (folder, whole)]
    digests = [[table["sha256"] for table in each] for each in tables]
    return same_file("t.h5")(folder, whole, ended, undisturbed) if digests[0] == digests[1] else "another report"


def _commands(table: Path) -> tuple[Command, ...]:
    db, boards = ("--db", str(table)), ("--instances", "random1000", "--shard", "1/10", "--format", "ndjson")
    solve = ("solve", *db, *boards)
    return (
        Command(
            "two builds",
            ("build", "663", "--checkpoint-every", "0", "--out", "t.h5"),
            ("t.build.json", "t.h5"),
            (5, "t.h5 is being built by process 1 on "),
            _built,
        ),
        Command(
            "two logs",
            (*solve, "--log", "log"),
            ("log",),
            (5, "log is in use by another command"),
            solve_loss,
        ),
        Command("two solve --out", (*solve, "--out", "answers"), ("answers",), None, solve_loss),
        Command(
            "two label --out",
            ("label", *db, "--random", "100", "--chunk", "10", "--out", "l.npz"),
            ("l.npz",),
            (5, "l.npz.partial is in use by another command"),
            same_file("l.npz"),
        ),
    )


def _loss(command: Command, folder: Path, whole: Path, ends: list[Ended], undisturbed: Ended) -> str | None:
    """Return what two runs at the same time have lost."""
    for ended in ends:
        if ended.problem():
            return ended.problem()
        if ended.code != 0:
            last = ended.stderr.splitlines()[-1:]
            if command.refusal is None or ended.code != command.refusal[0] or command.refusal[1] not in "".join(last):
                return f"exit code {ended.code}: {ended.stderr[-200:]}"
    names = sorted(path.name for path in folder.iterdir())
    if names != sorted(command.expected):
        return f"the folder has {names}"
    succeeded = [ended for ended in ends if ended.code == 0]
    losses = [command.loss(folder, whole, ended, undisturbed) for ended in succeeded]
    return next(filter(None, losses), None) if succeeded else "both were refused"


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Run each command `options.tried` times in two containers at the same time."""
    program = (*_CONTAINER, *PROGRAM)
    shown = subprocess.run(
        [*_CONTAINER, sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    if shown.stdout != "1\n":
        sys.exit(f"pid namespaces cannot be made here; run this program as root: {shown.stderr.strip()}")
    chance = random.Random(options.seed)
    with TemporaryDirectory() as root:
        table = Path(root, "663.h5")
        assert Running(["build", "663", "--out", str(table)]).wait().code == 0
        for command in _commands(table):
            with TemporaryDirectory(dir=root) as whole:
                undisturbed = Running(command.arguments, cwd=Path(whole)).wait()
                assert undisturbed.code == 0, undisturbed.stderr
                for _ in range(options.tried):
                    with TemporaryDirectory(dir=root) as folder:
                        first = Running(command.arguments, cwd=Path(folder), program=program)
                        time.sleep(_APART_S * chance.random())
                        second = Running(command.arguments, cwd=Path(folder), program=program)
                        ends = [first.wait(), second.wait()]
                        tally.count(command.name, _loss(command, Path(folder), Path(whole), ends, undisturbed))


if __name__ == "__main__":
    main(attack, tried=20)
