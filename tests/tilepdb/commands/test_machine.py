"""`pdb doctor` and `pdb bench`."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.command_line import pdb, records, started_pdb
from tilepdb.commands.machine import _bench_text


def test_doctor_finds_this_installation_well() -> None:
    assert "self-test         passed" in pdb("doctor", code=0).stdout


def test_failed_self_test_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.Solver.solve", lambda *_: SimpleNamespace(length=29))
    assert "takes 31 moves, found h 31 and length 29; please report this" in pdb("doctor").stderr


def test_bench_measures_builds_and_searches() -> None:
    options = ("--repeats", "1", "--boards", "3")
    measured = records("bench", "663", *options, "--set", "classic")
    assert [record["boards"] for record in measured[1:3]] == [3, 3]
    build, *searches = ["".join(_bench_text(record)) for record in measured]
    assert re.fullmatch(r"663 bits: build, whole process +\d+\.\d\d s \(median of 1\).*", build)
    for line in searches:
        assert re.search(r"[\d.]+ s, +[\d.]+ ms a board, mean h [\d.]+, [\d,]+ nodes, [\d.]+ million/s", line)
    # The usual sets are of 4x4 boards.
    assert len(records("bench", "8", *options)) == 3


@pytest.mark.slow
def test_warm_up_compiles_what_the_first_solve_needs(tmp_path: Path) -> None:
    values = [record["value"] for record in records("doctor", "--warm-up") if record["check"] == "warm-up"]
    assert re.fullmatch(r"passed: kernels compiled in \d+\.\d\d s", values[-1])
    commands = {value.split()[3] for value in values[:-1]}
    assert commands == {"solve", "label", "build", "query", "search", "approximate", "study"}
    assert all(re.match(r" *\d+\.\d\d s  pdb ", value) for value in values[:-1])
    # A new process, whose tables are those of the warm-up.
    for command in (["solve"], ["build", "663", "--out", str(tmp_path / "a.h5")], ["search", "--algorithm", "a-star"]):
        boards = [] if command[0] == "build" else ["2 1 3 4/5 6 7 8/9 10 11 12/13 15 14 0"]
        result = started_pdb(*command, *boards)
        assert (result.returncode, result.stderr) == (0, "")
