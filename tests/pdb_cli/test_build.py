"""`pdb build`."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdb_core.encoding import ENCODINGS
from pdb_core.pattern import named_partitions
from tests.command_line import BOARD, PROGRAM, on_terminal, pdb, refused


def test_build_then_solve_as_in_the_readme(tmp_path: Path) -> None:
    built = pdb("build", "8", cwd=tmp_path, FORCE_COLOR="1")
    assert "\x1b" not in built.stdout + built.stderr  # Rich follows FORCE_COLOR
    assert built.returncode == 0
    assert (tmp_path / "8.h5").exists()
    assert "8.h5 written in" in built.stdout
    solved = pdb("solve", "--db", "8.h5", BOARD, cwd=tmp_path)
    assert solved.returncode == 0
    assert solved.stdout.startswith("1: 31 moves, optimal")


def test_build_takes_several_partitions_and_goals(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()  # then files are written there
    result = pdb("build", "8", "1,2,3,4/5,6,7,8", "--goal", "blank-first", "--format", "ndjson", cwd=tmp_path)
    assert result.returncode == 0
    files = [json.loads(line)["file"] for line in result.stdout.splitlines()]
    assert files == ["data/8.h5", "data/1-2-3-4_5-6-7-8.h5"]
    assert all((tmp_path / name).exists() for name in files)


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


def test_build_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    nine = ",".join(map(str, range(1, 10)))
    rest = ",".join(map(str, range(10, 25)))
    result = pdb("build", f"{nine}/{rest.replace(',18', '/18')}", "--size", "5x5", "--dry-run", cwd=tmp_path)
    assert result.returncode == 5
    assert re.search(r"needs [\d.]+ [GT]B of memory, .* patterns of at most \d tiles would fit", result.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["build", "999"], "neither a name"),
        (["build", "1,2/2,3", "--size", "2x2"], "in two patterns"),
        (["build", "1,1,2/3", "--size", "2x2"], "names 1 twice"),
        (["build", "auto"], "give --size"),
        (["build", "1,2", "--size", "3x3"], "in no pattern"),
        (["build", "663", "--size", "3x3"], "one of a 4x4 board"),
        (["build", "auto", "--size", "9x9"], "go to boards of 6x6"),
        (["build", "8", "--size", "three"], "WIDTHxHEIGHT"),
        (["build", "8", "--goal", "1 2 3"], "neither one of"),
        (["build", "663", "--goal", "1 2 3 4/5 0 6 7/8 9 10 11/12 13 14 15"], "blank in the corner"),
        (["build", "8", "--out", "no/where/8.h5"], "cannot write no/where/8.h5: No such file or directory"),
    ],
)
def test_build_refuses_bad_input(tmp_path: Path, arguments: list[str], match: str) -> None:
    refused(pdb(*arguments, cwd=tmp_path), 2, match)
    assert list(tmp_path.iterdir()) == []


def test_place_that_takes_no_files_is_refused(tmp_path: Path) -> None:
    """/proc has no room for files, not even root's."""
    refused(pdb("build", "8", "--out", "/proc/8.h5", cwd=tmp_path), 5, "/proc/8.h5 needs .* are free there")


def test_full_disk_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    """A limit on the size of files replaces a full disk, which only root could make."""
    path = tmp_path / "8.h5"
    path.write_bytes(b"older")
    program = (
        "import os, resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "sys.argv = ['pdb', 'build', '8', '--out', sys.argv[1]]\n"
        "from pdb_cli.main import run; run()"
    )
    # Kernels are on disk by then: the limit would hold for them too.
    assert pdb("build", "8", "--out", str(tmp_path / "first.h5")).returncode == 0
    result = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert result.returncode in (2, 5)
    assert "Traceback" not in result.stderr
    assert str(path) in result.stderr
    assert path.read_bytes() == b"older"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["8.h5", "first.build.json", "first.h5"]


@pytest.mark.parametrize("delay", [0.6, 1.2, 3.0])
def test_interrupted_build_ends_within_a_second_and_leaves_nothing(tmp_path: Path, delay: float) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "build", "78", "--encoding", "bytes"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    time.sleep(delay)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    # 1 s is promised; on a busy disk a sync may take longer, and on a busy machine all does.
    assert time.perf_counter() - start < 5.0
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in err or delay < 1.0  # before our code runs Python answers by itself
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".h5" and not path.name.startswith(".")] == []


@pytest.mark.usefixtures("hangup_ends")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_keep_what_a_build_has_done(tmp_path: Path, number: int, code: int) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "build", "663", "--checkpoint-every", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "663.h5.partial" / "checkpoint").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert "663.h5 is kept up to" in err
    assert not (tmp_path / "663.h5").exists()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_built(tmp_path: Path, encoding: str) -> None:
    record = json.loads(pdb("build", "8", "--encoding", encoding, "--format", "ndjson", cwd=tmp_path).stdout)
    assert record["encoding"] == encoding
    assert f", {encoding}" in pdb("info", "8.h5", cwd=tmp_path).stdout
    assert pdb("verify", "--deep", "8.h5", cwd=tmp_path).returncode == 0
    queried = json.loads(pdb("query", "--db", "8.h5", BOARD, "--format", "ndjson", cwd=tmp_path).stdout)
    assert queried["h"] == 31
    assert "mean maximum" in pdb("stats", "8.h5", "--boards", "100", cwd=tmp_path).stdout


def test_unknown_encoding_is_refused(tmp_path: Path) -> None:
    result = pdb("build", "8", "--encoding", "words", cwd=tmp_path)
    assert result.returncode == 2
    assert "'words' is not one of 'bits', 'bytes'" in result.stderr


def test_terminal_shows_a_bar_for_each_pattern(tmp_path: Path) -> None:
    shown = on_terminal(["build", "663", "--out", str(tmp_path / "a.h5")], seconds=30)
    assert "2,3,4" in shown
    assert "100 %" in shown
    assert "written in" in shown
