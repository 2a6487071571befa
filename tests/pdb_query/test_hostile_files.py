"""Damaged and hostile table files: refused or found, before much is allocated or counted; and what a reader of a file
keeps while it is replaced.
"""

import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from pdb_build import build_database, plan_build
from pdb_core import schema
from pdb_core.errors import (
    MemoryLimitError,
    TableFileDamagedError,
    TableFileError,
    TableFileForeignError,
)
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import BoardSize, blank_last
from pdb_query import open_database, read_table_header
from pdb_query.hdf5_file import MAX_STRUCTURE_BYTES
from pdb_query.table_file import LOAD_MODES, LoadMode, load_table_file
from tests import ROOT
from tests.faults.corrupt_file import OUTCOMES
from tests.tables import table_file

PARTITION = "1,2,5/3,4,6/7,8"
SMALL_BYTES = 8_000_000


@pytest.fixture
def copy_of_table(tmp_path: Path) -> Path:
    path = tmp_path / "a.h5"
    path.write_bytes(table_file(PARTITION, "3x3").read_bytes())
    return path


def corrupted(tried: int, seed: int) -> dict[str, Any]:
    """What tests.faults.corrupt_file prints. A process of its own: it forks."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.faults.corrupt_file", "--tried", str(tried), "--seed", str(seed)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.stdout, result.stderr
    counts: dict[str, Any] = json.loads(result.stdout)
    assert sum(counts[name] for name in OUTCOMES) == counts["tried"] == tried
    return counts


def test_damaged_files_are_refused_or_found() -> None:
    counts = corrupted(400, 1)
    assert counts["losses"] == []
    assert min(counts["refused"], counts["found"], counts["harmless"]) > 10


@pytest.mark.slow
@pytest.mark.faults
def test_thousands_of_damaged_files_are_refused_or_found() -> None:
    counts = corrupted(5000, 2)
    assert counts["losses"] == []
    assert counts["cpu_s"] < 60


Make = Callable[[h5py.Group, np.ndarray[Any, Any]], object]


# Files that somebody made on purpose: they may sign what they say.


@contextmanager
def little_time_and_memory() -> Iterator[None]:
    """A second, and a few megabytes of Python's and numpy's."""
    start = time.process_time()
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < SMALL_BYTES
    assert time.process_time() - start < 2.0


def assert_refused_early(path: Path, match: str, error: type[Exception] = TableFileDamagedError) -> None:
    for load in LOAD_MODES:
        with little_time_and_memory(), pytest.raises(error, match=match) as caught:
            open_database(path, load=load)
        assert "\n" not in str(caught.value)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500
    with little_time_and_memory(), pytest.raises(error, match=match):
        read_table_header(path)


def replace_dataset(path: Path, name: str, make: Make) -> None:
    with h5py.File(path, "r+") as file:
        data = file["pattern_0"][name][:]
        del file["pattern_0"][name]
        make(file["pattern_0"], data)


def virtual(group: h5py.Group, data: np.ndarray[Any, Any]) -> None:
    layout = h5py.VirtualLayout(shape=data.shape, dtype=data.dtype)
    layout[:] = h5py.VirtualSource("elsewhere.h5", "x", shape=data.shape)
    group.create_virtual_dataset("table", layout)


def unallocated(group: h5py.Group, _data: np.ndarray[Any, Any]) -> None:
    group.create_dataset("table", shape=(10**18,), dtype=np.uint8, chunks=(1 << 20,))


def compact(group: h5py.Group, data: np.ndarray[Any, Any]) -> None:
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(data.shape)
    h5py.h5d.create(group.id, b"table", h5py.h5t.NATIVE_UINT8, space, dcpl=creation)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda group, data: group.create_dataset("table", data=data, compression="gzip"), "not contiguous"),
        (lambda group, data: group.create_dataset("table", data=data, fletcher32=True), "not contiguous"),
        (lambda group, data: group.create_dataset("table", data=data, chunks=(7,)), "not contiguous"),
        (lambda group, data: group.create_dataset("table", data=data, maxshape=(None,)), "not contiguous"),
        (lambda group, data: group.create_dataset("table", shape=data.shape, dtype="u1"), "not contiguous"),
        (
            lambda group, data: group.create_dataset("table", data=data, external=[("/dev/zero", 0, data.nbytes)]),
            "not contiguous",
        ),
        (virtual, "."),
        (unallocated, "not contiguous"),
        (compact, "not contiguous"),
        (lambda group, _: group.__setitem__("table", h5py.SoftLink("/pattern_1/table")), "link"),
        (lambda group, _: group.__setitem__("table", h5py.ExternalLink("/dev/zero", "/x")), "."),
        (lambda group, _: group.create_group("table"), "."),
        (lambda group, _: group.create_dataset("table", data=[b"text"]), "type|numbers"),
        (lambda group, _: group.create_dataset("table", data=np.zeros(3, "u1,i4")), "type"),
    ],
)  # fmt: skip
def test_table_that_is_elsewhere_or_packed_is_refused(
    copy_of_table: Path,
    make: Make,
    match: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(copy_of_table.parent)
    replace_dataset(copy_of_table, "table", make)
    assert_refused_early(copy_of_table, match)


def lie(path: Path, size: str, tiles: tuple[int, ...], encoding: str) -> None:
    """Let a file say that it is of another board and pattern."""
    width, height = map(int, size.split("x"))
    with h5py.File(path, "r+") as file:
        file.attrs["width"], file.attrs["height"] = np.int64(width), np.int64(height)
        n_cells = min(width * height, 200)
        file.attrs["goal"] = np.array([*range(1, n_cells), 0], dtype=np.uint8)
        file.attrs["encoding"] = encoding
        file["pattern_0"].attrs["tiles"] = np.array(tiles, dtype=np.uint8)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "tiles", "match"),
    [
        ("6x6", tuple(range(1, 11)), "1,2,3,4,5,6,7,8,9,10 "),
        ("6x6", tuple(range(1, 10)), "1,2,3,4,5,6,7,8,9 "),
        ("6x6", tuple(range(1, 36)), "35 tiles"),
        ("32x6", (1, 2), "32x6"),
        ("1000x1000", (1, 2), "1000x1000 is not supported"),
        ("9223372036854775807x2", (1, 2), "is not supported"),
    ],
)
@pytest.mark.parametrize("encoding", ["bytes", "bits"])
def test_claims_of_large_boards_are_refused_before_they_are_counted(
    copy_of_table: Path, size: str, tiles: tuple[int, ...], match: str, encoding: str
) -> None:
    lie(copy_of_table, size, tiles, encoding)
    assert_refused_early(copy_of_table, match)


@pytest.mark.tiny
def test_hole_of_the_right_size_is_refused_where_its_blocks_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may be as long as it says, and have nothing in it."""
    path = tmp_path / "a.h5"
    n_bytes = 107_000_000_000 * 10
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        for name, value in (("format", "tile-pdb"), ("format_version", 1), ("width", 6), ("height", 6)):
            file.attrs[name] = value
        file.attrs["goal"] = np.array([*range(1, 36), 0], dtype=np.uint8)
        file.attrs["partition"], file.attrs["index_function"] = "x", schema.INDEX_FUNCTION
        file.attrs["encoding"] = "bits"
        group = file.create_group("pattern_0")
        group.attrs["tiles"] = np.arange(1, 9, dtype=np.uint8)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        h5py.h5d.create(group.id, b"table", h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((n_bytes,)), dcpl=creation)
    assert path.stat().st_size > n_bytes
    assert path.stat().st_blocks * 512 < 1_000_000
    monkeypatch.setattr(schema, "available_memory", lambda: 1_000_000_000)
    assert_refused_early(path, "needs 1.9 GB of memory, 1.0 GB are available", MemoryLimitError)


