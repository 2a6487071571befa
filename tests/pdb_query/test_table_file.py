"""Opening of table files: damaged, hostile and foreign files are refused; load modes; files replaced while open."""

import os
from pathlib import Path
from typing import Any

import h5py
import pytest

import pdb_query.table_file
from pdb_build import build_database
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
from pdb_query.table_file import LOAD_MODES, LoadMode
from tests import rows
from tests.command_line import python
from tests.fuzzing import sentence
from tests.solving import HARDEST_8
from tests.tables import SMALL, copy_of_table, rewrite_header, signed_block, small_plan, table_file

SHARED, CATALOGUE = "1,2/3,6/4,7/5,8", "1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8"
# Tables of both encodings and costs, shared tables, a catalogue.
SAMPLES: tuple[tuple[Any, ...], ...] = (
    ("1,2,3", "2x2"),
    (SMALL, "3x3"),
    (SHARED, "3x3", "blank-last", "bits"),
    ("1,2/3,4", "3x3", "blank-last", "bits", "every-move"),
    (CATALOGUE, "3x3", "blank-last", "bits"),
)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return copy_of_table(tmp_path)


def sample(index: int) -> Path:
    return table_file(*SAMPLES[index])


def assert_refused(path: Path, error: type[PdbError], match: str) -> None:
    for load in LOAD_MODES:
        with pytest.raises(error, match=match) as caught:
            open_database(path, load=load)
    with pytest.raises(error, match=match):
        read_table_header(path)
    assert caught.value.exit_code == (4 if issubclass(error, TableFileError) else 5)
    sentence(caught.value)


@pytest.mark.tiny
def test_lookups_do_not_import_h5py() -> None:
    code = (
        "import sys; from pdb_query import open_database; database = open_database(sys.argv[1])\n"
        "assert database.probe(database.goal).h == 0 and 'h5py' not in sys.modules"
    )
    assert python(code, str(table_file(SMALL, "3x3"))).stderr == ""


# Files that are not table files of this version.


@pytest.mark.tiny
def test_paths_that_are_no_file_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert_refused(tmp_path / "no.h5", TableFileMissingError, "make one with pdb build")
    for path in (tmp_path / "pipe", Path(os.devnull), tmp_path):
        assert_refused(path, TableFileError, "is a folder or a device; name a table file made with pdb build")
    assert_refused(Path("/proc/self/mem"), TableFileError, "cannot be read: Input/output error; name a table file")


@pytest.mark.tiny
@pytest.mark.parametrize("content", [b"", b"id,board\n1,1 2 3\n", b'{"format":"other"}\n'])
def test_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    assert_refused(path, TableFileForeignError, "is not a table file of tile-pdb; make one with pdb build")


@pytest.mark.tiny
def test_copy_by_h5py_is_refused(copied: Path, tmp_path: Path) -> None:
    path = tmp_path / "by-h5py.h5"
    with h5py.File(copied) as file, h5py.File(path, "w") as copy:
        file.copy("pattern_0", copy)
    assert_refused(path, TableFileForeignError, "without the user block of a table file; .* copy the file itself")


@pytest.mark.tiny
def test_newer_version_is_refused(copied: Path) -> None:
    rewrite_header(copied, lambda fields: fields.update(format_version=6, other=True))
    assert_refused(copied, TableFileVersionError, "has format version 6, .* reads version 5; update tile-pdb")


# Damaged files.


@pytest.mark.tiny
@pytest.mark.parametrize("keep", [20, 4096, 33_000, -1, 0])
def test_file_of_another_length_is_refused(copied: Path, keep: int) -> None:
    content = copied.read_bytes()
    copied.write_bytes(content[:keep] or content + b"\0")
    assert_refused(copied, TableFileDamagedError, r"its header does not match|it has \d+ bytes instead of \d+; cop")


# Headers that somebody changed on purpose, with right digests.

