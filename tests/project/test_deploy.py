"""deploy/ names existing commands and files, and the service reports that it is ready."""

import os
import platform
import re
import socket
from pathlib import Path

import pytest
import typer.main

from tests import PACKAGES, ROOT, text_of
from tests.command_line import python
from tests.pdb_service.server import serving
from tests.tables import table_file
from tilepdb.commands.main import app

CONTAINERFILE = text_of("deploy/Containerfile")


@pytest.mark.tiny
def test_units_and_container_run_commands_that_exist() -> None:
    unit = text_of("deploy/tile-pdb.service")
    text = re.sub(r'[\[\]",]', "", unit + CONTAINERFILE + text_of("docs/how-to/long-runs.md"))
    commands = re.findall(r"^(?:ExecStart=|RUN |ENTRYPOINT ).*\bpdb (\w+)([^$&;\n]*)", text, re.MULTILINE)
    assert [name for name, _ in commands] == ["serve", "doctor", "serve", "build"]
    for name, words in commands:
        typer.main.get_command(app).commands[name].make_context(
            name, words.split()
        )  # refuses options that it does not have
    # The server waits for 5 seconds more than the searches.
    grace, stop = (re.findall(pattern, unit)[0] for pattern in (r"--grace (\d+)", r"TimeoutStopSec=(\d+)"))
    assert float(grace) + 5 < float(stop)
    copied = [line.split() for line in re.findall(r"^COPY ([^-].*)$", CONTAINERFILE, re.MULTILINE)]
    sources = {source for *names, _target in copied for source in names}
    assert all((ROOT / source).exists() for source in sources)
    assert {*PACKAGES, "pyproject.toml", "README.md", "data/instances"} <= sources


def test_container_keeps_its_kernels_on_another_processor() -> None:
    """The key of a compiled kernel is the level in the Containerfile, without the features of this machine."""
    (level,), lanes = re.findall("^ARG CPU=(.*)$", CONTAINERFILE, re.MULTILINE), "8"
    if platform.machine() != "x86_64":  # deploy/README.md names the argument
        level, lanes = "generic", "4"
    numba = {name: value.replace("$CPU", level) for name, value in re.findall(r"\b(NUMBA_\w+)=(\S*)", CONTAINERFILE)}
    program = (
        "from numba.core.registry import cpu_target; from solver.vectors.llvm_vectors import LANES; "
        "_, name, features = cpu_target.target_context.codegen().magic_tuple(); print(name, repr(features), LANES)"
    )
    assert python(program, env=os.environ | numba).stdout.split() == [level, "''", lanes]


def test_server_reports_to_systemd_and_to_probes_that_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = text_of("deploy/is_ready.py")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(120)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        with serving(table_file("8", "3x3")) as server:
            assert notified.recv(100) == b"READY=1"
            program = program.replace("http://127.0.0.1:8015", server.url)
            assert python(program).returncode == 0
    result = python(program)
    assert (result.returncode, result.stderr) == (1, "")
