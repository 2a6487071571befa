"""Builds as a whole: files, plans, refusals, interruption."""

import csv
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pdb_build import build_database, check_plan, search, writer
from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import DiskFullError, MemoryLimitError, OutputError
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.schema import pattern_group
from pdb_query import open_database, read_table_header
from tests import ROOT
from tests.naive import boards_and_tables as naive
from tests.tables import interrupt_at, rewrite_header, small_plan

SIZE = BoardSize(3, 3)
GOAL = blank_last(SIZE)
EIGHTS = "1,2,3,4,5,6,7,8/9,10,11,12,13,14,15,16/17,18,19,20,21,22,23,24"


# Partition, size, encoding, cost, the table that each pattern uses.
KINDS_OF_TABLES = [
    ("1,2,3,4,5,6/7,8,9,10,11", "4x3", "bits", "additive", [0, 1]),
    ("1,2,3,4,5,6/7,8,9,10,11", "4x3", "bytes", "additive", [0, 1]),
    ("1,2,3,4,5,6/7,8,9,10,11", "4x3", "bits", "every-move", [0, 1]),
    ("1,2,3,5,6/4,8,10,12/9,11,13,14/7,15", "4x4", "bits", "additive", [0, 1, 2, 3]),
    ("2,5/3,8/1,4,6,9/7,10,11", "4x3", "bits", "additive", [0, 0, 2, 3]),
    ("2,5/3,8/1,4,6,9/7,10,11", "4x3", "bytes", "additive", [0, 0, 2, 3]),
    ("2,3,6/4,7,8/1,5", "3x3", "bits", "every-move", [0, 0, 2]),
    ("1,2,5/3,4,6/7,8", "3x3", "bits", "additive", [0, 1, 2]),
]


def digest_of_build(path: Path, partition: str, size: str, encoding: str, cost: str, n_threads: int) -> str:
    plan = small_plan(path, partition, size, encoding, cost, n_threads=n_threads)  # type: ignore[arg-type]
    return hashlib.sha256(build_database(plan).path.read_bytes()).hexdigest()


def golden_files() -> list[list[str]]:
    """Return partition, size, encoding, cost and SHA-256 of table files, which are the same on every machine."""
    with (ROOT / "tests" / "golden" / "files.csv").open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


@pytest.mark.parametrize(("partition", "size", "encoding", "cost", "uses"), KINDS_OF_TABLES)
def test_builds_are_byte_identical_whatever_the_threads(
    tmp_path: Path, partition: str, size: str, encoding: str, cost: str, uses: list[int]
) -> None:
    path = tmp_path / "a.h5"
    assert len({digest_of_build(path, partition, size, encoding, cost, n_threads) for n_threads in (1, 2, 3)}) == 1
    assert [use.index for use in read_table_header(path).uses] == uses


@pytest.mark.parametrize(("partition", "size", "encoding", "cost", "digest"), golden_files())
def test_builds_are_byte_identical_on_every_machine(
    tmp_path: Path, partition: str, size: str, encoding: str, cost: str, digest: str
) -> None:
    assert digest_of_build(tmp_path / "a.h5", partition, size, encoding, cost, n_threads=2) == digest


@pytest.mark.tiny
def test_built_file_does_not_depend_on_the_clock(tmp_path: Path) -> None:
    for name in ("a.h5", "b.h5"):
        build_database(small_plan(tmp_path / name))
        time.sleep(1.1)  # HDF5 counts whole seconds
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


@pytest.mark.tiny
def test_report_describes_the_build(tmp_path: Path) -> None:
    result = build_database(small_plan(tmp_path / "a.h5"))
    report = json.loads(result.report.read_text(encoding="utf-8"))
    assert report["file"] == "a.h5"
    assert report["header_sha256"] == result.header.digest()
    assert set(report["versions"]) == {"tile-pdb", "python", "numpy", "numba", "h5py", "hdf5"}
    assert report["seconds"] > 0
    assert report["peak_memory_bytes"] > 0
    assert [table["tiles"] for table in report["tables"]] == [[1, 2, 5], [3, 4, 6], [7, 8]]
    for table in report["tables"]:
        assert sum(table["entries_per_depth"]) == table["entries"]
        assert table["states_per_depth"][0] == 1


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
    [("a.h5", "My thesis"), ("a.build.json", '{"targets": ["all"]}'), ("a.build.json", "[1, 2"), ("a.build.json", "7")],
)
def test_files_of_others_are_replaced_only_by_force(tmp_path: Path, name: str, content: str) -> None:
    path, plan = tmp_path / name, small_plan(tmp_path / "a.h5")
    path.write_text(content, encoding="utf-8")
    with pytest.raises(OutputError, match=rf"{name} is no .* of pdb build and would be replaced; .* --force"):
        build_database(plan)
    assert path.read_text(encoding="utf-8") == content
    assert list(tmp_path.iterdir()) == [path]
    build_database(plan, force=True)
    build_database(plan)  # replaces its own files


