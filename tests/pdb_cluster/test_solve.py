"""Solves on a cluster: answers and node counts of one machine, also if workers die. Errors, and the command."""

import json
import platform
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, Scheduler

from pdb_cluster.boards import ClusterAnswers, ClusterProgress
from pdb_core.errors import ClusterError, GoalError, InputError
from pdb_core.puzzle import Board, Tiles, blank_first, format_board
from pdb_query import Database
from solver.answers.requests import Answer, Log, Request
from solver.engine.tuning import Tuning
from solver.progress import Limits
from solver.solution import Solution
from solver.solve import Solver
from tests import wait_until
from tests.command_line import UNSOLVABLE, pdb, start
from tests.pdb_cluster.two_workers import (
    N_WORKERS,
    NO_PACKAGE,
    WAIT_S,
    kill,
    run_on_loop,
    started_cluster,
    worker_pids,
    worker_process,
)
from tests.solving import S3, S4, database_for, hard_board, node_counts, solvable_boards, walked
from tests.tables import table_file

# Boards of some 40,000 nodes are split, and so are their thresholds.
SMALL_TASKS = 40_000


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """A database whose workers are quick to open it."""
    with database_for("1,2,5/3,4,6/7,8", "3x3") as opened:
        yield opened


BOARDS = solvable_boards(S3, 5, 2)


def requests(boards: list[Tiles], goal: Tiles) -> list[Request]:
    return [Request(str(n), Board(board), goal) for n, board in enumerate(boards)]


def solved(
    client: Client, boards: list[Tiles], database: Database, *, goal: Tiles | None = None,
    report: Callable[[ClusterProgress], None] = lambda _: None, **options: Any,
) -> list[Any]:  # fmt: skip
    """Solve boards within a limited time."""
    end = time.monotonic() + WAIT_S

    def watch(progress: ClusterProgress) -> None:
        assert time.monotonic() < end
        report(progress)

    source = ClusterAnswers(client, lambda _size, _goal: (database,), report=watch, **options)
    return [answer.result for answer in source.answers(requests(boards, goal or database.goal))]


def test_answers_and_node_counts_are_those_of_one_machine(client: Client, large: Database) -> None:
    goal = blank_first(S4)  # a symmetry maps its boards to those of the table
    boards = [goal, *solvable_boards(S4, 16, 14, goal)]
    told: list[ClusterProgress] = []
    found, solver = solved(client, boards, large, goal=goal, report=told.append, task_nodes=SMALL_TASKS), Solver(large)
    for board, here in zip(boards, found, strict=True):
        there = solver.solve(board, goal)
        assert (here.board, here.length, here.h, here.optimal) == (board, there.length, there.h, True)
        assert node_counts(here.thresholds[:-1]) == node_counts(there.thresholds[:-1])
    assert any(progress.thresholds for progress in told)  # some boards were split
    assert (told[-1].n_taken, told[-1].n_threads) == (len(boards), N_WORKERS)


def test_killed_workers_change_no_answer(client: Client, large: Database) -> None:
    killed: list[int] = []

    def report(progress: ClusterProgress) -> None:
        """In one threshold kill a worker, in another one all workers."""
        thresholds = [at.threshold for _, at in progress.thresholds if at.generated > 300_000]
        if thresholds and len(killed) < 2 and thresholds[0] not in killed:
            for pid in worker_pids(client)[: N_WORKERS if killed else 1]:
                kill(pid)
            killed.append(thresholds[0])

    # All thresholds but those too long for a test.
    limit = Limits(max_nodes=3_000_000)
    there = Solver(large).solve(hard_board(), limits=limit)
    (here,) = solved(client, [hard_board()], large, limits=limit, report=report, task_nodes=SMALL_TASKS)
    assert len(killed) == 2
    assert here.length is None is there.length
    assert here.generated >= 3_000_000
    assert node_counts(here.thresholds[:-1]) == node_counts(there.thresholds[:-1])


def test_long_thresholds_of_the_24_puzzle_have_the_nodes_of_one_machine(client: Client) -> None:
    """A worker that divides a threshold cannot return what is left of it."""
    with database_for("1,2,6,7/3,4,8,9/5,10,14,15/11,12,16,17/13,18,19,20/21,22,23,24", "5x5") as database:
        # Some millions of nodes each.
        boards = [walked(database.goal, database.size, 90, np.random.default_rng(seed)) for seed in (1, 2, 7, 10)]
        solver = Solver(database)
        alone = [solver.solve(board) for board in boards]
        found = solved(client, boards, database, task_nodes=1_000_000, tuning=Tuning(long_nodes=100_000))
    for here, there in zip(found, alone, strict=True):
        assert here.length == there.length
        # The last threshold is not searched if beams find the solution.
        assert complete(here) == complete(there)


def complete(solution: Solution) -> list[tuple[int, int, int]]:
    """Return the node counts of the complete thresholds."""
    return node_counts(done for done in solution.thresholds if done.threshold < solution.length)


