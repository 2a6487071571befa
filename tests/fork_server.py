"""Fork server for commands: a process with all imports done forks one process per command, which saves their time.

A forked process has its own arguments, environment, folder and streams, calls `run()` and exits as usual. The server
has run no kernel and started no thread, so the fork is safe.
"""

import atexit
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import platformdirs

from tests import ROOT
from tests.tilepdb.commands.broken_streams import break_streams

_ENVIRONMENT = dict(os.environ)  # before a test has changed it
# The server is started like the command itself, so that a command's own processes find the same main module.
_PROGRAM = "from tests.fork_server import serve; serve(); from tilepdb.commands.main import run; run()"
_PACKAGES = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "tilepdb")


class ForkServer:
    """Client side: starts the server with the first environment, and sends it one command at a time."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            cwd=ROOT,
            # A fork with a second thread is not safe.
            env=_ENVIRONMENT | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def can_run(self, environment: Mapping[str, str]) -> bool:
        """Return True if modules imported with this environment are the same."""
        known = {"PYTEST_CURRENT_TEST": "", "TILE_PDB_CACHE": ""}
        same_kernels = _kernels(environment) == _kernels(_ENVIRONMENT)
        return same_kernels and {**environment, **known} == {**_ENVIRONMENT, **known}

    def run(
        self,
        arguments: list[str],
        *,
        stdin: str,
        cwd: Path | None,
        environment: Mapping[str, str],
        timeout_s: float = 120,
        streams: Mapping[str, str] | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as `subprocess.run` does, with files as streams.

        `streams` and `limits` are those of `break_streams`. Kills the command and raises `TimeoutError` after
        `timeout_s`.
        """
        assert self._process.stdin is not None
        with self._one_at_a_time, TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("in", "out", "err")]
            files[0].write_text(stdin, encoding="utf-8")
            task = {
                "arguments": arguments,
                "cwd": str(cwd or Path.cwd()),
                "environment": dict(environment),
                "files": list(map(str, files)),
                "streams": dict(streams or {}),
                "limits": dict(limits or {}),
            }
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            pid = self._number()
            killer = threading.Timer(timeout_s, os.kill, (pid, signal.SIGKILL))
            killer.start()
            code = self._number()
            killer.cancel()
            if code == -signal.SIGKILL:
                raise TimeoutError
            return subprocess.CompletedProcess(arguments, code, *(file.read_text("utf-8") for file in files[1:]))

    def _number(self) -> int:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the fork server ended: {self._process.communicate()[1]}"
        return int(line)

    def close(self) -> None:
        """End the server."""
        self._process.communicate()


@lru_cache(maxsize=1)
def fork_server() -> ForkServer:
    """Return the server of this process; the first call starts it."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def _kernels(environment: Mapping[str, str]) -> Path:
    """Return the folder of compiled kernels, which is chosen at import."""
    home = environment.get("TILE_PDB_CACHE") or platformdirs.user_cache_dir("tile-pdb")
    return (Path(home) / "kernels").resolve()


def serve() -> None:
    """Server side: fork a process for each command, and return in that process."""
    from numba.core.registry import cpu_target

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests end the server
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            importlib.import_module(".".join(part for part in parts if part != "__init__"))
    with suppress(ModuleNotFoundError):  # an extra
        importlib.import_module("matplotlib.pyplot")
    # Numba imports more when its first function is compiled or loaded.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    assert threading.active_count() == 1
    gc.freeze()  # the collector would write to shared pages, and so copy them
    tasks, numbers = os.fdopen(os.dup(0), encoding="utf-8"), os.dup(1)
    for line in tasks:
        pid = os.fork()
        if pid == 0:
            tasks.close()
            os.close(numbers)
            _become(json.loads(line))
            return
        os.write(numbers, f"{pid}\n".encode())
        os.write(numbers, f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n".encode())
    raise SystemExit


def _become(task: dict[str, Any]) -> None:
    """Turn this process into that of a command."""
    for number, file in enumerate(task["files"]):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv[1:] = task["arguments"]
    os.chdir(task["cwd"])
    os.environ.clear()
    os.environ.update(task["environment"])
    break_streams(task["streams"], task["limits"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
