"""Boards solved on a Dask cluster. Read this first.

many boards   several a task, as many as take a fraction of a second            here, worker.py
a hard board  returned unfinished; its thresholds are split into subtrees       split_board.py
a subtree     searched as by one machine; what is too large comes back in parts   worker.py, ida_star/subtrees.py
tables        each worker maps its own copy, compared with the client's digests   worker.py
results       counted once, from what tasks return; Dask repeats lost ones        tasks.py
replay        move by move to the goal, before anyone is told                     solution.py

Every task ends within a second or two: so nothing that runs has to be stopped, and a cluster is free for others soon
after Ctrl-C.
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

# Boards taken at a time, ahead of those that were sent, and of those that were yielded.
_READ, _MOST_READ, _MOST_WAITING = 64, 4096, 100_000
# Boards of the first tasks, whose times tell how many a task can have.
_FIRST_CHUNK, _LARGEST_CHUNK = 8, 512
# Hard boards that are split at the same time: while one ends a threshold, the other has work.
_MOST_SPLIT = 2
_TASKS_A_THREAD = 3
# For results, at most; and where the next board may come at any time.
_WAIT_S, _WAIT_FOR_BOARDS_S = 0.1, 0.01


@dataclass(frozen=True)
class Request:
    """A board to be solved, by the largest of the sums of some databases, as `Solver` takes them; or one whose `answer`
    is known, which is handed over in its turn.
    """

    board: Board
    goal: Board
    databases: tuple[Database, ...]
    answer: Solution | None = None


@dataclass(frozen=True)
class ClusterProgress:
    """Where a batch stands.

    n_done, n_taken     boards with an answer, and all that were begun
    generated, seconds  nodes by the whole cluster, since the batch began
    busy_s              that workers have searched, together
    n_threads           of the cluster, 0 while it has no workers
    iterations          the hard boards that are being split: their numbers, from 0, and their thresholds
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
    """A board under way, the `number`th; `searched` is it in the terms of the tables."""

    number: int
    request: Request
    mapping: BoardMapping
    searched: Board


