"""Commands that are killed (SIGKILL) at moments all over their run, and then run again; and others that get a signal.

    python -m tests.faults.killed_commands [--tried 60] [--signals 200]

Each command runs once undisturbed. A killed one is survived if the next run of the same command ends well, continues
from all that was finished, gives the results of the undisturbed run, and leaves no other files. One that gets another
signal ends by it, without a traceback, also while it compiles its kernels.
"""

import argparse
import itertools
import json
import os
import random
import re
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

from pdb_core.board_size import BoardSize
from solver.solution import check_replay
from tests import ROOT
from tests.command_line import BOARD, PROGRAM, start
from tests.faults.driver import Ended, Tally, main, run

_PATIENCE_S = 600
_CHUNK = 10
# What a killed command may leave while it writes a file of --out, see docs/files.md.
_TEMPORARY = re.compile(r"\.(l\.npz|answers)\.[0-9a-f]{16}\.partial")


class Run(NamedTuple):
    """End of a command, and its folder."""

    folder: Path
    ended: Ended

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.ended.stdout.splitlines()]


class Command(NamedTuple):
    """Command whose files are in the current folder.

    expected  names of its files
    finished  returns what the next run must report on stderr, from what a killed run left
    loss      returns what is lost, from a run that succeeded and the undisturbed one
    """

    name: str
    arguments: tuple[str, ...]
    expected: tuple[str, ...]
    finished: Callable[[Path], str]
    loss: Callable[[Run, Run], str | None]


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
    return f"l.npz continues after {n_boards} boards" if n_boards else ""


def _differs(name: str, folder: Path, whole: Run) -> str | None:
    is_same = (folder / name).read_bytes() == (whole.folder / name).read_bytes()
    return None if is_same else f"{name} has other bytes"


def _build_loss(run: Run, whole: Run) -> str | None:
    reports = [json.loads((each.folder / "t.h5.build.json").read_text()) for each in (run, whole)]
    digests = [[table["sha256"] for table in report["tables"]] for report in reports]
    return _differs("t.h5", run.folder, whole) if digests[0] == digests[1] else "another report"


def _solve_loss(run: Run, whole: Run) -> str | None:
    """Return what is wrong in the answers on stdout, in the log, or in the file of solutions."""
    found, right = run.records(), whole.records()
    if [(answer["id"], answer["length"]) for answer in found] != [(answer["id"], answer["length"]) for answer in right]:
        return "other answers on stdout"
    for answer in found:
        check_replay(tuple(answer["board"]), answer["moves"], tuple(answer["goal"]), BoardSize(4, 4))
    logged = [json.loads(line) for line in (run.folder / "log").read_text().splitlines()[1:]]
    if sorted((line["board"], line["moves"]) for line in logged) != sorted((a["board"], a["moves"]) for a in found):
        return "other answers in the log"
    lengths = re.findall(r"^\d+$", (run.folder / "answers").read_text(), re.MULTILINE)
    return None if lengths == [str(answer["length"]) for answer in found] else "other answers in the file"


def _commands(table: Path) -> tuple[Command, ...]:
    solve = (
        "solve", "--db", str(table), "--instances", "random1000", "--shard", "1/4", "--format", "ndjson",
        "--out", "answers", "--log", "log",
    )  # fmt: skip
    label = ("label", "--db", str(table), "--random", "150", "--chunk", str(_CHUNK), "--out", "l.npz")
    build = ("build", "78", "--out", "t.h5")
    return (
        Command("build", build, ("t.h5", "t.h5.build.json"), _finished_build, _build_loss),
        Command("solve --log --out", solve, ("answers", "log"), _finished_boards, _solve_loss),
        Command(
            "label --out", label, ("l.npz",), _finished_labels, lambda run, whole: _differs("l.npz", run.folder, whole)
        ),
    )


def _loss(command: Command, folder: Path, whole: Run) -> str | None:
    """Run a killed command again. Return what is lost."""
    for name in command.expected:
        if name.endswith((".h5", ".npz")) and (folder / name).exists() and _differs(name, folder, whole):
            return f"{name} was not whole under its final name"
    finished = command.finished(folder)
    left = {path.name for path in folder.iterdir() if _TEMPORARY.fullmatch(path.name)}
    ended = run(command.arguments, cwd=folder, patience_s=_PATIENCE_S)
    if ended.problem() or ended.code != 0:
        return f"the next run: {ended.problem() or ended.stderr[-200:]}"
    if finished not in ended.stderr:
        return f"the next run does not report: {finished}"
    names = {path.name for path in folder.iterdir()} - left
    if names != set(command.expected):
        return f"the folder has {sorted(names)}"
    return command.loss(Run(folder, ended), whole)


def _signal_loss(arguments: list[str], cache: str, seconds: float, number: int) -> str | None:
    """Send a signal to a command, some seconds after its first lines. Return what is lost, "" if it ended before."""
    program = [*PROGRAM[:-1], PROGRAM[-1].replace("run()", "print(flush=True); run()")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TILE_PDB_CACHE": cache}
    with start(*arguments, program=program, env=environment) as process:
        process.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.send_signal(number)
        _, said = process.communicate()
    if process.returncode == 0:
        return ""
    is_well = process.returncode == -number and "Traceback" not in said and "ignored" not in said
    return None if is_well else f"exit code {process.returncode} after {seconds:.3f} s: {said[-300:]}"


def _send_signals(tally: Tally, n_signals: int, chance: random.Random, *, is_cold: bool) -> None:
    """Send signals at moments all over a short command, which compiles its kernels with a cold cache."""
    arguments = ["search", BOARD]
    with TemporaryDirectory() as warm:
        wholes = [run(arguments, environment={"TILE_PDB_CACHE": warm}, patience_s=_PATIENCE_S) for _ in range(2)]
        assert [whole.code for whole in wholes] == [0, 0], wholes[0].stderr
        for n_tried in range(n_signals):
            seconds = wholes[0 if is_cold else 1].seconds * (n_tried + chance.random()) / n_signals
            loss: str | None = ""
            while loss == "":
                with TemporaryDirectory() as cold:
                    number = chance.choice((signal.SIGHUP, signal.SIGINT, signal.SIGTERM))
                    loss = _signal_loss(arguments, cold if is_cold else warm, seconds, number)
                seconds *= 0.9
            tally.count(f"signal, {'cold' if is_cold else 'warm'} cache", loss)


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Kill each command once in each of `options.tried` equal parts of its duration, earlier if it ended before."""
    chance = random.Random(options.seed)
    for is_cold in (False, True):
        _send_signals(tally, options.signals, chance, is_cold=is_cold)
    with TemporaryDirectory() as root:
        table = Path(root, "78.h5")
        assert run(["build", "78", "--out", str(table)], patience_s=_PATIENCE_S).code == 0
        for command in _commands(table):
            folder = Path(mkdtemp(dir=root))
            whole = Run(folder, run(command.arguments, cwd=folder, patience_s=_PATIENCE_S))
            assert whole.ended.code == 0, whole.ended.stderr
            for number in range(options.tried):
                seconds = whole.ended.seconds * (number + chance.random()) / options.tried
                for attempt in itertools.count():
                    folder = Path(mkdtemp(dir=root))
                    if run(command.arguments, cwd=folder, patience_s=seconds * 0.9**attempt).code is None:
                        tally.count(f"{command.name} killed", _loss(command, folder, whole))
                        break


if __name__ == "__main__":
    main(attack, tried=60, signals=200, seed=1)
