"""Comparison of a table file with its digests, histograms and header, by `open_database` and by commands."""

from pathlib import Path

import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import TableFileDamagedError
from pdb_query import LOAD_MODES, open_database
from pdb_query.table_file import LoadMode
from tests.command_line import BOARD, pdb, refused
from tests.tables import copy_of_table, flip, sign_tables, table_file

pytestmark = pytest.mark.tiny


def change_last_byte(path: Path, change: int = 1) -> None:
    """Change bits of the last byte of the last table."""
    with open_database(path) as database:
        entry = database.header.patterns[-1]
    flip(path, entry.offset + entry.n_bytes - 1, change)


@pytest.mark.parametrize("load", LOAD_MODES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_open_compares_digests_only_with_verify(tmp_path: Path, load: LoadMode, encoding: Encoding) -> None:
    path = copy_of_table(tmp_path, encoding)
    reported: list[tuple[int, int]] = []
    open_database(path, load=load, verify=True, progress=lambda done, total: reported.append((done, total))).close()
    assert reported[-1][0] == reported[-1][1] > 0
    change_last_byte(path)
    with pytest.raises(
        TableFileDamagedError, match=r"copy\.h5 is damaged: the table of pattern 7,8 does not match its"
    ):
        open_database(path, load=load, verify=True)
    open_database(path, load=load).close()


@pytest.mark.parametrize("load", ["copy", "huge"])
def test_bytes_that_lookups_use_are_verified(tmp_path: Path, load: LoadMode) -> None:
    """A second read of the file might return other bytes."""
    path = copy_of_table(tmp_path)
    with open_database(path, load=load) as database:
        path.unlink()
        database.verify()
        memory = database.lookup_tables.memory
        memory.flags.writeable = True
        memory[database.header.patterns[-1].offset] ^= 1
        with pytest.raises(TableFileDamagedError, match="does not match its digest"):
            database.verify()


# Files whose builder was wrong, and signed them


@pytest.mark.parametrize("change", [2, 255])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_wrong_histogram_is_found(tmp_path: Path, encoding: Encoding, change: int) -> None:
    path = copy_of_table(tmp_path, encoding)
    sign_tables(path)
    open_database(path, verify=True).close()
    # In bytes another distance, or one where there is none; in bits a bit, or more ones than zeros.
    change_last_byte(path, change)
    sign_tables(path)
    with (
        open_database(path) as database,
        pytest.raises(TableFileDamagedError, match="7,8 does not match its histogram"),
    ):
        database.verify()


@pytest.mark.parametrize(("partition", "size", "n_unreached"), [("1,2,3", "2x2", 12), ("1/2,3,4/5,6,7,8", "3x3", 0)])
def test_unreached_entries_and_odd_numbers_of_bytes_are_counted(partition: str, size: str, n_unreached: int) -> None:
    with open_database(table_file(partition, size), verify=True) as database:
        assert database.header.patterns[0].n_unreached == n_unreached


@pytest.mark.parametrize(
    "command",
    [("query", "--verify", BOARD), ("solve", "--verify", BOARD), ("serve", "--port", "0")],
    ids=lambda c: c[0],
)
def test_command_refuses_a_damaged_table(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = copy_of_table(tmp_path)
    change_last_byte(path)
    refused(pdb(*command, "--db", str(path)), 4, r"the table of pattern 7,8 does not match its digest; build it")
