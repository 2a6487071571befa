"""Table files that are not what they should be: each is refused in one sentence, with the exit code 4."""

import errno
import os
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

from pdb_core import schema
from pdb_core.errors import (
    MemoryLimitError,
    PdbError,
    TableFileDamagedError,
    TableFileError,
    TableFileForeignError,
    TableFileMissingError,
    TableFileVersionError,
)
from pdb_query import open_database, read_table_header
from pdb_query.table_file import LOAD_MODES, LoadMode, load_table_file
from tests.tables import table_file

PARTITION = "1,2,5/3,4,6/7,8"


@pytest.fixture
def copy_of_table(tmp_path: Path) -> Path:
    path = tmp_path / "a.h5"
    path.write_bytes(table_file(PARTITION, "3x3").read_bytes())
    return path


def assert_refused(path: Path, error: type[TableFileError], match: str) -> None:
    for load in LOAD_MODES:
        with pytest.raises(error, match=match) as caught:
            open_database(path, load=load)
        assert caught.value.exit_code == 4
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.tiny
def test_missing_file_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path / "no.h5", TableFileMissingError, "make one with pdb build")


@pytest.mark.tiny
def test_folder_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path, TableFileError, "is a folder")


@pytest.mark.tiny
@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 5000, b"id,board\n1,1 2 3\n"])
def test_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    assert_refused(path, TableFileForeignError, "not a table file")


@pytest.mark.tiny
def test_other_hdf5_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = [1, 2, 3]
    assert_refused(path, TableFileForeignError, "not a table file")


@pytest.mark.tiny
@pytest.mark.parametrize("keep", [20, 1000, 4096, 4500, -1, -500])
def test_truncated_file_is_refused(copy_of_table: Path, keep: int) -> None:
    content = copy_of_table.read_bytes()
    copy_of_table.write_bytes(content[:keep])
    assert_refused(copy_of_table, TableFileDamagedError, "damaged|truncated")


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("attribute", "value", "match"),
    [
        ("format_version", np.int64(5), "version 5, this program reads versions 1 to 4; update"),
        ("format_version", np.int64(0), "version 0.*build the table again"),
        ("index_function", "other", "index function 'other'"),
        ("encoding", "nibbles", "encoding 'nibbles'"),
    ],
)
def test_other_version_is_refused(copy_of_table: Path, attribute: str, value: object, match: str) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        file.attrs[attribute] = value
    assert_refused(copy_of_table, TableFileVersionError, match)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("where", "attribute", "value"),
    [
        ("/", "width", np.int64(4)),
        ("/", "width", "wide"),
        ("/", "goal", np.array([0, 1, 2, 3, 4, 5, 6, 7, 8], dtype=np.uint8)),
        ("/", "goal", np.array([1, 1, 2], dtype=np.uint8)),
        ("/", "partition", "other"),
        ("/", "header_sha256", "0" * 64),
        ("/pattern_0", "tiles", np.array([1, 2, 4], dtype=np.uint8)),
        ("/pattern_0", "tiles", np.array([5, 2, 1], dtype=np.uint8)),
        ("/pattern_1", "maximum", np.int64(3)),
        ("/pattern_1", "mean", np.float64("nan")),
        ("/pattern_1", "n_unreached", np.int64(1)),
        ("/pattern_2", "sha256", "abc"),
    ],
)
def test_edited_header_is_refused(copy_of_table: Path, where: str, attribute: str, value: object) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        file[where].attrs[attribute] = value
    assert_refused(copy_of_table, TableFileDamagedError, "is damaged")


@pytest.mark.tiny
@pytest.mark.parametrize(
    "name", sorted(set(schema.ROOT_ATTRIBUTES[1:]) - {schema.COST_ATTRIBUTE, schema.PARTITIONS_ATTRIBUTE})
)
def test_missing_attribute_is_refused(copy_of_table: Path, name: str) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        del file.attrs[name]
    assert_refused(copy_of_table, TableFileDamagedError, "is damaged")


@pytest.mark.tiny
def test_changed_histogram_is_refused(copy_of_table: Path) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        histogram = file["pattern_0/histogram"]
        histogram[1], histogram[2] = histogram[2], histogram[1]
    assert_refused(copy_of_table, TableFileDamagedError, "is damaged")


