"""Comparison of tables with their digests before use, by `open_database` and by commands."""

from pathlib import Path

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import TableFileDamagedError
from pdb_query import Database, open_database
from pdb_query.table_file import LOAD_MODES, LoadMode
from pdb_query.verify import _counts
from tests.command_line import pdb, refused
from tests.tables import rewrite_header, table_file

BOARD = "8,6,7/2,5,4/3,0,1"


def copy_of_table(folder: Path, encoding: Encoding = "bytes") -> Path:
    """Return a copy of a table file of the 8-puzzle."""
    copy = folder / "copy.h5"
    copy.write_bytes(table_file("1,2,5/3,4,6/7,8", "3x3", encoding=encoding).read_bytes())
    return copy


def last_byte(path: Path) -> int:
    """Return the offset of the last byte of the last table."""
    with open_database(path) as database:
        entry = list(database.header.tables.values())[-1]
        return entry.offset + entry.n_bytes - 1


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The path of a table file with one changed bit in its last table."""
    path = copy_of_table(tmp_path)
    content = bytearray(path.read_bytes())
    content[last_byte(path)] ^= 1
    path.write_bytes(content)
    return path


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
def test_verify_finds_a_header_that_differs_from_the_hdf5_objects(tmp_path: Path, load: LoadMode) -> None:
    path = copy_of_table(tmp_path)
    rewrite_header(path, lambda fields: fields.update(goal=[1, 2, 3, 4, 5, 6, 7, 0, 8]))
    with open_database(path, load=load) as database:
        path.unlink()  # the bytes in use are compared
        with pytest.raises(
            TableFileDamagedError, match=r"copy\.h5 is damaged: its HDF5 objects differ from its header"
        ):
            database.verify()


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_open_compares_digests_only_with_verify(
    tmp_path: Path, load: LoadMode, encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of_table(tmp_path, encoding)
    reported: list[tuple[int, int]] = []
    open_database(path, load=load, verify=True, progress=lambda done, total: reported.append((done, total))).close()
    assert reported[-1][0] == reported[-1][1] > 0
    content = bytearray(path.read_bytes())
    content[last_byte(path)] ^= 1
    path.write_bytes(content)
    with pytest.raises(TableFileDamagedError, match=r"copy\.h5 is damaged: the table of pattern 7,8 does not match"):
        open_database(path, load=load, verify=True)
    monkeypatch.setattr(Database, "verify", lambda *_: pytest.fail("verified"))
    open_database(path, load=load).close()


@pytest.mark.tiny
@pytest.mark.parametrize("load", ["copy", "huge"])
def test_bytes_that_lookups_use_are_verified(tmp_path: Path, load: LoadMode) -> None:
    """A second read of the file might return other bytes."""
    path = copy_of_table(tmp_path)
    place, database = last_byte(path), open_database(path, load=load)
    path.unlink()
    memory = database.lookup_tables.memory
    memory.flags.writeable = True
    memory[place] ^= 1
    with database, pytest.raises(TableFileDamagedError, match="does not match its digest"):
        database.verify()


@pytest.mark.tiny
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 1000, 1001])
def test_counts_are_those_of_bytes_taken_one_by_one(first: int, length: int) -> None:
    piece = np.random.default_rng(length).integers(0, 256, first + length, dtype=np.uint8)[first:]
    of_bytes, n_ones = [0] * 256, 0
    for byte in piece.tolist():
        of_bytes[byte] += 1
        n_ones += byte.bit_count()
    assert _counts(piece, "bytes").tolist() == of_bytes
    assert _counts(piece, "bits").tolist() == [n_ones]


@pytest.mark.parametrize(
    "command",
    [("query", "--verify", BOARD), ("solve", "--verify", BOARD), ("serve", "--port", "0")],
    ids=lambda c: c[0],
)
def test_command_refuses_a_damaged_table(damaged: Path, command: tuple[str, ...]) -> None:
    refused(pdb(*command, "--db", str(damaged)), 4, r"the table of pattern 7,8 does not match its digest; build it")
