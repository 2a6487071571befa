"""`pdb solve`: boards and goals, batches, logs and checkpoints, files of solutions."""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pdb_core.board_size import BoardSize
from pdb_core.durable_files import written_safely
from pdb_core.puzzle import Board, blank_first, blank_last, format_board, parse_goal
from tests import text_of
from tests.command_line import BOARD, UNSOLVABLE, on_terminal, pdb, records, refused, start
from tests.solving import S3, solvable_boards
from tests.tables import table_file
from tilepdb.commands.options import file_or_board

NEAR = "1 2 3/4 5 6/7 0 8"
HARDEST = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"
# More boards than a batch can have.
_N_BOARDS = 150
# A limit that no board reaches: each board is then searched by itself.
_SINGLE = ("--max-nodes", "1000000000")
# The command with thresholds that are divided early, and checkpoints that are written at once, but slowly: so that a
# signal comes in time.
DIVIDED_EARLY = """
import signal, time
from solver.engine import tuning
tuning.TUNING = tuning.Tuning(
    slice_nodes=20_000, long_nodes=20_000, most_divided=5_000, least_ratio=100, beams=lambda *_: None
)
from solver.answers import log as answer_log
answer_log.AnswerLog.__init__.__kwdefaults__["write_s"] = 0.0
answer_log._LONG_S = 0.0
write_subtrees = answer_log._LoggedCheckpoint._write_subtrees
def write_slowly(self):
    time.sleep(0.005)
    write_subtrees(self)
answer_log._LoggedCheckpoint._write_subtrees = write_slowly
signal.signal(signal.SIGINT, signal.default_int_handler)
from tilepdb.commands.main import run
run()
"""


def record_of(*arguments: str, **environment: str) -> dict[str, Any]:
    """Return the record of the only board."""
    (record,) = records("solve", *arguments, **environment)
    return record


def test_damaged_standard_table_is_replaced(own_cache: str) -> None:
    assert "building 8 for 3x3 once" in pdb("solve", BOARD, code=0, TILE_PDB_CACHE=own_cache).stderr
    (table,) = (Path(own_cache) / "tables").glob("*.h5")
    table.write_bytes(table.read_bytes()[:3000])
    assert "building" in pdb("solve", BOARD, code=0, TILE_PDB_CACHE=own_cache).stderr


@pytest.mark.parametrize("command", ["solve --max-nodes 9", "solve", "query"])
def test_unsolvable_boards_need_no_standard_table(command: str, tmp_path: Path) -> None:
    result = pdb(*command.split(), UNSOLVABLE, UNSOLVABLE, code=3, TILE_PDB_CACHE=str(tmp_path))
    assert "building" not in result.stderr
    assert not list(tmp_path.glob("tables"))


def write_boards(path: Path, *sizes: BoardSize) -> None:
    """Write boards of these sizes for two goals. Some cannot be solved, some are goals, some come again."""
    lines = ["goal,board"]
    for number in range(_N_BOARDS):
        size = sizes[number // 3 % len(sizes)]
        goal, name = ((blank_last(size), "blank-last"), (blank_first(size), "blank-first"))[number // 5 % 2]
        (board,) = solvable_boards(size, 1, number % 60, goal)
        if number % 10 == 0:
            board = tuple({1: 2, 2: 1}.get(tile, tile) for tile in board)
        lines.append(f"{name},{format_board(goal if number % 13 == 0 else board, size)}")
    path.write_text("\n".join(lines) + "\n")


def untimed(*arguments: str, **environment: str) -> list[dict[str, Any]]:
    """Return the records of `pdb solve` without their seconds."""
    found = records("solve", *arguments, code=3, **environment)
    for record in found:
        for timed in (record, *record["thresholds"]):
            del timed["seconds"]
    return found


def test_batches_have_the_records_of_single_boards(own_cache: str, tmp_path: Path) -> None:
    write_boards(tmp_path / "boards.csv", S3, BoardSize(3, 2), BoardSize(2, 2))
    command = ["--instances", str(tmp_path / "boards.csv"), "--threads", "2"]
    single = untimed(*command, *_SINGLE, TILE_PDB_CACHE=own_cache)
    assert {(record["size"], record["solvable"]) for record in single} == {
        (size, solvable) for size in ("3x3", "3x2", "2x2") for solvable in (True, False)
    }
    assert all(f"`{field}`" in text_of("docs/files.md") for field in single[0])
    # Found, then taken from the log, of which a part is then lost.
    log = tmp_path / "log"
    command += ["--log", str(log)]
    assert untimed(*command, TILE_PDB_CACHE=own_cache) == single
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], *lines[1::2]]) + b'{"board":[1,2')
    assert untimed(*command, TILE_PDB_CACHE=own_cache) == single
    assert len(log.read_bytes().splitlines()) == len(lines)


def test_writer_that_waits_for_each_answer(small_table: str) -> None:
    command = ("solve", "--db", small_table, "--instances", "-", "--format", "ndjson", "--threads", "2")
    with start(*command, bufsize=1) as process:
        for board in (BOARD, NEAR, BOARD):
            for part in (board[:5], f"{board[5:]}\n"):
                process.stdin.write(part)
                process.stdin.flush()
            assert json.loads(process.stdout.readline())["length"] == (31 if board == BOARD else 1)
        process.stdin.buffer.write(b"\xff\xfe\n")
        _, told = process.communicate()
    assert process.returncode == 2
    assert "standard input line 4 is not text in UTF-8" in told


