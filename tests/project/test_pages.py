"""Every command on every page runs as written and prints the output shown, except those listed here."""

import contextlib
import io
import pickle
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests import ROOT
from tests.pdb_service.server import Server, serving
from tilepdb.commands.main import run

SERVICE = "http://127.0.0.1:8015"
# Before a block that runs only with --slow.
SLOW = "<!-- slow -->"

# Messages of slow machines and of first runs.
_PROGRESS = re.compile(
    r"pdb: (compiling|there is no standard table yet: building|pattern \d+ of|board \S+ threshold"
    r"|(.*: )?[\d,]+ of [\d,]+ boards)"
)


@dataclass(frozen=True)
class Block:
    """Fenced block: the word after its fence, its text, its first line, and whether it is slow.

    `output` has the lines of the block of text right below a block in `sh`: the output of its last command.
    """

    language: str
    text: str
    line: int
    is_slow: bool
    output: tuple[str, ...] = ()


def page_paths() -> list[Path]:
    """Return the pages with commands."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    others = [ROOT / "data" / "README.md", ROOT / "deploy" / "README.md", ROOT / "CONTRIBUTING.md"]
    return [ROOT / "README.md", *docs, *others]


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found, inside, begin = [], [], 0
    language: str | None = None
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence = re.fullmatch(r" *```(\S*)", line)
        if fence and language is None:
            language, inside, begin = fence[1], [], number
        elif fence:
            if language == "text" and before == "sh":
                found[-1] = replace(found[-1], output=tuple(inside))
            found.append(Block(language, "\n".join(inside), begin, before == SLOW))
            language, before = None, language
        elif language is not None:
            inside.append(line)
        elif line:
            before = line
    return found


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block or of a block in `sh`, without comments, and the output of each.

    A command that ends in a backslash continues in the next line.
    """
    if block.language == "sh":
        *first, last = block.text.splitlines()
        return [*((command, []) for command in first), (last, list(block.output))]
    shown: list[tuple[str, list[str]]] = []
    text = re.sub(r" *\\\n *", " ", block.text)
    for line in text.splitlines() if block.language == "console" else ():
        if line.startswith("$ "):
            shown.append((re.sub(r"\s+# .*", "", line[2:]), []))
        elif line:
            assert shown, f"line {block.line}: output without a command"
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
        if block.language == "python":
            self._run_python(block)
        for command, shown in commands(block):
            if not is_run(command):
                continue
            if command.split()[:2] == ["pdb", "serve"]:
                self.server = self.start(tuple(shlex.split(command)[2:]))
            else:
                shown = unwrapped(shown) if command.startswith("curl ") else shown
                compare(self.run(command, succeeds=not shown), shown, f"line {block.line}: {command}")

    def run(self, command: str, *, succeeds: bool) -> list[str]:
        """Run a command, and return the lines of both its output streams."""
        words = shlex.split(command)
        if words[0] == "curl":
            return self._fetch(words[1:]).splitlines()
        assert words[0] == "pdb", command
        printed = io.StringIO()
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            mock.patch.object(sys, "argv", words),
            mock.patch("warnings.showwarning"),
            pytest.raises(SystemExit) as end,
        ):
            run()
        # A command whose output is not shown succeeds.
        assert end.value.code == 0 or not succeeds, printed.getvalue()
        return [line for line in printed.getvalue().splitlines() if not _PROGRESS.match(line)]

    def _here(self, text: str) -> str:
        """Replace the address of the service on the page by that of the running server."""
        return text if self.server is None else text.replace(SERVICE, self.server.url)

    def _fetch(self, words: list[str]) -> str:
        """Do what curl does with an address, -H and --json. The body of an error is an answer, too."""
        *options, address = words
        body, headers = None, {}
        for option, value in zip(options[::2], options[1::2], strict=True):
            assert option in ("-H", "--json"), words
            if option == "-H":
                name, _, headers[name] = value.partition(": ")
            else:
                body, headers["Content-Type"] = value.encode(), "application/json"
        assert self.server is not None
        return self.server.ask(address.removeprefix(SERVICE), body, **headers).body.decode()

    def _run_python(self, block: Block) -> None:
        """Run code, and compare the output of each line that ends in a comment with the comment."""
        printed: list[tuple[int, str]] = []

        def note(*items: object) -> None:
            printed.append((sys._getframe(1).f_lineno, " ".join(map(str, items))))

        self.names["print"] = note
        exec(compile(self._here(block.text), f"line {block.line}", "exec"), self.names)
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


