"""Datasets in files: each format loads in one line; a run that was stopped gives the same bytes as one that was not."""

import json
import os
import sys
import tracemalloc
from collections.abc import Callable, Generator
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import numpy as np
import pandas as pd
import pytest

from pdb_core.board_size import BoardSize
from pdb_core.errors import CheckpointMismatchError, DiskFullError, InputError, OutputError
from pdb_core.puzzle import Board, blank_last, parse_goal
from pdb_core.version import version_text
from pdb_query import Database, read_instances
from pdb_study.labels import BoardSource, GivenBoards, RandomBoards, RandomWalks, write_labels
from pdb_study.labels.dataset import _default_chunk
from pdb_study.labels.formats import WRITERS
from pdb_study.labels.labelling import Content
from pdb_study.labels.sources import Shard
from solver.solve import Solver
from tests.solving import database_for

N, CHUNK = 50, 12
SUFFIXES = (".npz", ".csv", ".parquet")
SIZE = BoardSize(3, 2)
GOAL = blank_last(SIZE)
SOURCE = RandomBoards(SIZE, GOAL, N, seed=4)
ALL = np.array(list(permutations(range(6))), dtype=np.uint8)  # half of them cannot be solved


@pytest.fixture(scope="module")
def database() -> Generator[Database, None, None]:
    with database_for("1,2/3,4,5", "3x2") as opened:
        yield opened


def write(out: Path, database: Database, source: BoardSource = SOURCE, **options: Any) -> bytes:
    write_labels(out, source, [database], **{"chunk": CHUNK, "command": "pdb label"} | options)
    return out.read_bytes()


def read_npz(path: Path) -> tuple[dict[str, Any], str]:
    with np.load(path) as arrays:
        columns = {name: arrays[name] for name in arrays.files}
    assert {name: array.dtype.str for name, array in columns.items() if name != "description"}.items() <= {
        ("board", "|u1"), ("distance", "<i2"), ("first_moves", "|u1"), ("after", "<i2")
    }  # fmt: skip
    return columns, columns.pop("description").item()


def read_csv(path: Path) -> tuple[dict[str, Any], str]:
    table = pd.read_csv(path, comment="#")
    boards = list(map(Board, table["board"]))
    assert not boards or [instance.board for instance in read_instances(str(path), None)] == boards
    columns: dict[str, Any] = {"board": np.reshape(boards, (-1, 6)), "distance": table["distance"]}
    if "first_moves" in table:
        after = [f"after_{name}" for name in ("up", "left", "right", "down")]
        columns |= {"first_moves": table["first_moves"], "after": table[after]}
    return columns, path.read_text().partition("\n")[0][2:]


def read_parquet(path: Path) -> tuple[dict[str, Any], str]:
    from pyarrow import parquet

    table = pd.read_parquet(path)
    assert table["distance"].dtype == np.int16
    with parquet.ParquetFile(path) as file:
        description = file.metadata.metadata[b"description"].decode()
    return {name: np.array(table[name].tolist()) for name in table}, description


@pytest.mark.parametrize("content", ["moves", "distances"])
@pytest.mark.parametrize("read", [read_npz, read_csv, read_parquet])
def test_files_load_in_one_line_with_the_labels_and_their_origin(
    read: Callable[[Path], tuple[dict[str, Any], str]], content: Content, tmp_path: Path, database: Database
) -> None:  # fmt: skip
    out = tmp_path / read.__name__.replace("read_", "a.")
    for source, about in (
        (SOURCE, {"kind": "random", "n_boards": N, "seed": 4}),
        (RandomWalks(SIZE, GOAL, 9, 1, (2, 5)), {"kind": "walks", "n_boards": 9, "seed": 1, "lengths": [2, 5]}),
        (GivenBoards(SIZE, parse_goal("5 4 3/2 1 0", SIZE), ALL), {"kind": "boards"}),
        (Shard(SOURCE, 2, 3), {"kind": "random", "n_boards": N, "shard": "2/3"}),
        (Shard(RandomBoards(SIZE, GOAL, 3, 1), 4, 4), {"n_boards": 3, "shard": "4/4"}),  # no board
    ):
        boards = np.concatenate([ALL[:0], *source.blocks()])
        expected = Solver(database).label(boards, source.goal)
        whole = {"board": boards, "distance": expected.distances}
        if content == "moves":
            whole |= {"first_moves": expected.first_moves, "after": expected.after}
        n_unsolvable = write_labels(out, source, [database], chunk=CHUNK, content=content, command="pdb label")
        assert n_unsolvable == np.count_nonzero(expected.distances < 0)
        columns, text = read(out)
        assert list(columns) == list(whole)
        for name, array in whole.items():
            assert np.array_equal(columns[name], np.asarray(array).reshape(np.shape(columns[name]))), name
        description = json.loads(text)
        assert description["boards"].items() >= about.items()
        assert Board(description["goal"]) == source.goal
        assert list(description["columns"]) == list(whole)
        assert description["command"] == "pdb label"
        assert description["program"] == f"tile-pdb {version_text()}"
        assert [table["sha256"] for table in description["tables"]] == [database.header.digest()]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_run_that_was_stopped_again_and_again_gives_the_same_bytes(
    suffix: str, tmp_path: Path, database: Database
) -> None:
    whole = write(tmp_path / f"a{suffix}", database)
    out = tmp_path / f"b{suffix}"
    folder = tmp_path / f"b{suffix}.partial"
    with pytest.raises(KeyboardInterrupt):
        write(out, database, progress=Mock(side_effect=KeyboardInterrupt))
    assert folder.exists()
    for n_done, chunk, n_threads in ((0, 12, 1), (12, 5, 2), (17, 33, 1)):
        progress = Mock(side_effect=[None, KeyboardInterrupt])
        with pytest.raises(KeyboardInterrupt):
            write(out, database, progress=progress, chunk=chunk, n_threads=n_threads)
        assert progress.mock_calls == [call(n_done), call(n_done + chunk)]
        assert folder.exists()
        assert not out.exists()
    assert write(out, database, command="other") == whole
    assert not folder.exists()