@pytest.mark.tiny
def test_rewritten_table_is_refused(copy_of_table: Path) -> None:
    """As h5repack would leave it: compressed, so that it cannot be mapped."""
    with h5py.File(copy_of_table, "r+") as file:
        table = file["pattern_0/table"][:]
        del file["pattern_0/table"]
        file["pattern_0"].create_dataset("table", data=table, compression="gzip")
    assert_refused(copy_of_table, TableFileDamagedError, "not contiguous")


@pytest.mark.tiny
def test_verify_finds_any_changed_byte_of_a_table(copy_of_table: Path) -> None:
    with open_database(copy_of_table) as database:
        database.verify()
        starts = database.lookup_tables.table_start.tolist()
        n_entries = [entry.n_entries for entry in database.header.patterns]
    content = bytearray(copy_of_table.read_bytes())
    for start, n in zip(starts, n_entries, strict=True):
        for place in (start, start + n // 2, start + n - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            other = copy_of_table.with_name("changed.h5")
            other.write_bytes(changed)
            with (
                open_database(other) as database,
                pytest.raises(TableFileDamagedError, match="does not match its digest"),
            ):
                database.verify()


@pytest.mark.tiny
def test_verify_finds_any_changed_bit_of_a_table(tmp_path: Path) -> None:
    path = table_file(PARTITION, "3x3", encoding="bits")
    with open_database(path) as database:
        database.verify()
        start = int(database.lookup_tables.table_start[0])
    content = bytearray(path.read_bytes())
    content[start] ^= 1
    other = tmp_path / "changed.h5"
    other.write_bytes(content)
    with open_database(other) as database, pytest.raises(TableFileDamagedError, match="does not match its digest"):
        database.verify()


@pytest.mark.tiny
def test_verify_tells_progress(copy_of_table: Path) -> None:
    told: list[tuple[int, int]] = []
    with open_database(copy_of_table) as database:
        database.verify(lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == 504 + 504 + 72


@pytest.mark.tiny
def test_unreadable_file_is_refused(copy_of_table: Path) -> None:
    copy_of_table.chmod(0)
    if os.access(copy_of_table, os.R_OK):  # root reads everything; then there is nothing to refuse
        open_database(copy_of_table).close()
    else:
        assert_refused(copy_of_table, TableFileError, "cannot be read")


@pytest.mark.tiny
def test_unknown_load_is_refused() -> None:
    with pytest.raises(ValueError, match="map, copy, huge"):
        load_table_file(table_file(PARTITION, "3x3"), "page")  # type: ignore[arg-type]


@pytest.mark.tiny
def test_header_is_a_value() -> None:
    header = read_table_header(table_file(PARTITION, "3x3"))
    assert header == read_table_header(table_file(PARTITION, "3x3"))
    assert pickle.loads(pickle.dumps(header)) == header


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("load", "failure", "error", "match"),
    [
        (
            "copy",
            OSError(errno.EIO, "Input/output error"),
            TableFileError,
            "cannot be read: Input/output error; copy it",
        ),
        (
            "copy",
            OSError(errno.ENOMEM, "no memory"),
            MemoryLimitError,
            "more than the memory at hand; use the load mode",
        ),
        ("huge", MemoryError(), MemoryLimitError, "more than the memory at hand"),
        ("map", OSError(errno.ENOMEM, "no memory"), MemoryLimitError, "more than this process may address"),
        ("map", ValueError("mmap length is greater than file size"), TableFileDamagedError, "became shorter"),
    ],
)
def test_tables_that_cannot_be_had_are_told(
    load: LoadMode, failure: Exception, error: type[PdbError], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table_file(PARTITION, "3x3")

    def fail(*_args: object, **_options: object) -> None:
        raise failure

    monkeypatch.setattr("pdb_query.table_file." + ("mmap.mmap" if load == "map" else "_read_into"), fail)
    with pytest.raises(error, match=match):
        open_database(path, load=load)


@pytest.mark.tiny
def test_systems_without_huge_pages_load_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    path = table_file(PARTITION, "3x3")
    monkeypatch.delattr("pdb_query.table_file.mmap.MADV_HUGEPAGE")
    with open_database(path, load="huge") as other, open_database(path) as mapped:
        for index in range(3):
            assert np.array_equal(other.table(index), mapped.table(index))
