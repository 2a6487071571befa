"""Long runs: checkpoints in the log, estimates of the time left, shards of a set of boards."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, Tiles, blank_last, format_board
from solver import Checkpoint, Iteration, Solver, Subtrees, checkpoint as checkpoint_module
from solver.answer_log import AnswerLog
from solver.requests import Answer, Request
from tests.command_line import pdb
from tests.solving import S4, database_for, solvable_boards
from tests.tables import table_file
from tilepdb.commands.progress import SearchDisplay

METHOD: dict[str, Any] = {"search": "ida-star", "tables": ["ab" * 32]}
FINISHED = tuple(Iteration(40 + 2 * i, 10 * 8**i, 5 * 8**i, 0.5 * i) for i in range(10))
BOARD, GOAL = solvable_boards(S4, blank_last(S4), 1, 1)[0], blank_last(S4)
REQUEST = Request("a", Board(BOARD, S4), GOAL)
# The command with thresholds that are divided early, and checkpoints that are written at once, but slowly: so that a
# signal comes in time.
DIVIDED_EARLY = """
import signal, time, solver.checkpoint, solver.engine.ida_star
from solver import answer_log
from solver.engine.frontier import FrontierLimits
solver.checkpoint.DIVIDE_ABOVE = 20_000
solver.engine.ida_star.DIVISION = FrontierLimits(1 << 20, previous_nodes=0, share=100)
answer_log._WRITE_S = 0.0
write_subtrees = answer_log._LoggedCheckpoint._write_subtrees
def write_slowly(self):
    time.sleep(0.005)
    write_subtrees(self)
answer_log._LoggedCheckpoint._write_subtrees = write_slowly
signal.signal(signal.SIGINT, signal.default_int_handler)
from tilepdb.commands.main import run
run()
"""


HARDEST = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"


@pytest.fixture(scope="module")
def table() -> str:
    return str(table_file("555", "4x4", encoding="bits"))


@pytest.fixture(scope="module")
def hard_board() -> Tiles:
    """A board of some seconds."""
    with database_for("555", "4x4", encoding="bits") as database:
        solver = Solver(database)
        solved = [solver.solve(board) for board in solvable_boards(S4, GOAL, 60, 8)]
    return max(solved, key=lambda solution: solution.generated).board


def start_divided(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", DIVIDED_EARLY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def stop_after_lines(command: list[str], log: Path, n_lines: int) -> bool:
    """Start the command, and kill it when its log has `n_lines`. Return False if it ended before."""
    process = start_divided(*command)
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if log.exists() and log.read_bytes().count(b"\n") >= n_lines:
            process.kill()
            break
        time.sleep(0.001)
    process.communicate(timeout=60)
    return process.returncode != 0


@pytest.mark.parametrize("n_threads", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_killed_search_continues_with_the_same_answer(
    table: str, hard_board: Tiles, tmp_path: Path, n_threads: str
) -> None:
    log = tmp_path / "log"
    command = ["solve", "--db", table, format_board(hard_board), "--format", "ndjson"]
    alone = json.loads(pdb(*command).stdout)
    command += ["--threads", n_threads, "--log", str(log)]
    n_stops = 0
    for n_more in (12, 60, 60, 150):
        n_lines = 0 if not log.exists() else log.read_bytes().count(b"\n")
        n_stops += stop_after_lines(command, log, n_lines + n_more)
    assert n_stops == 4
    assert log.read_bytes().count(b'"thresholds"') > 0
    process = start_divided(*command)
    output, messages = process.communicate(timeout=120)
    assert process.returncode == 0, messages
    assert "1 unfinished board in" in messages
    found = json.loads(output)
    assert found["length"] == alone["length"]
    nodes = [
        [(at["threshold"], at["generated"], at["expanded"]) for at in each["thresholds"]] for each in (alone, found)
    ]
    assert nodes[0][:-1] == nodes[1][:-1]
    again = pdb(*command)
    assert json.loads(again.stdout) == found
    assert "1 finished board in" in again.stderr


@pytest.mark.usefixtures("hangup_ends")
def test_closed_terminal_saves_a_checkpoint(table: str, tmp_path: Path) -> None:
    """The checkpoint is written only when the command ends."""
    log = tmp_path / "log"
    program = DIVIDED_EARLY.replace("_WRITE_S = 0.0", "_WRITE_S = 1e9")
    pid, terminal = pty.fork()
    if pid == 0:
        command = ["solve", "--db", table, HARDEST, "--log", str(log)]
        os.execv(sys.executable, [sys.executable, "-c", program, *command])
    shown = b""
    # In the midst of a threshold of some seconds.
    while re.search(rb" [1-5]\d% done, about ([2-9]|\d\d+) s left", shown) is None:
        shown += os.read(terminal, 65536)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGHUP
    assert log.read_bytes().count(b'"subtrees"') == 1


def write_checkpoint(path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A log with a checkpoint: finished thresholds, and two lines about subtrees."""
    monkeypatch.setattr(checkpoint_module, "DIVIDE_ABOVE", 1000)
    monkeypatch.setattr("solver.answer_log._WRITE_S", 0.0)
    with AnswerLog(path, METHOD) as log:
        checkpoint = log.checkpoint(REQUEST)
        checkpoint.finish_subtrees(38, "old", Subtrees({1}, 1, 1, 1.0))
        checkpoint.finish_threshold(FINISHED)
        checkpoint.finish_subtrees(60, "abc", Subtrees({0, 1, 2, 7}, 100, 50, 1.5))
        checkpoint.finish_subtrees(60, "abc", Subtrees({3}, 10, 5, 2.5))
    return path.read_bytes()


