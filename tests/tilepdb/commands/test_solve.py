"""`pdb solve`: boards and goals, batches, logs and checkpoints, files of solutions."""

import csv
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core import event

from pdb_core.board_size import BoardSize
from pdb_core.durable_files import written_safely
from pdb_core.puzzle import Board, blank_first, blank_last, format_board, parse_goal
from solver.solve import Solver
from tests.command_line import BOARD, UNSOLVABLE, on_terminal, pdb, records, refused, start
from tests.solving import S3, solvable_boards
from tests.tables import table_file
from tilepdb.commands.options import file_or_board
from tilepdb.commands.output import clock

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
tuning.TUNING = tuning.Tuning(long_nodes=20_000, most_divided=5_000, least_ratio=100, beams=lambda *_: None)
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


def test_boards_may_be_typed_without_quotes(small_table: str) -> None:
    for words in ("8 6 7 2 5 4 3 0 1", "8 6 7/2 5 4/3 0 1", "8, 6, 7, 2, 5, 4, 3, 0, 1"):
        assert record_of("--db", small_table, *words.split())["board"] == [8, 6, 7, 2, 5, 4, 3, 0, 1]
    two = records("solve", "--db", small_table, "8,6,7,2,5,4,3,0,1", "1,2,3/4,5,6/7,0,8")
    assert [record["length"] for record in two] == [31, 1]


def test_goals_of_options_and_of_tables(small_table: str, own_cache: str) -> None:
    for board, goal, code in (("1 2 3/8 4 0/7 6 5", "snail", 2), ("1 0 2/3 4 5/6 7 8", "blank-first", 0)):
        for words in ((board, "--goal", goal), ("--from", board, "--to", goal)):
            assert record_of(*words, TILE_PDB_CACHE=own_cache)["length"] == 1
        # A table of blank-last serves blank-first by a symmetry, and no goal with the blank in the centre.
        pdb("solve", "--db", small_table, board, "--goal", goal, code=code)
    of_snail = str(table_file("1,2,3,8/4,5,6,7", "3x3", "snail"))
    assert record_of("--db", of_snail, "1 2 3/8 4 0/7 6 5")["h"] == 1


def test_damaged_standard_table_is_replaced(own_cache: str) -> None:
    assert "building 8 for 3x3 once" in pdb("solve", BOARD, code=0, TILE_PDB_CACHE=own_cache).stderr
    (table,) = (Path(own_cache) / "tables").glob("*.h5")
    table.write_bytes(table.read_bytes()[:3000])
    assert "building" in pdb("solve", BOARD, code=0, TILE_PDB_CACHE=own_cache).stderr


@pytest.mark.parametrize("command", ["solve", "solve --max-nodes 9", "search --heuristic db", "query"])
def test_unsolvable_boards_need_no_standard_table(command: str, tmp_path: Path) -> None:
    result = pdb(*command.split(), UNSOLVABLE, UNSOLVABLE, code=3, TILE_PDB_CACHE=str(tmp_path))
    assert "building" not in result.stderr
    assert not list(tmp_path.glob("tables"))


@pytest.mark.parametrize("names", ["UW", "HW", "WHU", "HU", "UH", "H", "U"])
def test_worst_board_sets_the_exit_code_and_all_are_answered(names: str, tmp_path: Path) -> None:
    """A wrong length comes before a limit, and a limit before an unsolvable board, in any order."""
    boards = {
        "U": (",2 1 3 4/5 6 7 8/9 10 11 12/13 14 15 0", "cannot be solved"),
        "H": (f",{HARDEST}", "given up, at least"),
        "W": ("3,1 2 3 4/5 6 7 8/9 10 11 12/13 14 0 15", "1 move, optimal"),
    }
    code = 1 if "W" in names else 5 if "H" in names else 3
    lines = [f"{name},{boards[name][0]}\n" for name in names]
    (tmp_path / "a.csv").write_text("id,optimal_length,board\n" + "".join(lines))
    command = ["solve", "--db", str(table_file("555", "4x4")), "--instances", str(tmp_path / "a.csv")]
    for limits in (["--max-nodes", "50"], ["--time-limit", "0", "--threads", "1"]):
        shown = [line for line in pdb(*command, *limits, code=code).stdout.splitlines() if line[0] in names]
        assert all(line.startswith(f"{name}: {boards[name][1]}") for name, line in zip(names, shown, strict=True))