@pytest.mark.parametrize("name", ["rows", "description.json"])
def test_damaged_folder_is_refused_without_fresh(name: str, tmp_path: Path, database: Database) -> None:
    out, damaged = tmp_path / "a.npz", tmp_path / "a.npz.partial" / name
    with pytest.raises(KeyboardInterrupt):
        write(out, database, chunk=5, progress=Mock(side_effect=[0, 5, KeyboardInterrupt]))
    os.truncate(damaged, damaged.stat().st_size - 1)
    with pytest.raises(OutputError, match=r"a.npz.partial is damaged; choose another file, or start over"):
        write(out, database)
    assert write(out, database, fresh=True) == write(tmp_path / "b.npz", database)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_of_many_blocks_are_written(suffix: str, tmp_path: Path) -> None:
    rows = np.zeros(150_000, [("board", np.uint8, 6), ("distance", np.int16), ("after", np.int16, 4)])
    rows["board"], rows["distance"] = np.arange(6), np.arange(len(rows)) % 100
    out = tmp_path / f"a{suffix}"
    with out.open("wb") as file:
        WRITERS[suffix](file, rows, '{"size": "3x2"}')
    read = {".npz": np.load, ".csv": partial(pd.read_csv, comment="#"), ".parquet": pd.read_parquet}[suffix]
    assert np.array_equal(read(out)["distance"], rows["distance"])


def test_npz_is_written_from_some_rows_in_memory_at_a_time(tmp_path: Path) -> None:
    rows = np.zeros(20_000_000, [("board", np.uint8, 6), ("distance", np.int16)])
    with (tmp_path / "a.npz").open("wb") as file:
        tracemalloc.start()
        WRITERS[".npz"](file, rows, "{}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < rows.nbytes / 3


def test_run_on_a_full_disk_is_continued(tmp_path: Path, database: Database) -> None:
    out, folder = tmp_path / "b.csv", tmp_path / "b.csv.partial"
    folder.mkdir()
    for full in (folder / "rows", out):  # at a chunk, and then at the finished file
        full.symlink_to("/dev/full")
        with pytest.raises(DiskFullError, match=r"the disk is full, .*b.csv.* not written"):
            write(out, database)
        full.unlink()
    told: list[int] = []
    assert write(out, database, progress=told.append) == write(tmp_path / "a.csv", database)
    assert told == [N]  # all boards had been labelled
    assert not folder.exists()


def test_checkpoint_of_another_dataset_is_refused_with_the_reason(tmp_path: Path, database: Database) -> None:
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a.npz", database, progress=Mock(side_effect=[0, KeyboardInterrupt]))
    with database_for("1,2,3,4,5", "3x2") as other:
        for source, tables, content, reason in (
            (RandomBoards(SIZE, GOAL, N, seed=5), database, "moves", "boards seed 4, not 5"),
            (RandomBoards(SIZE, GOAL[::-1], N, 4), database, "moves", "goal 1 2 3/4 5 0, not 0 5 4/3 2 1"),
            (SOURCE, database, "distances", "content moves, not distances"),
            (SOURCE, other, "moves", "tables "),
        ):
            with pytest.raises(CheckpointMismatchError, match=f"is of another command: .*{reason}"):
                write(tmp_path / "a.npz", tables, source, content=content)


def test_shards_are_every_nth_board() -> None:
    source = RandomBoards(SIZE, GOAL, 3000, seed=4)
    boards = np.concatenate(list(source.blocks()))
    for number in (1, 2, 3):
        shard = Shard(source, number, 3)
        for first in (0, 1, 400):
            assert np.array_equal(np.concatenate([*shard.blocks(first), boards[:0]]), boards[number - 1 :: 3][first:])
        assert shard.n_boards == len(boards[number - 1 :: 3])


def test_chunks_of_large_boards_are_a_hundredth_of_all() -> None:
    assert [
        _default_chunk(RandomBoards(size, n_boards=n)) for size, n in (("4x4", 10), ("5x5", 10), ("5x5", 1000))
    ] == [1000, 1, 10]


def test_missing_package_is_reported_before_the_search(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install '\.\[parquet\]'"):
        write(tmp_path / "a.parquet", database)
    assert not list(tmp_path.iterdir())
