"""Every command and every route against tests/golden/doors, whose lines are cases with their answers.

`WRITE_DOORS=1 scripts/test tests/project/test_doors.py` writes the answers anew.
"""

import json
import os
import re
import shlex
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer.main

from pdb_service.openapi import openapi
from tests import ROOT
from tests.command_line import pdb
from tests.pdb_service.app_requests import ask, ready_app
from tests.solving import database_for
from tilepdb.commands.main import app

Case = dict[str, Any]
_FOLDER = ROOT / "tests" / "golden" / "doors"
_CASES: dict[str, list[Case]] = {
    path.name: list(map(json.loads, path.read_text().splitlines())) for path in sorted(_FOLDER.iterdir())
}
# What differs between machines, runs and versions, and what replaces it.
_CHANGING = (
    (r'("(\w*seconds|nodes_per_\w+|threads|peak_\w+bytes|\w+_available_bytes)": ?)[\d.e-]+', r'\1"*"'),
    (r"\d\.\d{6} +[\d,]+(?=\n)", "* *"),
    (r", [\d.]+ million/s", ""),  # shown from a rate on
    (r"[\d.]+ s\b", "* s"),
    (r"[\d.]+ [kMGT]?B\b", "* B"),
    (r"\d+ threads?|at most \d+ tiles", "*"),
    (r"tile-pdb [\d.]+\w*(, commit \w+)?", "tile-pdb VERSION"),
    (r"(?<=': )(Input should be|Value error,|\S+ is not (in the range|a valid)) .*", "*"),  # of Typer
    (r'"title": ?"[^"]*"', '"title":"*"'),  # of Python
    # Sums of floats have their last digits from the order of the sum.
    (r"(\d+\.\d{6})\d+", r"\1"),
)
_HEADERS = ("allow", "content-type", "retry-after", "www-authenticate")
_LEFT_OUT = re.compile("$|Usage: |Try |pdb: compiling")
_LONG = 6_000


def lines(text: str, *changing: tuple[str, str]) -> list[Any]:
    """Return the lines of a text without what differs. JSON is parsed, and long texts are cut."""
    for pattern, placeholder in (*changing, *_CHANGING):
        text = re.sub(pattern, placeholder, text)
    if len(text) > _LONG:
        return [text[:100]]
    parts = [text] if text.startswith("[") else text.splitlines()
    return [json.loads(part) if part[:1] in ("[", "{") else part for part in parts]


def contents(folder: Path) -> set[tuple[str, bytes]]:
    return {(str(path.relative_to(folder)), path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def run(folder: Path, cache: str, case: Case) -> Case:
    """Return the exit code and the output of a command, and the files of a folder that are new or changed."""
    for name, text in case.get("given", {}).items():
        (folder / name).write_text(text)
    subprocess.run(case.get("before", ""), shell=True, cwd=folder, capture_output=True, check=True)
    before = contents(folder)
    words = shlex.split(case["pdb"])
    result = pdb(*words, stdin=case.get("stdin", ""), cwd=folder, TILE_PDB_CACHE=cache, COLUMNS="300")
    here = (str(folder.parent), "TMP")
    floats = [(r"\d+\.\d+(e-\d+)?|\d+e-\d+", "*")] * ("--format csv" in case["pdb"])
    changed = sorted(contents(folder) - before)
    return {
        "code": result.returncode,
        "out": lines(result.stdout, here, *floats),
        "err": [line for line in lines(result.stderr, here) if not _LEFT_OUT.match(line)],
        "files": {name: lines(text.decode()) if name.endswith((".ans", ".csv")) else "" for name, text in changed},
    }


def answer(apps: dict[str, Any], case: Case) -> Case:
    """Return the status, some headers, and the body of the answer to a request."""
    method, _, address = case["http"].partition(" ")
    body = case.get("body", "").encode("latin-1")
    reply = ask(apps[case.get("app", "ready")], address, *case.get("headers", {}).items(), method=method, body=body)
    headers = {name: value for name, value in reply.headers.items() if name in _HEADERS}
    return {"status": reply.status, **headers, "answer": lines(reply.body.decode("latin-1"))}


@pytest.mark.parametrize("name", _CASES)
def test_answers_are_those_kept(name: str, tmp_path: Path, own_cache: str) -> None:
    """The cases of a file run one after another, commands in one folder."""
    if name == "http.ndjson":
        tables = ("663", "4x4"), ("8", "3x3"), ("1,2,5/3,4,6/7,8", "3x3", "blank-first")
        databases = [database_for(*table) for table in tables]
        stopping = ready_app(*databases, token="s3cret")
        stopping.service.stop()
        answers = partial(answer, {"ready": ready_app(*databases, max_boards=3), "stopping": stopping})
    else:
        (folder := tmp_path / "folder").mkdir()
        answers = partial(run, folder, own_cache)
    found = [case | answers(case) for case in _CASES[name]]
    if os.environ.get("WRITE_DOORS"):
        (_FOLDER / name).write_text("".join(f"{json.dumps(case)}\n" for case in found))
    else:
        for expected, case in zip(_CASES[name], found, strict=True):
            assert case == expected


def test_every_option_and_every_route_has_a_case() -> None:
    commands = typer.main.get_command(app).commands
    commands |= {f"study {name}": command for name, command in commands.pop("study").commands.items()}
    http = _CASES["http.ndjson"]
    given = [case["pdb"] for cases in _CASES.values() if cases is not http for case in cases]
    for name, command in commands.items():
        words = " ".join(line for line in given if line.startswith(name)).split()
        options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
        assert {option for option in options if option.startswith("--")} <= {*words}, name
    routes = {re.sub("/v1/instances/.*", "/v1/instances/{name}", case["http"].partition("?")[0]) for case in http}
    paths = json.loads(openapi())["paths"]
    assert {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods} <= routes
