"""Commands that are killed (SIGKILL) at moments all over their run, and then run again.

    python -m tests.faults.killed_commands [--tried 60]

Each command runs once undisturbed. A killed one is survived if the next run of the same command ends well, continues
from all that was finished, writes the file of the undisturbed run, and leaves no other files.
"""

import argparse
import itertools
import os
import random
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple

from tests import ROOT
from tests.command_line import PROGRAM
from tests.faults.driver import Tally, main

_PATIENCE_S = 600
# What a killed command may leave while it writes a file of --out, see docs/files.md.
_TEMPORARY = re.compile(r"\.(l\.npz|answers)\.[0-9a-f]{16}\.partial")


class Command(NamedTuple):
    """Command that writes `file`, and the files `others`, in the current folder.

    `finished` returns what the next run must report on stderr, from what a killed run left.
    """

    line: str
    file: str
    others: tuple[str, ...]
    finished: Callable[[Path], str]


def _finished_build(folder: Path) -> str:
    has_checkpoint = (folder / "t.h5.partial" / "checkpoint").exists()
    return "t.h5 continues: " if has_checkpoint and not (folder / "t.h5").exists() else ""


def _finished_boards(folder: Path) -> str:
    path = folder / "log"
    n_boards = path.read_bytes().count(b"\n") - 1 if path.exists() else 0
    return f"{n_boards} finished board" if n_boards > 0 else ""


def _finished_labels(folder: Path) -> str:
    rows = folder / "l.npz.partial" / "rows"
    n_boards = int.from_bytes(rows.read_bytes()[:8], "little") if rows.exists() else 0
    return f"l.npz continues after {n_boards:,} boards" if n_boards else ""


_SOLVE = "solve --db TABLE --instances random1000 --shard 1/4 --threads 1 --out answers --log log"
_COMMANDS = (
    Command("build 78 --out t.h5", "t.h5", ("t.h5.build.json",), _finished_build),
    Command(_SOLVE, "answers", ("log",), _finished_boards),
    Command("label --db TABLE --random 4000 --out l.npz", "l.npz", (), _finished_labels),
)


def _run(words: list[str], folder: Path, patience_s: float = _PATIENCE_S) -> "subprocess.CompletedProcess[str] | None":
    """Run a command as a process. It is killed (SIGKILL) after `patience_s` seconds: then return None."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        return subprocess.run(
            [*PROGRAM, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=patience_s,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None


def _loss(command: Command, words: list[str], folder: Path, whole: bytes) -> str | None:
    """Run a killed command again. Return what is lost."""
    file = folder / command.file
    if file.exists() and file.read_bytes() != whole:
        return "the file was not whole under its final name"
    finished = command.finished(folder)
    left = {path.name for path in folder.iterdir() if _TEMPORARY.fullmatch(path.name)}
    ended = _run(words, folder)
    if ended is None or ended.returncode != 0 or "Traceback" in ended.stderr:
        return f"the next run: {ended and ended.stderr[-200:]}"
    if finished not in ended.stderr:
        return f"the next run does not report: {finished}"
    names = {path.name for path in folder.iterdir()} - left
    if names != {command.file, *command.others}:
        return f"the folder has {sorted(names)}"
    return None if file.read_bytes() == whole else "the file has other bytes"


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Kill each command once in each of `options.tried` equal parts of its duration, earlier if it ended before."""
    chance = random.Random(options.seed)
    with TemporaryDirectory() as root:
        table = Path(root, "78.h5")
        _run(["build", "78", "--out", str(table)], Path(root))
        for command in _COMMANDS:
            words = command.line.replace("TABLE", str(table)).split()
            folder = Path(mkdtemp(dir=root))
            start = time.monotonic()
            undisturbed = _run(words, folder)
            seconds_of_run = time.monotonic() - start
            assert undisturbed is not None
            assert undisturbed.returncode == 0, undisturbed.stderr
            whole = (folder / command.file).read_bytes()
            for number in range(options.tried):
                seconds = seconds_of_run * (number + chance.random()) / options.tried
                for attempt in itertools.count():
                    folder = Path(mkdtemp(dir=root))
                    if _run(words, folder, seconds * 0.9**attempt) is None:
                        tally.count(f"pdb {words[0]} killed", _loss(command, words, folder, whole))
                        break


if __name__ == "__main__":
    main(attack, tried=60, seed=1)
