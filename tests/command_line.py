"""Run the command line as a process, with its two output streams and its exit code."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.fork_server import fork_server

# A shell that starts the tests in the background lets them and their processes ignore Ctrl-C; restore the default.
PROGRAM = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tilepdb.commands.main import run; run()",
]
BOARD = "8 6 7/2 5 4/3 0 1"
UNSOLVABLE = "1 2 3/4 5 6/8 7 0"


def pdb(
    *arguments: str, stdin: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command, and check that it prints no traceback. Forks its process if that makes no difference."""
    whole = os.environ | environment
    if not fork_server().can_run(whole):
        return started_pdb(*arguments, stdin=stdin, cwd=cwd, **environment)
    result = fork_server().run(list(arguments), stdin=stdin, cwd=cwd, environment=whole)
    assert "Traceback" not in result.stderr, result.stderr
    return result


def started_pdb(
    *arguments: str, stdin: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell starts it, and check that it prints no traceback."""
    result = subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        timeout=120,
    )
    assert "Traceback" not in result.stderr, result.stderr
    return result


def refused(result: subprocess.CompletedProcess[str], code: int, match: str) -> None:
    """Check the exit code, and that stderr has one line that matches."""
    assert result.returncode == code, result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("pdb: compiling")]
    assert len(lines) == 1, lines
    assert re.search(match, lines[0]), lines


def on_terminal(arguments: list[str], *, seconds: float, environment: dict[str, str] | None = None) -> str:
    """Return the output of a command on a terminal of 100 columns, after at most `seconds`."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ.update({"COLUMNS": "100", "LINES": "40", "TERM": "xterm"} | (environment or {}))
        os.execv(sys.executable, [*PROGRAM, *arguments])
    shown = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([descriptor], [], [], 0.1)
        if ready:
            try:
                piece = os.read(descriptor, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    else:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(descriptor)
    return shown.decode("utf-8", "replace")
