"""`pdb label`: sources, formats, Ctrl-C, options that exclude each other."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import blank_last
from pdb_study.labels import RandomBoards, RandomWalks
from tests.command_line import BOARD, PROGRAM, UNSOLVABLE, pdb, refused
from tests.naive.boards_and_tables import naive_distances
from tests.pdb_study.labels.deepcubea import pickled
from tests.solving import S3
from tests.tables import table_file
from tilepdb.commands.label import parse_lengths


def loaded(path: Path) -> dict[str, Any]:
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def test_random_boards_and_walks_of_a_command(tmp_path: Path, small_table: str) -> None:
    out = tmp_path / "a.npz"
    result = pdb("label", "--db", small_table, "--random", "30", "--seed", "5", "--out", str(out))
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert "30 boards in" in result.stderr
    arrays = loaded(out)
    assert np.array_equal(arrays["board"], next(RandomBoards(S3, blank_last(S3), 30, 5).blocks()))
    description = json.loads(arrays["description"].item())
    assert description["command"].startswith("pdb label --db ")
    result = pdb(
        "label", "--db", small_table, "--random", "30", "--walks", "3-5,9", "--goal", "blank-first", "--out", str(out),
        "--threads", "1", "--distances-only",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    arrays = loaded(out)
    goal = tuple(range(9))
    assert np.array_equal(arrays["board"], next(RandomWalks(S3, goal, 30, 1, (3, 4, 5, 9)).blocks()))
    distances = naive_distances(S3, goal)
    assert arrays["distance"].tolist() == [distances[tuple(board)] for board in arrays["board"].tolist()]
    assert "first_moves" not in arrays


def test_given_boards_of_a_command(tmp_path: Path, small_table: str) -> None:
    (tmp_path / "a.pkl").write_bytes(pickled([[1, 2, 3, 4, 5, 6, 7, 0, 8]]))
    (tmp_path / "a.csv").write_text("board,optimal_length\n1 2 3/4 5 6/0 7 8,2\n", encoding="utf-8")
    out = tmp_path / "out.npz"
    result = pdb(
        "label", "--db", small_table, str(tmp_path / "a.pkl"), BOARD, UNSOLVABLE, "--instances",
        str(tmp_path / "a.csv"), "--out", str(out),
    )  # fmt: skip
    assert result.returncode == 3
    assert "1 board cannot be solved; the distance in the file is -1" in result.stderr
    arrays = loaded(out)
    assert arrays["distance"].tolist() == [1, 31, -1, 2]
    assert json.loads(arrays["description"].item())["boards"]["name"] == f"a.pkl {tmp_path / 'a.csv'}"
    result = pdb("label", "--db", small_table, "--instances", "-", "--out", str(out), stdin=f"{BOARD}\n")
    assert result.returncode == 0, result.stderr
    assert loaded(out)["distance"].tolist() == [31]


def test_standard_table_is_used_without_db(tmp_path: Path, own_cache: str) -> None:
    out = tmp_path / "a.csv"
    result = pdb("label", "--random", "3", "--size", "3x3", "--out", str(out), TILE_PDB_CACHE=own_cache)
    assert result.returncode == 0, result.stderr
    assert "building 8 for 3x3 once" in result.stderr
    assert out.read_text(encoding="utf-8").count("\n") == 5


@pytest.mark.tiny
def test_lengths_of_walks() -> None:
    assert parse_lengths("10,20,50") == (10, 20, 50)
    assert parse_lengths(" 1-4, 0 ,7-7") == (1, 2, 3, 4, 0, 7)
    for text in ("", ",", "1-", "-1", "5-3", "1-2-3", "x", "1.5", "1,,2", "0-999999", "\u0661", "9" * 500):
        with pytest.raises(InputError, match="lengths of walks"):
            parse_lengths(text)


def test_command_continues_after_ctrl_c(tmp_path: Path) -> None:
    table = str(table_file("663", "4x4", encoding="bits"))
    command = ["label", "--db", table, "--random", "400", "--chunk", "20", "--distances-only"]
    out, partial = tmp_path / "a.npz", tmp_path / "a.npz.partial"
    process = subprocess.Popen(
        [*PROGRAM, *command, "--out", str(out)], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    end = time.monotonic() + 60
    while (
        time.monotonic() < end and process.poll() is None and not (partial.exists() and partial.stat().st_size > 5000)
    ):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT, errors
    assert "interrupted" in errors
    assert partial.exists()
    refused(pdb(*command, "--seed", "2", "--out", str(out)), 2, "is of another command: boards seed 1, not 2")
    result = pdb(*command, "--out", str(out))
    assert result.returncode == 0, result.stderr
    assert "a.npz continues after" in result.stderr
    assert len(set(map(tuple, loaded(out)["board"].tolist()))) == 400


@pytest.mark.slow
def test_5000_labels_of_78_are_the_lengths_of_pdb_solve(tmp_path: Path) -> None:
    table = str(table_file("78", "4x4", encoding="bits"))
    out = tmp_path / "a.csv"
    result = pdb("label", "--db", table, "--random", "5000", "--seed", "3", "--out", str(out))
    assert result.returncode == 0, result.stderr
    solved = pdb("solve", "--db", table, "--instances", str(out), "--format", "ndjson")
    assert solved.returncode == 0, solved.stderr
    lengths = [json.loads(line)["length"] for line in solved.stdout.splitlines()]
    rows = [line.split(",") for line in out.read_text(encoding="utf-8").splitlines()[2:]]
    assert [int(row[1]) for row in rows] == lengths
    for _board, distance, first_moves, *after in rows:
        begins = [int(number) == int(distance) - 1 for number in after]
        assert int(first_moves) == sum(1 << k for k in range(4) if begins[k])
        assert all(int(number) in (-1, int(distance) - 1, int(distance) + 1) for number in after)
