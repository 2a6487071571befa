"""Every command on every page runs as written and prints the output shown, except those listed here."""

import contextlib
import pickle
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import ROOT
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
    *(f"docs/{path.relative_to(ROOT / 'docs')}" for path in sorted((ROOT / "docs").rglob("*.md"))),
]
# A block. After the comment it runs only with --slow; text right below `sh` is the output of the last command.
_BLOCK = re.compile(r"^(<!-- slow -->\n)? *```(\S+)\n(.*?)^ *```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
# Messages of slow machines and of first runs.
_PROGRESS = re.compile(
    r"pdb: (compiling|there is no standard table yet: building|pattern \d+ of|board \S+ threshold"
    r"|(.*: )?[\d,]+ of [\d,]+ boards)"
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


class Block(NamedTuple):
    """Fenced block of a page, and the number of its first line. `output` has the lines of text right below it."""

    line: int
    is_slow: bool
    language: str
    text: str
    output: list[str]


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = (ROOT / page).read_text()
    return [
        Block(text.count("\n", 0, at.start()) + 1, bool(at[1]), at[2], at[3].rstrip("\n"), (at[4] or "").splitlines())
        for at in _BLOCK.finditer(text)
    ]


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block or of a block in `sh`, without comments, and the output of each.

    A command that ends in a backslash continues in the next line.
    """
    if block.language == "sh":
        *first, last = block.text.splitlines()
        return [*((command, []) for command in first), (last, block.output)]
    shown: list[tuple[str, list[str]]] = []
    text = re.sub(r" *\\\n *", " ", block.text)
    for line in text.splitlines() if block.language == "console" else ():
        if line.startswith("$ "):
            shown.append((re.sub(r"\s+# .*", "", line[2:]), []))
        elif line:
            shown[-1][1].append(line)
    return shown


@dataclass
class Reader:
    """Reader that runs a page in the current folder."""

    start: Callable[[tuple[str, ...]], Server]
    names: dict[str, Any] = field(default_factory=dict)
    server: Server | None = None

    def follow(self, block: Block) -> None:
        """Run a block, and compare its output with the lines on the page."""
        assert block.language in ("console", "python", "sh", "text", "js", "json", "yaml", "ini"), block
        if block.language == "python":
            self._run_python(block)
        for command, shown in commands(block):
            if command.startswith(tuple(NOT_RUN)):
                continue
            if command.split()[:2] == ["pdb", "serve"]:
                self.server = self.start(tuple(shlex.split(command)[2:]))
            else:
                compare(self.run(command, shown), shown, f"line {block.line}: {command}")

    def run(self, command: str, shown: list[str]) -> list[str]:
        """Run a command, and return the lines of both its output streams."""
        command, _, file = command.partition(" >")
        program, *words = shlex.split(command)
        if program == "curl":
            # Pages break long lines of JSON.
            shown[:] = re.sub(r"\n +", "", "\n".join(shown)).splitlines()
            return self._fetch(*words).splitlines()
        assert program == "pdb", command
        # A command whose output is not shown succeeds.
        printed = pdb(*words, code=None if shown else 0, joined=True).stdout
        if file:
            Path(file).write_text(printed)
        return [line for line in printed.splitlines() if not _PROGRESS.match(line)]

    def _fetch(self, *words: str) -> str:
        """Do what curl does with an address, -H and --json. The body of an error is an answer, too."""
        *options, address = words
        given = dict(zip(options[::2], options[1::2], strict=True))
        headers, body = {}, given.pop("--json", None)
        if body is not None:
            headers["Content-Type"] = "application/json"
        if "-H" in given:
            name, _, headers[name] = given.pop("-H").partition(": ")
        assert self.server is not None
        assert not given, words
        return self.server.ask(address.removeprefix(SERVICE), body and body.encode(), **headers).body.decode()

    def _run_python(self, block: Block) -> None:
        """Run code, and compare the output of each line that ends in a comment with the comment."""
        printed: list[tuple[int, str]] = []

        def note(*items: object) -> None:
            printed.append((sys._getframe(1).f_lineno, " ".join(map(str, items))))

        self.names["print"] = note
        text = block.text if self.server is None else block.text.replace(SERVICE, self.server.url)
        exec(compile(text, f"line {block.line}", "exec"), self.names)
        lines = block.text.splitlines()
        for number, text in printed:
            _, mark, comment = lines[number - 1].partition(")  # ")
            if mark:
                compare(text.splitlines(), [comment], f"line {block.line + number}")


def compare(printed: list[str], shown: list[str], where: str) -> None:
    """Compare printed and shown lines without times; `...` matches any text."""
    if not shown:
        return
    pattern = "\n".join(re.escape(untimed(line)).replace(r"\.\.\.", ".*") for line in shown)
    # A line with only `...` matches any number of lines.
    pattern = re.sub(r"^ *(\\ )*\.\*$", "(?s:.*)", pattern, flags=re.MULTILINE)
    actual = "\n".join(untimed(line) for line in printed if line)
    assert re.fullmatch(pattern, actual), f"{where} prints\n{actual}\n\nshown is\n" + "\n".join(map(untimed, shown))


def untimed(line: str) -> str:
    """Replace what differs between runs and machines: times, rates, free memory and cores.

    If threads share a board, the optimal solution that is found first, and its nodes, differ, too.
    """
    if re.fullmatch(r"  (\d+ ?)+", line):
        return f"  {len(line.split())} tiles"
    line = re.sub(r"^  (\d+ )+\.\.\.$", "  ... tiles", line)
    line = re.sub(r"[\d,]+ nodes", "N nodes", re.sub(r"\d+\.\d+ s\b", "T s", line))
    line = re.sub(r"\d\.\d{6} +[\d,]+$", "RATE", line)  # of pdb study compare
    return re.sub(r"[\d.]+ GB (available|free)|\d+ threads?\b", "MACHINE", line)


class NPuzzleState:
    """Board in a pickle of DeepCubeA."""

    def __init__(self) -> None:
        self.tiles = [1, 2, 3, 4, 5, 6, 7, 0, 8]


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[[tuple[str, ...]], Server]]:
    """Start `pdb serve` on a free port; pages with the same options share a server."""
    with contextlib.ExitStack() as stack:
        yield cache(lambda options: stack.enter_context(serving(options=list(options))))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_page_runs_as_written(
    page: str,
    start: Callable[[tuple[str, ...]], Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    """Run each page in an empty folder; those of `PASTED` block by block, without files and names of other blocks."""
    monkeypatch.chdir(tmp_path)
    Path("data_0.pkl").write_bytes(pickle.dumps({"states": [NPuzzleState()], "solutions": [["L"]]}))
    reader = Reader(start)
    for block in blocks(page):
        if page in PASTED:
            folder = tmp_path / str(block.line)
            folder.mkdir()
            monkeypatch.chdir(folder)
            reader.names.clear()
        if pytestconfig.getoption("--slow") or not block.is_slow:
            reader.follow(block)
