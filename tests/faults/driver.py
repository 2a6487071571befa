"""Driver of the programs that attack real commands: start a command under limits, watch how it ends, count.

A program defines `attack(tally, options)` and ends with `main(attack, tried=60)`; then
`python -m tests.faults.PROGRAM --tried 60 --seed 1` prints a JSON record for each fault and exits with 1 if one is
lost.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from tests import ROOT
from tests.command_line import PROGRAM
from tests.faults.counting import Tally

# See docs/exit-codes.md.
_EXIT_CODES = (0, 1, 2, 3, 4, 5, -signal.SIGINT)
_PRINTABLE_CONTROLS = "\n\t"


class Ended(NamedTuple):
    """End of a command: exit code (negative for a signal), both streams, seconds, most memory in use; None: a hang."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    peak_bytes: int

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
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stderr(self) -> str:
        """Return what the command has printed on stderr so far."""
        return os.pread(self._files[2].fileno(), 1 << 24, 0).decode("utf-8", "replace")

    def wait(self, patience_s: float = 120) -> Ended:
        """Wait for the end of the command; kill it after `patience_s`."""
        end = time.monotonic() + patience_s
        while is_hanging := not self.has_ended():
            if time.monotonic() > end:
                self._process.kill()
                break
            time.sleep(0.01)
        _, status, usage = os.wait4(self.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - self._start
        for file in self._files:
            file.seek(0)
        stdout, stderr = (file.read() for file in self._files[1:])
        for file in self._files:
            file.close()
        return Ended(None if is_hanging else code, stdout, stderr, seconds, usage.ru_maxrss * 1024)

    def kill_after(self, seconds: float, number: int = signal.SIGKILL) -> bool:
        """Send a signal after some seconds. Return whether the command was still running."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.has_ended():
                return False
            time.sleep(0.002)
        if self.has_ended():
            return False
        os.kill(self.pid, number)
        return True


def main(attack: Callable[[Tally, argparse.Namespace], None], *, tried: int) -> None:
    """Run `attack` with the options of the command line, print the counts, and exit with 1 if anything is lost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tried", type=int, default=tried, help=f"trials of each fault (default {tried})")
    parser.add_argument("--seed", type=int, default=1)
    tally = Tally()
    attack(tally, parser.parse_args())
    print(tally.to_json())
    sys.exit(1 if tally.lost else 0)
