"""Builds as a whole: files, plans, refusals, interruption."""

import hashlib
import itertools
import json
import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pdb_build import BuildPlan, build_database, check_plan
from pdb_build.word_layout import row_bytes
from pdb_core.encoding import ENCODINGS, Cost, Encoding
from pdb_core.errors import DiskFullError, MemoryLimitError, OutputError
from pdb_core.version import version_text
from tests import marked_rows
from tests.command_line import BOARD, PROGRAM, pdb
from tests.solving import golden_rows
from tests.tables import SMALL, interrupt_at, rewrite_header, small_plan, table_file

SIX = "1,2,3,4,5,6/7,8,9,10/11,12,13/14,15"
EIGHTS = "1,2,3,4,5,6,7,8/9,10,11,12,13,14,15,16/17,18,19,20,21,22,23,24"


@pytest.mark.parametrize(
    ("partition", "size", "encoding", "cost", "digest"), [list(row.values()) for row in golden_rows("files.csv")]
)
def test_builds_are_byte_identical_on_every_machine(
    tmp_path: Path, partition: str, size: str, encoding: Encoding, cost: Cost, digest: str
) -> None:
    for n_threads in (1, 3):
        plan = small_plan(tmp_path / "a.h5", partition, size, encoding, cost, n_threads=n_threads)
        assert hashlib.sha256(build_database(plan).path.read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(("partition", "size", "share"), [(SMALL, "3x3", 1), (SIX, "4x4", 1), (SIX, "4x4", 0.5)])
def test_build_with_bits_in_a_file_makes_the_same_file(tmp_path: Path, partition: str, size: str, share: float) -> None:
    """The six tiles have four slabs. tests/faults/failing_builds.py lets the disk of such bits fail."""
    plan = small_plan(tmp_path / "a.h5", partition, size)
    spilled = [
        replace(entry, spilled_bytes=int(share * entry.spec.n_blocks * row_bytes(entry.spec.n_tiles)))
        for entry in plan.patterns
    ]
    build_database(replace(plan, patterns=tuple(spilled), overlaps_writing=False))
    assert plan.out.read_bytes() == table_file(partition, size, encoding="bits").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.tiny
def test_report_describes_the_build(plan: BuildPlan) -> None:
    result = build_database(plan)
    report = json.loads(result.report.read_text())
    assert report["file"] == "a.h5"
    assert report["header_sha256"] == result.header.digest()
    assert set(report["versions"]) == {"tile-pdb", "python", "numpy", "numba", "h5py", "hdf5"}
    assert report["versions"]["tile-pdb"] == version_text()
    assert report["seconds"] > 0
    assert report["peak_memory_bytes"] > 0
    assert [table["tiles"] for table in report["tables"]] == [[1, 2, 5], [3, 4, 6], [7, 8]]
    for table in report["tables"]:
        assert sum(table["entries_per_depth"]) == table["entries"]
        assert table["states_per_depth"][0] == 1


@pytest.mark.tiny
def test_files_that_differ_in_their_suffix_have_reports_of_their_own(tmp_path: Path) -> None:
    assert len({build_database(small_plan(tmp_path / name)).report for name in ("x", "x.a", "x.h5")}) == 3


@pytest.mark.tiny
def test_link_stays_and_leads_to_the_file_that_is_built(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "a.h5").symlink_to("disk/b.h5")
    build_database(small_plan(tmp_path / "a.h5"))
    assert [path.name for path in tmp_path.iterdir() if path.is_symlink()] == ["a.h5"]
    assert {path.name for path in (tmp_path / "disk").iterdir()} == {"b.h5", "b.h5.build.json"}


@pytest.mark.parametrize("when", [1, 2, 5])
def test_interrupted_build_leaves_what_was_there(tmp_path: Path, when: int) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(b"older file")
    with pytest.raises(KeyboardInterrupt):
        build_database(small_plan(path), progress=interrupt_at(when), force=True)
    assert path.read_bytes() == b"older file"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.h5", "My thesis"),
        ("a.h5.build.json", '{"targets": ["all"]}'),
        ("a.h5.build.json", "[1, 2"),
        ("a.h5.build.json", "7"),
    ],
)
def test_files_of_others_are_replaced_only_by_force(tmp_path: Path, plan: BuildPlan, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(OutputError, match=rf"{name} is no .* of pdb build and would be replaced; .* with --force"):
        build_database(plan)
    assert path.read_text() == content
    assert list(tmp_path.iterdir()) == [path]
    pdb("build", SMALL, "--size", "3x3", "--out", "a.h5", "--force", code=0, cwd=tmp_path)
    build_database(plan)  # replaces its own files


@pytest.mark.tiny
@pytest.mark.parametrize(
    "change",
    [
        lambda _path: None,
        lambda path: rewrite_header(path, lambda fields: fields.update(format_version=6)),
        lambda path: path.write_bytes(path.read_bytes().replace(b"1,2,5/3,4,6/7,8", b"1,2,5/3,4,6/8,7")),
        lambda path: os.truncate(path, 100),
        lambda path: [os.truncate(each, 0) for each in path.parent.iterdir()],
    ],
    ids=["none", "other version", "damaged", "cut", "empty"],
)
def test_older_and_damaged_tables_are_replaced(plan: BuildPlan, change: Callable[[Path], object]) -> None:
    path = build_database(plan).path
    expected = path.read_bytes()
    change(path)
    build_database(plan)
    assert path.read_bytes() == expected


# 4 partitions with 48 patterns, each of three tiles or fewer.
SHUFFLED = [Random(seed).sample(range(1, 36), 35) for seed in range(4)]
MANY = "+".join(
    "/".join(",".join(map(str, sorted(tiles[at : at + 3]))) for at in range(0, 35, 3)) for tiles in SHUFFLED
)


@pytest.mark.parametrize(
    ("size", "partition", "encoding"),
    [
        *itertools.product(["2x3"], ["1,2,3,4,5"], ENCODINGS),
        *itertools.product(["3x3"], ["1,2,3/4,5/6,7,8"], ENCODINGS),
        ("6x6", MANY, "bits"),
    ],
)
def test_plan_counts_the_bytes_of_the_file(tmp_path: Path, size: str, partition: str, encoding: Encoding) -> None:
    plan = small_plan(tmp_path / "a.h5", partition, size, encoding)
    result = build_database(plan)
    shown = [entry.n_bytes if entry.use is None else 0 for entry in result.header.patterns]
    assert [entry.n_bytes for entry in plan.patterns] == shown
    assert 0 <= plan.disk_bytes - result.path.stat().st_size < 20_000 * len(plan.patterns) + 100_000


def test_plan_of_eight_tile_patterns_spills_bits_and_refuses_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan_with(memory: int, disk: int = 40_000_000_000) -> BuildPlan:
        monkeypatch.setattr("pdb_build.plan.available_memory", lambda: memory)
        return replace(small_plan(tmp_path / "a.h5", EIGHTS, "5x5"), available_disk=disk)

    plan = plan_with(24_000_000_000)
    assert plan.patterns[0].spec.n_states == 87_358_400_640
    assert 16e9 < plan.memory_bytes < 17e9
    assert 5e9 < plan.spilled_bytes < 6.5e9
    assert not plan.overlaps_writing
    check_plan(plan)
    with pytest.raises(DiskFullError, match="needs 38"):
        check_plan(plan_with(24_000_000_000, plan.disk_bytes))
    plan = plan_with(12_500_000_000, 1 << 40)
    assert plan.memory_bytes < 12.5e9
    check_plan(plan)
    with pytest.raises(MemoryLimitError, match="patterns of at most 7 tiles would fit"):
        check_plan(plan_with(11_000_000_000, 1 << 40))


PLANNED = """
bytes | 1,2,3,4,5,6,7/8,9/10,11/12,13/14,15 |
bits | 1,2,3,4,5,6,7/8,9,10,11,12,13,14/15 | slow
bytes | 1,2,3,4,5,6,7/8,9,10,11,12,13,14/15 | slow
"""


@pytest.mark.parametrize(("encoding", "partition"), marked_rows(PLANNED))
def test_planned_memory_is_that_of_the_build(tmp_path: Path, encoding: Encoding, partition: str) -> None:
    """The build is started by a shell, because the peak of a process is at least that of the one that starts it."""
    words = [*PROGRAM, "build", partition, "--size", "4x4", "--encoding", encoding, "--out", "a.h5"]
    result = subprocess.run(
        ["sh", "-c", f"{shlex.join(words)}; exit $?"], cwd=tmp_path, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr
    report = json.loads((tmp_path / "a.h5.build.json").read_text())
    assert 0.6 * report["planned_memory_bytes"] < report["peak_memory_bytes"] < 1.1 * report["planned_memory_bytes"]


def test_commands_build_and_describe_tables_in_which_every_move_counts(tmp_path: Path) -> None:
    pdb("build", "1,2,4/3,6", "--size", "3x3", "--cost", "every-move", "--out", "a.h5", code=0, cwd=tmp_path)
    assert "every move counts" in pdb("info", "a.h5", cwd=tmp_path).stdout
    assert "= max(" in pdb("query", "--db", "a.h5", BOARD, cwd=tmp_path).stdout
    plan = pdb("build", "fringe", "--dry-run", cwd=tmp_path).stdout
    assert "every move counts" in plan
    assert "1,2,3,4,5,9,13" in plan
