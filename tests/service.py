"""A server of our own to ask: `pdb serve` in a process."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_START_S = 120  # kernels may have to be compiled
_PROGRAM = "from pdb_cli.main import run; run()"


@dataclass(frozen=True)
class Reply:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Server:
    """A server that runs. `url` ends without a stroke."""

    url: str
    process: subprocess.Popen[str]

    def ask(self, path: str, body: bytes | None = None, *, timeout: float = 60, **headers: str) -> Reply:
        """GET, or POST where there is a body. Header names are written with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, body, named)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return Reply(response.status, {k.lower(): v for k, v in response.headers.items()}, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())


@contextmanager
def serving(*paths: Path, options: Sequence[str] = ()) -> Iterator[Server]:
    """`pdb serve` with these tables on a free port, ready. It is stopped in the end, and must then exit with 0."""
    databases = [word for path in paths for word in ("--db", str(path))]
    command = [sys.executable, "-c", _PROGRAM, "serve", "--port", "0", *databases, *options]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONWARNINGS": "error"}
    )
    try:
        server = Server(_url(process), process)
        _wait_until_ready(server)
        yield server
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def _url(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "listening on " in line:
            return line.split("listening on ")[1].strip().rstrip("/")
    raise AssertionError("the server did not start: " + "".join(lines))


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + _START_S
    while server.ask("/readyz").status != 200:
        assert time.monotonic() < deadline, "the server is not ready"
        time.sleep(0.05)
