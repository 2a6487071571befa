"""Solves of boards on a Dask cluster. Start reading here.

many boards   several per task, as many as take a fraction of a second      here, solve_worker.py
a hard board  returned unfinished; its thresholds are split into subtrees   split_board.py
tables        mapped by each worker, and compared with the client's digests  solve_worker.py
results       handled once, from what tasks return; Dask repeats lost tasks  solve_tasks.py

Every task ends within a second or two. So nothing that runs has to be stopped, and a cluster is free soon after Ctrl-C.
"""

import functools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pdb_cluster.solve_tasks import Tasks
from pdb_cluster.solve_worker import WorkerTables, search_boards, tables_of
from pdb_cluster.split_board import PartSizes, SplitBoard
from pdb_core.errors import PdbError, UnsolvableError
from pdb_core.puzzle import Board, Tiles
from pdb_core.symmetry import BoardMapping
from pdb_query import Database
from solver.engine.search_result import SearchResult
from solver.progress import Iteration, Limits
from solver.solution import Solution, check_solvable

# Boards read at a time; most boards that wait to be sent, and whose answers wait to be yielded.
_READ, _MAX_UNSENT, _MAX_WAITING = 64, 4096, 100_000
# Boards per task, and its time. A task returns the boards that it had no time for.
_SMALLEST_CHUNK, _LARGEST_CHUNK, _CHUNK_S = 8, 512, 0.25
# Time limit of an unsplit search; and if there are fewer boards than threads.
_BOARD_S, _LONE_BOARD_S = 1.0, 0.1
# Hard boards that are split at the same time: one has work while the other ends a threshold.
_MAX_SPLIT = 2
_TASKS_PER_THREAD = 3
# Longest wait for results; and if the next board may come at any time.
_WAIT_S, _WAIT_FOR_BOARDS_S = 0.1, 0.01

Answer = Solution | UnsolvableError


@dataclass(frozen=True)
class Request:
    """A board to be solved with the largest of the sums of some databases, as `Solver` takes them."""

    board: Tiles
    goal: Tiles
    databases: tuple[Database, ...]


@dataclass(frozen=True)
class ClusterProgress:
    """Progress of a batch. `iterations` are numbers, from 0, and thresholds of the boards that are being split."""

    n_done: int
    n_taken: int
    generated: int
    seconds: float
    n_threads: int
    iterations: tuple[tuple[int, Iteration], ...]


@dataclass(frozen=True)
class _Job:
    """Board that is searched. `searched` is the board in the terms of the tables."""

    request: Request
    mapping: BoardMapping
    searched: Tiles


