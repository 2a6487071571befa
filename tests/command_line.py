"""The command line as its users meet it: a process, its two streams, its exit code."""

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

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start too.
PROGRAM = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from pdb_cli.main import run; run()",
]
BOARD = "8 6 7/2 5 4/3 0 1"
UNSOLVABLE = "1 2 3/4 5 6/8 7 0"


def pdb(
    *arguments: str, stdin: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command; whatever happens, no traceback. Its process is forked where that can make no difference."""
    whole = os.environ | environment
    if not fork_server().can_run(whole):
        return started_pdb(*arguments, stdin=stdin, cwd=cwd, **environment)
    result = fork_server().run(list(arguments), stdin=stdin, cwd=cwd, environment=whole)
    assert "Traceback" not in result.stderr, result.stderr
    return result


def started_pdb(
    *arguments: str, stdin: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user's shell starts it, with the time that takes; whatever happens, no traceback."""
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
    """The exit code, and one sentence on stderr."""
    assert result.returncode == code, result.stderr
    told = [line for line in result.stderr.splitlines() if not line.startswith("pdb: compiling")]
    assert len(told) == 1, told
    assert re.search(match, told[0]), told


def on_terminal(arguments: list[str], *, seconds: float, environment: dict[str, str] | None = None) -> str:
    """What the command shows on a terminal of 100 columns in so many seconds, at most."""
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