def read_checkpoint(path: Path) -> tuple[tuple[Iteration, ...], Subtrees]:
    with AnswerLog(path, METHOD) as log:
        checkpoint = log.checkpoint(REQUEST)
        assert checkpoint.subtrees(60, "another") == checkpoint.subtrees(62, "abc") == Subtrees()
        return checkpoint.finished, checkpoint.subtrees(60, "abc")


def test_log_returns_its_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    whole = write_checkpoint(path, monkeypatch)
    assert b"[0,1,2,7]" in whole
    assert read_checkpoint(path) == (FINISHED, Subtrees({0, 1, 2, 3, 7}, 110, 55, 2.5))
    assert path.read_bytes() == whole
    path.write_bytes(whole[:-1])
    assert read_checkpoint(path) == (FINISHED, Subtrees({0, 1, 2, 7}, 100, 50, 1.5))


def test_subtrees_that_come_twice_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    lines = write_checkpoint(path, monkeypatch).splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[4]]))
    with pytest.raises(InputError, match=r"the log .* is damaged: subtrees that are in an earlier line"):
        read_checkpoint(path)
    # Without one of its lines, less is known.
    path.write_bytes(b"".join([*lines[:3], lines[4]]))
    assert read_checkpoint(path) == (FINISHED, Subtrees({3}, 10, 5, 2.5))


def test_solved_board_needs_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    write_checkpoint(path, monkeypatch)
    with database_for("555", "4x4", encoding="bits") as database:
        solution = Solver(database).solve(BOARD)
    with AnswerLog(path, METHOD) as log:
        log.add(Answer(REQUEST, solution))
        assert not log._checkpoints
    with AnswerLog(path, METHOD) as log:
        assert not log._checkpoints
        assert log.known(REQUEST) == solution
    with pytest.raises(InputError, match="is of another command"):
        AnswerLog(path, METHOD | {"tables": ["cd" * 32]})


def test_progress_has_estimates_of_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_module, "DIVIDE_ABOVE", 1000)
    now = 0.0
    monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda: now)
    checkpoint, display = Checkpoint(), SearchDisplay()
    checkpoint.finish_threshold(FINISHED)
    for share, seconds in ((None, 6.0), (0.001, 12.0), (0.25, 100.0), (0.25, 101.0), (0.5, 200.0), (0.6, 259.0)):
        checkpoint.share, now = share, seconds
        display.show_search(REQUEST, Iteration(60, 1_000_000, 400_000, seconds), checkpoint)
    shown = [line.split(", 1,000,000 nodes")[0] for line in capsys.readouterr().err.splitlines()]
    assert shown == [
        "pdb: board a: threshold 60, 0% done",
        "pdb: board a: threshold 60, 25% done, about 5 min left (next: 53 min)",
        "pdb: board a: threshold 60, 50% done, about 3 min left (next: 53 min)",
        "pdb: board a: threshold 60, 60% done, about 3 min left (next: 58 min)",
    ]


def test_answers_of_a_shard() -> None:
    boards = "".join(f"1 2 3 4 5 6 {tiles}\n" for tiles in ("7 0 8", "0 7 8", "7 8 0", "7 0 8", "0 7 8"))
    result = pdb("solve", "--shard", "2/3", "--format", "ndjson", stdin=boards)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(answer["id"], answer["length"]) for answer in answers] == [("2", 2), ("5", 2)]
