"""What the programs that attack share: counts of trials, the command line, a command to watch, and a child process.

A program defines `attack(tally, options)` and ends with `main(attack, tried=60, seed=1)`; then
`python -m tests.faults.PROGRAM --tried 60 --seed 1` prints a JSON record for each fault and exits with 1 if a trial is
lost.
"""

import argparse
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from tests import ROOT
from tests.command_line import PROGRAM

# See docs/exit-codes.md.
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


def in_child(work: Callable[[], str], *, patience_s: float = 60, memory_bytes: int | None = None) -> str:
    """Return the result of `work` in a fork of this process: what it returns, or "lost: " and an error, crash or hang.

    A child that takes longer than `patience_s` hangs. It may use `memory_bytes` beyond what it has when it starts.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if memory_bytes is not None:
                in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (in_use + memory_bytes, in_use + memory_bytes))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                result = work()
            except Exception as error:
                result = f"lost: {type(error).__name__}: {error}"
            with os.fdopen(writing, "wb") as file:
                file.write(result.encode())
        finally:
            os._exit(0)
    os.close(writing)
    is_hanging = not select.select([reading], [], [], patience_s)[0]
    if is_hanging:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as file:
        result = file.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if is_hanging:
        return "lost: hang"
    return result or f"lost: crash: {signal.Signals(-code).name if code < 0 else 'no result'}"


class Ended(NamedTuple):
    """End of a command: exit code (negative for a signal), both streams, seconds; None: a hang."""

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


class Running:
    """Command that runs as a real process. Its streams are files, so it never waits for a reader."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
        stdin: str = "",
        program: Sequence[str] = PROGRAM,
    ) -> None:
        """Start `program` with `arguments`. `limits` maps constants of `resource` to their values."""
        self._files = [TemporaryFile("w+", encoding="utf-8", errors="replace", newline="") for _ in range(3)]  # noqa: SIM115
        self._files[0].write(stdin)
        self._files[0].seek(0)
        self._start = time.monotonic()

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for name, value in (limits or {}).items():
                resource.setrlimit(name, (value, value))

        self._process = subprocess.Popen(
            [*program, *arguments],
            stdin=self._files[0],
            stdout=self._files[1],
            stderr=self._files[2],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            preexec_fn=limit,
        )
        self.pid = self._process.pid

    def has_ended(self) -> bool:
        """Return whether the command has ended."""
        return self._process.poll() is not None

    def stderr(self) -> str:
        """Return what the command has printed on stderr so far."""
        return os.pread(self._files[2].fileno(), 1 << 24, 0).decode("utf-8", "replace")

    def wait(self, patience_s: float = 120) -> Ended:
        """Wait for the end of the command; kill it after `patience_s`."""
        is_hanging = self.kill_after(patience_s)
        code = self._process.wait()
        seconds = time.monotonic() - self._start
        for file in self._files:
            file.seek(0)
        stdout, stderr = (file.read() for file in self._files[1:])
        for file in self._files:
            file.close()
        return Ended(None if is_hanging else code, stdout, stderr, seconds)

    def kill_after(self, seconds: float) -> bool:
        """Kill the command (SIGKILL) after some seconds. Return whether it was still running."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return True
        return False
