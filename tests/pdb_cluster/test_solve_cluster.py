"""Solves on a Dask cluster of processes: answers, killed workers, Ctrl-C, missing tables, the command."""

import json
import platform
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from pdb_cluster import solve_boards, split_board
from pdb_cluster.solve_boards import ClusterAnswers, ClusterProgress
from pdb_core.errors import ClusterError
from pdb_core.puzzle import Board, Tiles, blank_last, format_board
from pdb_query import Database
from solver import Limits, Solution, Solver
from solver.requests import Request
from tests.command_line import PROGRAM, UNSOLVABLE, pdb, refused
from tests.pdb_cluster.two_workers import N_WORKERS, kill, wait_until, worker_pids
from tests.solving import S3, S4, database_for, hard_board, node_counts, solvable_boards
from tests.tables import table_file


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards of some 40,000 nodes are split, their thresholds into tasks of some 20,000."""
    monkeypatch.setattr(solve_boards, "MOST_NODES", 40_000)
    for name, value in {"MOST_NODES": 40_000, "_FIRST_NODES": 20_000}.items():
        monkeypatch.setattr(split_board, name, value)


def solved(client: Client, boards: list[Tiles], database: Database, **options: Any) -> list[Solution]:
    requests = [Request(str(n), Board(board, database.size), database.goal) for n, board in enumerate(boards)]
    solutions = []
    for answer in ClusterAnswers(client, lambda _size, _goal: (database,), **options).answers(requests):
        assert isinstance(answer.result, Solution)
        solutions.append(answer.result)
    return solutions


def assert_same(found: list[Solution], alone: list[Solution]) -> None:
    assert [solution.board for solution in found] == [solution.board for solution in alone]
    for here, there in zip(found, alone, strict=True):
        assert here.length == there.length
        assert node_counts(here.iterations[:-1]) == node_counts(there.iterations[:-1])


def alone(boards: list[Tiles], database: Database) -> list[Solution]:
    solver = Solver(database)
    return [solver.solve(board) for board in boards]


def boards_15(n: int, seed: int = 14) -> list[Tiles]:
    return solvable_boards(S4, blank_last(S4), n, seed)


@pytest.mark.usefixtures("small_tasks")
def test_answers_and_node_counts_are_those_of_one_machine(client: Client) -> None:
    boards = boards_15(16)
    told: list[ClusterProgress] = []
    with database_for("663", "4x4", encoding="bits") as database:
        found = solved(client, boards, database, report=told.append)
        assert_same(found, alone(boards, database))
    assert any(progress.iterations for progress in told)
    assert told[-1].n_taken == len(boards)
    assert told[-1].n_threads == N_WORKERS


@pytest.mark.usefixtures("small_tasks")
def test_worker_killed_during_a_split_board_changes_no_answer(client: Client) -> None:
    killed: list[int] = []

    def report(progress: ClusterProgress) -> None:
        # Twice, in different thresholds.
        thresholds = [at.threshold for _, at in progress.iterations if at.generated > 300_000]
        if thresholds and len(killed) < 2 and thresholds[0] not in killed:
            kill(worker_pids(client)[0])
            killed.append(thresholds[0])

    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        # All thresholds but those too long for a test.
        limit = Limits(nodes=3_000_000)
        there = solver.solve(hard_board(), limits=limit)
        here = solved(client, [hard_board()], database, limits=limit, report=report)[0]
    assert killed
    assert here.length is None is there.length
    assert here.generated >= 3_000_000
    assert node_counts(here.iterations[:-1]) == node_counts(there.iterations[:-1])


def test_missing_tables_are_reported_with_the_worker(client: Client, tmp_path: Path) -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        boards = solvable_boards(S3, blank_last(S3), 3, 1)
        with pytest.raises(ClusterError, match=f"worker on {platform.node()} cannot search: there is no table file"):
            solved(client, boards, database, worker_folder=tmp_path)
        assert len(solved(client, boards, database)) == 3


def test_command_output_is_that_of_a_local_run(cluster: Any, small_table: str) -> None:
    boards = [format_board(board) for board in solvable_boards(S3, blank_last(S3), 5, 2)]
    texts = [*boards[:3], UNSOLVABLE, *boards[3:]]
    command = ["solve", "--db", small_table, *texts, "--format", "ndjson"]
    here, there = pdb(*command), pdb(*command, "--scheduler", cluster.scheduler_address)
    assert (here.returncode, there.returncode) == (3, 3), there.stderr
    assert without_seconds(there.stdout) == without_seconds(here.stdout)
    assert "2 threads on tcp://" in there.stderr
    assert "odd permutation" in there.stderr


def without_seconds(text: str) -> str:
    return re.sub(r'"seconds": [0-9.e-]+', "", text)


def test_command_stops_at_max_nodes(cluster: Any) -> None:
    table = str(table_file("663", "4x4", encoding="bits"))
    board = format_board(hard_board())
    result = pdb("solve", "--db", table, board, "--max-nodes", "1000", "--scheduler", cluster.scheduler_address)
    assert result.returncode == 5
    assert "given up" in result.stdout


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str], number: int, timeout_s: float) -> tuple[str, str]:
    process.send_signal(number)
    try:
        return process.communicate(timeout=timeout_s)
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_releases_the_cluster(cluster: Any, client: Client) -> None:
    table = str(table_file("663", "4x4", encoding="bits"))
    process = start("solve", "--db", table, format_board(hard_board()), "--scheduler", cluster.scheduler_address)

    def is_searching() -> bool:
        return any("search_paths" in str(key) for keys in client.processing().values() for key in keys)

    wait_until(is_searching, "the split board")
    began = time.monotonic()
    _, told = end(process, signal.SIGINT, 30)
    assert process.returncode == -signal.SIGINT
    assert told.splitlines()[-1] == "pdb: interrupted"
    wait_until(lambda: not any(client.processing().values()), "the cluster to be free", 5)
    assert client.submit(sum, [1, 2, 3]).result(timeout=10) == 6
    assert time.monotonic() - began < 15


def test_closed_output_ends_the_command_quietly(cluster: Any, small_table: str, tmp_path: Path) -> None:
    boards = solvable_boards(S3, blank_last(S3), 600, 2)
    (tmp_path / "boards.txt").write_text("".join(f"{format_board(board)}\n" for board in boards))
    process = start(
        "solve", "--db", small_table, "--instances", str(tmp_path / "boards.txt"), "--format", "ndjson",
        "--scheduler", cluster.scheduler_address,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, told = process.communicate(timeout=30)
    assert process.returncode == 141
    assert len(told.splitlines()) == 1, told


def test_boards_from_stdin_are_answered_one_by_one(cluster: Any, small_table: str, tmp_path: Path) -> None:
    boards = [format_board(board) for board in solvable_boards(S3, blank_last(S3), 2, 2)]
    command = ["solve", "--db", small_table, "--instances", "-", "--format", "ndjson", "--log", str(tmp_path / "log")]
    process = subprocess.Popen(
        [*PROGRAM, *command, "--scheduler", cluster.scheduler_address],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    stop = threading.Timer(60, process.kill)
    stop.start()
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for board in (*boards, boards[0]):  # the last answer is from the log
            process.stdin.write(f"{board}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["solvable"]
        # While the command waits for the next board.
        _, told = end(process, signal.SIGINT, 30)
    finally:
        stop.cancel()
    assert process.returncode == -signal.SIGINT
    assert told.splitlines()[-1] == "pdb: interrupted"
    assert len((tmp_path / "log").read_bytes().splitlines()) == 3


def test_killed_batch_continues_from_its_log(cluster: Any, tmp_path: Path) -> None:
    table = str(table_file("663", "4x4", encoding="bits"))
    boards = boards_15(24, seed=3)
    (tmp_path / "boards.txt").write_text("".join(f"{format_board(board)}\n" for board in boards))
    log = tmp_path / "solved.ndjson"
    command = ["solve", "--db", table, "--instances", str(tmp_path / "boards.txt"), "--format", "ndjson"]
    command += ["--log", str(log), "--scheduler", cluster.scheduler_address]
    process = start(*command)
    wait_until(lambda: log.exists() and len(log.read_bytes().splitlines()) > 4, "some boards")
    end(process, signal.SIGKILL, 30)
    finished = log.read_bytes().splitlines()[1:]
    with log.open("ab") as file:
        file.write(b'{"board":[1,2')
    result = pdb(*command)
    assert result.returncode == 0, result.stderr
    assert f"{len(finished)} finished boards in" in result.stderr
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [tuple(record["board"]) for record in records] == boards
    lines = log.read_bytes().splitlines()[1:]
    assert lines[: len(finished)] == finished
    logged = {tuple(json.loads(line)["board"]): json.loads(line) for line in lines}
    assert len(logged) == len(lines) == len(boards)
    assert all(logged[tuple(record["board"])]["length"] == record["length"] for record in records)
    refused(pdb(*command[:2], str(table_file("555", "4x4")), *command[3:]), 2, "is of another command")