def test_killed_search_continues_with_the_same_answer(tmp_path: Path) -> None:
    log = tmp_path / "log"
    board = "11 2 10 1/4 6 5 3/0 15 14 13/7 8 12 9"
    options = ["--db", str(table_file("555", "4x4", encoding="bits")), board]
    alone = record_of(*options)
    options += ["--format", "ndjson", "--threads", "2", "--log", str(log)]
    divided = [sys.executable, "-c", DIVIDED_EARLY]
    n_lines = 0
    for n_more in (12, 60):
        with start("solve", *options, program=divided) as process:
            while not log.exists() or log.read_bytes().count(b"\n") < n_lines + n_more:
                assert process.poll() is None
                time.sleep(0.001)
        n_lines = log.read_bytes().count(b"\n")
    assert log.read_bytes().count(b'"thresholds"') > 0
    divided[-1] = divided[-1].replace('"write_s"] = 0.0', '"write_s"] = 1.0')
    with start("solve", *options, program=divided) as process:
        output, messages = process.communicate()
    assert "1 unfinished board in" in messages
    found = json.loads(output)
    assert found["length"] == alone["length"]
    nodes = [
        [(at["threshold"], at["generated"], at["expanded"]) for at in each["thresholds"]] for each in (alone, found)
    ]
    assert nodes[0][:-1] == nodes[1][:-1]
    again = pdb("solve", *options)
    assert json.loads(again.stdout) == found
    assert "1 finished board in" in again.stderr


def test_divided_thresholds_have_the_nodes_on_record(tmp_path: Path) -> None:
    """A second process, whose new memory is not zero, continues them."""
    boards, log = ("4 7 10 2/0 11 1 6/12 9 5 13/3 8 14 15", "9 13 11 1/12 7 14 8/10 2 6 15/4 0 5 3"), tmp_path / "log"
    options = ("--db", str(table_file("555", "4x4", encoding="bits")), "--threads", "1", "--log", str(log))
    program = [sys.executable, "-c", DIVIDED_EARLY.replace("0.005", "0")]
    for most_nodes, memory in (("500000", {}), ("1000000000", {"MALLOC_PERTURB_": "85"})):
        command = ("solve", *boards, *options, "--max-nodes", most_nodes, "--format", "ndjson")
        with start(*command, program=program, env=os.environ | memory) as process:
            output, told = process.communicate()
    n_of_run = re.search(r"1,266,407 nodes generated, ([\d,]+) of them in this run", told)
    assert n_of_run is not None
    assert 0 < int(n_of_run[1].replace(",", "")) < 1_266_407
    assert [json.loads(line)["generated"] for line in output.splitlines()] == [569082, 697325]
    divisions = set(re.findall('(.*"threshold":.*),"division":"(.*?)"', log.read_text()))
    assert len(divisions) == len(dict(divisions)) > 0


@pytest.mark.usefixtures("hangup_ends")
def test_closed_terminal_saves_a_checkpoint(tmp_path: Path) -> None:
    """The checkpoint is written only when the command ends."""
    log, table = tmp_path / "log", str(table_file("555", "4x4", encoding="bits"))
    program = [sys.executable, "-c", DIVIDED_EARLY.replace('"write_s"] = 0.0', '"write_s"] = 1e9')]
    # In the midst of a threshold of some seconds.
    until = r" [1-5]\d% done"
    code, _ = on_terminal("solve", "--db", table, HARDEST, "--log", str(log), until=until, keys=None, program=program)
    assert code == -signal.SIGHUP
    assert log.read_bytes().count(b'"subtrees"') == 1


@pytest.mark.tiny
def test_arguments_are_files_or_boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("boards.txt", "7"):
        Path(name).write_text("")
    arguments = ["a.dat", "boards.txt", "none.txt", "7 b.dat", "7.dat", "7", "1 2/3 0", "x" * 5000, "\0"]
    assert list(map(file_or_board, arguments)) == [*map(Path, arguments[:5]), *arguments[5:]]


@pytest.mark.tiny
def test_processes_with_one_id_write_one_file(tmp_path: Path) -> None:
    """In two containers, both commands may be process 1."""
    path, mask = tmp_path / "out.ans", os.umask(0o027)
    try:
        with written_safely(path) as last, written_safely(path) as first:
            first.write("first")
            last.write("last")
    finally:
        os.umask(mask)
    assert path.read_text() == "last"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.ans"]


def test_device_or_link_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, link, linked = (tmp_path / name for name in ("pipe", "link", "linked"))
    os.mkfifo(pipe)
    link.symlink_to(linked)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for path in (pipe, link):
        pdb("approximate", "1 2/0 3", "--out", str(path), code=0)
    refused(pdb("build", "1,2,3", "--size", "2x2", "--out", str(pipe), "--force"), 2, "it is no plain file")
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert os.read(reader, 1000) == linked.read_bytes() == b"1\n1 2\n0 3\n\n1 2\n3 0\n"
    os.close(reader)
    # One terminal may be input and output.
    code, shown = on_terminal("approximate", "--instances", "-", "--out", "/dev/stdout", until="", keys=b"1 2/0 3\n\4")
    assert code == 0
    assert "1\r\n1 2\r\n0 3\r\n\r\n1 2\r\n3 0\r\n" in shown


@pytest.mark.parametrize("form", ["csv", "json", "ndjson"])
def test_written_boards_keep_size_goal_and_id(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"boards.{form}"
    path.write_text("id,board,goal\na,1 2/3 0/5 4,snail\n")
    for command in ("search", "query", "search", "check", "search"):
        path.write_text(pdb(command, str(path), "--format", form).stdout)
    (record,) = records("search", str(path))
    found = Board("1 2/3 0/5 4")
    assert (record["id"], Board(record["board"], record["size"])) == ("a", found)
    assert tuple(record["goal"]) == parse_goal("snail", found.size)
    assert "leave --goal out" in pdb("search", str(path), "--goal", "blank-last", code=2).stderr
