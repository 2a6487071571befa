"""Datasets in files: each format loads in one line; a run that was stopped gives the same bytes as one that was not."""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pdb_core.errors import BuildRunningError, CheckpointMismatchError, DiskFullError, InputError, OutputError
from pdb_core.puzzle import Board, blank_last, format_board, parse_goal
from pdb_query import Database, read_instances
from pdb_study.labels import (
    BoardSource,
    GivenBoards,
    LabelledBoards,
    RandomBoards,
    RandomWalks,
    formats as formats_module,
    label,
    write_labels,
)
from pdb_study.labels.sources import Shard
from solver import Solver
from tests import ROOT
from tests.solving import S3, S4, database_for

N, CHUNK = 50, 12
SUFFIXES = (".npz", ".csv", ".parquet")
SOURCE = RandomBoards(S3, blank_last(S3), N, seed=4)


@pytest.fixture(scope="module")
def database() -> Generator[Database, None, None]:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as opened:
        yield opened


@pytest.fixture(scope="module")
def expected(database: Database) -> LabelledBoards:
    (whole,) = label(SOURCE, Solver(database))
    return whole


def write(out: Path, database: Database, source: BoardSource = SOURCE, **options: Any) -> Path:
    write_labels(out, source, [database], chunk=options.pop("chunk", CHUNK), **options)
    return out


def check_columns(columns: Any, expected: LabelledBoards) -> None:
    assert np.array_equal(np.stack(list(columns["board"])), expected.boards)
    assert np.array_equal(columns["distance"], expected.distances)
    assert np.array_equal(columns["first_moves"], expected.first_moves)
    assert np.array_equal(np.stack(list(columns["after"])), expected.after)


def check_description(text: str, database: Database) -> None:
    description = json.loads(text)
    assert description["program"].startswith("tile-pdb ")
    assert description["goal"] == "1 2 3/4 5 6/7 8 0"
    assert description["boards"] == {"kind": "random", "n_boards": N, "seed": 4}
    (table,) = description["tables"]
    assert table["file"] == database.path.name
    assert table["partition"] == "1,2,5/3,4,6/7,8"
    assert table["sha256"] == database.header.digest()
    assert list(description["columns"]) == ["board", "distance", "first_moves", "after"]


def test_npz_loads_in_one_line(tmp_path: Path, database: Database, expected: LabelledBoards) -> None:
    arrays = np.load(write(tmp_path / "a.npz", database))
    check_columns(arrays, expected)
    assert {name: arrays[name].dtype.str for name in arrays.files if name != "description"} == {
        "board": "|u1", "distance": "<i2", "first_moves": "|u1", "after": "<i2"
    }  # fmt: skip
    check_description(arrays["description"].item(), database)
    arrays.close()


def test_csv_loads_in_one_line(tmp_path: Path, database: Database, expected: LabelledBoards) -> None:
    path = write(tmp_path / "a.csv", database)
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if line[0] != "#"))
    after = [[int(row[f"after_{name}"]) for name in ("up", "left", "right", "down")] for row in rows]
    columns = {name: [int(row[name]) for row in rows] for name in ("distance", "first_moves")}
    boards = [Board(row["board"]) for row in rows]
    check_columns(columns | {"board": boards, "after": after}, expected)
    check_description(path.read_text(encoding="utf-8").splitlines()[0][2:], database)
    assert [instance.board for instance in read_instances(str(path), None)] == boards
    table = pd.read_csv(path, comment="#")
    assert np.array_equal(table["distance"], expected.distances)


def test_parquet_loads_in_one_line(
    tmp_path: Path, database: Database, expected: LabelledBoards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats_module, "_ROWS", 7)
    path = write(tmp_path / "a.parquet", database)
    table = pd.read_parquet(path)
    check_columns(table, expected)
    assert table["distance"].dtype == np.int16
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    assert file.metadata.num_row_groups == 8
    check_description(file.metadata.metadata[b"description"].decode(), database)
    file.close()


