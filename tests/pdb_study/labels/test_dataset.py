"""Datasets in files: each format loads in one line; a run that was stopped gives the same bytes as one that was not."""

import csv
import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

from pdb_core.durable_files import lock_file
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
from pdb_study.labels.labelling import joined
from solver import Solver, replay
from tests import ROOT
from tests.pdb_study.labels.deepcubea import NPuzzleState, deepcubea
from tests.solving import S3, S4, database_for

N, CHUNK = 50, 12
SUFFIXES = (".npz", ".h5", ".csv", ".parquet", ".pkl")
SOURCE = RandomBoards(S3, blank_last(S3), N, seed=4)


@pytest.fixture(scope="module")
def database() -> Generator[Database, None, None]:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as opened:
        yield opened


@pytest.fixture(scope="module")
def expected(database: Database) -> LabelledBoards:
    return joined(list(label(SOURCE, Solver(database))))


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


@pytest.mark.parametrize("suffix", [".h5", ".hdf5"])
def test_hdf5_loads_in_one_line(suffix: str, tmp_path: Path, database: Database, expected: LabelledBoards) -> None:
    with h5py.File(write(tmp_path / f"a{suffix}", database)) as file:
        check_columns({name: file[name][:] for name in file}, expected)
        check_description(file.attrs["description"], database)
        assert file["after"].attrs["meaning"].startswith("distance after")


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


def test_pickle_is_read_where_the_class_of_deepcubea_exists(
    tmp_path: Path, database: Database, expected: LabelledBoards
) -> None:
    path = write(tmp_path / "a.pkl", database)
    with deepcubea():
        data = pickle.loads(path.read_bytes())
    assert list(data) == ["states", "solutions"]
    for row, (state, moves) in enumerate(zip(data["states"], data["solutions"], strict=True)):
        assert isinstance(state, NPuzzleState)
        assert state.tiles.dtype == np.uint8
        assert state.tiles.tolist() == expected.boards[row].tolist()
        assert len(moves) == expected.distances[row]
        board = tuple(state.tiles.tolist())
        assert replay(board, naive_tiles(board, moves), blank_last(S3), S3)
    boards = [instance.board for instance in read_instances(str(path), None)]
    assert boards == list(map(tuple, expected.boards.tolist()))
    # NumPy 1 has no module of that name.
    assert b"numpy._core" not in path.read_bytes()


def naive_tiles(board: tuple[int, ...], moves: list[str]) -> list[int]:
    """Return the tiles of moves of DeepCubeA, each the direction that a tile moves in."""
    cells, tiles = list(board), []
    for move in moves:
        blank = cells.index(0)
        cell = blank + {"U": 3, "D": -3, "L": 1, "R": -1}[move]
        tiles.append(cells[cell])
        cells[blank], cells[cell] = cells[cell], 0
    return tiles


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
    with h5py.File(write(tmp_path / "a.h5", database, content="distances")) as file:
        assert list(file) == ["board", "distance"]


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


def stopped_after_three_chunks(tmp_path: Path, database: Database) -> tuple[Path, Path, bytes, int, int]:
    """Return OUT, OUT.partial, its content, where the chunks begin, and the bytes of a chunk."""
    out, partial = tmp_path / "b.npz", tmp_path / "b.npz.partial"
    with pytest.raises(StoppedError):
        write(out, database, command="pdb label", progress=stop_after(3 * CHUNK))
    content = partial.read_bytes()
    begin = content.index(b"\n") + 1
    return out, partial, content, begin, (len(content) - begin) // 3


def test_damaged_end_is_labelled_again(tmp_path: Path, database: Database) -> None:
    whole = write(tmp_path / "a.npz", database, command="pdb label").read_bytes()
    out, partial, content, begin, size = stopped_after_three_chunks(tmp_path, database)
    for n_bytes in (0, 1, begin - 1, begin, begin + 3, begin + size + 41, len(content) - 1):
        partial.write_bytes(content[:n_bytes])
        done: list[int] = []
        write(out, database, command="pdb label", progress=done.append)
        assert out.read_bytes() == whole
        assert done[0] <= 2 * CHUNK
    for at in (0, 7, 20, 100, size - 1):  # length, digest, content
        partial.write_bytes(flipped(content, begin + 2 * size + at))
        done = []
        write(out, database, progress=done.append)
        assert done[0] == 2 * CHUNK
        assert out.read_bytes() == whole


def flipped(content: bytes, offset: int) -> bytes:
    """Return `content` with a flipped bit."""
    changed = bytearray(content)
    changed[offset] ^= 1
    return bytes(changed)


