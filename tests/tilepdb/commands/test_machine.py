"""`pdb doctor` and `pdb bench`."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.main

from pdb_core.errors import BoardError, WrongAnswerError
from tests.command_line import pdb, started_pdb
from tilepdb.commands.machine import _bench_text, _huge_pages, _self_test
from tilepdb.commands.main import app
from tilepdb.commands.warm_up import _run


def test_doctor_finds_this_installation_well() -> None:
    result = pdb("doctor")
    assert result.returncode == 0
    assert "self-test         passed" in result.stdout


def test_failed_self_test_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.Solver.solve", lambda *_: SimpleNamespace(length=29))
    with pytest.raises(WrongAnswerError, match="takes 31 moves, found h 31 and length 29; please report this"):
        _self_test()


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("always [madvise] never\n", "madvise"),
        ("always madvise [never]\n", "never: copied tables are looked up more slowly"),
        (None, "unknown"),
    ],
)
def test_huge_pages(setting: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "enabled"
    if setting is not None:
        path.write_text(setting, encoding="ascii")
    monkeypatch.setattr("tilepdb.commands.machine._HUGE_PAGES", path)
    assert _huge_pages() == expected


def test_bench_measures_builds_and_searches() -> None:
    options = ("--repeats", "1", "--boards", "3", "--set", "classic", "--format", "ndjson")
    result = pdb("bench", "663", *options)
    assert result.returncode == 0, result.stderr
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert records[0]["measurement"] == "663 bits: build, whole process"
    assert [record["boards"] for record in records[1:3]] == [3, 3]
    build, *searches = ["".join(_bench_text(record)) for record in records]
    assert re.fullmatch(r"663 bits: build, whole process +\d+\.\d\d s \(median of 1\).*", build)
    for line in searches:
        assert re.search(r"[\d.]+ s, +[\d.]+ ms a board, mean h [\d.]+, [\d,]+ nodes, [\d.]+ million/s", line)


def test_bench_of_another_size_leaves_out_the_usual_sets() -> None:
    result = pdb("bench", "8", "--repeats", "1", "--boards", "3", "--format", "ndjson")
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 3


@pytest.mark.slow
def test_warm_up_compiles_what_the_first_solve_needs(tmp_path: Path) -> None:
    records = json.loads(pdb("doctor", "--warm-up", "--format", "json").stdout)
    values = [record["value"] for record in records if record["check"] == "warm-up"]
    assert re.fullmatch(r"passed: kernels compiled in \d+\.\d\d s", values[-1])
    commands = {value.split()[3] for value in values[:-1]}
    assert commands == {"solve", "label", "build", "query", "search", "approximate"}
    assert all(re.match(r" *\d+\.\d\d s  pdb ", value) for value in values[:-1])
    # A new process, whose tables are those of the warm-up.
    for command in (["solve"], ["build", "663", "--out", str(tmp_path / "a.h5")], ["search", "--algorithm", "a-star"]):
        boards = [] if command[0] == "build" else ["2 1 3 4/5 6 7 8/9 10 11 12/13 15 14 0"]
        result = started_pdb(*command, *boards)
        assert (result.returncode, result.stderr) == (0, "")


def test_error_of_a_command_of_the_warm_up_is_raised() -> None:
    with pytest.raises(BoardError, match="3 numbers"):
        _run(typer.main.get_command(app), ["solve", "1 2 3"])


def test_interrupt_ends_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilepdb.commands.solving.prepare", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _run(typer.main.get_command(app), ["solve", "1 2 3"])