def test_all_solutions_are_counted_and_listed() -> None:
    command = ("solve", "--db", str(table_file("8", "3x3")), "--all")
    number = re.search(r"31 moves, optimal, one of ([\d,]+);", pdb(*command, BOARD).stdout)
    *listed, answer = records(*command, "--list", BOARD)
    solutions = {tuple(line["solution"]) for line in listed}
    assert answer["solutions"] == len(solutions) == len(listed) == int(number[1])
    assert answer["all_solutions"] is True
    assert tuple(answer["moves"]) in solutions
    assert pdb(*command, NEAR).stdout.startswith("1: 1 move, optimal, the only one; ")
    rows = csv.DictReader(pdb(*command, "--format", "csv", BOARD, UNSOLVABLE, code=3).stdout.splitlines())
    assert [(row["solutions"], row["all_solutions"]) for row in rows] == [(str(answer["solutions"]), "true"), ("", "")]


def test_log_continues_a_count_that_a_limit_ended(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    command = ("solve", "--db", str(table_file("8", "3x3")), "--all", "--threads", "1", "--log", log, BOARD)
    limited = pdb(*command, "--max-nodes", "1360", code=5)
    assert re.search(r"31 moves, optimal, one of \d+ or more; ", limited.stdout)
    (answer,) = records(*command)
    assert (answer["solutions"], answer["all_solutions"]) == (40, True)


def test_boards_of_a_shard_and_the_first_boards(small_table: str) -> None:
    # The sixth line is no board.
    boards = "".join(f"1 2 3 4 5 6 {tiles}\n" for tiles in ("7 0 8", "0 7 8", "7 8 0", "7 0 8", "0 7 8", "7"))
    for options, lengths in (
        (("--shard", "2/3"), [("2", 2), ("5", 2)]),
        ((), [(str(i), n) for i, n in enumerate((1, 2, 0, 1, 2), start=1)]),
    ):
        answers = records("solve", "--db", small_table, "--boards", "5", *options, stdin=boards)
        assert [(answer["id"], answer["length"]) for answer in answers] == lengths


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


@pytest.mark.parametrize("n_threads", ["1", "2"])
def test_batches_have_the_records_of_single_boards(n_threads: str, small_table: str, tmp_path: Path) -> None:
    write_boards(tmp_path / "boards.csv", S3)
    command = ["--db", small_table, "--instances", str(tmp_path / "boards.csv"), "--threads", n_threads]
    single = untimed(*command, *_SINGLE)
    assert len(single) == _N_BOARDS
    assert {record["solvable"] for record in single} == {True, False}
    assert untimed(*command) == single
    # Found, then taken from the log, of which a part is then lost.
    log = tmp_path / "log"
    assert untimed(*command, "--log", str(log)) == single
    lines = log.read_bytes().splitlines(keepends=True)
    different = {(*record["board"], *record["goal"]) for record in single if record["solvable"]}
    assert len(lines) == 1 + len(different) < 1 + sum(record["solvable"] for record in single)
    assert untimed(*command, "--log", str(log)) == single
    log.write_bytes(b"".join([lines[0], *lines[1::2]]) + b'{"board":[1,2')
    assert untimed(*command, "--log", str(log)) == single
    assert len(log.read_bytes().splitlines()) == len(lines)


def test_batches_of_several_sizes(own_cache: str, tmp_path: Path) -> None:
    write_boards(tmp_path / "boards.csv", S3, BoardSize(3, 2), BoardSize(2, 2))
    command = ["--instances", str(tmp_path / "boards.csv")]
    single = untimed(*command, *_SINGLE, TILE_PDB_CACHE=own_cache)
    assert {record["size"] for record in single} == {"3x3", "3x2", "2x2"}
    assert untimed(*command, TILE_PDB_CACHE=own_cache) == single


@pytest.mark.parametrize("n_threads", ["1", "2"])
def test_boards_before_a_line_that_is_no_board_are_answered(n_threads: str, small_table: str, tmp_path: Path) -> None:
    path = tmp_path / "boards.txt"
    path.write_text(f"{BOARD.replace('/', ' ')}\n" * 3 + f"{UNSOLVABLE}\n1 2 3\n")
    result = pdb("solve", "--db", small_table, "--instances", str(path), "--threads", n_threads, code=2)
    assert "line 5" in result.stderr.splitlines()[-1]
    assert result.stdout.count("31 moves") == 3
    assert "4: cannot be solved" in result.stdout


@pytest.mark.parametrize("options", [(), ("--threads", "2")])
def test_writer_that_waits_for_each_answer(small_table: str, options: tuple[str, ...]) -> None:
    command = ("solve", "--db", small_table, "--instances", "-", "--format", "ndjson", *options)
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


@pytest.mark.parametrize("n_threads", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_killed_search_continues_with_the_same_answer(tmp_path: Path, n_threads: str) -> None:
    log = tmp_path / "log"
    board = "11 2 10 1/4 6 5 3/0 15 14 13/7 8 12 9"
    options = ["--db", str(table_file("555", "4x4", encoding="bits")), board]
    alone = record_of(*options)
    options += ["--format", "ndjson", "--threads", n_threads, "--log", str(log)]
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
            output, _ = process.communicate()
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


@pytest.mark.parametrize("command", ["approximate", "solve"])
def test_file_is_solved_into_a_file(command: str, tmp_path: Path) -> None:
    (tmp_path / "in.dat").write_text("3\n1 2 3\n4 0 5\n7 8 6\n\n3\n2 1 3\n4 5 6\n7 8 0\n")
    (tmp_path / "out.ans").write_text("old")
    assert pdb(command, "in.dat", NEAR, "--out", "out.ans", code=3, cwd=tmp_path).stdout == ""
    assert (tmp_path / "out.ans").read_text() == (
        "2\n1 2 3\n4 0 5\n7 8 6\n\n1 2 3\n4 5 0\n7 8 6\n\n1 2 3\n4 5 6\n7 8 0\n\nNO SOLUTION\n\n"
        "1\n1 2 3\n4 5 6\n7 0 8\n\n1 2 3\n4 5 6\n7 8 0\n"
    )
    found = records(command, "in.dat", NEAR, "--out", "out.ans", code=3, cwd=tmp_path)
    assert [record["id"] for record in found] == ["in.dat:1", "in.dat:2", "1"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.dat", "out.ans"]


def test_board_that_was_given_up_has_no_answer_in_the_file(small_table: str, tmp_path: Path) -> None:
    out = tmp_path / "out.ans"
    pdb("solve", "--db", small_table, BOARD, "1 2 3/4 5 6/7 8 0", "--max-nodes", "1", "--out", str(out), code=5)
    assert out.read_text() == "NO ANSWER\n\n0\n1 2 3\n4 5 6\n7 8 0\n"


def test_file_that_cannot_be_completed_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(f"{NEAR}\n1 2 3\n")
    (tmp_path / "old").write_text("old")
    assert "line 2" in pdb("approximate", "in.txt", "--out", "old", code=2, cwd=tmp_path).stderr
    assert (tmp_path / "old").read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.txt", "old"]


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


def test_csv_has_the_fields_of_ndjson(small_table: str, tmp_path: Path) -> None:
    """Also if they hold commas and quotation marks, as names of boards and thresholds do."""
    path = tmp_path / "boards.csv"
    path.write_text(f'id,board\n"a,""b",{BOARD}\n')
    command = ["solve", "--db", small_table, "--instances", str(path)]
    (record,) = records(*command)
    (row,) = csv.DictReader(pdb(*command, "--format", "csv").stdout.splitlines())
    assert row["id"] == record["id"] == 'a,"b'
    assert row.keys() <= record.keys()
    found = [at.split() for at in row["thresholds"].split("/")]
    assert [(int(threshold), int(nodes)) for threshold, nodes, _expanded, _seconds in found] == [
        (at["threshold"], at["generated"]) for at in record["thresholds"]
    ]


@pytest.mark.parametrize("form", ["csv", "json", "ndjson"])
@pytest.mark.parametrize(
    ("board", "goal"), [("8 2 0/3 7 1/5 4 6", "blank-first"), ("1 2 3/4 0 5", "blank-last"), ("1 2/3 0/5 4", "snail")]
)
def test_written_boards_keep_size_goal_and_id(board: str, goal: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"boards.{form}"
    path.write_text(f"id,board,goal\na,{board},{goal}\n")
    for command in (("search",), ("query",), ("search",), ("check",), ("search",)):
        before = path.read_text()
        path.write_text(pdb(*command, str(path), "--format", form).stdout)
        assert path.read_text() != before
    (record,) = records("search", str(path))
    found = Board(record["board"], record["size"])
    assert (record["id"], found, found.size) == ("a", Board(board), Board(board).size)
    assert tuple(record["goal"]) == parse_goal(goal, found.size)
    other = "blank-last" if goal == "snail" else "snail"
    assert "leave --goal out" in pdb("search", str(path), "--goal", other, code=2).stderr


def test_summary_leaves_out_the_making_of_solvers_and_zeros(small_table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowlyMade(Solver):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            time.sleep(1)
            super().__init__(*arguments, **options)

    monkeypatch.setattr("solver.solve.Solver", SlowlyMade)
    command = ("solve", "--db", small_table, "--instances", "-")
    shown = re.search(r"2 boards, 2 solved, ([\d.]+) s, [\d,]+ nodes", pdb(*command, stdin=f"{BOARD}\n" * 2).stderr)
    assert shown
    assert float(shown[1]) < 1
    assert re.search(r"2 boards, 0 solved, 0.\d\d s\n", pdb(*command, stdin=f"{UNSOLVABLE}\n" * 2).stderr)


def test_clock_stands_still_while_kernels_are_compiled() -> None:
    start = clock()
    with event.trigger_event("numba:compile", data={"dispatcher": SimpleNamespace(py_func=clock)}):
        time.sleep(0.3)
    assert clock() - start < 0.2
