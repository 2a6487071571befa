"""Shared by the programs that attack: counts of trials, the command line, commands that may be killed, and forks.

A program defines `attack(tally, options)` and ends with `main(attack, tried=60, seed=1)`; then
`python -m tests.faults.PROGRAM --tried 60 --seed 1` prints a JSON record for each fault and exits with 1 if a trial is
lost.
"""

import argparse
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests import ROOT
from tests.command_line import PROGRAM

# See docs/files.md.
_EXIT_CODES = (0, 1, 2, 3, 4, 5, -signal.SIGINT)
_PRINTABLE_CONTROLS = "\n\t"


class Tally:
    """Counts of each fault: tried, survived, lost, with the reasons for the first losses."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}

    def count(self, fault: str, loss: str | None, *, outcome: str | None = None, **figures: float) -> None:
        """Count one trial. `loss` names what was lost, None if nothing was.

        Trials that survived are also counted by their outcome, if there is one. The largest of each figure is kept.
        """
        record = self.records.setdefault(fault, {"tried": 0, "survived": 0, "lost": 0, "examples": []})
        for name in ("tried", "survived" if loss is None else "lost", *([outcome] if outcome else [])):
            record[name] = record.get(name, 0) + 1
        if loss is not None:
            record["examples"] = [*record["examples"], loss][:5]
        for name, value in figures.items():
            record[name] = max(value, record.get(name, value))


def main(attack: Callable[[Tally, argparse.Namespace], None], **defaults: int) -> None:
    """Run `attack` with the options of the command line, print the counts, and exit with 1 if anything is lost."""
    parser = argparse.ArgumentParser()
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"(default {default})")
    tally = Tally()
    attack(tally, parser.parse_args())
    print(json.dumps(tally.records, indent=2))
    sys.exit(1 if any(record["lost"] for record in tally.records.values()) else 0)


def _limit(memory_bytes: int | None = None) -> None:
    """Let this process write no core, and limit its address space."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def in_child(work: Callable[[], Any], *, patience_s: float = 60, memory_bytes: int | None = None) -> Any:
    """Return the result of `work` in a fork of this process: what it returns, or "lost: " and an error, crash or hang.

    A child that takes longer than `patience_s` hangs. It may use `memory_bytes` beyond what it has when it starts.
    """
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)

    def run() -> None:
        _limit(memory_bytes and psutil.Process().memory_info().vms + memory_bytes)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            writing.send(work())
        except Exception as error:
            writing.send(f"lost: {type(error).__name__}: {error}")
        finally:
            os._exit(0)  # waits for no thread

    child = context.Process(target=run)
    child.start()
    writing.close()
    try:
        if not reading.poll(patience_s):
            child.kill()
            return "lost: hang"
        with suppress(EOFError):  # without a result, the pipe ends
            return reading.recv()
    finally:
        child.join()
    code = child.exitcode
    return f"lost: crash: {signal.Signals(-code).name if code < 0 else 'no result'}"


class Ended(NamedTuple):
    """End of a command: exit code (negative for a signal, None if it was killed), both streams, seconds."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float

    def problem(self) -> str | None:
        """Return the reason why no command may end in this way, or None."""
        if self.code is None:
            return "hang"
        if "Traceback" in self.stderr:
            return f"traceback: {self.stderr.splitlines()[-1]}"
        if self.code not in _EXIT_CODES:
            return f"exit code {self.code}: {self.stderr[-200:]}"
        for name, text in (("stdout", self.stdout), ("stderr", self.stderr)):
            raw = [char for char in text if not char.isprintable() and char not in _PRINTABLE_CONTROLS]
            if raw:
                return f"raw {raw[0]!r} on {name}"
        return None


def run(
    arguments: Sequence[str],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = PROGRAM,
    patience_s: float = 120,
) -> Ended:
    """Run `program` with `arguments` as a process. It is killed (SIGKILL) after `patience_s` seconds."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            [*program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            preexec_fn=_limit,
            timeout=patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ended(None, "", "", patience_s)
    streams = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    return Ended(done.returncode, *streams, time.monotonic() - start)