def test_equal_boards_are_searched_once_up_to_their_time_limit(client: Client, large: Database) -> None:
    class CountingLog(Log):
        n_finished = 0

        def finish(self, _answer: Answer) -> None:
            self.n_finished += 1

    log = CountingLog()
    found = solved(client, [hard_board()] * 2, large, limits=Limits(time_limit=1), log=log)
    assert [(solution.board, solution.length) for solution in found] == [(hard_board(), None)] * 2
    assert log.n_finished == 1


def test_boards_before_an_error_are_answered(client: Client, database: Database) -> None:
    def read() -> Iterator[Request]:
        yield from requests(BOARDS, database.goal)
        raise InputError("line 6 is no board")

    other_goal = requests([BOARDS[0]], (1, 2, 3, 4, 5, 6, 7, 0, 8))
    for asked, error in ((read(), InputError), ([*requests(BOARDS, database.goal), *other_goal], GoalError)):
        answers = ClusterAnswers(client, lambda _size, _goal: (database,)).answers(asked)
        assert [next(answers).request.board for _ in BOARDS] == BOARDS
        with pytest.raises(error):
            next(answers)


def test_workers_without_the_tables_of_the_client_are_reported(
    client: Client, database: Database, tmp_path: Path
) -> None:
    why = f"the worker on {platform.node()} cannot search: "
    with pytest.raises(ClusterError, match=f"{why}there is no table file"):
        solved(client, BOARDS, database, worker_folder=tmp_path)
    shutil.copy(table_file("8", "3x3"), tmp_path / database.path.name)
    with pytest.raises(ClusterError, match=f"{why}its .* holds other tables than the client's"):
        solved(client, BOARDS, database, worker_folder=tmp_path)
    assert len(solved(client, BOARDS, database)) == len(BOARDS)


def test_worker_without_the_package_gets_no_tasks(client: Client, database: Database) -> None:
    with worker_process(client.scheduler.address, first_line=NO_PACKAGE):
        client.wait_for_workers(N_WORKERS + 1, timeout=WAIT_S)
        with pytest.warns(
            RuntimeWarning, match=r"the worker at tcp://.* has no tile-pdb of this version .*, so it gets no tasks"
        ):
            assert len(solved(client, BOARDS * 20, database)) == 100


def test_lost_scheduler_ends_the_run(large: Database) -> None:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": 1}),
        started_cluster(1) as scheduler,
        Client(scheduler.address, set_as_default=False, timeout=20) as client,  # Dask waits so long for a lost one
    ):
        client.wait_for_workers(1, timeout=WAIT_S)

        def report(progress: ClusterProgress) -> None:
            if progress.thresholds:
                run_on_loop(scheduler.close())

        with pytest.raises(ClusterError, match="cannot be reached any more; start the command again"):
            solved(client, [hard_board()], large, report=report)


def test_client_that_was_closed_ends_the_run(cluster: Scheduler, large: Database) -> None:
    """Dask closes it if the scheduler is gone for some seconds, also while nobody asks for the next answer."""
    for closes in (False, True):
        with Client(cluster.address, set_as_default=False, timeout=WAIT_S) as client:
            source = ClusterAnswers(client, lambda _size, _goal: (large,))
            answers = source.answers(requests([*solvable_boards(S4, 1, 3), hard_board()], large.goal))
            next(answers)
            client.close()
            if closes:
                answers.close()
                continue
            with pytest.raises(ClusterError, match="cannot be reached any more"):
                list(answers)


def test_command_output_is_that_of_a_local_run(cluster: Scheduler, small_table: str) -> None:
    boards = [format_board(board) for board in BOARDS]
    command = ["solve", "--db", small_table, *boards[:3], UNSOLVABLE, *boards[3:], "--format", "ndjson"]
    command += ["--max-nodes", "400"]
    here = pdb(*command)
    there = pdb(*command, "--scheduler", cluster.address, code=here.returncode)
    shown, expected = (re.sub(r'"seconds": [0-9.e-]+', "", ended.stdout) for ended in (there, here))
    assert shown == expected
    assert "2 threads on tcp://" in there.stderr
    assert "odd number of swaps" in there.stderr
    lengths = [json.loads(line).get("length") for line in here.stdout.splitlines()]
    assert lengths.count(None) not in (0, len(lengths))


def test_command_answers_boards_as_they_come_and_ctrl_c_releases_the_cluster(
    cluster: Scheduler, client: Client, large: Database, tmp_path: Path
) -> None:
    boards = [format_board(board) for board in solvable_boards(S4, 2, 3)]
    command = ["solve", "--db", str(large.path), "--instances", "-"]
    command += ["--format", "ndjson", "--log", str(tmp_path / "log"), "--scheduler", cluster.address]
    with start(*command, bufsize=1) as process:
        for board in (*boards, boards[0]):  # the last answer is from the log
            process.stdin.write(f"{board}\n")
            assert json.loads(process.stdout.readline())["solvable"]
        process.stdin.write(f"{format_board(hard_board())}\n")
        wait_until(lambda: "search_paths" in str(client.processing()))
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == -signal.SIGINT
    assert told.splitlines()[-1] == "pdb: interrupted"
    assert len((tmp_path / "log").read_bytes().splitlines()) == 3
    wait_until(lambda: not any(client.processing().values()))
    assert client.submit(sum, [1, 2, 3]).result(timeout=WAIT_S) == 6
