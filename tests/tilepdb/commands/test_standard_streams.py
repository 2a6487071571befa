"""Streams that are closed, full or gone, and files that cannot be written.

A command that exits with 0 has written all its results. The messages on stderr are no results.
"""

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from pdb_core import __version__
from tests.command_line import BOARD, PROGRAM, UNSOLVABLE, pdb
from tests.fork_server import fork_server
from tests.tilepdb.commands.broken_streams import KINDS

# 1 would be an error that Python reports with a traceback, which a closed stderr hides.
_DOCUMENTED = {0, 2, 3, 4, 5, 128 + signal.SIGPIPE}
_STDOUT, _STDERR = "1", "2"
NEAR = "1 2 3/4 5 6/0 7 8"


class Case(NamedTuple):
    """A command, what it reads, and the files that it writes."""

    arguments: tuple[str, ...]
    stdin: str = ""
    files: tuple[str, ...] = ()


def cases(table: str) -> list[Case]:
    """Commands that write in every way, in each format."""
    found = [Case(("--version",))]
    for form in ("text", "json", "ndjson", "csv"):
        output = ("--format", form)
        found += [
            Case(("info", table, *output)),
            Case(("verify", table, *output)),
            Case(("stats", table, "--boards", "100", "--plot", "plot.svg", *output), files=("plot.svg",)),
            Case(("query", "--db", table, "--instances", "-", *output), f"{BOARD}\n{NEAR}\n"),
            Case(("solve", "--db", table, BOARD, UNSOLVABLE, *output)),
            Case(("solve", "--db", table, "--instances", "-", *output), f"{BOARD}\n{NEAR}\n"),
            Case(("solve", "--db", table, BOARD, NEAR, "--out", "out", "--log", "log", *output), files=("out", "log")),
            Case(("approximate", NEAR, "--out", "any", *output), files=("any",)),
            Case(("build", "1,2,3", "--size", "2x2", "--out", "own.h5", *output), files=("own.h5", "own.build.json")),
            Case(("study", "space", "3x2", "--plot", "space.png", *output), files=("space.png",)),
        ]
    return [
        *found,
        *(Case(("solve", "--db", table, "--all", "--list", "--format", to, NEAR)) for to in ("text", "ndjson")),
    ]


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
    """Return output without its parts that differ between two runs: seconds, and free memory and disk."""
    if "available" in text:
        return ""
    return re.sub(r"\d+(\.\d+)?e-\d+|\d+\.\d+|\d{8,}", "", text)


def check(whole: Result, result: Result, streams: Mapping[str, str], limits: Mapping[str, int]) -> None:
    """Compare a run with one without faults."""
    assert result.code in _DOCUMENTED
    assert "Traceback" not in result.err
    assert "Exception ignored" not in result.err
    if result.code == whole.code:
        assert not whole.out or _STDOUT not in streams
        assert _STDOUT in streams or without_times(result.out) == without_times(whole.out)
        assert result.files.keys() == whole.files.keys()
        for name in whole.files.keys() - {"log", "own.build.json"}:  # these two hold seconds
            assert result.files[name] == whole.files[name]
    elif _STDERR not in streams and "FSIZE" not in limits and result.code != 128 + signal.SIGPIPE:
        assert re.match(r"(pdb: |Error: ).{10}", result.err.splitlines()[-1])


def random_faults(chance: random.Random) -> tuple[dict[str, str], dict[str, int]]:
    streams = {number: chance.choice(KINDS) for number in "012" if chance.random() < 0.35}
    if streams.get("0") == "terminal gone":
        del streams["0"]  # its end is read, as of an empty file
    limits = {}
    if chance.random() < 0.3:
        limits["FSIZE"] = chance.choice((0, 1, 10, 100, 1000, 5000, 20_000))
    if chance.random() < 0.3:
        limits["NOFILE"] = chance.randrange(5, 30)  # with fewer Python itself cannot read its modules
    return streams, limits


def test_commands_with_random_faults(small_table: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """A command ends with all its results, or with an exit code and a sentence."""
    n_tried = 1000 if pytestconfig.getoption("--slow") else 6
    all_cases = cases(small_table)
    wholes: dict[Case, Result] = {}
    codes = set()
    for number in range(n_tried):
        chance = random.Random(number)
        case = chance.choice(all_cases)
        if case not in wholes:
            wholes[case] = run(case, tmp_path / f"whole-{number}", {}, {})
            assert wholes[case].code in (0, 2, 3), wholes[case]
        streams, limits = random_faults(chance)
        result = run(case, tmp_path / str(number), streams, limits)
        print(number, case, streams, limits, result)  # shown if a check fails
        check(wholes[case], result, streams, limits)
        codes.add(result.code)
    assert codes != {0}


def test_streams_that_a_shell_closes(small_table: str) -> None:
    """Python itself then has no `sys.stdin`, `sys.stdout` or `sys.stderr`."""
    version = f"tile-pdb {__version__}\n"
    unwritable = "pdb: there is no standard output; write it to another place\n"
    unreadable = "pdb: there is no standard input; name a file or a set of boards instead of -\n"
    expected = {
        "--version >&-": (2, "", unwritable),
        "--version 2>&-": (0, version, ""),
        "--version <&- >&- 2>&-": (2, "", ""),
        f"query --db {small_table} --instances - <&-": (2, "", unreadable),
    }
    program = " ".join(f"'{part}'" for part in PROGRAM)
    for command, result in expected.items():
        ran = subprocess.run(["bash", "-c", f"{program} {command}"], capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == result


def test_characters_that_the_encoding_lacks_are_escaped() -> None:
    program = "from tilepdb.commands.process import run_process\nrun_process(lambda: print('\\udcff \\xe4 \\u2192'))"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
    )
    assert (result.stdout, result.stderr) == (b"\\udcff \xe4 \\u2192\n", b"")


@pytest.mark.parametrize("name", ["a" * 5000, "x/" * 2000])
def test_argument_that_is_too_long_for_a_file_is_a_usage_error(name: str) -> None:
    result = pdb(name)
    assert result.returncode == 2
    assert "No such command" in result.stderr


@pytest.mark.parametrize("limit", [5000, 6500])
def test_file_that_cannot_grow_when_hdf5_closes_it_ends_a_build_in_order(tmp_path: Path, limit: int) -> None:
    """The HDF5 library prints a traceback and crashes when its own write fails then."""
    case = Case(("build", "1,2,3", "--size", "2x2", "--out", "own.h5"))
    result = run(case, tmp_path / "folder", {}, {"FSIZE": limit})
    expected = "pdb: cannot write own.h5: File too large; choose another place with --out"
    # Kernels that are not compiled yet cannot be written either, and a warning comes first.
    assert (result.code, result.out, result.err.splitlines()[-1]) == (2, "", expected)
    assert "Traceback" not in result.err
