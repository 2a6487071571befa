"""The pages for people: their fenced blocks, and a way to do what is written there, one command after another."""

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
# Before a block: it runs only with --slow.
SLOW = "<!-- slow -->"

# What a machine says that is slow, or does something for the first time.
_PROGRESS = re.compile(r"pdb: (compiling|pattern \d+ of|board \S+ threshold)")


@dataclass(frozen=True)
class Block:
    """A fenced block: the word after its fence, what it holds, the line it begins at, and whether it takes long."""

    language: str
    text: str
    line: int
    is_slow: bool


def page_paths() -> list[Path]:
    """README, docs/ and deploy/, without the decisions, which are history."""
    docs = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "decisions"]
    return [ROOT / "README.md", *docs, ROOT / "deploy" / "README.md"]


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
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
    """The commands of a console block, without comments, and the lines shown below each."""
    shown: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            shown.append((re.sub(r"\s+# .*", "", line[2:]), []))
        elif line:
            assert shown, f"line {block.line}: output without a command"
            shown[-1][1].append(line)
    return shown


class Servers:
    """`pdb serve` for several pages; those that start it with the same words ask the same one. The stack stops them."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._running: dict[tuple[str, ...], Server] = {}

    def start(self, words: list[str]) -> Server:
        """The server of these words, on a free port."""
        if tuple(words) not in self._running:
            self._running[tuple(words)] = self._stack.enter_context(serving(options=words))
        return self._running[tuple(words)]


@dataclass
class Reader:
    """Someone who does what a page says, in a folder of their own."""

    servers: Servers
    names: dict[str, Any] = field(default_factory=dict)
    server: Server | None = None

    def follow(self, block: Block, is_run: Callable[[str], bool]) -> None:
        """Do what a block says, and compare what is printed with what is shown."""
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
        """What a command writes, to both its streams."""
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
        """The address of the page's service is that of ours."""
        return text if self.server is None else text.replace(SERVICE, self.server.url)

    def _fetch(self, words: list[str]) -> str:
        """As much of curl as the pages use: an address, and --json with what to send."""
        *options, address = words
        assert options[::2] == ["--json"] * (len(options) // 2), words
        body = options[1].encode() if options else None
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self._here(address), body, headers), timeout=60) as reply:
            return str(reply.read().decode())

    def _run_python(self, block: Block) -> None:
        """Run it; what is printed on a line that ends in a comment is that comment."""
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
    """What is shown is what is printed, but for times, and where `...` stands for something left out."""
    if not shown:
        return
    pattern = "\n".join(re.escape(untimed(line)).replace(r"\.\.\.", ".*") for line in shown)
    # A line of nothing but `...` stands for any number of lines.
    pattern = re.sub(r"^ *(\\ )*\.\*$", "(?s:.*)", pattern, flags=re.MULTILINE)
    actual = "\n".join(untimed(line) for line in printed if line)
    assert re.fullmatch(pattern, actual), f"{where} prints\n{actual}\n\nshown is\n" + "\n".join(map(untimed, shown))


def untimed(line: str) -> str:
    """Without what differs from run to run and from machine to machine: times and rates, free memory and cores; and,
    where threads share a board, which of the shortest solutions is found first, after how many nodes.
    """
    if re.fullmatch(r"  (\d+ ?)+", line):
        return f"  {len(line.split())} tiles"
    line = re.sub(r"[\d,]+ nodes", "N nodes", re.sub(r"\d+\.\d+ s\b", "T s", line))
    line = re.sub(r"\d\.\d{6} +[\d,]+$", "RATE", line)  # of pdb study compare
    return re.sub(r"[\d.]+ GB (available|free)|\d+ threads?\b", "MACHINE", line)