# Of a sample: place of a field | its new value in Python, none removes it | a part of the message.
HEADERS = {
    1: """
width |  | 'width'
width | "3" | board size '3'x3 is not supported
width | True | board size Truex3 is not supported
width | 4 | 9 numbers where a 4x3 board has 12
width | 2**63 - 1 | is not supported
remark | "seen" | unknown, misplaced or
partitions | [[0, 1, 2]] | unknown, misplaced or
encoding | "nibbles" | 'nibbles'; give one of bytes, bits
cost | "odd-moves" | 'odd-moves'; give one of additive, every-move
cost | "every-move" | written in bits, not in bytes
index_function | "other" | unknown, misplaced or
goal | [1, 1, 2] | 3 numbers where a 3x3 board has 9
goal | {"a": 1} | must be 9 integers
patterns | [] | are in no pattern
patterns | [{}] * 60 | 'tiles'
patterns 2 |  | tiles 7, 8 are in no pattern
patterns 0 tiles | [] | 0 tiles
patterns 0 tiles | [0, 1, 2] | tiles 0 are not on the board
patterns 0 tiles | [2, 1, 5] | contradictory
patterns 0 tiles | [1, 1, 2] | twice
patterns 0 bytes | 503 | contradictory
patterns 0 bytes | 504.0 | contradictory
patterns 0 offset | 0 | overlaps other parts
patterns 0 offset | 10**18 | and the file has
patterns 1 offset | FIRST + 1 | overlaps other parts
patterns 2 histogram | [] | not a list of 1 to 255 counts
patterns 2 histogram | [72, 0] | not a list of 1 to 255 counts
patterns 2 histogram | [1] * 256 | not a list of 1 to 255 counts
patterns 2 histogram | [73] | not a list of 1 to 255 counts
patterns 2 n_unreached | 2**63 | contradictory
""",
    2: """
cost | "every-move" | 'histogram'
patterns 1 same_as | 1 | contradictory
patterns 2 same_as | 1 | contradictory
patterns 1 same_as |  | contradictory
patterns 1 cell_map | [0, 1, 2, 3, 4, 5, 6, 7, 8] | contradictory
patterns 1 tiles | [3, 5] | in two patterns
""",
    4: """
partitions | [] | in two patterns
partitions | "0,1" | tuple indices must be integers
partitions | [[0, 1]] | contradictory
partitions | [[0, 1], [0, 2, 3], []] | in no pattern
partitions | [[0, 1], [0, 2, 4]] | out of range
partitions | [[0, 1], [0, 2, -3]] | in (no|two) pattern
partitions | [[0, 2, 3], [1, 2, 3]] | in two patterns
""",
}


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("index", "place", "value", "match"), [(index, *row) for index, table in HEADERS.items() for row in rows(table)]
)
def test_invalid_fields_are_refused(tmp_path: Path, index: int, place: str, value: str, match: str) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(sample(index).read_bytes())
    *names, last = [int(name) if name.isdigit() else name for name in place.split()]

    def change(fields: Any) -> None:
        variables = {"FIRST": fields["patterns"][0]["offset"]}
        for name in names:
            fields = fields[name]
        if value:
            fields[last] = eval(value, variables)
        else:
            del fields[last]

    rewrite_header(path, change)
    assert_refused(path, TableFileDamagedError, f"its header is invalid .*{match}")


@pytest.mark.tiny
@pytest.mark.parametrize(
    "rest",
    ["5," + "[" * 100_000, '5,"format":"tile-pdb"}', "9" * 5000 + "}", "null}", "[]}"],
    ids=lambda rest: rest[:5],
)
def test_headers_of_other_json_are_refused(copied: Path, rest: str) -> None:
    copied.write_bytes(signed_block(f'{{"format":"tile-pdb","format_version":{rest}', 1 << 17))
    assert_refused(copied, TableFileError, r"its header is invalid|has format version .*; update tile-pdb")


# Load modes.


@pytest.mark.tiny
def test_copy_that_does_not_fit_into_the_memory_is_refused_before_it_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    path = table_file(SMALL, "3x3")
    monkeypatch.setattr("pdb_query.private_memory.available_memory", lambda: path.stat().st_size - 1)
    for load in ("copy", "huge"):
        with pytest.raises(MemoryLimitError, match="more than the available memory; use the load mode map"):
            open_database(path, load=load)
    open_database(path, load="map").close()


# A file that changes while it is read.


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
def test_open_database_keeps_its_answers_while_a_build_replaces_the_file(tmp_path: Path, load: LoadMode) -> None:
    path = tmp_path / "a.h5"
    build_database(small_plan(path, SMALL))
    with open_database(path, load=load) as before:
        old = before.probe(HARDEST_8)
        build_database(small_plan(path, "8"))
        assert before.probe(HARDEST_8) == old
        before.verify()
        path.unlink()
        assert before.probe(HARDEST_8) == old


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
def test_file_cut_behind_its_header_is_refused(copied: Path, load: LoadMode, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pdb_query.table_file.read_header

    def cut_and_read(file: Any, source: str) -> object:
        header = real(file, source)
        os.truncate(copied, 600)
        return header

    monkeypatch.setattr("pdb_query.table_file.read_header", cut_and_read)
    with pytest.raises(TableFileDamagedError, match="became shorter"):
        open_database(copied, load=load)
