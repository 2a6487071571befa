"""Comparison of a table file with its digests, by `open_database` and by commands."""

from pathlib import Path

import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import TableFileDamagedError
from pdb_query import LOAD_MODES, open_database
from pdb_query.table_file import LoadMode
from tests.command_line import pdb, refused
from tests.tables import copy_of_table, flip

pytestmark = pytest.mark.tiny


def change_last_byte(path: Path) -> None:
    """Change the last byte of the last table."""
    with open_database(path) as database:
        entry = database.header.patterns[-1]
    flip(path, entry.offset + entry.n_bytes - 1)


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


@pytest.mark.parametrize(("at", "match"), [(40, "its header"), (-1, "the bytes outside its tables")])
def test_bytes_outside_of_tables_have_digests_too(tmp_path: Path, at: int, match: str) -> None:
    path = copy_of_table(tmp_path)
    flip(path, at)
    with pytest.raises(TableFileDamagedError, match=f"{match} do(es)? not match (its|their) digest"):
        open_database(path, verify=True)


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


def test_service_refuses_a_damaged_table(tmp_path: Path) -> None:
    path = copy_of_table(tmp_path)
    change_last_byte(path)
    told = pdb("serve", "--port", "0", "--db", str(path))
    refused(told, 4, r"the table of pattern 7,8 does not match its digest; build it")
