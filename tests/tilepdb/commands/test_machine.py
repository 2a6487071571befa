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
    monkeypatch.setattr("solver.solve.Solver.solve", lambda *_: SimpleNamespace(length=29))
    assert "takes 31 moves, found h 31 and length 29; please report this" in pdb("doctor").stderr


def test_bench_measures_builds_and_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sets are of 4x4 boards."""
    monkeypatch.setattr("tilepdb.commands.machine._N_BUILDS", 1)
    build, plain, pruned = records("bench", "8", "--boards", "3")
    assert re.fullmatch(r"8: build, whole process +\d+\.\d\d s \(median of 1\), \d+ MB", "".join(_bench_text(build)))
    assert plain["mean_generated"] > pruned["mean_generated"] > pruned["boards"] == 3
    assert re.search(r" s, .* ms a board, mean h [\d.]+, [\d,]+ nodes, [\d.]+ million/s", *_bench_text(plain))


@pytest.mark.slow
def test_warm_up_compiles_what_the_first_solve_needs(tmp_path: Path) -> None:
    assert re.fullmatch(r"passed: kernels compiled in \d+\.\d\d s", records("doctor", "--warm-up")[-1]["value"])
    # A new process, whose tables are those of the warm-up.
    for command in (["solve"], ["build", "663", "--out", str(tmp_path / "a.h5")], ["search", "--algorithm", "a-star"]):
        boards = [] if command[0] == "build" else ["2 1 3 4/5 6 7 8/9 10 11 12/13 15 14 0"]
        result = started_pdb(*command, *boards)
        assert (result.returncode, result.stderr) == (0, "")