@pytest.mark.tiny
def test_hole_behind_the_tables_is_refused(copy_of_table: Path) -> None:
    """Else a copy would take as much memory as the file is long."""
    os.truncate(copy_of_table, 10**12)
    assert_refused_early(copy_of_table, "of its bytes belong to no table")


@pytest.mark.tiny
def test_thousands_of_patterns_are_refused(copy_of_table: Path) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        for index in range(3, 1000):
            file[f"pattern_{index}"] = file["pattern_2"]
    assert_refused_early(copy_of_table, "more patterns than a 3x3 board has tiles|larger than")


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("value", "match"),
    [
        ("x" * 5_000_000, f"larger than {MAX_STRUCTURE_BYTES} bytes"),
        ("x" * 201, "is no name of a partition"),
        ("\x1b[2J\x1b]0;owned\x07", "is no name of a partition"),
        ("1,2,5/3,4,6/7,8\n663", "is no name of a partition"),
        (np.zeros(8000), "1,2,5|name"),
    ],
)
def test_large_and_unprintable_texts_are_refused(copy_of_table: Path, value: object, match: str) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        file.attrs["partition"] = value
    assert_refused_early(copy_of_table, match)


@pytest.mark.tiny
def test_megabytes_of_attributes_are_refused(copy_of_table: Path) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        for index in range(200):
            file["pattern_1"].attrs[f"a{index}"] = np.zeros(8000, dtype=np.uint8)
    assert_refused_early(copy_of_table, "larger than")


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("histogram", "n_unreached"),
    [([0], 72), ([0] * 10, 72), ([2**64 - 1], 73 - 2**63), ([80], -8), ([2**63, 2**63], 0)],
)
def test_impossible_histograms_are_refused(copy_of_table: Path, histogram: list[int], n_unreached: int) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        group = file["pattern_2"]
        del group["histogram"]
        group["histogram"] = np.array(histogram, dtype=np.uint64)
        group.attrs["n_unreached"] = np.int64(n_unreached)
        group.attrs["maximum"] = np.int64(len(histogram) - 1)
    assert_refused_early(copy_of_table, "histogram|division")


