"""Commands that are killed (SIGKILL) at moments all over their run, and then run again.

    python -m tests.faults.killed_commands [--tried 60]

Each command runs once undisturbed. A killed one is survived if the next run of the same command ends well, continues
from all that was finished, gives the results of the undisturbed run, and leaves no other files.
"""

import argparse
import json
import random
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pdb_core.puzzle import BoardSize
from solver.solution import check_solution
from tests.faults.counting import Tally
from tests.faults.driver import Ended, Running, main

_PATIENCE_S = 600
_CHUNK = 10
# What a killed command may leave while it writes a file of --out, see docs/files.md.
_TEMPORARY = re.compile(r"\.(l\.npz|answers)\.[0-9a-f]{16}\.partial")


@dataclass(frozen=True)
class Command:
    """Command whose files are in the current folder.

    expected  names of its files
    finished  returns what the next run must report on stderr, from what a killed run left
    loss      returns what is lost, from the folder after the next run, that of the undisturbed run, and both ends
    """

    name: str
    arguments: tuple[str, ...]
    expected: tuple[str, ...]
    finished: Callable[[Path], str]
    loss: Callable[[Path, Path, Ended, Ended], str | None]


def _finished_build(folder: Path) -> str:
    has_checkpoint = (folder / "t.h5.partial" / "checkpoint").exists()
    return "t.h5 continues from" if has_checkpoint and not (folder / "t.h5").exists() else ""


def _finished_labels(folder: Path) -> str:
    path = folder / "l.npz.partial"
    n_boards = _CHUNK * (path.read_bytes().count(b"\n") - 1) if path.exists() else 0
    return f"l.npz continues after {n_boards} boards" if n_boards > 0 else ""


def _finished_boards(folder: Path) -> str:
    path = folder / "log"
    n_boards = path.read_bytes().count(b"\n") - 1 if path.exists() else 0
    return f"{n_boards} finished board" if n_boards > 0 else ""


def same_file(name: str) -> Callable[[Path, Path, Ended, Ended], str | None]:
    """Return a function that compares the bytes of a file with those of the undisturbed run."""

    def loss(folder: Path, whole: Path, _ended: Ended, _undisturbed: Ended) -> str | None:
        is_same = (folder / name).read_bytes() == (whole / name).read_bytes()
        return None if is_same else f"{name} has other bytes"

    return loss


def solve_loss(folder: Path, _whole: Path, ended: Ended, undisturbed: Ended) -> str | None:
    """Return what is wrong in the answers on stdout, in the log, or in the file of solutions."""
    found, right = ([json.loads(line) for line in run.stdout.splitlines()] for run in (ended, undisturbed))
    if [(answer["id"], answer["length"]) for answer in found] != [(answer["id"], answer["length"]) for answer in right]:
        return "other answers on stdout"
    for answer in found:
        check_solution(tuple(answer["board"]), answer["moves"], tuple(answer["goal"]), BoardSize(4, 4))
    log, written = folder / "log", folder / "answers"
    if log.exists():
        logged = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()[1:]]
        if sorted((line["board"], line["tiles"]) for line in logged) != sorted((a["board"], a["moves"]) for a in found):
            return "other answers in the log"
    if written.exists():
        lengths = re.findall(r"^\d+$", written.read_text(encoding="utf-8"), re.MULTILINE)
        if lengths != [str(answer["length"]) for answer in found]:
            return "other answers in the file"
    return None


def _commands(table: Path) -> tuple[Command, ...]:
    db = ("--db", str(table))
    return (
        Command(
            "label",
            ("label", *db, "--random", "150", "--chunk", str(_CHUNK), "--out", "l.npz"),
            ("l.npz",),
            _finished_labels,
            same_file("l.npz"),
        ),
        Command(
            "solve --log",
            ("solve", *db, "--instances", "random1000", "--shard", "1/4", "--format", "ndjson", "--log", "log",
             "--out", "answers"),
            ("answers", "log"),
            _finished_boards,
            solve_loss,
        ),
        Command(
            "build 78",
            # About a checkpoint each second: at 0, writing them takes ten times as long as the build.
            ("build", "78", "--checkpoint-every", "0.05", "--out", "t.h5"),
            ("t.build.json", "t.h5"),
            _finished_build,
            same_file("t.h5"),
        ),
    )  # fmt: skip


def _killed(command: Command, folder: Path, seconds: float) -> bool:
    """Run a command in an empty folder and kill it. Return False if it ended before."""
    running = Running(command.arguments, cwd=folder)
    was_killed = running.kill_after(seconds)
    ended = running.wait(_PATIENCE_S)
    return was_killed and ended.code == -signal.SIGKILL


def _loss(command: Command, folder: Path, whole: Path, undisturbed: Ended) -> str | None:
    """Run a killed command again. Return what is lost."""
    for name in command.expected:
        if (
            name.endswith((".h5", ".npz"))
            and (folder / name).exists()
            and same_file(name)(folder, whole, undisturbed, undisturbed)
        ):
            return f"{name} was not whole under its final name"
    finished = command.finished(folder)
    left = {path.name for path in folder.iterdir() if _TEMPORARY.fullmatch(path.name)}
    ended = Running(command.arguments, cwd=folder).wait(_PATIENCE_S)
    if ended.problem() or ended.code != 0:
        return f"the next run: {ended.problem() or ended.stderr[-200:]}"
    if finished not in ended.stderr:
        return f"the next run does not report: {finished}"
    names = {path.name for path in folder.iterdir()} - left
    if names != set(command.expected):
        return f"left behind: {sorted(names)}"
    return command.loss(folder, whole, ended, undisturbed)


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Kill each command `options.tried` times, once in each of as many equal parts of its duration."""
    chance = random.Random(options.seed)
    with TemporaryDirectory() as root:
        table = Path(root, "78.h5")
        assert Running(["build", "78", "--out", str(table)]).wait(_PATIENCE_S).code == 0
        for command in _commands(table):
            with TemporaryDirectory(dir=root) as whole:
                undisturbed = Running(command.arguments, cwd=Path(whole)).wait(_PATIENCE_S)
                assert undisturbed.code == 0, undisturbed.stderr
                for number in range(options.tried):
                    seconds = undisturbed.seconds * (number + chance.random()) / options.tried
                    _try(tally, command, seconds, Path(whole), undisturbed)


def _try(tally: Tally, command: Command, seconds: float, whole: Path, undisturbed: Ended) -> None:
    """Kill a command, earlier if it ended before, and count what is lost."""
    is_killed = False
    while not is_killed:
        with TemporaryDirectory(dir=whole.parent) as folder:
            is_killed = _killed(command, Path(folder), seconds)
            if is_killed:
                tally.count(f"{command.name} killed", _loss(command, Path(folder), whole, undisturbed))
            seconds *= 0.9


if __name__ == "__main__":
    main(attack, tried=60)
