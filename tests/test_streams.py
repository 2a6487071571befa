"""Streams that are closed, full or gone, and files that cannot be written: one sentence, one exit code, no lost result.

A command that exits with 0 has written all its results. The messages on stderr are no results.
"""

import os
import random
import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.broken_streams import KINDS
from tests.command_line import BOARD, UNSOLVABLE
from tests.fork_server import fork_server

_DOCUMENTED = {0, 1, 2, 3, 4, 5, 128 + signal.SIGPIPE}
_STDOUT, _STDERR = "1", "2"
NEAR = "1 2 3/4 5 6/0 7 8"


class Case(NamedTuple):
    """A command, what it reads, and the files that it writes."""

    arguments: tuple[str, ...]
    stdin: str = ""
    files: tuple[str, ...] = ()


def cases(table: str) -> list[Case]:
    """Commands that write in every way, in each format."""
    found = [Case((command, "--help")) for command in ("build", "solve", "study")]
    found += [Case(("--version",)), Case(()), Case(("--show-completion", "bash"))]
    for form in ("text", "json", "ndjson", "csv"):
        output = ("--format", form)
        found += [
            Case(("info", table, *output)),
            Case(("verify", table, *output)),
            Case(("stats", table, "--boards", "100", *output)),
            Case(("stats", table, "--boards", "100", "--plot", "plot.svg", *output), files=("plot.svg",)),
            Case(("query", "--db", table, BOARD, NEAR, *output)),
            Case(("query", "--db", table, "--instances", "-", *output), f"{BOARD}\n{NEAR}\n"),
            Case(("solve", "--db", table, BOARD, UNSOLVABLE, *output)),
            Case(("solve", "--db", table, "--instances", "-", *output), f"{BOARD}\n{NEAR}\n"),
            Case(("solve", "--db", table, BOARD, NEAR, "--out", "out", "--log", "log", *output), files=("out", "log")),
            Case(("solve", "--any", NEAR, "--out", "any", *output), files=("any",)),
            Case(("build", "1,2,3", "--size", "2x2", "--out", "own.h5", *output), files=("own.h5", "own.build.json")),
            Case(("build", "1,2,3", "--size", "2x2", "--dry-run", *output)),
            Case(("study", "space", "3x2", "--plot", "space.png", *output), files=("space.png",)),
        ]
    found += [
        Case(("solve", "--db", table, "--all", "--list", NEAR)),
        Case(("solve", "--db", table, "--all", "--list", "--format", "ndjson", NEAR)),
    ]
    return found


class Result(NamedTuple):
    code: int
    out: str
    err: str
    files: dict[str, bytes]


def run(case: Case, folder: Path, streams: Mapping[str, str], limits: Mapping[str, int]) -> Result:
    folder.mkdir(parents=True)
    result = fork_server().run(
        list(case.arguments), stdin=case.stdin, cwd=folder, environment=os.environ, streams=streams, limits=limits
    )
    files = {name: (folder / name).read_bytes() for name in case.files if (folder / name).exists()}
    left = {path.name for path in folder.iterdir()} - set(case.files) - {"own.h5.partial"}
    assert not left, left
    return Result(result.returncode, result.stdout, result.stderr, files)


def without_times(text: str) -> str:
    """What a command writes, without what differs between two runs: seconds, and free memory and disk."""
    if "available" in text:
        return ""
    text = re.sub(r'"(\w*seconds|nodes_per_second|peak_memory_bytes)": [\d.e-]+', "", text)
    text = re.sub(r"(?<=,)\d+\.\d+(?=[,\n])", "", text)
    return re.sub(r"\d+\.\d+ s\b|\d+ bytes of memory", "", text)


def lost(whole: Result, result: Result, streams: Mapping[str, str], limits: Mapping[str, int]) -> str | None:
    """What is wrong with a run, compared with one without faults."""
    if result.code not in _DOCUMENTED:
        return "exit code"
    if "Traceback" in result.err or "Exception ignored" in result.err:
        return "traceback"
    if result.code == whole.code:
        if whole.out and _STDOUT in streams:
            return "results that were not written"
        if _STDOUT not in streams and without_times(result.out) != without_times(whole.out):
            return "other results"
        if result.files.keys() != whole.files.keys():
            return "no file"
        # These two hold seconds.
        names = whole.files.keys() - {"log", "own.build.json"}
        if any(result.files[name] != whole.files[name] for name in names):
            return "another file"
    elif _STDERR not in streams and "FSIZE" not in limits and result.code != 128 + signal.SIGPIPE:
        last = result.err.splitlines()[-1] if result.err else ""
        if not re.match(r"(pdb: |Error: ).{10}", last):
            return "no message"
    return None


def random_faults(chance: random.Random) -> tuple[dict[str, str], dict[str, int]]:
    streams = {number: chance.choice(KINDS) for number in "012" if chance.random() < 0.35}
    limits = {}
    if chance.random() < 0.3:
        limits["FSIZE"] = chance.choice((0, 1, 10, 100, 1000, 5000, 20_000))
    if chance.random() < 0.3:
        limits["NOFILE"] = chance.randrange(3, 30)
    return streams, limits


def tried(table: str, folder: Path, numbers: range) -> Iterator[tuple[int, str | None]]:
    """Try commands with faults. Yield the exit code of each, and what was lost."""
    wholes: dict[Case, Result] = {}
    all_cases = cases(table)
    for number in numbers:
        chance = random.Random(number)
        case = chance.choice(all_cases)
        if case not in wholes:
            wholes[case] = run(case, folder / f"whole-{number}", {}, {})
            assert wholes[case].code in (0, 2, 3), wholes[case]
        streams, limits = random_faults(chance)
        result = run(case, folder / str(number), streams, limits)
        loss = lost(wholes[case], result, streams, limits)
        yield result.code, None if loss is None else f"{number}: {loss}: {case} {streams} {limits} {result}"


def test_commands_with_random_faults(small_table: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Whatever is broken, a command ends with its results, or with an exit code and a sentence."""
    n_tried = 3000 if pytestconfig.getoption("--slow") else 6
    codes, losses = [], []
    for code, loss in tried(small_table, tmp_path, range(n_tried)):
        codes.append(code)
        if loss is not None:
            losses.append(loss)
    assert not losses, "\n".join(losses)
    assert any(codes)