def test_distances_only_have_two_columns(tmp_path: Path, database: Database, expected: LabelledBoards) -> None:
    arrays = np.load(write(tmp_path / "a.npz", database, content="distances"))
    assert arrays.files == ["board", "distance", "description"]
    assert np.array_equal(arrays["distance"], expected.distances)
    arrays.close()
    assert list(pd.read_csv(write(tmp_path / "a.csv", database, content="distances"), comment="#")) == [
        "board",
        "distance",
    ]
    assert list(pd.read_parquet(write(tmp_path / "a.parquet", database, content="distances"))) == ["board", "distance"]


class StoppedError(Exception):
    """Stand-in of an interrupt."""


def stop_after(n_boards: int) -> Callable[[int], None]:
    def progress(n_done: int) -> None:
        if n_done >= n_boards:
            raise StoppedError

    return progress


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_run_that_was_stopped_gives_the_same_bytes(suffix: str, tmp_path: Path, database: Database) -> None:
    whole = write(tmp_path / f"a{suffix}", database, command="pdb label").read_bytes()
    out = tmp_path / f"b{suffix}"
    partial = tmp_path / f"b{suffix}.partial"
    for n_boards in range(CHUNK, N + CHUNK, CHUNK):
        with pytest.raises(StoppedError):
            write(out, database, command="pdb label", progress=stop_after(min(n_boards, N)))
        assert partial.exists()
        assert not out.exists()
        first: list[int] = []
        # Continued at once, and then again with another chunk and other threads.
        write(out, database, command="other", progress=first.append, chunk=5, n_threads=2)
        assert first[0] == min(n_boards, N)
        assert out.read_bytes() == whole
        assert not partial.exists()
        out.unlink()
    with pytest.raises(StoppedError):
        write(out, database, progress=stop_after(0))
    assert not partial.exists()


def test_run_on_a_full_disk_is_continued(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = write(tmp_path / "a.csv", database, command="pdb label").read_bytes()
    out = tmp_path / "b.csv"
    sync, left = os.fsync, [3]

    def full(descriptor: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "no space")
        sync(descriptor)

    # At a chunk, and then at the finished file.
    for n_calls in (3, 3):
        left[0] = n_calls
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(DiskFullError, match=r"the disk is full, .*b.csv.* not written"):
            write(out, database, command="pdb label")
        monkeypatch.undo()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv.partial"]
    told: list[int] = []
    write(out, database, progress=told.append)
    assert out.read_bytes() == whole
    assert len(told) == 1  # all boards had been labelled


PROGRAM = """
import sys, time
from pathlib import Path
from pdb_core.puzzle import BoardSize, blank_last
from pdb_study.labels import RandomBoards, write_labels
from pdb_query import open_database
size = BoardSize(3, 3)
with open_database(sys.argv[1]) as database:
    write_labels(Path(sys.argv[2]), RandomBoards(size, blank_last(size), 50, seed=4), [database], chunk=12,
                 command="pdb label", progress=lambda n_done: time.sleep(60 * (n_done >= int(sys.argv[3]))))
"""


def test_killed_run_is_continued(tmp_path: Path, database: Database) -> None:
    n_boards = 2 * CHUNK
    whole = write(tmp_path / "a.npz", database, command="pdb label").read_bytes()
    out, partial = tmp_path / "b.npz", tmp_path / "b.npz.partial"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(database.path), str(out), str(n_boards)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and (
        not partial.exists() or partial.read_bytes().count(b'"chunk"') < n_boards // CHUNK
    ):
        time.sleep(0.02)
    with pytest.raises(BuildRunningError, match="in use by another command"):
        write(out, database)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done: list[int] = []
    write(out, database, progress=done.append)
    assert done[0] == n_boards
    assert out.read_bytes() == whole


def test_other_command_is_refused_with_the_reason(tmp_path: Path, database: Database) -> None:
    out = tmp_path / "a.npz"
    with pytest.raises(StoppedError):
        write(out, database, progress=stop_after(CHUNK))
    content = (tmp_path / "a.npz.partial").read_bytes()
    goal = parse_goal("blank-first", S3)
    boards = next(SOURCE.blocks())
    with database_for("8", "3x3") as other:
        for source, tables, options, reason in (
            (RandomBoards(S3, blank_last(S3), N, seed=5), database, {}, "boards seed 4, not 5"),
            (RandomBoards(S3, blank_last(S3), 60, seed=4), database, {}, "boards n_boards 50, not 60"),
            (RandomBoards(S3, goal, N, seed=4), database, {}, "goal 1 2 3/4 5 6/7 8 0, not 0 1 2/3 4 5/6 7 8"),
            (RandomWalks(S3, blank_last(S3), N, 4, (5,)), database, {}, 'boards kind random, not walks'),
            (GivenBoards(S3, blank_last(S3), boards), database, {}, "boards kind random, not boards"),
            (SOURCE, database, {"content": "distances"}, "content moves, not distances"),
            (SOURCE, other, {}, "tables "),
        ):  # fmt: skip
            with pytest.raises(CheckpointMismatchError, match="is of another command") as refusal:
                write(out, tables, source, **options)
            assert reason in str(refusal.value)
            assert (tmp_path / "a.npz.partial").read_bytes() == content
    done: list[int] = []
    write(out, database, RandomBoards(S3, blank_last(S3), N, seed=5), fresh=True, progress=done.append)
    assert done[0] == 0


def test_checkpoint_of_another_kind_is_kept(tmp_path: Path, database: Database) -> None:
    partial = tmp_path / "a.npz.partial"
    partial.write_bytes(b"notes")
    with pytest.raises(OutputError, match="is not a checkpoint of pdb label"):
        write(tmp_path / "a.npz", database)
    assert partial.read_bytes() == b"notes"
    assert np.load(write(tmp_path / "a.npz", database, fresh=True))["distance"].shape == (N,)


@pytest.mark.parametrize("source", [SOURCE, RandomBoards(S3, blank_last(S3), 3000, seed=4)])
def test_shards_are_every_nth_board(source: RandomBoards) -> None:
    boards = np.concatenate(list(source.blocks()))
    for number in (1, 2, 3):
        shard = Shard(source, number, 3)
        for first in (0, 1, 400):
            assert np.array_equal(np.concatenate([*shard.blocks(first), boards[:0]]), boards[number - 1 :: 3][first:])
        assert shard.n_boards == len(boards[number - 1 :: 3])
        assert shard.describe()["shard"] == f"{number}/3"


def test_impossible_files_are_refused_before_the_search(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "labels", "a.h5", "a.pkl"):
        with pytest.raises(InputError, match=r"no known suffix; give --out a file that ends in .npz, .csv, .parquet"):
            write(tmp_path / name, database)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"pip install 'tile-pdb\[parquet\]'"):
        write(tmp_path / "a.parquet", database)
    assert not list(tmp_path.iterdir())