@pytest.mark.tiny
@pytest.mark.parametrize("tiles", [(), (0, 1, 2), (1, 2, 9), (1, 2, 255), (2, 1, 5), (1, 1, 2)])
def test_impossible_patterns_are_refused(copy_of_table: Path, tiles: tuple[int, ...]) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        file["pattern_0"].attrs["tiles"] = np.array(tiles, dtype=np.uint8)
    assert_refused_early(copy_of_table, "tiles|twice")


@pytest.mark.tiny
def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    os.mkfifo(path)
    assert_refused_early(path, "is no plain file", TableFileError)


@pytest.mark.tiny
def test_hdf5_file_of_another_format_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file.attrs["format"] = "tile-pdb"
    assert_refused_early(path, "an HDF5 file, but not a table file", TableFileForeignError)


@pytest.mark.parametrize("load", LOAD_MODES)
def test_file_larger_than_the_address_space_is_refused(load: str) -> None:
    """With a limit as `ulimit -v` sets it, in this process: it leaves what is already mapped."""
    path = table_file("1,2,3,4,5,6/7,8,9,10,11", "4x3", encoding="bytes")
    read_table_header(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (in_use + 500_000, hard))
        with pytest.raises(MemoryLimitError, match="cannot be opened: its 7") as caught:
            load_table_file(path, load)  # type: ignore[arg-type]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert "\n" not in str(caught.value)


# A file that is replaced while it is read.


def build(path: Path, partition: str) -> None:
    size = BoardSize(3, 3)
    build_database(plan_build(size, blank_last(size), parse_partition(partition, size), path))


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
def test_open_database_keeps_its_answers_while_a_build_replaces_the_file(tmp_path: Path, load: LoadMode) -> None:
    path = tmp_path / "a.h5"
    build(path, PARTITION)
    board = (8, 6, 7, 2, 5, 4, 3, 0, 1)
    with open_database(path, load=load) as before:
        old = before.probe(board)
        build(path, "8")
        assert before.probe(board) == old
        before.verify()
        with open_database(path, load=load) as after:
            assert after.header.partition.name == "8"
            assert after.probe(board).maximum == 31 > old.maximum
        path.unlink()
        assert before.probe(board) == old


@pytest.mark.tiny
def test_file_replaced_while_it_is_opened_is_one_or_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every read: the header of one file must not be taken for that of the other."""
    files = [table_file(PARTITION, "3x3", encoding="bits"), table_file("1,2,3,4/5,6,7,8", "3x3", encoding="bits")]
    path, new, reads = tmp_path / "a.h5", tmp_path / "new.h5", 0
    real = os.pread

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        nonlocal reads
        reads += 1
        new.write_bytes(files[reads % 2].read_bytes())
        new.replace(path)
        return real(descriptor, length, offset)

    path.write_bytes(files[0].read_bytes())
    monkeypatch.setattr(os, "pread", pread)
    for load in LOAD_MODES:
        reads = 0
        with open_database(path, load=load) as database:
            database.verify()
        assert reads > 20


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
def test_file_cut_while_it_is_opened_is_refused(
    copy_of_table: Path, load: LoadMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each read, and behind the last one."""
    content, real, reads, last = copy_of_table.read_bytes(), os.pread, 0, 0

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        nonlocal reads
        reads += 1
        data = real(descriptor, length, offset)
        if reads == last:
            os.truncate(copy_of_table, 600)
        return data

    monkeypatch.setattr(os, "pread", pread)
    open_database(copy_of_table, load=load).close()
    n_reads = reads
    while last < n_reads:
        last += 1
        copy_of_table.write_bytes(content)
        reads = 0
        with pytest.raises(TableFileDamagedError, match=r"became shorter|truncated|beyond its end"):
            open_database(copy_of_table, load=load)
    assert n_reads > 20