def test_damage_before_the_end_is_refused(tmp_path: Path, database: Database) -> None:
    out, partial, content, begin, size = stopped_after_three_chunks(tmp_path, database)
    for n_whole in (0, 1):
        for at in (0, 3, 7, 20, 100, size - 1):  # length, digest, content
            offset = begin + n_whole * size
            changed = flipped(content, offset + at)
            partial.write_bytes(changed)
            with pytest.raises(
                OutputError, match=rf"b\.npz\.partial is damaged at byte {offset}, .*; remove .* --fresh"
            ):
                write(out, database)
            assert partial.read_bytes() == changed
    done: list[int] = []
    write(out, database, fresh=True, progress=done.append)
    assert done[0] == 0


def test_run_on_a_full_disk_is_continued(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = write(tmp_path / "a.h5", database, command="pdb label").read_bytes()
    out = tmp_path / "b.h5"
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
        with pytest.raises(DiskFullError, match=r"the disk is full, .*b.h5 was not written"):
            write(out, database, command="pdb label")
        monkeypatch.undo()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h5", "b.h5.partial"]
    write(out, database)
    assert out.read_bytes() == whole


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
    # A name is twice in each chunk: before its array and in the directory at the end.
    while time.monotonic() < end and (
        not partial.exists() or partial.read_bytes().count(b"distances.npy") < 2 * n_boards // CHUNK
    ):
        time.sleep(0.02)
    with pytest.raises(BuildRunningError, match="being made by another command"):
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


def test_files_that_are_no_datasets_are_kept(tmp_path: Path, database: Database) -> None:
    out, partial = tmp_path / "a.npz", tmp_path / "a.npz.partial"
    for content in (
        b"notes\n",
        b"{}\n",
        b"[1]\n",
        b"notes",
        b'{"partial": "tile-pdb labels 1"}\n',
        b"[" * 9999 + b"\n",
    ):
        partial.write_bytes(content)
        with pytest.raises(OutputError, match="is no dataset of pdb label"):
            write(out, database)
        assert partial.read_bytes() == content
    partial.unlink()
    partial.mkdir()
    with pytest.raises(OutputError, match="is in the way"):
        write(out, database)
    partial.rmdir()
    with pytest.raises(OutputError, match="cannot write"):
        write(tmp_path / "none" / "a.npz", database)
    out.write_bytes(b"before")
    descriptor = lock_file(partial)
    with pytest.raises(BuildRunningError):
        write(out, database)
    assert descriptor is not None
    os.close(descriptor)
    assert out.read_bytes() == b"before"
    assert np.load(write(out, database))["distance"].shape == (N,)


def test_impossible_files_are_refused_before_the_search(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_first: int, _content: Any) -> Generator[LabelledBoards, None, None]:
        raise AssertionError("searched")

    def refuse(name: str, match: str, source: BoardSource = SOURCE, **options: Any) -> None:
        with pytest.raises(InputError, match=match):
            write(tmp_path / name, database, source, search=never, **options)
        assert not list(tmp_path.iterdir())

    refuse("a.txt", "no known suffix; give --out a file that ends in .npz, .h5")
    refuse("labels", "no known suffix")
    refuse("a.pkl", "holds solutions", content="distances")
    refuse("a.pkl", "goal is blank-last", RandomBoards(S3, parse_goal("blank-first", S3), 3, 1))
    unsolvable = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 0], [1, 2, 3, 4, 5, 6, 8, 7, 0]], dtype=np.uint8)
    refuse("a.pkl", "board 2 cannot be solved", GivenBoards(S3, blank_last(S3), unsolvable))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    refuse("a.parquet", r"pip install 'tile-pdb\[parquet\]'")


def test_unsolvable_boards_are_counted(tmp_path: Path, database: Database) -> None:
    boards = np.array([[1, 2, 3, 4, 5, 6, 8, 7, 0], [1, 2, 3, 4, 5, 6, 7, 0, 8]], dtype=np.uint8)
    assert write_labels(tmp_path / "a.npz", GivenBoards(S3, blank_last(S3), boards), [database]) == 1
    arrays = np.load(tmp_path / "a.npz")
    assert arrays["distance"].tolist() == [-1, 1]
    assert arrays["first_moves"].tolist() == [0, 4]
    assert arrays["after"].tolist() == [[-1] * 4, [2, 2, 0, -1]]
    arrays.close()


def test_no_boards_make_an_empty_dataset(tmp_path: Path, database: Database) -> None:
    source = GivenBoards(S3, blank_last(S3), np.empty((0, 9), dtype=np.uint8))
    for suffix in SUFFIXES:
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
