"""`pdb doctor` and `pdb bench`."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from pdb_cli.machine import _bench_text, _huge_pages, _self_test
from pdb_core.errors import WrongAnswerError
from tests.command_line import pdb


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
    monkeypatch.setattr("pdb_cli.machine._HUGE_PAGES", path)
    assert _huge_pages() == expected


def test_bench_measures_builds_and_searches() -> None:
    options = ("--repeats", "1", "--boards", "3", "--set", "classic", "--verify", "--format", "ndjson")
    result = pdb("bench", "663", *options)
    assert result.returncode == 0, result.stderr
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert records[0]["measurement"] == "663 bits: build, whole process"
    assert [record["boards"] for record in records[1:3]] == [3, 3]
    build, *searches = ["".join(_bench_text(record)) for record in records]
    assert re.fullmatch(r"663 bits: build, whole process +\d+\.\d\d s \(median of 1\).*", build)
    for line in searches:
        assert re.search(r"[\d.]+ s, +[\d.]+ ms a board, mean h [\d.]+, [\d,]+ nodes, [\d.]+ million/s", line)