@pytest.mark.tiny
@pytest.mark.parametrize("change", ["none", "other version", "damaged", "cut", "HDF5 of 0.1.0", "empty"])
def test_older_and_damaged_tables_are_replaced(tmp_path: Path, change: str) -> None:
    path = build_database(small_plan(tmp_path / "a.h5")).path
    content = expected = path.read_bytes()
    if change == "other version":
        rewrite_header(path, lambda fields: fields.update(format_version=6))
        content = path.read_bytes()
    elif change == "damaged":
        content = content.replace(b"1,2,5/3,4,6/7,8", b"1,2,5/3,4,6/8,7")
    elif change == "cut":
        content = content[:100]
    elif change == "HDF5 of 0.1.0":
        content = b"\x89HDF\r\n\x1a\n" + pattern_group(0).encode()
    elif change == "empty":
        content = b""
        path.with_suffix(".build.json").write_bytes(b"")
    path.write_bytes(content)
    build_database(small_plan(path))
    assert path.read_bytes() == expected


@pytest.mark.tiny
def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., int] = os.pwrite
    monkeypatch.setattr(writer.os, "pwrite", lambda fd, data, offset: real(fd, data[:100], offset))
    result = build_database(small_plan(tmp_path / "a.h5"))
    with open_database(result.path) as database:
        database.verify()


@pytest.mark.tiny
def test_tables_are_read_back_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, pread = search.digest_of, os.pread

    def misread(descriptor: int, offset: int, n_bytes: int) -> str:
        with monkeypatch.context() as during:
            during.setattr(os, "pread", lambda fd, n, offset: bytes(len(pread(fd, n, offset))))
            return real(descriptor, offset, n_bytes)

    monkeypatch.setattr(search, "digest_of", misread)
    with pytest.raises(OutputError, match="different bytes than were written"):
        build_database(small_plan(tmp_path / "a.h5"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tiny
def test_unwritable_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir()
    plan = small_plan(folder / "a.h5")
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:  # whom nothing is forbidden
        os.seteuid(65534)
    try:
        with pytest.raises(OutputError, match=r"cannot write .*a\.h5: Permission denied"):
            build_database(plan)
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)
    assert list(folder.iterdir()) == []


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "partition"),
    [("4x4", "78"), ("4x4", "663"), ("5x5", "6666"), ("3x3", "8"), ("6x6", "auto"), ("2x3", "1,2,3,4,5")],
)
def test_plan_counts_entries(tmp_path: Path, size: str, partition: str) -> None:
    plan = small_plan(tmp_path / "a.h5", partition, size, encoding="bytes")
    n_cells = plan.spec.size.n_cells
    assert plan.n_entries == sum(math.perm(n_cells, p.pattern.n_tiles) for p in plan.patterns if p.use is None)
    assert plan.n_entries <= plan.disk_bytes <= plan.n_entries + 20_000 * len(plan.patterns) + 100_000
    assert plan.memory_bytes > plan.n_entries // len(plan.patterns)


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "partition"), [("3x3", "8"), ("2x3", "1,2,3,4,5"), ("3x3", "1,2,3/4,5/6,7,8")])
def test_plan_counts_states_and_bytes_of_bits(tmp_path: Path, size: str, partition: str) -> None:
    plan = small_plan(tmp_path / "a.h5", partition, size, encoding="bits")
    result = build_database(plan)
    assert [entry.n_bytes for entry in plan.patterns] == [entry.n_bytes for entry in result.header.patterns]
    assert result.path.stat().st_size <= plan.disk_bytes


