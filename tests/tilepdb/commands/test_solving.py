"""Many boards: batches give the answers of single boards, in the order of the boards."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pdb_core.puzzle import BoardSize, blank_first, blank_last, format_board
from tests.command_line import BOARD, PROGRAM, UNSOLVABLE, pdb
from tests.solving import S3, solvable_boards

# More boards than a batch can have.
_N_BOARDS = 150
# A limit that no board reaches: each board is then searched by itself.
_SINGLE = ("--max-nodes", "1000000000")


def write_boards(path: Path, *sizes: BoardSize) -> None:
    """Write boards of these sizes for two goals. Some cannot be solved, some are goals, some come again."""
    lines = ["goal,board"]
    for number in range(_N_BOARDS):
        size = sizes[number // 3 % len(sizes)]
        goal, name = ((blank_last(size), "blank-last"), (blank_first(size), "blank-first"))[number // 5 % 2]
        board = list(solvable_boards(size, goal, 1, number % 60)[0])
        if number % 10 == 0:
            first, second = (board.index(1), board.index(2))
            board[first], board[second] = 2, 1
        lines.append(f"{name},{format_board(goal if number % 13 == 0 else board, size)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def records(*arguments: str, **environment: str) -> list[dict[str, Any]]:
    """Return the records of `pdb solve` without their seconds."""
    result = pdb("solve", *arguments, "--format", "ndjson", **environment)
    assert result.returncode == 3, result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    for record in found:
        for timed in (record, *record["thresholds"]):
            del timed["seconds"]
    return found


@pytest.mark.parametrize("n_threads", ["1", "2"])
def test_batches_have_the_records_of_single_boards(n_threads: str, small_table: str, tmp_path: Path) -> None:
    write_boards(tmp_path / "boards.csv", S3)
    command = ["--db", small_table, "--instances", str(tmp_path / "boards.csv"), "--threads", n_threads]
    single = records(*command, *_SINGLE)
    assert len(single) == _N_BOARDS
    assert {record["solvable"] for record in single} == {True, False}
    assert records(*command) == single
    # Found, then taken from the log, of which a part is then lost.
    log = tmp_path / "log"
    assert records(*command, "--log", str(log)) == single
    lines = log.read_bytes().splitlines(keepends=True)
    different = {(*record["board"], *record["goal"]) for record in single if record["solvable"]}
    assert len(lines) == 1 + len(different) < 1 + sum(record["solvable"] for record in single)
    assert records(*command, "--log", str(log)) == single
    log.write_bytes(b"".join([lines[0], *lines[1::2]]))
    assert records(*command, "--log", str(log)) == single
    assert len(log.read_bytes().splitlines()) == len(lines)


def test_batches_of_several_sizes(own_cache: str, tmp_path: Path) -> None:
    write_boards(tmp_path / "boards.csv", S3, BoardSize(3, 2), BoardSize(2, 2))
    command = ["--instances", str(tmp_path / "boards.csv")]
    single = records(*command, *_SINGLE, TILE_PDB_CACHE=own_cache)
    assert {record["size"] for record in single} == {"3x3", "3x2", "2x2"}
    assert records(*command, TILE_PDB_CACHE=own_cache) == single


@pytest.mark.parametrize("n_threads", ["1", "2"])
def test_boards_before_a_line_that_is_no_board_are_answered(n_threads: str, small_table: str, tmp_path: Path) -> None:
    path = tmp_path / "boards.txt"
    path.write_text(f"{BOARD.replace('/', ' ')}\n" * 3 + f"{UNSOLVABLE}\n1 2 3\n", encoding="utf-8")
    result = pdb("solve", "--db", small_table, "--instances", str(path), "--threads", n_threads)
    assert result.returncode == 2
    assert "line 5" in result.stderr.splitlines()[-1]
    assert result.stdout.count("31 moves") == 3
    assert "4: cannot be solved" in result.stdout


@pytest.mark.parametrize("log", [False, True])
def test_writer_that_waits_for_each_answer(log: bool, small_table: str, tmp_path: Path) -> None:
    options = ["--log", str(tmp_path / "log")] if log else []
    with subprocess.Popen(
        [*PROGRAM, "solve", "--db", small_table, "--instances", "-", "--format", "ndjson", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for board in (BOARD, "1 2 3/4 5 6/7 0 8", BOARD):
            process.stdin.write(f"{board}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["length"] == (31 if board == BOARD else 1)
        process.stdin.close()
        assert process.wait(30) == 0
