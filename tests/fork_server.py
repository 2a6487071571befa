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
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile

import platformdirs

from tests import ROOT
from tests.pdb_cli.broken_streams import break_streams

_ENVIRONMENT = dict(os.environ)  # before a test has changed it
_NUMBER = struct.Struct("i")
# The server is started like the command itself, so that a command's own processes find the same main module.
_PROGRAM = "from tests.fork_server import serve; serve({}); from pdb_cli.main import run; run()"
_PACKAGES = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "pdb_cli")
_OTHER_MODULES = ("matplotlib.pyplot", "rich.console", "rich.progress")


class ForkServer:
    """Client side: starts the server with the first environment, and sends it one command at a time."""

    def __init__(self) -> None:
        self._environment = _ENVIRONMENT
        self._one_at_a_time = threading.Lock()
        self._channel, theirs = socket.socketpair()
        # Pipes, as in the tests: Python checks the type of its streams once, when it starts.
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(theirs.fileno())],
                cwd=ROOT,
                # A fork with a second thread is not safe.
                env=self._environment | {"OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

    def can_run(self, environment: Mapping[str, str]) -> bool:
        """Return whether modules imported with this environment are the same."""
        known = {"PYTEST_CURRENT_TEST": "", "TILE_PDB_CACHE": ""}
        same_kernels = _kernels(environment) == _kernels(self._environment)
        return same_kernels and {**environment, **known} == {**self._environment, **known}

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
        command = {
            "arguments": arguments,
            "cwd": str(cwd or Path.cwd()),
            "environment": dict(environment),
            "streams": dict(streams or {}),
            "limits": dict(limits or {}),
        }
        with ExitStack() as stack:
            stack.enter_context(self._one_at_a_time)
            files = [stack.enter_context(TemporaryFile("w+", encoding="utf-8")) for _ in range(4)]
            for file, text in zip(files, (json.dumps(command), stdin), strict=False):
                file.write(text)
                file.seek(0)
            self._channel.settimeout(None)
            socket.send_fds(self._channel, [b"!"], [file.fileno() for file in files])
            pid = self._number()
            self._channel.settimeout(timeout_s)
            try:
                code = self._number()
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._channel.settimeout(None)
                self._number()
                raise
            for file in files:
                file.seek(0)
            return subprocess.CompletedProcess(arguments, code, files[2].read(), files[3].read())

    def _number(self) -> int:
        received = self._channel.recv(_NUMBER.size, socket.MSG_WAITALL)
        assert len(received) == _NUMBER.size, f"the fork server ended: {self._process.communicate()[1]}"
        return int(_NUMBER.unpack(received)[0])

    def close(self) -> None:
        """End the server."""
        self._channel.close()
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


def serve(descriptor: int) -> None:
    """Server side: fork a process for each command, and return in that process."""
    from numba.core.registry import cpu_target

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests end the server
    for package in _PACKAGES:
        _import_all(package)
    for module in _OTHER_MODULES:
        importlib.import_module(module)
    # Numba imports more when its first function is compiled or loaded.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    assert threading.active_count() == 1
    gc.freeze()  # the collector would write to shared pages, and so copy them
    channel = socket.socket(fileno=descriptor)
    while True:
        message, received, _flags, _address = socket.recv_fds(channel, 1, 4)
        if not message:
            raise SystemExit
        pid = os.fork()
        if pid == 0:
            channel.close()
            _become(*received)
            return
        for descriptor in received:
            os.close(descriptor)
        channel.sendall(_NUMBER.pack(pid))
        channel.sendall(_NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


def _import_all(package: str) -> None:
    """Import the modules of a package, except those of the service and the cluster, which few commands need."""
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if not {"service", "cluster"} & set(parts):
            importlib.import_module(".".join(part for part in parts if part != "__init__"))


def _become(command: int, *streams: int) -> None:
    """Turn this process into that of a command."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    with open(command, encoding="utf-8") as file:
        task = json.load(file)
    sys.argv[1:] = task["arguments"]
    os.chdir(task["cwd"])
    os.environ.clear()
    os.environ.update(task["environment"])
    break_streams(task["streams"], task["limits"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
