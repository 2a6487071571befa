"""Run the command line: in this process, or in another, which may have a terminal."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings

import pytest
from typer.main import get_command

from tests import ROOT
from tilepdb.commands.main import app
from tilepdb.commands.process import errors_as_exit_codes

# A shell that starts the tests in the background lets them and their processes ignore Ctrl-C; restore the default.
PROGRAM = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from pdb_core.start import run; run()",
]
BOARD = "8 6 7/2 5 4/3 0 1"
UNSOLVABLE = "1 2 3/4 5 6/8 7 0"


def pdb(
    *arguments: str,
    code: int | None = None,
    stdin: str = "",
    cwd: Path | None = None,
    joined: bool = False,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, and check its exit code if one is given. With `joined`, stderr goes to stdout.

    An error that it does not turn into an exit code is raised.
    """
    out = StringIO()
    err = out if joined else StringIO()
    with (
        TemporaryFile("w+", encoding="utf-8") as file,
        chdir(cwd or Path.cwd()),
        catch_warnings(action="default"),
        patch.dict(os.environ, environment),
        patch.multiple(sys, argv=["pdb", *arguments], stdin=file, stdout=out, stderr=err),
    ):
        file.write(stdin)
        file.seek(0)
        with pytest.raises(SystemExit) as end, errors_as_exit_codes():
            get_command(app)(arguments, prog_name="pdb")
    assert code in (None, int(end.value.code or 0)), err.getvalue()
    return subprocess.CompletedProcess(arguments, int(end.value.code or 0), out.getvalue(), err.getvalue())


def records(*arguments: str, code: int = 0, **options: Any) -> list[dict[str, Any]]:
    """Run the command with --format ndjson and the `options` of `pdb`, and return its records."""
    shown = pdb(*arguments, "--format", "ndjson", code=code, **options).stdout
    return [json.loads(line) for line in shown.splitlines()]


def refused(result: subprocess.CompletedProcess[str], code: int, match: str) -> None:
    """Check the exit code, and that stderr has one line that matches."""
    assert result.returncode == code, result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("pdb: compiling")]
    assert len(lines) == 1, lines
    assert re.search(match, lines[0]), lines


@contextmanager
def start(*arguments: str, program: Sequence[str] = PROGRAM, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start the command as a process, which is killed at the end, or after five minutes.

    Its streams are pipes if `options`, which Popen gets, name no others.
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*program, *arguments], text=True, **(pipes | options)) as process:
        killer = Timer(300, process.kill)
        killer.start()
        try:
            yield process
        finally:
            killer.cancel()
            process.kill()


def started_pdb(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in another process, to its end."""
    with start(*arguments, cwd=cwd, env=os.environ | environment) as process:
        out, err = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def python(program: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program of Python in another process. subprocess.run gets the `options`."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, **{"cwd": ROOT, "capture_output": True, "text": True, "check": False} | options)


def on_terminal(*arguments: str, until: str, keys: bytes | None, program: Sequence[str] = PROGRAM) -> tuple[int, str]:
    """Run a command on a terminal until it shows `until`; then press keys, or close the terminal if they are None.

    Return the exit code and what was shown. After three minutes all its processes are killed.
    """
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", *program, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    killer = Timer(180, os.killpg, (process.pid, signal.SIGKILL))
    killer.start()
    shown, is_waiting = "", True
    with suppress(OSError):  # the terminal was closed, on either side
        while True:
            if is_waiting and re.search(until, shown):
                is_waiting = False
                if keys is None:
                    os.close(ours)
                else:
                    os.write(ours, keys)
            shown += os.read(ours, 65536).decode("utf-8", "replace")
    code = process.wait()
    killer.cancel()
    if keys is not None:
        os.close(ours)
    return code, shown
