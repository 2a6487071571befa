"""docs/format.md is the contract: its tables name what the code writes, and its recipe reads it."""

import hashlib
import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from pdb_build import build_database, plan_build
from pdb_core import schema
from pdb_core.encoding import ENCODINGS, UNREACHED
from pdb_core.pattern import MAX_CATALOGUE_PATTERNS, MAX_PARTITIONS, parse_partition
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.ranking import INDEX_FUNCTION
from tests import ROOT
from tests.naive import boards_and_tables as naive

PAGE = ROOT / "docs" / "format.md"
SIZE = BoardSize(3, 3)


@pytest.fixture(scope="module")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("format") / "a.h5"
    partition = parse_partition("1,2,5/3,4,6/7,8", SIZE)
    build_database(plan_build(SIZE, blank_last(SIZE), partition, path, encoding="bytes", n_threads=1))
    return path


def documented_names() -> list[list[str]]:
    """The first column of each table on the page."""
    tables: list[list[str]] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if re.match(r"\| (name|attribute|dataset) ", line):
            tables.append([])
        elif match := re.match(r"\| `(\w+)` \|", line):
            tables[-1].append(match[1])
    return tables


@pytest.mark.tiny
def test_documented_names_are_those_of_the_code() -> None:
    root, pattern, datasets, shared = documented_names()
    assert tuple(shared) == schema.SHARED_ATTRIBUTES
    assert tuple(root) == schema.ROOT_ATTRIBUTES
    assert tuple(pattern) == schema.PATTERN_ATTRIBUTES
    assert tuple(datasets) == schema.PATTERN_DATASETS


@pytest.mark.tiny
def test_documented_values_are_those_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"format version {schema.FORMAT_VERSION}" in text.splitlines()[0]
    assert f"version {schema.EVERY_MOVE_VERSION} where every move counts" in text.splitlines()[0]
    assert f"version {schema.SHARED_VERSION} where patterns share a table" in text.splitlines()[0]
    assert f"version {schema.CATALOGUE_VERSION} of a catalogue" in text.splitlines()[0]
    assert f"up to {MAX_CATALOGUE_PATTERNS} patterns and {MAX_PARTITIONS} partitions" in text
    for value in (schema.FORMAT, INDEX_FUNCTION, *ENCODINGS, "every-move"):
        assert f"`{value}`" in text
    assert f"multiple of {schema.PAGE_BYTES} bytes" in text
    assert f"{UNREACHED} stands where" in text


@pytest.mark.tiny
def test_file_holds_what_is_documented_and_nothing_else(table_file: Path) -> None:
    root, pattern, datasets, _shared = documented_names()
    with h5py.File(table_file, "r") as file:
        assert set(file.attrs) == set(root) - {schema.COST_ATTRIBUTE, schema.PARTITIONS_ATTRIBUTE}  # of later versions
        assert list(file) == ["pattern_0", "pattern_1", "pattern_2"]
        for group in file.values():
            assert set(group.attrs) == set(pattern)
            assert set(group) == set(datasets)
            table = group["table"]
            assert table.dtype == np.uint8
            assert table.chunks is None
            assert table.id.get_offset() % schema.PAGE_BYTES == 0 or table.size < schema.PAGE_BYTES
            assert group["histogram"].dtype == np.uint64
            assert group.attrs["sha256"] == hashlib.sha256(table[:].tobytes()).hexdigest()
            assert group.attrs["maximum"].dtype == np.int64
            assert group.attrs["mean"].dtype == np.float64
            assert group.attrs["tiles"].dtype == np.uint8
        assert file.attrs["goal"].dtype == np.uint8
        assert file.attrs["format_version"].dtype == np.int64


@pytest.mark.tiny
def test_header_digest_is_as_documented(table_file: Path) -> None:
    """The digest worked out from the page alone."""
    with h5py.File(table_file, "r") as file:
        content = {
            "format": file.attrs["format"],
            "format_version": int(file.attrs["format_version"]),
            "width": int(file.attrs["width"]),
            "height": int(file.attrs["height"]),
            "goal": file.attrs["goal"].tolist(),
            "partition": file.attrs["partition"],
            "index_function": file.attrs["index_function"],
            "encoding": file.attrs["encoding"],
            "patterns": [
                {
                    "tiles": group.attrs["tiles"].tolist(),
                    "histogram": group["histogram"][:].tolist(),
                    "n_unreached": int(group.attrs["n_unreached"]),
                    "sha256": group.attrs["sha256"],
                }
                for group in file.values()
            ],
        }
        stated = file.attrs["header_sha256"]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == stated


@pytest.mark.tiny
def test_entries_are_where_the_page_says(table_file: Path) -> None:
    with h5py.File(table_file, "r") as file:
        dataset = file["pattern_0/table"]
        offset, length = dataset.id.get_offset(), dataset.shape[0]
    table = np.memmap(table_file, dtype=np.uint8, mode="r", offset=offset, shape=(length,))
    expected = naive.naive_additive_min(SIZE, blank_last(SIZE), (1, 2, 5))
    assert table.tolist() == expected
    for cells in ((0, 1, 4), (8, 7, 6), (3, 0, 5)):
        assert table[naive.naive_rank(cells, 9)] == expected[naive.naive_rank(cells, 9)]


@pytest.mark.tiny
def test_bits_are_where_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "bits.h5"
    partition = parse_partition("1,2,5/3,4,6/7,8", SIZE)
    build_database(plan_build(SIZE, blank_last(SIZE), partition, path, encoding="bits", n_threads=1))
    with h5py.File(path, "r") as file:
        assert file.attrs["encoding"] == "bits"
        table = file["pattern_0/table"][:]
        histogram = file["pattern_0/histogram"][:]
    assert table.tobytes() == naive.naive_bits(SIZE, blank_last(SIZE), (1, 2, 5))
    distances = naive.naive_pattern_distances(SIZE, blank_last(SIZE), (1, 2, 5))
    assert histogram.tolist() == [list(distances.values()).count(d) for d in range(len(histogram))]
    # The parity of a distance shows in the colours of the cells.
    for (cells, _region), distance in distances.items():
        dark = sum(sum(divmod(cell, 3)) % 2 for cell in cells) + sum(sum(divmod(cell, 3)) % 2 for cell in (0, 1, 4))
        assert distance % 2 == dark % 2


@pytest.mark.tiny
def test_recipe_of_the_page_runs(table_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "663.h5").symlink_to(table_file)
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(code) == 1
    names: dict[str, object] = {}
    exec(code[0], names)
    assert np.asarray(names["table"]).min() == 0