def unwrapped(shown: list[str]) -> list[str]:
    """Join lines that begin with a space to the line before: pages break long lines of JSON."""
    lines: list[str] = []
    for line in shown:
        if line.startswith(" ") and lines:
            lines[-1] += line.lstrip()
        else:
            lines.append(line)
    return lines


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


# Languages of blocks that run, and of blocks with data.
RUN = ("console", "python", "sh")
DATA = ("text", "js", "json", "yaml", "ini", "nginx", "caddy")
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
    "pdb solve --db data/24-large-blank-first.h5 --load huge": "takes hours; tests/solver/test_division.py",
    "pdb solve --db data/6666.h5 --instances korf50-24puzzle --scheduler": "needs a cluster; tests/pdb_cluster",
}
# Pages whose blocks can be pasted one by one. Only a service that a block starts keeps running.
PASTED = ("README.md", "docs/tutorial.md")
NOT_RUN_PAGES = {
    "deploy/README.md": "needs root, systemd or a container engine; tests/project/test_deploy.py checks it"
}


class NPuzzleState:
    """Board in a pickle of DeepCubeA."""

    def __init__(self, tiles: list[int]) -> None:
        self.tiles = tiles


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_run(command: str) -> bool:
    return not any(command.startswith(beginning) for beginning in NOT_RUN)


def runs(block: Block) -> bool:
    """Return whether a block has code or commands to run."""
    return block.language == "python" or any(is_run(command) for command, _ in commands(block))


PAGES = {
    name_of(path): path for path in page_paths() if name_of(path) not in NOT_RUN_PAGES and any(map(runs, blocks(path)))
}


@pytest.mark.tiny
def test_every_block_has_a_known_language() -> None:
    for path in page_paths():
        for block in blocks(path):
            assert block.language in (*RUN, *DATA), f"{path}: line {block.line}"
            if block.language in DATA:
                assert not re.search(r"^\s*(\$ |pdb |pip |curl )", block.text, re.MULTILINE), f"{path}: {block.line}"


@pytest.mark.tiny
def test_commands_that_do_not_run_are_on_some_page() -> None:
    written = [command for path in page_paths() for block in blocks(path) for command, _ in commands(block)]
    for beginning in NOT_RUN:
        assert any(command.startswith(beginning) for command in written), beginning
    assert set(NOT_RUN_PAGES) <= set(map(name_of, page_paths()))


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[[tuple[str, ...]], Server]]:
    """Start `pdb serve` on a free port; pages with the same options share a server."""
    with contextlib.ExitStack() as stack:
        yield cache(lambda options: stack.enter_context(serving(options=list(options))))


@pytest.mark.parametrize("page", PAGES)
def test_page_runs_as_written(
    page: str,
    start: Callable[[tuple[str, ...]], Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    """Run each page in an empty folder; those of `PASTED` block by block, without files and names of other blocks."""
    monkeypatch.chdir(tmp_path)
    states = [NPuzzleState([1, 2, 3, 4, 5, 6, 7, 0, 8])]
    Path("data_0.pkl").write_bytes(pickle.dumps({"states": states, "solutions": [["L"]]}))
    reader = Reader(start)
    for block in blocks(PAGES[page]):
        if page in PASTED:
            folder = tmp_path / str(block.line)
            folder.mkdir()
            monkeypatch.chdir(folder)
            reader.names.clear()
        if pytestconfig.getoption("--slow") or not block.is_slow:
            reader.follow(block)


@pytest.mark.tiny
def test_shown_output_may_differ_in_times_only() -> None:
    assert unwrapped(['{"a":1,', ' "b":2}', "c"]) == ['{"a":1,"b":2}', "c"]
    compare(["a 0.1 s", "x", "y", "z"], ["a 2.25 s", "...", "z"], "here")
    compare(['{"a":1,"b":[2]}'], ['{"a":1,...}'], "here")
    for shown in (["a"], ["a", "b"], ["...", "c", "b"]):
        with pytest.raises(AssertionError, match="here prints"):
            compare(["a", "c"], shown, "here")
