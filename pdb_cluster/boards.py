"""Solves of boards on a Dask cluster. Start reading here.

many boards   several per task, as many as take a fraction of a second      here, worker.py
a hard board  returned unfinished; its thresholds are split into subtrees   split_board.py
tables        mapped by each worker, and compared with the client's digests  worker.py
results       handled once, from what tasks return; Dask repeats lost tasks  tasks.py

Every task ends within a second or two. So nothing that runs has to be stopped, and a cluster is free soon after Ctrl-C.
"""

import functools
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from pdb_cluster.split_board import SplitBoard
from pdb_cluster.tasks import TASKS_PER_THREAD, Task, Tasks
from pdb_cluster.worker import WorkerTables, search_boards, search_paths
from pdb_core.board_size import BoardSize
from pdb_core.errors import UnsolvableError
from pdb_core.puzzle import Board, Tiles
from pdb_core.symmetry import BoardMapping
from pdb_query import Database
from pdb_query.table_file import LoadMode
from solver.answers.read_ahead import in_chunks
from solver.answers.requests import Answer, Log, Request, Result
from solver.engine.result import SearchResult
from solver.engine.tuning import TUNING, Tuning
from solver.progress import Iteration, Limits
from solver.solution import check_solvable

# Most boards whose answers wait to be yielded.
_MAX_WAITING = 20_000
# Boards per task, and its time. A task returns the boards that it had no time for.
_SMALLEST_CHUNK, _LARGEST_CHUNK, _CHUNK_S = 8, 512, 0.25
# Time limit of an unsplit search; and if there are fewer boards than threads.
_BOARD_S, _LONE_BOARD_S = 1.0, 0.1
# Hard boards that are split at the same time: one has work while the other ends a threshold.
_MAX_SPLIT = 2
# Interval at which requests and results are looked for if there are none; interval of reports.
_POLL_S, _REPORT_S = 0.01, 0.1


@dataclass(frozen=True)
class ClusterProgress:
    """Progress of a run. `thresholds` are the thresholds of the boards that are being split."""

    n_done: int
    n_taken: int
    generated: int
    seconds: float
    n_threads: int
    thresholds: tuple[tuple[Request, Iteration], ...]


@dataclass(frozen=True)
class ClusterAnswers:
    """Source of optimal solutions that are found on a cluster.

    Parameters
    ----------
    client
        A `distributed.Client`.
    databases_for
        Returns the databases for a size and a goal. A search takes the largest of their sums.
    limits
        Limits of each search.
    load
        How workers open the table files.
    worker_folder
        Folder of the files on the workers. By default they are at the client's paths.
    log
        Keeps the answers. No checkpoints are taken from it.
    report
        Called several times a second.
    task_nodes, tuning
        Nodes of a task, and numbers of the searches. A board that takes more nodes is split.

    Examples
    --------
    >>> from distributed import Client                                         # doctest: +SKIP
    >>> with Client("tcp://host:8786") as client:                              # doctest: +SKIP
    ...     list(ClusterAnswers(client, lambda size, goal: (database,)).answers([Request("1", board, goal)]))
    """

    client: Any
    databases_for: Callable[[BoardSize, Tiles], tuple[Database, ...]]
    _: KW_ONLY
    limits: Limits = field(default_factory=Limits)
    load: LoadMode = "map"
    worker_folder: Path | None = None
    log: Log = field(default_factory=Log)
    report: Callable[[ClusterProgress], None] = lambda _: None
    task_nodes: int = 20_000_000
    tuning: Tuning = TUNING

    def answers(self, requests: Iterable[Request]) -> Generator[Answer, None, None]:
        """Yield the answer of each request, in the order of the requests.

        Requests are read ahead in a thread. Errors of `requests` are raised after the answers of the requests before.
        Equal boards that are under way at the same time are searched once. When the iteration ends early, pending tasks
        are cancelled.

        Raises
        ------
        ClusterError
            If the scheduler is lost, a task fails, or a worker lacks tables.
        WrongAnswerError
            If a solution fails its replay.
        """
        return _Run(self, requests).answers()


@dataclass(frozen=True)
class _Job:
    """Board that is searched. `searched` is it in the terms of the tables."""

    request: Request
    databases: tuple[Database, ...]
    mapping: BoardMapping
    searched: Tiles


