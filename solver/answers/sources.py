"""Sources of answers that search in threads of this process: many boards at a time, or boards one by one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import ClassVar

from pdb_core.board_size import BoardSize
from pdb_core.errors import MemoryLimitError, UnsolvableError
from pdb_core.puzzle import Tiles, is_solvable
from solver.answers.read_ahead import in_chunks
from solver.answers.requests import Answer, Hooks, Request, Result
from solver.engine.checkpoint import Checkpoint
from solver.engine.search import MOST_BOARDS
from solver.engine.worker_pool import WorkerPool, stream_in_parallel
from solver.progress import Iteration, Report
from solver.solution import Solution, check_solvable, unsolvable
from solver.solve import Solver

# Searches a board. It calls the report several times a second; the workers of the pool may help.
Search = Callable[[Request, Report, WorkerPool | None, Checkpoint], Solution]
# Called several times a second with the index of a request and the threshold that is searched.
_IndexedReport = Callable[[int, Iteration], None]
# Returns the checkpoint of the request with an index.
_Checkpoints = Callable[[int], Checkpoint]


@dataclass(frozen=True, kw_only=True)
class _ThreadedSource(ABC):
    """Source of answers that searches in threads of this process.

    n_threads  boards, or lists of boards, that are searched at a time
    n_most     boards that one call searches at most
    """

    n_threads: int
    hooks: Hooks
    n_most: ClassVar[int] = 1

    def answers(self, requests: Iterable[Request]) -> Generator[Answer, None, None]:
        """Yield the answer of each request, see `AnswerSource`. Raises what the searches raise.

        With the hook `known`, a board that comes again is searched once.
        """
        chunks = in_chunks(self._jobs(requests), self.n_most, n_threads=self.n_threads, waits=self.n_threads == 1)
        ready = (chunk or None for chunk in chunks)
        for request, found in stream_in_parallel(ready, self._search_chunk, n_threads=self.n_threads):
            # Of equal boards, the first one has been answered.
            result = self.hooks.known(request) if found is None and self.hooks.known is not None else found
            assert result is not None
            yield Answer(request, result)

    def _jobs(self, requests: Iterable[Request]) -> Iterator[tuple[Request, bool]]:
        """Yield each request, and whether it is searched."""
        begun: set[bytes] = set()
        for request in requests:
            is_searched = True
            if self.hooks.known is not None:
                is_searched = request.key not in begun and self.hooks.known(request) is None
                begun.add(request.key)
            yield request, is_searched

    def _search_chunk(
        self, chunk: list[tuple[Request, bool]], report: Report, pool: WorkerPool | None
    ) -> Generator[tuple[Request, Result | None], None, None]:
        """Yield requests with their results, None for one that is not searched."""
        for (is_searched, *_), jobs in groupby(chunk, key=lambda job: (job[1], job[0].size, job[0].goal)):
            requests = [request for request, _ in jobs]
            if is_searched:
                yield from self._search_alike(requests, report, pool)
            else:
                yield from ((request, None) for request in requests)

    def _search_alike(
        self, requests: list[Request], report: Report, pool: WorkerPool | None
    ) -> Iterator[tuple[Request, Result]]:
        """Yield requests of one size and goal with their results."""
        checkpoints: dict[int, Checkpoint] = {}

        def checkpoint(index: int) -> Checkpoint:
            checkpoints[index] = self.hooks.checkpoint_of(requests[index])
            return checkpoints[index]

        def show(index: int, iteration: Iteration) -> None:
            report(iteration)  # raises if the search is to end
            self.hooks.watch(requests[index], iteration, checkpoints.get(index) or Checkpoint())

        for request, result in zip(requests, self._results(requests, show, pool, checkpoint), strict=True):
            self.hooks.finished(Answer(request, result))
            yield request, result

    @abstractmethod
    def _results(
        self, requests: list[Request], report: _IndexedReport, pool: WorkerPool | None, checkpoints: _Checkpoints
    ) -> Iterable[Result]:
        """Yield the results of requests of one size and goal."""


@dataclass(frozen=True)
class SingleAnswers(_ThreadedSource):
    """Source that searches boards one by one: a textbook search, the suboptimal search, or IDA* with limits.

    `search` may raise `UnsolvableError` and `MemoryLimitError`, which are then the result.
    """

    search: Search

    def _results(
        self, requests: list[Request], report: _IndexedReport, pool: WorkerPool | None, checkpoints: _Checkpoints
    ) -> Iterable[Result]:
        for index, request in enumerate(requests):
            result: Result
            try:
                check_solvable(request.board, request.goal, request.size)  # before tables are built
                result = self.search(request, partial(report, index), pool, checkpoints(index))
            except (UnsolvableError, MemoryLimitError) as error:
                result = error
            yield result


@dataclass(frozen=True)
class BatchAnswers(_ThreadedSource):
    """Source that searches many boards by one call: IDA* with tables, without limits.

    `solver_for` returns the solver for a size and a goal; threads call it at the same time.
    """

    solver_for: Callable[[BoardSize, Tiles], Solver]
    n_most: ClassVar[int] = MOST_BOARDS

    def _results(
        self, requests: list[Request], report: _IndexedReport, pool: WorkerPool | None, checkpoints: _Checkpoints
    ) -> Iterable[Result]:
        size, goal = requests[0].size, requests[0].goal
        boards = [request.board for request in requests]
        if not any(is_solvable(board, goal, size) for board in boards):  # no tables are needed, which may not be there
            return [unsolvable(board, goal, size) for board in boards]
        return chain.from_iterable(
            self.solver_for(size, goal).solve_batch(boards, goal, report=report, pool=pool, checkpoints=checkpoints)
        )