class ClusterBatch:
    """Solves boards on a cluster.

    >>> from distributed import Client                                         # doctest: +SKIP
    >>> with Client("tcp://host:8786") as client:                              # doctest: +SKIP
    ...     list(ClusterBatch(client).solutions([Request(board, goal, (database,))]))
    """

    def __init__(
        self,
        client: Any,
        *,
        limits: Limits | None = None,
        plain: bool = False,
        load: Literal["map", "copy", "huge"] = "map",
        worker_folder: Path | None = None,
        sizes: PartSizes | None = None,
        each_once: bool = False,
        report: Callable[[ClusterProgress], None] | None = None,
        finished: Callable[[int, Solution], None] | None = None,
    ) -> None:
        """`client` is a `distributed.Client`. Workers look for the table files where the client has them, or in
        `worker_folder`.

        `each_once`: a board that comes again while it is searched gets the same answer, and is not searched twice.
        `report` is called every fraction of a second while boards are under way; `finished` with the number of each
        board that was searched, from 0, and its solution, as soon as it is there, in any order.
        """
        self._tasks = Tasks(client)
        self._limits, self._sizes = limits or Limits(), sizes or PartSizes()
        self._plain, self._load, self._worker_folder = plain, load, worker_folder
        self._report, self._finished = report, finished
        self._tables_of: dict[tuple[Database, ...], WorkerTables] = {}
        self._to_send: deque[_Job] = deque()
        self._hard: deque[tuple[_Job, SearchResult]] = deque()
        self._split: dict[int, tuple[_Job, SplitBoard]] = {}
        self._answers: dict[int, Solution | UnsolvableError] = {}
        self._n_taken = self._n_done = self._n_board_tasks = 0
        self._n_searched, self._search_s, self._split_s = 0, 0.0, 0.0
        self._each_once = each_once
        self._same: dict[Request, list[int]] = {}
        self._reads_on, self._none_yet = True, False
        self._unreadable: PdbError | None = None
        self._generated = 0
        self._start = time.perf_counter()

    def solutions(self, requests: Iterable[Request | None]) -> Iterator[Solution | UnsolvableError]:
        """The answers, in the order of the boards. Leaving the iteration early, by an error or Ctrl-C, cancels what is
        pending.

        Requests are read ahead. Where they come from somebody who may wait for answers, their iterator must not: None
        says that there is none yet.

        Raises what `requests` raises, `BoardError` and `GoalError`, after the answers to the boards before; also
        `WrongAnswerError` should an answer fail its replay, and `ClusterError`, where
        a worker lacks the tables for instance.
        """
        source = iter(requests)
        n_yielded = 0
        try:
            while True:
                self._take(source, n_yielded)
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
                self._look_at_split_boards()
                if self._report is not None and n_yielded < self._n_taken:
                    self._report(self._progress())
        finally:
            self._tasks.cancel_all()

    def _take(self, source: Iterator[Request | None], n_yielded: int) -> None:
        """Read boards ahead."""
        self._none_yet = False
        for _ in range(_READ):
            has_room = len(self._to_send) < _MOST_READ and self._n_taken - n_yielded < _MOST_WAITING
            self._reads_on = has_room and self._unreadable is None
            if not self._reads_on:
                return
            try:
                request = next(source)
                if request is None:
                    self._none_yet = True
                    return
                self._begin(request)
            except StopIteration:
                self._reads_on = False
                return
            except PdbError as error:
                self._unreadable, self._reads_on = error, False
                return

    def _begin(self, request: Request) -> None:
        """Answer a request, or have it sent. Raises `BoardError`, `GoalError`."""
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
        # Workers get their first boards while others are read.
        return 0.0 if self._reads_on else _WAIT_S

    def _send_boards(self) -> None:
        while self._to_send and self._n_board_tasks < _TASKS_A_THREAD * self._tasks.n_threads():
            databases = self._to_send[0].request.databases
            jobs: list[_Job] = []
            n_boards = self._chunk()
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
                seconds=self._sizes.part_s,
            )

    def _chunk(self) -> int:
        """How many boards the next task gets: what takes a fraction of a second, and less towards the end."""
        if self._n_searched == 0:
            return _FIRST_CHUNK
        in_time = self._sizes.chunk_s * self._n_searched / max(self._search_s, 1e-9)
        share = len(self._to_send) / (2 * self._tasks.n_threads())
        return max(1, min(int(max(min(in_time, share), in_time / 4)), _LARGEST_CHUNK))

    def _take_boards(self, jobs: list[_Job], _key: str, results: list[SearchResult | None]) -> None:
        """A task of several boards is done."""
        self._n_board_tasks -= 1
        not_begun = []
        for job, result in zip(jobs, results, strict=True):
            if result is None:
                not_begun.append(job)
                continue
            self._n_searched += 1
            self._search_s += result.seconds
            if result.tiles is not None or _is_given_up(result, self._limits):
                self._answer(job, result)
            else:
                self._hard.append((job, result))
        self._to_send.extendleft(reversed(not_begun))

    def _split_boards(self) -> None:
        while self._hard and len(self._split) < _MOST_SPLIT:
            job, result = self._hard.popleft()
            databases = job.request.databases
            tables = self._tables(databases)
            self._split[job.number] = (
                job, SplitBoard(self._tasks, databases, tables, job.searched, result, self._limits, self._sizes)
            )  # fmt: skip

    def _look_at_split_boards(self) -> None:
        for job, board in list(self._split.values()):
            board.check_limits()
            if board.is_over:
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

    def _set_answer(self, number: int, answer: Solution | UnsolvableError) -> None:
        self._n_done += 1
        self._answers[number] = answer

    def _tables(self, databases: tuple[Database, ...]) -> WorkerTables:
        if databases not in self._tables_of:
            folder = self._worker_folder
            self._tables_of[databases] = WorkerTables(
                paths=tuple(str(at.path.resolve() if folder is None else folder / at.path.name) for at in databases),
                digests=tuple(database.header.digest() for database in databases),
                plain=self._plain,
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
    """Whether a search was paused because of its own limits, not those of a task."""
    too_many = limits.nodes is not None and result.generated >= limits.nodes
    return too_many or (limits.seconds is not None and result.seconds >= limits.seconds)
