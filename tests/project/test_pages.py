"""Every command on every page runs as written and prints the output shown, except those listed here."""

import pickle
import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT, text_of
from tests.command_line import pdb
from tests.pdb_service.server import Server, serving

SERVICE = "http://127.0.0.1:8015"
# Pages whose blocks can be pasted one by one. Only a service that a block starts keeps running.
PASTED = ("README.md", "docs/tutorial.md")
# deploy/README.md needs root, systemd or a container engine; test_deploy.py checks its files.
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "data/README.md",
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md"))),
]
# A block. After the comment it runs only with --slow; text right below `sh` is the output of the last command.
_BLOCK = re.compile(r"^(<!-- slow -->\n)? *```(\S+)\n(.*?)^ *```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
# What differs between runs and machines, and what replaces it. If threads share a board, the optimal solution that is
# found first, and its nodes, differ, too.
_CHANGING = (
    # Messages of slow machines and of first runs, and empty lines.
    (
        r"^(pdb: (compiling|there is no standard table yet: building|after |(.*: )?[\d,]+ of [\d,]+ boards).*)?\n",
        "",
    ),
    (r"^  (\d+ ?)+(\.\.\.)?$", "  TILES"),
    (r"[\d,]+ nodes", "N nodes"),
    (r"\d+\.\d+ s\b", "T s"),
    (r"\d\.\d{6} +[\d,]+$", "RATE"),  # of pdb study compare
    (r"[\d.]+ GB (available|free)|\d+ threads?\b", "MACHINE"),
)
# The beginnings of commands that do not run, and the reason.
NOT_RUN = {
    "scripts/test": "the tests themselves; scripts/gate",
    "python3 -m venv .venv": "the environment of the tests is there",
    ". .venv/bin/activate": "the environment of the tests is active",
    "pip install ": "scripts/wheel installs the wheel in a clean environment",
    "openssl ": "makes certificates for a cluster of machines",
    "dask ": "a cluster of machines; tests/pdb_cluster starts clusters in the process",
    "gunzip ": "the log is in a checkout; tests/project/test_records.py",
    "pdb build 6666 --scheduler": "needs that cluster; tests/pdb_cluster/test_build.py",
    "pdb solve --db data/6666.h5 --instances korf50-24puzzle --log": "takes days; tests/tilepdb/commands",
    "pdb solve --db data/24-large-blank-first.h5 --load huge": "takes hours; tests/solver/test_frontier.py",
    "pdb solve --db data/6666.h5 --instances korf50-24puzzle --scheduler": "needs a cluster; tests/pdb_cluster",
}


def blocks(page: str) -> Iterator[tuple[str, bool, str, str]]:
    """Yield where each block of a page is, whether it is slow, its language and its text; `sh` as a console block."""
    text = text_of(page)
    for at in _BLOCK.finditer(text):
        is_slow, language, content, output = at.groups("")
        if language == "sh":
            language, content = "console", re.sub("^", "$ ", content.strip(), flags=re.MULTILINE) + f"\n{output}"
        line = text.count("\n", 0, at.start()) + 1
        yield f"{page}:{line}", bool(is_slow), language, content


class Reader:
    """Reader that runs a page in the current folder. Servers run until the end of `stack`."""

    server: Server | None = None

    def __init__(self, stack: ExitStack) -> None:
        self.names: dict[str, Any] = {}
        self._stack = stack

    def follow(self, where: str, language: str, text: str) -> None:
        """Run a block, and compare its output with the lines on the page."""
        assert language in ("console", "python", "text", "js", "json", "yaml", "ini"), where
        if language == "python":
            if self.server is not None:
                text = text.replace(SERVICE, self.server.url)
            with redirect_stdout(StringIO()) as printed:
                exec(compile(text, where, "exec"), self.names)
            shown = re.findall(r"^ *print\(.*\)  # (.*)", text, re.MULTILINE)
            compare(printed.getvalue(), "\n".join(shown), where)
        elif language == "console":
            # A command that ends in a backslash continues in the next line.
            for part in re.sub(r" *\\\n *", " ", f"\n{text}").split("\n$ ")[1:]:
                command, _, output = part.partition("\n")
                if not command.startswith(tuple(NOT_RUN)):
                    self._run(command, output, f"{where}: {command}")

    def _run(self, command: str, shown: str, where: str) -> None:
        """Run a command, and compare its output. One whose output is not shown succeeds."""
        command, _, file = command.partition(" >")
        match shlex.split(command):
            case ["pdb", "serve", *options]:
                self.server = self._stack.enter_context(serving(options=options))
            case ["pdb", *words]:
                printed = pdb(*words, code=None if shown else 0, joined=True).stdout
                compare(printed, shown, where)
                if file:
                    Path(file).write_text(printed)
            case ["curl", *options, address]:
                body, headers = None, {}
                match options:
                    case ["--json", text]:
                        body = text.encode()
                    case ["-H", header]:
                        headers = dict([header.split(": ")])
                    case _:
                        assert options == [], where
                # The body of an error is an answer, too. Pages break long lines of JSON.
                reply = self.server.ask(address.removeprefix(SERVICE), body, **headers)
                compare(reply.body.decode(), re.sub(r"\n +", "", shown), where)
            case _:
                raise AssertionError(where)


def compare(printed: str, shown: str, where: str) -> None:
    """Compare printed and shown lines, if any; `...` matches any text, and alone in a line any number of lines."""
    for pattern, replacement in _CHANGING:
        printed, shown = (re.sub(pattern, replacement, text, flags=re.MULTILINE) for text in (printed, shown))
    expected = "\n".join(map(re.escape, shown.splitlines())).replace(r"\.\.\.", ".*")
    expected = re.sub(r"^ *(\\ )*\.\*$", "(?s:.*)", expected, flags=re.MULTILINE)
    assert not shown or re.fullmatch(expected, printed.strip()), f"{where} prints\n{printed}\nshown is\n{shown}"


class NPuzzleState:
    """Board in a pickle of DeepCubeA."""

    def __init__(self) -> None:
        self.tiles = [1, 2, 3, 4, 5, 6, 7, 0, 8]


@pytest.mark.parametrize("page", [page for page in PAGES if "```" in text_of(page)])
def test_page_runs_as_written(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Run each page in an empty folder; those of `PASTED` block by block, without files and names of other blocks."""
    monkeypatch.chdir(tmp_path)
    Path("data_0.pkl").write_bytes(pickle.dumps({"states": [NPuzzleState()], "solutions": [["L"]]}))
    with ExitStack() as stack:
        reader = Reader(stack)
        for number, (where, is_slow, language, text) in enumerate(blocks(page)):
            if page in PASTED:
                (folder := tmp_path / str(number)).mkdir()
                monkeypatch.chdir(folder)
                reader.names.clear()
            if pytestconfig.getoption("--slow") or not is_slow:
                reader.follow(where, language, text)