def test_unsolvable_boards_are_counted(tmp_path: Path, database: Database) -> None:
    boards = np.array([[1, 2, 3, 4, 5, 6, 8, 7, 0], [1, 2, 3, 4, 5, 6, 7, 0, 8]], dtype=np.uint8)
    assert write_labels(tmp_path / "a.npz", GivenBoards(S3, blank_last(S3), boards), [database]) == 1
    arrays = np.load(tmp_path / "a.npz")
    assert arrays["distance"].tolist() == [-1, 1]
    assert arrays["first_moves"].tolist() == [0, 4]
    assert arrays["after"].tolist() == [[-1] * 4, [2, 2, 0, -1]]
    arrays.close()


def test_no_boards_make_an_empty_dataset(tmp_path: Path, database: Database) -> None:
    nothing = GivenBoards(S3, blank_last(S3), np.empty((0, 9), dtype=np.uint8))
    for suffix in SUFFIXES:
        for source in (nothing, Shard(RandomBoards(S3, blank_last(S3), 3, 1), 4, 4)):
            assert write(tmp_path / f"a{suffix}", database, source).exists()
    assert np.load(tmp_path / "a.npz")["after"].shape == (0, 4)
    assert pd.read_parquet(tmp_path / "a.parquet").empty


def test_format_of_a_board_in_csv(tmp_path: Path) -> None:
    with database_for("663", "4x4", encoding="bits") as opened:
        source = RandomWalks(S4, opened.goal, 3, 1, (2,))
        path = write(tmp_path / "a.csv", opened, source)
    rows = path.read_text(encoding="utf-8").splitlines()[2:]
    boards = np.concatenate(list(source.blocks())).tolist()
    assert [row.split(",")[0] for row in rows] == [format_board(board, S4) for board in boards]
