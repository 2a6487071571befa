"""docs/format.md specifies the file: it names what the code writes."""

import hashlib
import json
import re

import h5py
import numpy as np
import pytest

from pdb_core import schema
from pdb_core.encoding import ENCODINGS, UNREACHED
from pdb_core.pattern import MAX_CATALOGUE_PATTERNS, MAX_PARTITIONS
from pdb_core.ranking import INDEX_FUNCTION
from pdb_query import open_database, read_table_header
from tests import text_of
from tests.pdb_query.test_table_file import CATALOGUE, SAMPLES, SHARED, sample
from tests.tables import SMALL, table_file

TEXT = text_of("docs/format.md")

pytestmark = pytest.mark.tiny


def documented_names() -> list[list[str]]:
    """Return the fields of each table, and the attributes or datasets of each list, on the page."""
    lists: list[list[str]] = []
    for line in TEXT.splitlines():
        if line.startswith("| field"):
            lists.append([])
        elif match := re.match(r"\| ((?:`\w+`(?:, )?)+) \|", line):
            lists[-1] += re.findall(r"\w+", match[1])
    hdf5 = TEXT.partition("## The same facts in HDF5")[2].partition("\n## ")[0]
    runs = re.findall(r"(?:`\w+`\s+)+`\w+`", hdf5)
    return lists + [re.findall(r"\w+", run) for run in runs]


def test_documented_names_are_those_of_the_code() -> None:
    shared = read_table_header(table_file(SHARED, "3x3"))
    fields = json.loads(shared.to_json())
    catalogue = schema.hdf5_attributes(read_table_header(table_file(CATALOGUE, "3x3", encoding="bits")))
    groups = schema.hdf5_attributes(shared)
    assert documented_names() == [
        *map(list, (fields, *fields["patterns"][:2], groups["/"], groups["pattern_0"], groups["pattern_1"]))
    ]
    assert catalogue["/"].keys() - groups["/"].keys() == {"partitions"}
    for name in (schema.TABLE_DATASET, schema.HISTOGRAM_DATASET, "partitions"):
        assert f"`{name}`, uint" in TEXT


def test_documented_values_are_those_of_the_code() -> None:
    assert f"format version {schema.FORMAT_VERSION}" in TEXT.splitlines()[0]
    for value in (schema.FORMAT, INDEX_FUNCTION, *ENCODINGS, "every-move"):
        assert f"`{value}`" in TEXT
    for words in (
        f"up to {MAX_CATALOGUE_PATTERNS} patterns and {MAX_PARTITIONS} partitions",
        f"multiple of {schema.PAGE_BYTES} bytes",
        f"{UNREACHED} means",
        "8192 bytes for each pattern",
    ):
        assert words in " ".join(TEXT.split())
    assert [schema.user_block_bytes(n_patterns) for n_patterns in (1, 2, 3, 5)] == [8192, 16_384, 32_768, 65_536]


def test_user_block_and_digests_are_as_documented() -> None:
    content = table_file(SMALL, "3x3").read_bytes()
    text, digest, padding = content[: schema.user_block_bytes(3)].split(b"\n")
    assert hashlib.sha256(text).hexdigest().encode() == digest
    assert not padding.strip(b"\0")
    header = json.loads(text)
    assert header["file_bytes"] == len(content)
    rest = bytearray(content)
    for entry in sorted(header["patterns"], key=lambda entry: entry["offset"], reverse=True):
        table = content[entry["offset"] : entry["offset"] + entry["bytes"]]
        assert hashlib.sha256(table).hexdigest() == entry["sha256"]
        del rest[entry["offset"] : entry["offset"] + entry["bytes"]]
    assert hashlib.sha256(rest[schema.user_block_bytes(3) :]).hexdigest() == header["structure_sha256"]


@pytest.mark.parametrize("index", range(len(SAMPLES)))
def test_hdf5_objects_are_those_of_the_header(index: int) -> None:
    path = sample(index)
    with open_database(path) as database:
        database.verify()
        header = database.header
    with h5py.File(path, "r") as file:
        assert file.userblock_size == schema.user_block_bytes(len(header.patterns))
        for index, entry in header.tables.items():
            table = file[f"pattern_{index}/table"]
            assert table[:].tobytes() == path.read_bytes()[entry.offset : entry.offset + entry.n_bytes]
            assert entry.offset % schema.PAGE_BYTES == 0 or entry.n_bytes < schema.PAGE_BYTES
            assert file[f"pattern_{index}/histogram"].dtype == np.uint64
