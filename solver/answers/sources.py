"""Source of answers that searches in threads of this process: many boards at a time, or boards one by one."""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import chain, groupby

from pdb_core.board_size import BoardSize
from pdb_core.errors import MemoryLimitError, UnsolvableError
from pdb_core.puzzle import Tiles, is_solvable
from solver.answers.read_ahead import in_chunks
from solver.answers.requests import Answer, Log, Request, Result
from solver.engine.checkpoint import Checkpoint
from solver.engine.worker_pool import WorkerPool, stream_in_parallel
from solver.progress import Iteration, Report
from solver.solution import Solution, check_solvable, unsolvable
from solver.solve import Solver

# Is called several times a second with the index of a request and the threshold that is searched.
IndexedReport = Callable[[int, Iteration], None]
# Returns the checkpoint of the request with an index.
Checkpoints = Callable[[int], Checkpoint]
# Yields the results of requests of one size and goal. The workers of the pool may help.
Search = Callable[[list[Request], IndexedReport, WorkerPool | None, Checkpoints], Iterable[Result]]
# Returns the solution of a board. It may raise `UnsolvableError` and `MemoryLimitError`, which are then the result.
SearchOne = Callable[[Request, Report, WorkerPool | None, Checkpoint], Solution]


@dataclass(frozen=True)
class ThreadedAnswers:
    """Source of answers that searches in threads of this process.

    search     `one_by_one` or `in_batches`
    n_most     boards that one call searches at most
    n_threads  boards, or lists of boards, that are searched at a time
    log        hook that keeps answers
    watch      hook that is called several times a second with a board under way, its threshold, and its checkpoint
    """

    search: Search
    n_most: int = 1
    _: KW_ONLY
    n_threads: int
    log: Log = field(default_factory=Log)
    watch: Callable[[Request, Iteration, Checkpoint], None] = lambda *_: None

    def answers(self, requests: Iterable[Request]) -> Generator[Answer, None, None]:
        """Yield the answer of each request, in the order of the requests.

        Requests are read ahead in a thread, so a slow iterator delays no search. Errors of `requests` are raised after
        the answers of the requests before. Raises what the searches raise.
        """
        known = ((request, self.log.known(request)) for request in requests)
        chunks = in_chunks(known, self.n_most, n_threads=self.n_threads, waits=self.n_threads == 1)
        ready = (chunk or None for chunk in chunks)
        yield from stream_in_parallel(ready, self._answer_chunk, n_threads=self.n_threads)

    def _answer_chunk(
        self, chunk: list[tuple[Request, Result | None]], report: Report, pool: WorkerPool | None
    ) -> Generator[Answer, None, None]:
        """Yield the answers of requests, some of which have a known result."""
        for (is_known, *_), alike in groupby(chunk, key=lambda item: (item[1] is not None, item[0].size, item[0].goal)):
            if is_known:
                yield from (Answer(request, result) for request, result in alike if result is not None)
            else:
                yield from self._search_alike([request for request, _ in alike], report, pool)

    def _search_alike(self, requests: list[Request], report: Report, pool: WorkerPool | None) -> Iterator[Answer]:
        """Yield the answers of requests of one size and goal."""
        checkpoints: dict[int, Checkpoint] = {}

        def checkpoint(index: int) -> Checkpoint:
            checkpoints[index] = self.log.checkpoint(requests[index])
            return checkpoints[index]

        def show(index: int, iteration: Iteration) -> None:
            report(iteration)  # raises if the search is to end
            self.watch(requests[index], iteration, checkpoints[index])

        for request, result in zip(requests, self.search(requests, show, pool, checkpoint), strict=True):
            answer = Answer(request, result)
            self.log.finish(answer)
            yield answer


def one_by_one(search: SearchOne) -> Search:
    """Search boards one by one: by a textbook search, the suboptimal search, or IDA* with limits."""

    def results(
        requests: list[Request], report: IndexedReport, pool: WorkerPool | None, checkpoints: Checkpoints
    ) -> Iterator[Result]:
        for index, request in enumerate(requests):
            result: Result
            try:
                check_solvable(request.board, request.goal, request.size)  # before tables are built
                result = search(request, partial(report, index), pool, checkpoints(index))
            except (UnsolvableError, MemoryLimitError) as error:
                result = error
            yield result

    return results


def in_batches(solver_for: Callable[[BoardSize, Tiles], Solver]) -> Search:
    """Search many boards by one call: by IDA* with tables, without limits.

    `solver_for` returns the solver for a size and a goal; threads call it at the same time.
    """

    def results(
        requests: list[Request], report: IndexedReport, pool: WorkerPool | None, checkpoints: Checkpoints
    ) -> Iterable[Result]:
        size, goal = requests[0].size, requests[0].goal
        boards = [request.board for request in requests]
        if not any(is_solvable(board, goal, size) for board in boards):  # no tables are needed, which may not be there
            return [unsolvable(board, goal, size) for board in boards]
        return chain.from_iterable(
            solver_for(size, goal).solve_batch(boards, goal, report=report, pool=pool, checkpoints=checkpoints)
        )

    return results
