"""`pdb serve` in a process, for tests."""

import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

from tests import wait_until
from tests.command_line import PROGRAM

_START_S = 300  # kernels may have to be compiled, and standard tables to be built


class Reply(NamedTuple):
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server(NamedTuple):
    """A running server. `url` has no slash at the end; `log` is the file of its stderr."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def n_running(self) -> int:
        """Return the number of searches that run."""
        return int(re.search(rb"^tile_pdb_solves_running (\d+)", self.ask("/metrics").body, re.MULTILINE)[1])

    def ask(self, path: str, body: bytes | None = None, *, timeout: float = 60, **headers: str) -> Reply:
        """Send GET, or POST with a body, and return the answer. Names of headers have underscores for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, body, named)
        try:
            response = urllib.request.urlopen(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, headers, response.read())


@contextmanager
def serving(*paths: Path, options: Sequence[str] = (), prelude: str = "") -> Iterator[Server]:
    """Yield a ready `pdb serve` with these tables on a free port; `prelude` is a program that runs first.

    At the end it is stopped, if it still runs, and must exit with 0.
    """
    databases = [word for path in paths for word in ("--db", str(path))]
    *python, program = PROGRAM
    command = [*python, f"{prelude}\n{program}", "serve", "--port", "0", *databases, *options]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    with NamedTemporaryFile() as file, subprocess.Popen(command, stderr=file, env=environment) as process:
        log = Path(file.name)
        try:
            wait_until(lambda: process.poll() is not None or "ready: " in log.read_text(), _START_S)
            ready = re.search(r"ready: (\S+?)/?\n", log.read_text())
            assert ready, log.read_text()
            yield Server(ready[1], process, log)
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 0
        finally:
            process.kill()