class _Run:
    """Searches of the boards of some requests."""

    def __init__(self, settings: ClusterAnswers, requests: Iterable[Request]) -> None:
        self._settings, self._tasks = settings, Tasks(settings.client)
        self._requests, self._reads_on = in_chunks(requests, _MAX_WAITING, n_threads=1, waits=False), True
        self._error: Exception | None = None
        # Requests whose answers are not yielded yet, in order; and the searches of boards under way, by board and goal.
        self._waiting: deque[tuple[Request, Future[Result]]] = deque()
        self._searched: dict[bytes, Future[Result]] = {}
        self._to_send: deque[_Job] = deque()
        self._hard: deque[tuple[_Job, SearchResult]] = deque()
        self._split: dict[SplitBoard, _Job] = {}
        self._n_yielded = self._n_board_tasks = self._generated = 0
        self._start = self._reported_at = time.perf_counter()

    def answers(self) -> Generator[Answer, None, None]:
        """Yield the answers in order."""
        try:
            while self._waiting or self._reads_on:
                self._take_requests()
                self._send_boards()
                is_idle = not self._tasks.handle_results()
                self._split_boards()
                self._report()
                while self._waiting and self._waiting[0][1].done():
                    request, result = self._waiting.popleft()
                    self._n_yielded += 1
                    yield Answer(request, result.result())
                if is_idle:
                    time.sleep(_POLL_S)
        finally:
            self._requests.close()
            self._tasks.cancel_all()
        if self._error is not None:
            raise self._error

    def _take_requests(self) -> None:
        """Take the requests that have been read. An error is raised later, after the answers."""
        try:
            if self._reads_on and len(self._waiting) < _MAX_WAITING:
                for request in next(self._requests):
                    self._waiting.append((request, self._result(request)))
        except StopIteration:
            self._reads_on = False
        except Exception as error:
            self._reads_on, self._error = False, error

    def _result(self, request: Request) -> "Future[Result]":
        """Return the result of a request, or queue its board. Raises what `databases_for` raises, and `GoalError`."""
        board, goal, size = request.board, request.goal, request.size
        if request.key in self._searched:
            return self._searched[request.key]
        found, result = Future[Result](), self._settings.log.known(request)
        try:
            check_solvable(board, goal, size)  # before tables are built
        except UnsolvableError as error:
            result = result or error
        if result is not None:
            found.set_result(result)
            return found
        databases = self._settings.databases_for(size, goal)
        mapping = databases[0].mappings(goal)[0]
        self._searched[request.key] = found
        self._to_send.append(_Job(request, databases, mapping, mapping.apply(board)))
        return found

    def _send_boards(self) -> None:
        limits, n_threads = self._settings.limits, max(1, self._tasks.n_threads())
        while self._to_send and self._n_board_tasks < TASKS_PER_THREAD * n_threads:
            databases = self._to_send[0].databases
            jobs: list[_Job] = []
            n_boards = max(_SMALLEST_CHUNK, min(len(self._to_send) // (2 * n_threads), _LARGEST_CHUNK))
            while self._to_send and len(jobs) < n_boards and self._to_send[0].databases == databases:
                jobs.append(self._to_send.popleft())
            board_s = _BOARD_S if len(self._searched) >= n_threads else _LONE_BOARD_S
            seconds = board_s if limits.time_limit is None else min(limits.time_limit, board_s)
            task_nodes = self._settings.task_nodes
            nodes = task_nodes if limits.max_nodes is None else min(limits.max_nodes, task_nodes)
            self._n_board_tasks += 1
            self._tasks.submit(
                search_boards,
                tuple(job.searched for job in jobs),
                functools.partial(self._take_boards, jobs),
                tables=self._tables(databases),
                limits=Limits(seconds, nodes),
                seconds=_CHUNK_S,
            )

    def _take_boards(self, jobs: list[_Job], _task: Task, results: list[SearchResult]) -> None:
        """Handle the results of a task. Boards that it has not begun are sent again."""
        self._n_board_tasks -= 1
        for job, result in zip(jobs, results, strict=False):
            if result.moves is None:
                self._hard.append((job, result))
            else:
                self._finish(job, result)
        self._to_send.extendleft(reversed(jobs[len(results) :]))

    def _split_boards(self) -> None:
        """Finish split boards whose search is over, and split others. A board at its limits is over at once."""
        while True:
            for board in list(self._split):
                if board.check_limits():
                    self._finish(self._split.pop(board), board.result)
            if not self._hard or len(self._split) >= _MAX_SPLIT:
                return
            (job, result), settings = self._hard.popleft(), self._settings
            search = functools.partial(search_paths, tables=self._tables(job.databases), board=job.searched)
            self._split[SplitBoard(self._tasks, search, result, settings.limits, settings.task_nodes)] = job

    def _finish(self, job: _Job, result: SearchResult) -> None:
        board = job.request.board
        solution = result.solution(board, Board(job.request.goal, board.size), job.mapping)
        self._generated += solution.generated
        self._searched.pop(job.request.key).set_result(solution)
        self._settings.log.finish(Answer(job.request, solution))

    def _tables(self, databases: tuple[Database, ...]) -> WorkerTables:
        settings = self._settings
        files = tuple(
            ((settings.worker_folder or database.path.absolute().parent) / database.path.name, database.header.digest())
            for database in databases
        )
        return WorkerTables(files, settings.load, settings.tuning)

    def _report(self) -> None:
        now = time.perf_counter()
        if not self._waiting or now < self._reported_at + _REPORT_S:
            return
        self._reported_at = now
        self._settings.report(
            ClusterProgress(
                n_done=self._n_yielded + sum(result.done() for _, result in self._waiting),
                n_taken=self._n_yielded + len(self._waiting),
                generated=self._generated + sum(board.result.generated for board in self._split),
                seconds=now - self._start,
                n_threads=self._tasks.n_threads(),
                thresholds=tuple((job.request, board.iteration) for board, job in self._split.items()),
            )
        )