def test_plan_counts_states_of_large_patterns(tmp_path: Path) -> None:
    eight = small_plan(tmp_path / "a.h5", EIGHTS, "5x5").patterns[0]
    assert eight.spec.n_states == 87_358_400_640
    large = small_plan(
        tmp_path / "a.h5",
        "1,2,3,4,5,6,7/8,9,10,11,12,13,14/15,16,17,18,19,20,21/22,23,24,25,26,27,28/29,30,31,32,33,34,35",
        "6x6",
    )
    # Between one and three regions a cell set.
    n_placements = math.perm(36, 7)
    assert n_placements < large.patterns[0].spec.n_states < 3 * n_placements


def test_plan_of_eight_tile_patterns_fits_into_24_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan.available_memory", lambda: 24_000_000_000)
    monkeypatch.setattr("pdb_build.plan.available_disk", lambda _folder: 40_000_000_000)
    plan = small_plan(tmp_path / "a.h5", EIGHTS, "5x5")
    assert 16e9 < plan.memory_bytes < 17e9
    assert 5e9 < plan.spilled_bytes < 6.5e9
    assert not plan.overlaps_writing
    check_plan(plan)
    monkeypatch.setattr("pdb_build.plan.available_disk", lambda _folder: plan.disk_bytes)
    with pytest.raises(DiskFullError, match="needs 38"):
        check_plan(small_plan(tmp_path / "a.h5", EIGHTS, "5x5"))


def test_plan_spills_all_bits_before_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan.available_memory", lambda: 12_500_000_000)
    plan = small_plan(tmp_path / "a.h5", EIGHTS, "5x5")
    assert plan.memory_bytes < 12.5e9
    check_plan(plan)
    monkeypatch.setattr("pdb_build.plan.available_memory", lambda: 11_000_000_000)
    with pytest.raises(MemoryLimitError, match="patterns of at most 7 tiles would fit"):
        check_plan(small_plan(tmp_path / "a.h5", EIGHTS, "5x5"))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_planned_memory_is_that_of_the_build(tmp_path: Path, encoding: Encoding) -> None:
    """The build runs in a new process, so that the peak is that of the build."""
    program = "from tilepdb.commands.main import run; run()"
    path = tmp_path / "a.h5"
    partition = "1,2,3,4,5,6,7/8,9,10,11,12,13,14/15"
    command = [sys.executable, "-c", program, "build", partition, "--size", "4x4", "--out", str(path)]
    command += ["--encoding", encoding]
    subprocess.run(command, check=True, capture_output=True)
    report = json.loads(path.with_suffix(".build.json").read_text(encoding="utf-8"))
    assert 0.6 * report["planned_memory_bytes"] < report["peak_memory_bytes"] < 1.1 * report["planned_memory_bytes"]


@pytest.mark.tiny
def test_build_without_memory_is_rejected_with_what_would_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan.available_memory", lambda: 300_000_000)
    plan = small_plan(tmp_path / "a.h5", "78", "4x4")
    with pytest.raises(
        MemoryLimitError, match=r"of memory, 300\.0 MB are available; patterns of at most 7 tiles would fit"
    ):
        build_database(plan)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tiny
def test_build_goes_on_if_the_available_memory_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan.available_memory", lambda: None)
    plan = small_plan(tmp_path / "a.h5")
    assert plan.available_memory is None
    with pytest.warns(RuntimeWarning, match=r"the available memory is unknown; building .* for 3x3 needs 200\.\d MB"):
        result = build_database(plan)
    assert result.path.exists()
    assert small_plan(tmp_path / "b.h5", EIGHTS, "5x5").overlaps_writing


@pytest.mark.tiny
def test_built_file_holds_the_naive_tables(tmp_path: Path) -> None:
    for encoding in ENCODINGS:
        result = build_database(small_plan(tmp_path / f"{encoding}.h5", encoding=encoding))
        with open_database(result.path) as database:
            assert database.encoding == encoding
            for index, pattern in enumerate(database.header.spec.partition.patterns):
                table = database.table(index)
                if encoding == "bytes":
                    assert table.tolist() == naive.naive_additive_min(SIZE, GOAL, pattern.tiles)
                else:
                    assert table.tobytes() == naive.naive_bits(SIZE, GOAL, pattern.tiles)
