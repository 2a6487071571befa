"""deploy/ names existing commands and files, and the service reports that it is ready."""

import configparser
import json
import os
import platform
import re
import shlex
import socket
from pathlib import Path

import pytest
import typer.main

from tests import PACKAGES, ROOT, text_of
from tests.command_line import pdb, python, refused
from tests.pdb_service.server import serving
from tests.tables import table_file
from tilepdb.commands.main import app


def parsed_unit(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), strict=False)
    parser.read_string(text)
    return parser


def unit(name: str) -> configparser.ConfigParser:
    return parsed_unit(text_of(f"deploy/{name}"))


def container_lines(word: str) -> list[str]:
    return re.findall(rf"^{word} (.*)$", text_of("deploy/Containerfile"), re.MULTILINE)


COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def check_command(words: list[str]) -> None:
    """Check that a command line names an existing command and existing options."""
    program, name, *rest = words
    assert Path(program).name == "pdb"
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= options, words


@pytest.mark.tiny
def test_service_unit_runs_commands_that_exist() -> None:
    service = unit("tile-pdb.service")["Service"]
    words = shlex.split(service["ExecStart"])
    check_command(words)
    # A variable of the file of options would replace one of the same name in the unit.
    (variable,) = re.findall(r'Environment="(\w+)=--token-file', text_of("deploy/README.md"))
    assert f"${variable}" in words
    assert variable not in re.findall(r"`(\w+)=--solves", text_of("deploy/README.md")) == ["OPTIONS"]
    # The server waits for 5 seconds more than the searches.
    assert float(words[words.index("--grace") + 1]) + 5 < float(service["TimeoutStopSec"])
    # Five starts within 10 s reach the default limit of systemd.
    assert 5 * int(service["RestartSec"]) > 10
    assert service["Environment"].startswith("TILE_PDB_CACHE=%C/" + service["CacheDirectory"])


@pytest.mark.tiny
def test_unit_of_a_build_runs_a_command_that_exists() -> None:
    page = text_of("docs/how-to/long-runs.md")
    (text,) = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    shown = parsed_unit(text)
    words = shlex.split(shown["Service"]["ExecStart"])
    check_command(words)
    assert shown["Unit"]["ConditionPathExists"] == "!" + words[words.index("--out") + 1]


@pytest.mark.tiny
def test_containerfile_names_existing_files_and_options() -> None:
    copied = [line.split() for line in container_lines("COPY") if not line.startswith("--from")]
    sources = {source for *names, _target in copied for source in names}
    assert all((ROOT / source).exists() for source in sources)
    assert {*PACKAGES, "pyproject.toml", "README.md", "data/instances"} <= sources
    (entry,) = container_lines("ENTRYPOINT")
    check_command(json.loads(entry))
    for line in container_lines("RUN"):
        for command in re.findall(r"\bpdb \w+[^&;]*", line):
            check_command(command.split())
    (port,) = container_lines("EXPOSE")
    assert f":{port}/readyz" in text_of("deploy/is_ready.py")


def test_container_keeps_its_kernels_on_another_processor() -> None:
    """The key of a compiled kernel is the level in the Containerfile, without the features of this machine."""
    (level,), lanes = [line.removeprefix("CPU=") for line in container_lines("ARG")], "8"
    if platform.machine() != "x86_64":  # deploy/README.md names the argument
        level, lanes = "generic", "4"
    settings = dict(word.split("=", 1) for line in container_lines("ENV") for word in line.split())
    numba = {name: value.replace("$CPU", level) for name, value in settings.items() if name.startswith("NUMBA_")}
    program = (
        "from numba.core.registry import cpu_target; from solver.vectors.llvm_vectors import LANES; "
        "_, name, features = cpu_target.target_context.codegen().magic_tuple(); print(name, repr(features), LANES)"
    )
    assert python(program, env=os.environ | numba).stdout.split() == [level, "''", lanes]


@pytest.mark.tiny
def test_sample_proxies_hide_metrics() -> None:
    text = text_of("deploy/README.md")
    nginx, caddy = (re.findall(rf"```{name}\n(.*?)```", text, re.DOTALL)[0] for name in ("nginx", "caddy"))
    assert re.search(r"location = /metrics \{\s+return 404;", nginx)
    assert re.search(r"respond /metrics 404\n.*reverse_proxy", caddy)


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


def test_used_port_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refused(pdb("serve", "--port", str(listener.getsockname()[1])), 2, "choose another with --host and --port")
