"""Journals: records come back, a damaged end is removed, other damage and other files are refused."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from pdb_core.errors import BuildRunningError, CheckpointMismatchError, DiskFullError, OutputError
from solver.answers.journal import Journal
from tests import failing
from tests.tables import flip

HEADER: dict[str, Any] = {"search": "ida-star", "seed": 4}
RECORDS: list[dict[str, Any]] = [{"n": n, "text": '\u00e4,"check":' * n} for n in range(6)]


def write(path: Path, records: list[dict[str, Any]]) -> bytes:
    with Journal(path, HEADER) as journal:
        for record in records:
            assert journal.read(journal.append(record)) == record
    return path.read_bytes()


def found(path: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    with Journal(path, HEADER, lambda _place, values: records.append(values)):
        return records


def test_journal_cut_off_anywhere_has_the_records_before_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log"
    whole = write(path, RECORDS)
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        n_left = max(0, whole[:length].count(b"\n") - 1)
        assert found(path) == RECORDS[:n_left]
        assert write(path, RECORDS[n_left:]) == whole


def test_damaged_last_line_is_removed_and_other_damage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    whole = write(path, RECORDS)
    starts = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for offset in range(starts[-2], len(whole), 3):
        path.write_bytes(whole + b"\0" * 20)
        flip(path, offset)
        assert found(path) == RECORDS[:-1]
    for offset in range(starts[1], starts[2]):
        path.write_bytes(whole)
        flip(path, offset)
        damaged = path.read_bytes()
        with pytest.raises(OutputError, match=r"log is damaged in line 3, which is not the last; remove the line"):
            Journal(path, HEADER)
        assert path.read_bytes() == damaged
    changed = whole[: starts[-3]] + whole[starts[-3] :].replace(b"\n", b"\r\n")
    path.write_bytes(changed)
    with pytest.raises(OutputError, match="log is damaged in line 6"):
        Journal(path, HEADER)
    assert path.read_bytes() == changed
    path.write_bytes(whole[: starts[1]] + whole[starts[2] :])
    assert found(path) == [RECORDS[0], *RECORDS[2:]]


def test_journal_of_another_command_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "log", RECORDS)
    with pytest.raises(CheckpointMismatchError, match="is of another command: seed 4, not 5; give the same options"):
        Journal(tmp_path / "log", HEADER | {"seed": 5, "most": 1})
    write(tmp_path / "empty", [])
    with Journal(tmp_path / "empty", {"search": "a-star"}, lambda *_: pytest.fail("a record")):
        pass
    assert b"a-star" in (tmp_path / "empty").read_bytes()


@pytest.mark.parametrize(
    "content", [b"8 6 7 2 5 4 3 0 1", b"id,goal\n1,2\n", b'{"a": 1}\n', b"[1]\n", b"[" * 9999 + b"\n"]
)
def test_other_files_are_refused_and_left_as_they_are(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(OutputError, match=r"is not a log of pdb solve \(format 4\); choose another log"):
        Journal(tmp_path / "log", HEADER)
    assert (tmp_path / "log").read_bytes() == content


def test_places_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        Journal(tmp_path / "missing" / "log", HEADER)
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/null"), tmp_path / "pipe", tmp_path):
        with pytest.raises(OutputError, match="is not a log"):
            Journal(path, HEADER)
    with Journal(tmp_path / "log", HEADER), pytest.raises(BuildRunningError, match="in use by another command"):
        Journal(tmp_path / "log", HEADER)


def test_full_disk_and_changed_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "log", HEADER)
    place = journal.append(RECORDS[1])
    os.truncate(tmp_path / "log", place[0] + 3)
    with pytest.raises(OutputError, match="was changed while it is in use"):
        journal.read(place)
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(DiskFullError, match=r"the disk is full, .*log was not written; make room or choose"):
        journal.__exit__()