class ClusterBatch:
    """Boards that are solved on a cluster.

    >>> from distributed import Client                                         # doctest: +SKIP
    >>> with Client("tcp://host:8786") as client:                              # doctest: +SKIP
    ...     list(ClusterBatch(client).solutions([Request(board, goal, (database,))]))
    """

    def __init__(
        self,
        client: Any,
        *,
        limits: Limits | None = None,
        load: Literal["map", "copy", "huge"] = "map",
        worker_folder: Path | None = None,
        sizes: PartSizes | None = None,
        report: Callable[[ClusterProgress], None] | None = None,
        finished: Callable[[Solution], None] | None = None,
    ) -> None:
        """`client` is a `distributed.Client`. Workers read table files at the client's paths or in `worker_folder`.

        `report` is called several times a second, `finished` with each solution that was searched, in any order.
        """
        self._tasks = Tasks(client)
        self._limits, self._sizes = limits or Limits(), sizes or PartSizes()
        self._load, self._worker_folder = load, worker_folder
        self._report, self._finished = report, finished
        self._tables_of: dict[tuple[Database, ...], WorkerTables] = {}
        self._to_send: deque[_Job] = deque()
        self._hard: deque[tuple[_Job, SearchResult]] = deque()
        self._split: list[tuple[_Job, SplitBoard]] = []
        self._numbers: dict[Request, list[int]] = {}
        self._answers: dict[int, Answer] = {}
        self._n_taken = self._n_yielded = self._n_board_tasks = self._generated = 0
        self._reads_on = True
        self._unreadable: PdbError | None = None
        self._start = time.perf_counter()

    def solutions(self, requests: Iterable[Request | Solution | None]) -> Iterator[Answer]:
        """Yield the answers in the order of the boards. When the iteration ends early, pending tasks are cancelled.

        Requests are read ahead. An iterator that would have to wait for its next request yields None instead. A
        `Solution` among them is yielded in its turn. Equal requests that are under way at the same time are searched
        once.

        After the answers to the boards before, raises `BoardError`, `GoalError` and what `requests` raises. Raises
        `WrongAnswerError` if a solution fails its replay, and `ClusterError`, for instance if a worker lacks tables.
        """
        source = iter(requests)
        try:
            while True:
                wait_s = self._read(source)
                self._send_boards()
                while self._n_yielded in self._answers:
                    yield self._answers.pop(self._n_yielded)
                    self._n_yielded += 1
                if not self._reads_on and self._n_yielded == self._n_taken:
                    break
                self._tasks.work(wait_s)
                self._split_boards()
                if self._report is not None and self._n_yielded < self._n_taken:
                    self._report(self._progress())
        finally:
            self._tasks.cancel_all()
        if self._unreadable is not None:
            raise self._unreadable

    def _read(self, source: Iterator[Request | Solution | None]) -> float:
        """Read some boards ahead. Return the seconds to wait for results before reading on."""
        for _ in range(_READ):
            n_waiting = self._n_taken - self._n_yielded
            if not self._reads_on or len(self._to_send) >= _MAX_UNSENT or n_waiting >= _MAX_WAITING:
                return _WAIT_S
            try:
                request = next(source)
                if request is None:
                    return _WAIT_FOR_BOARDS_S
                self._take(request)
            except StopIteration:
                self._reads_on = False
            except PdbError as error:
                self._reads_on, self._unreadable = False, error
        return 0.0  # the first boards are searched while others are read

    def _take(self, request: Request | Solution) -> None:
        """Answer a request, or queue its board. Raises `BoardError`, `GoalError`."""
        number = self._n_taken
        if isinstance(request, Solution):
            self._answers[number] = request
        else:
            database = request.databases[0]
            board, goal = Board(request.board, database.size), Board(request.goal, database.size)
            mapping = database.mappings(goal)[0]
            try:
                check_solvable(board, goal, database.size)
                if request not in self._numbers:
                    self._to_send.append(_Job(request, mapping, mapping.apply(board)))
                self._numbers.setdefault(request, []).append(number)
            except UnsolvableError as error:
                self._answers[number] = error
        self._n_taken += 1

    def _send_boards(self) -> None:
        limits, sizes, n_threads = self._limits, self._sizes, self._tasks.n_threads()
        while self._to_send and self._n_board_tasks < _TASKS_PER_THREAD * n_threads:
            databases = self._to_send[0].request.databases
            jobs: list[_Job] = []
            n_boards = max(_SMALLEST_CHUNK, min(len(self._to_send) // (2 * n_threads), _LARGEST_CHUNK))
            while self._to_send and len(jobs) < n_boards and self._to_send[0].request.databases == databases:
                jobs.append(self._to_send.popleft())
            board_s = _BOARD_S if len(self._numbers) >= n_threads else _LONE_BOARD_S
            seconds = board_s if limits.seconds is None else min(limits.seconds, board_s)
            nodes = sizes.board_nodes if limits.nodes is None else min(limits.nodes, sizes.board_nodes)
            self._n_board_tasks += 1
            self._tasks.submit(
                search_boards,
                [tuple(job.searched for job in jobs)],
                functools.partial(self._take_boards, jobs),
                tables=self._tables(databases),
                limits=Limits(seconds, nodes),
                seconds=_CHUNK_S,
            )

    def _take_boards(self, jobs: list[_Job], _key: str, results: list[SearchResult | None]) -> None:
        """Handle the results of a task."""
        self._n_board_tasks -= 1
        not_started = []
        for job, result in zip(jobs, results, strict=True):
            if result is None:
                not_started.append(job)
            elif result.tiles is None:
                self._hard.append((job, result))
            else:
                self._answer(job, result)
        self._to_send.extendleft(reversed(not_started))

    def _split_boards(self) -> None:
        """Answer split boards whose search is over, and split others. A board at its limits is over at once."""
        while True:
            over = [(job, board) for job, board in self._split if board.check_limits()]
            self._split = [(job, board) for job, board in self._split if not board.is_over]
            for job, board in over:
                self._answer(job, board.result)
            if not self._hard or len(self._split) >= _MAX_SPLIT:
                return
            job, result = self._hard.popleft()
            databases = job.request.databases
            tables = self._tables(databases)
            board = SplitBoard(self._tasks, databases, tables, job.searched, result, self._limits, self._sizes)
            self._split.append((job, board))

    def _answer(self, job: _Job, result: SearchResult) -> None:
        tiles = None if result.tiles is None else job.mapping.original_tiles(result.tiles)
        request = job.request
        size = request.databases[0].size
        solution = result.solution(Board(request.board, size), Board(request.goal, size), size, tiles)
        self._generated += solution.generated
        for number in self._numbers.pop(request):
            self._answers[number] = solution
        if self._finished is not None:
            self._finished(solution)

    def _tables(self, databases: tuple[Database, ...]) -> WorkerTables:
        if databases not in self._tables_of:
            self._tables_of[databases] = tables_of(databases, self._load, self._worker_folder)
        return self._tables_of[databases]

    def _progress(self) -> ClusterProgress:
        return ClusterProgress(
            n_done=self._n_yielded + len(self._answers),
            n_taken=self._n_taken,
            generated=self._generated + sum(board.generated for _, board in self._split),
            seconds=time.perf_counter() - self._start,
            n_threads=self._tasks.n_present(),
            iterations=tuple((self._numbers[job.request][0], board.iteration) for job, board in self._split),
        )
