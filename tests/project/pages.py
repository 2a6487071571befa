"""Pages of the documentation: their fenced blocks, and a reader that runs them."""

import contextlib
import io
import re
import shlex
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from pdb_cli.main import run
from tests import ROOT
from tests.pdb_service.server import Server, serving

SERVICE = "http://127.0.0.1:8015"
# Before a block that runs only with --slow.
SLOW = "<!-- slow -->"

# Messages of slow machines and of first runs.
_PROGRESS = re.compile(r"pdb: (compiling|pattern \d+ of|board \S+ threshold)")


@dataclass(frozen=True)
class Block:
    """Fenced block: the word after its fence, its text, its first line, and whether it is slow."""

    language: str
    text: str
    line: int
    is_slow: bool


def page_paths() -> list[Path]:
    """Return the pages of README, docs/ and deploy/, without the decisions, which are history."""
    docs = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "decisions"]
    return [ROOT / "README.md", *docs, ROOT / "deploy" / "README.md"]


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found, inside, begin = [], [], 0
    language: str | None = None
    before = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = re.fullmatch(r" *```(\S*)", line)
        if fence and language is None:
            language, inside, begin = fence[1], [], number
        elif fence:
            assert language is not None
            found.append(Block(language, "\n".join(inside), begin, before == SLOW))
            language, before = None, ""
        elif language is not None:
            inside.append(line)
        elif line:
            before = line
    return found


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, without comments, and the lines below each."""
    shown: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            shown.append((re.sub(r"\s+# .*", "", line[2:]), []))
        elif line:
            assert shown, f"line {block.line}: output without a command"
            shown[-1][1].append(line)
    return shown


class Servers:
    """Servers started by `pdb serve`, shared by pages with the same command. The stack stops them."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._running: dict[tuple[str, ...], Server] = {}

    def start(self, words: list[str]) -> Server:
        """Return the server of these words, on a free port."""
        if tuple(words) not in self._running:
            self._running[tuple(words)] = self._stack.enter_context(serving(options=words))
        return self._running[tuple(words)]


@dataclass
class Reader:
    """Reader that runs a page in the current folder."""

    servers: Servers
    names: dict[str, Any] = field(default_factory=dict)
    server: Server | None = None

    def follow(self, block: Block, is_run: Callable[[str], bool]) -> None:
        """Run a block, and compare its output with the lines on the page."""
        if block.language == "python":
            self._run_python(block)
        for command, shown in commands(block) if block.language == "console" else ():
            if not is_run(command):
                continue
            if command.startswith("pdb serve "):
                self.server = self.servers.start(shlex.split(command)[2:])
            else:
                compare(self.run(command), shown, f"line {block.line}: {command}")

    def run(self, command: str) -> list[str]:
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
            contextlib.suppress(SystemExit),
        ):
            run()
        return [line for line in printed.getvalue().splitlines() if not _PROGRESS.match(line)]

    def _here(self, text: str) -> str:
        """Replace the address of the service on the page by that of the running server."""
        return text if self.server is None else text.replace(SERVICE, self.server.url)

    def _fetch(self, words: list[str]) -> str:
        """Do what curl does with an address and --json."""
        *options, address = words
        assert options[::2] == ["--json"] * (len(options) // 2), words
        body = options[1].encode() if options else None
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self._here(address), body, headers), timeout=60) as reply:
            return str(reply.read().decode())

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
    """Compare printed and shown lines without times; `...` stands for any text."""
    if not shown:
        return
    pattern = "\n".join(re.escape(untimed(line)).replace(r"\.\.\.", ".*") for line in shown)
    # A line with `...` only stands for any number of lines.
    pattern = re.sub(r"^ *(\\ )*\.\*$", "(?s:.*)", pattern, flags=re.MULTILINE)
    actual = "\n".join(untimed(line) for line in printed if line)
    assert re.fullmatch(pattern, actual), f"{where} prints\n{actual}\n\nshown is\n" + "\n".join(map(untimed, shown))


def untimed(line: str) -> str:
    """Replace what differs between runs and machines: times, rates, free memory and cores.

    If threads share a board, the optimal solution that is found first, and its nodes, differ, too.
    """
    if re.fullmatch(r"  (\d+ ?)+", line):
        return f"  {len(line.split())} tiles"
    line = re.sub(r"[\d,]+ nodes", "N nodes", re.sub(r"\d+\.\d+ s\b", "T s", line))
    line = re.sub(r"\d\.\d{6} +[\d,]+$", "RATE", line)  # of pdb study compare
    return re.sub(r"[\d.]+ GB (available|free)|\d+ threads?\b", "MACHINE", line)
