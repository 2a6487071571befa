"""`pdb build`."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pdb_core.encoding import ENCODINGS
from pdb_core.pattern import named_partitions
from tests.command_line import BOARD, PROGRAM, on_terminal, pdb, refused
from tests.fork_server import fork_server
from tests.tables import small_plan
from tilepdb.commands.build import _plan_record, _plan_text


@pytest.mark.parametrize("is_checkout", [True, False])
def test_build_takes_several_partitions_and_goals(tmp_path: Path, is_checkout: bool) -> None:
    if is_checkout:
        (tmp_path / "data").mkdir()
    result = pdb("build", "8", "1,2,3,4/5,6,7,8", "--goal", "blank-first", "--format", "ndjson", cwd=tmp_path)
    assert result.returncode == 0
    files = [json.loads(line)["file"] for line in result.stdout.splitlines()]
    assert files == ["data/8.h5", "data/1-2-3-4_5-6-7-8.h5"]
    assert all((tmp_path / name).exists() for name in files)


def test_plan_states_that_the_available_memory_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan.available_memory", lambda: None)
    record = _plan_record(small_plan(tmp_path / "a.h5"))
    assert json.loads(json.dumps(record))["memory_available_bytes"] is None
    assert any(" MB of an unknown amount available, " in line for line in _plan_text(record))


def test_build_help_names_every_partition() -> None:
    words = {word.rstrip(",.") for word in pdb("build", "--help").stdout.split()}
    assert words >= {*named_partitions(), "auto"}


def test_dry_run_builds_nothing(tmp_path: Path) -> None:
    result = pdb("build", "78", "--dry-run", cwd=tmp_path)
    assert result.returncode == 0
    assert "1,425,191,040 entries" in result.stdout
    assert "disk 195.7 MB" in result.stdout
    result = pdb("build", "78", "--dry-run", "--encoding", "bytes", cwd=tmp_path)
    assert "518,918,400 entries" in result.stdout
    assert "1,425,191,040 states" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_folder_of_tables_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file\n")
    refused(pdb("build", "8", cwd=tmp_path), 2, "cannot make the folder of data/8.h5: File exists; choose a file")


def test_full_disk_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    """A limit on the size of files replaces a full disk, which only root could make."""
    path = tmp_path / "8.h5"
    path.write_bytes(b"older")
    result = fork_server().run(
        ["build", "8", "--force", "--out", str(path)],
        stdin="",
        cwd=None,
        environment=os.environ,
        limits={"FSIZE": 40_000},
    )
    refused(result, 2, "8.h5: File too large")
    assert path.read_bytes() == b"older"
    assert [entry.name for entry in tmp_path.iterdir()] == ["8.h5"]


def test_command_replaces_files_of_others_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("My thesis", encoding="utf-8")
    for extra in ((), ("--dry-run",)):
        refused(pdb("build", "8", "--out", "a.txt", *extra, cwd=tmp_path), 2, r"a\.txt is no table file .* --force")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "My thesis"
    assert pdb("build", "8", "--out", "a.txt", "--force", cwd=tmp_path).returncode == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.build.json", "a.txt"]


@pytest.mark.usefixtures("hangup_ends")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_keep_what_a_build_has_done(tmp_path: Path, number: int) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "build", "663", "--checkpoint-every", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "data" / "663.h5.partial" / "checkpoint").exists():
        assert process.poll() is None
        time.sleep(0.01)
    start = time.perf_counter()
    process.send_signal(number)
    _out, err = process.communicate(timeout=20)
    # 1 s is promised; on a busy machine all takes longer.
    assert time.perf_counter() - start < 5.0
    assert process.returncode == -number
    assert "663.h5 is kept up to" in err
    assert not (tmp_path / "data" / "663.h5").exists()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_built(tmp_path: Path, encoding: str) -> None:
    record = json.loads(pdb("build", "8", "--encoding", encoding, "--format", "ndjson", cwd=tmp_path).stdout)
    assert record["encoding"] == encoding
    assert pdb("verify", "--deep", "data/8.h5", cwd=tmp_path).returncode == 0
    queried = json.loads(pdb("query", "--db", "data/8.h5", BOARD, "--format", "ndjson", cwd=tmp_path).stdout)
    assert queried["h"] == 31


def test_terminal_shows_each_pattern(tmp_path: Path) -> None:
    shown = on_terminal(["build", "663", "--out", str(tmp_path / "a.h5")], seconds=30)
    assert "2,3,4" in shown
    assert "100 %" in shown
    assert "written in" in shown
