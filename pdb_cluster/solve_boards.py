"""Solves of boards on a Dask cluster. Start reading here.

many boards   several per task, as many as take a fraction of a second             here, solve_worker.py
a hard board  returned unfinished; its thresholds are split into subtrees          split_board.py
a subtree     searched as on one machine; a large one returns the part that is left  solver/engine/subtrees.py
tables        mapped by each worker, and compared with the client's digests         solve_worker.py
results       handled once, from what tasks return; Dask repeats lost tasks         solve_tasks.py
replay        each solution is replayed to the goal before it is returned           solver/solution.py

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
from pdb_cluster.solve_worker import WorkerTables, search_boards
from pdb_cluster.split_board import PartSizes, SplitBoard
from pdb_core.errors import PdbError, UnsolvableError
from pdb_core.jit import program_version
from pdb_core.puzzle import Board, check_board
from pdb_core.symmetry import BoardMapping
from pdb_query import Database
from solver.engine.search_result import SearchResult
from solver.progress import Iteration, Limits
from solver.solution import Solution, check_solvable

# Boards read at a time; most boards that wait to be sent, and whose answers wait to be yielded.
_READ, _MAX_UNSENT, _MAX_WAITING = 64, 4096, 100_000
# Boards per task. A task returns the boards that it had no time for.
_SMALLEST_CHUNK, _LARGEST_CHUNK = 8, 512
# Hard boards that are split at the same time: one has work while the other ends a threshold.
_MAX_SPLIT = 2
_TASKS_PER_THREAD = 3
# Longest wait for results; and if the next board may come at any time.
_WAIT_S, _WAIT_FOR_BOARDS_S = 0.1, 0.01

Answer = Solution | UnsolvableError


@dataclass(frozen=True)
class Request:
    """A board to be solved with the largest of the sums of some databases, as `Solver` takes them.

    If its `answer` is known, that is yielded in its turn without a search.
    """

    board: Board
    goal: Board
    databases: tuple[Database, ...]
    answer: Solution | None = None


@dataclass(frozen=True)
class ClusterProgress:
    """Progress of a batch.

    n_done, n_taken     boards with an answer, and all boards read
    generated, seconds  nodes of the whole cluster and time since the batch began
    busy_s              search time of all workers together
    n_threads           of the cluster, 0 while it has no workers
    iterations          numbers, from 0, and thresholds of the hard boards that are being split
    """

    n_done: int
    n_taken: int
    generated: int
    seconds: float
    busy_s: float
    n_threads: int
    iterations: tuple[tuple[int, Iteration], ...]


@dataclass(frozen=True)
class _Job:
    """The board with index `number`. `searched` is the board in the terms of the tables."""

    number: int
    request: Request
    mapping: BoardMapping
    searched: Board


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
        each_once: bool = False,
        report: Callable[[ClusterProgress], None] | None = None,
        finished: Callable[[int, Solution], None] | None = None,
    ) -> None:
        """`client` is a `distributed.Client`. Workers read table files at the client's paths or in `worker_folder`.

        With `each_once`, equal requests that are under way at the same time are searched once. `report` is called
        several times a second. `finished` is called with number and solution of each searched board, in any order.
        """
        self._tasks = Tasks(client)
        self._limits, self._sizes = limits or Limits(), sizes or PartSizes()
        self._load, self._worker_folder = load, worker_folder
        self._each_once, self._report, self._finished = each_once, report, finished
        self._tables_of: dict[tuple[Database, ...], WorkerTables] = {}
        self._to_send: deque[_Job] = deque()
        self._hard: deque[tuple[_Job, SearchResult]] = deque()
        self._split: dict[int, tuple[_Job, SplitBoard]] = {}
        self._same: dict[Request, list[int]] = {}
        self._answers: dict[int, Answer] = {}
        self._n_taken = self._n_done = self._n_board_tasks = self._generated = 0
        self._search_s = self._split_s = 0.0
        self._reads_on, self._none_yet = True, False
        self._unreadable: PdbError | None = None
        self._start = time.perf_counter()

    def solutions(self, requests: Iterable[Request | None]) -> Iterator[Answer]:
        """Yield the answers in the order of the boards. When the iteration ends early, pending tasks are cancelled.

        Requests are read ahead. An iterator that would have to wait for its next request yields None instead.

        After the answers to the boards before, raises `BoardError`, `GoalError` and what `requests` raises. Raises
        `WrongAnswerError` if a solution fails its replay, and `ClusterError`, for instance if a worker lacks tables.
        """
        source = iter(requests)
        n_yielded = 0
        try:
            while True:
                self._read(source, n_yielded)
                self._send_boards()
                self._split_boards()
                while n_yielded in self._answers:
                    yield self._answers.pop(n_yielded)
                    n_yielded += 1
                if self._tasks.n_pending == 0 and n_yielded == self._n_taken and not self._reads_on:
                    if self._unreadable is not None:
                        raise self._unreadable
                    return
                self._tasks.work(self._wait_s())
                self._finish_split_boards()
                if self._report is not None and n_yielded < self._n_taken:
                    self._report(self._progress())
        finally:
            self._tasks.cancel_all()

    def _read(self, source: Iterator[Request | None], n_yielded: int) -> None:
        """Read some boards ahead."""
        self._none_yet = False
        for _ in range(_READ):
            has_room = len(self._to_send) < _MAX_UNSENT and self._n_taken - n_yielded < _MAX_WAITING
            self._reads_on = has_room and self._unreadable is None
            if not self._reads_on:
                return
            try:
                request = next(source)
                if request is None:
                    self._none_yet = True
                    return
                self._take(request)
            except StopIteration:
                self._reads_on = False
                return
            except PdbError as error:
                self._unreadable, self._reads_on = error, False
                return

    def _take(self, request: Request) -> None:
        """Answer a request, or queue its board. Raises `BoardError`, `GoalError`."""
        number = self._n_taken
        if request.answer is not None:
            self._n_taken += 1
            self._set_answer(number, request.answer)
            return
        database = request.databases[0]
        board, goal = check_board(request.board, database.size), check_board(request.goal, database.size)
        mapping = database.mappings(goal)[0]
        self._n_taken += 1
        try:
            check_solvable(board, goal, database.size)
        except UnsolvableError as error:
            self._set_answer(number, error)
            return
        if self._each_once:
            if request in self._same:
                self._same[request].append(number)
                return
            self._same[request] = []
        self._to_send.append(_Job(number, request, mapping, mapping.apply(board)))

    def _wait_s(self) -> float:
        if self._none_yet:
            return _WAIT_FOR_BOARDS_S
        # The first boards are searched while others are read.
        return 0.0 if self._reads_on else _WAIT_S

    def _send_boards(self) -> None:
        while self._to_send and self._n_board_tasks < _TASKS_PER_THREAD * self._tasks.n_threads():
            databases = self._to_send[0].request.databases
            jobs: list[_Job] = []
            share = len(self._to_send) // (2 * self._tasks.n_threads())
            n_boards = max(_SMALLEST_CHUNK, min(share, _LARGEST_CHUNK))
            while self._to_send and len(jobs) < n_boards and self._to_send[0].request.databases == databases:
                jobs.append(self._to_send.popleft())
            n_under_way = self._n_taken - self._n_done
            most_s = self._sizes.board_s if n_under_way >= self._tasks.n_threads() else self._sizes.lone_board_s
            nodes = self._sizes.board_nodes if self._limits.nodes is None else self._limits.nodes
            seconds = most_s if self._limits.seconds is None else self._limits.seconds
            self._n_board_tasks += 1
            self._tasks.submit(
                search_boards,
                [tuple(job.searched for job in jobs)],
                functools.partial(self._take_boards, jobs),
                tables=self._tables(databases),
                limits=Limits(min(seconds, most_s), min(nodes, self._sizes.board_nodes)),
                seconds=self._sizes.chunk_s,
            )

    def _take_boards(self, jobs: list[_Job], _key: str, results: list[SearchResult | None]) -> None:
        """Handle the results of a task."""
        self._n_board_tasks -= 1
        not_started = []
        for job, result in zip(jobs, results, strict=True):
            if result is None:
                not_started.append(job)
                continue
            self._search_s += result.seconds
            if result.tiles is not None or _is_given_up(result, self._limits):
                self._answer(job, result)
            else:
                self._hard.append((job, result))
        self._to_send.extendleft(reversed(not_started))

    def _split_boards(self) -> None:
        while self._hard and len(self._split) < _MAX_SPLIT:
            job, result = self._hard.popleft()
            databases = job.request.databases
            tables = self._tables(databases)
            self._split[job.number] = (
                job, SplitBoard(self._tasks, databases, tables, job.searched, result, self._limits, self._sizes)
            )  # fmt: skip

    def _finish_split_boards(self) -> None:
        for job, board in list(self._split.values()):
            if board.check_limits():
                del self._split[job.number]
                self._split_s += board.busy_s
                self._answer(job, board.result)

    def _answer(self, job: _Job, result: SearchResult) -> None:
        tiles = None if result.tiles is None else job.mapping.original_tiles(result.tiles)
        request = job.request
        solution = result.solution(request.board, request.goal, request.databases[0].size, tiles)
        self._generated += solution.generated
        for number in (job.number, *self._same.pop(request, ())):
            self._set_answer(number, solution)
        if self._finished is not None:
            self._finished(job.number, solution)

    def _set_answer(self, number: int, answer: Answer) -> None:
        self._n_done += 1
        self._answers[number] = answer

    def _tables(self, databases: tuple[Database, ...]) -> WorkerTables:
        if databases not in self._tables_of:
            folder = self._worker_folder
            self._tables_of[databases] = WorkerTables(
                paths=tuple(str(at.path.resolve() if folder is None else folder / at.path.name) for at in databases),
                digests=tuple(database.header.digest() for database in databases),
                load=self._load,
                version=program_version(),
            )
        return self._tables_of[databases]

    def _progress(self) -> ClusterProgress:
        return ClusterProgress(
            n_done=self._n_done,
            n_taken=self._n_taken,
            generated=self._generated + sum(board.generated for _, board in self._split.values()),
            seconds=time.perf_counter() - self._start,
            busy_s=self._search_s + self._split_s + sum(board.busy_s for _, board in self._split.values()),
            n_threads=self._tasks.n_present(),
            iterations=tuple((number, board.iteration) for number, (_, board) in self._split.items()),
        )


def _is_given_up(result: SearchResult, limits: Limits) -> bool:
    """Return whether a search reached the limits of the batch, not only those of a task."""
    too_many = limits.nodes is not None and result.generated >= limits.nodes
    return too_many or (limits.seconds is not None and result.seconds >= limits.seconds)
