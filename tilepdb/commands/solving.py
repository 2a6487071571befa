"""The loop of the solving commands: boards in, answers out, in the order of the boards."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from pdb_core.errors import MemoryLimitError, UnsolvableError
from solver.algorithms import IDA_STAR, WEIGHTED_A_STAR
from tilepdb.commands.answers import Answers, Outcome, solution_list
from tilepdb.commands.board_input import boards_to_solve, in_chunks
from tilepdb.commands.databases import OpenDatabases
from tilepdb.commands.options import (
    IdaStarOptions,
    LimitOptions,
    LoggedAnswerOptions,
    SolveBoardOptions,
    SolveClusterOptions,
    TableOptions,
)
from tilepdb.commands.output import Format, prepare
from tilepdb.commands.progress import ClusterDisplay, SearchDisplay
from tilepdb.commands.solve_log import SolveLog
from tilepdb.commands.solvers import APPROXIMATE, Method, Solvers

if TYPE_CHECKING:
    from pathlib import Path

    from pdb_core.puzzle import Tiles
    from pdb_query import Instance
    from solver import Checkpoint, Iteration, Limits, WorkerPool
    from solver.progress import Report
    from tilepdb.commands.answers import Answer


class _Job(NamedTuple):
    """Board, its goal, and whether it is searched."""

    instance: "Instance"
    goal: "Tiles"
    is_searched: bool


@dataclass(frozen=True)
class Batch:
    """Boards with goals to solve by one method, with the log if there is one.

    `listed` returns the function that gets all optimal solutions of the board with an id.
    """

    solvers: Solvers
    goal_of: "Callable[[Instance], Tiles]"
    limits: "Limits"
    log: SolveLog | None = None
    finds_all: bool = False
    listed: "Callable[[str], Callable[[tuple[int, ...]], None]] | None" = None

    @property
    def is_batched(self) -> bool:
        """Return True if many boards are searched by one call of the solver: IDA* with tables and without limits."""
        method, limits = self.solvers.method, self.limits
        is_limited = limits.seconds is not None or limits.nodes is not None
        return method.search == IDA_STAR and method.uses_databases and not (self.finds_all or is_limited)


def solve_boards(batch: Batch, instances: "Iterable[Instance]", n_threads: int) -> Iterator[Outcome]:
    """Yield the outcome of each board in order, found by threads of this process.

    With a log, boards that have an answer there and boards that come again are not searched. Raises what the solvers
    raise.
    """
    from solver.engine.worker_pool import stream_in_parallel
    from solver.solve import MOST_BOARDS

    log = batch.log

    def jobs() -> "Iterator[_Job]":
        for instance in instances:
            goal = batch.goal_of(instance)
            yield _Job(instance, goal, log is None or log.begin(instance.board, goal))

    chunks = in_chunks(jobs(), MOST_BOARDS if batch.is_batched else 1, n_threads=n_threads)
    with SearchDisplay() as display:
        for (instance, goal, _), found in stream_in_parallel(
            chunks, partial(_solve_chunk, batch, display), n_threads=n_threads
        ):
            display.clear()
            answer = found
            if answer is None and log is not None:
                answer = log.answer(instance.board, goal, instance.size)
            assert answer is not None  # the first of equal boards comes first
            yield Outcome(instance, goal, answer)


def _solve_chunk(
    batch: Batch, display: SearchDisplay, jobs: list[_Job], report: "Report", pool: "WorkerPool | None"
) -> "Generator[tuple[_Job, Answer | None], None, None]":
    """Yield jobs and their answers, None if the board is not searched."""
    for (_, goal, is_searched), group in groupby(jobs, key=lambda job: (job.instance.size, job.goal, job.is_searched)):
        same = list(group)
        answers = _search(batch, display, [job.instance for job in same], goal, report, pool)
        for answer, job in zip(answers if is_searched else repeat(None), same, strict=False):
            if answer is not None and batch.log is not None:
                batch.log.add(job.instance.board, goal, answer)
            yield job, answer


def _search(
    batch: Batch,
    display: SearchDisplay,
    instances: "list[Instance]",
    goal: "Tiles",
    report: "Report",
    pool: "WorkerPool | None",
) -> "Iterator[Answer]":
    """Yield the answers of boards of one size and goal."""
    from solver import Checkpoint

    checkpoints: dict[int, Checkpoint] = {}

    def checkpoint_of(index: int) -> "Checkpoint":
        log, board = batch.log, instances[index].board
        checkpoints[index] = Checkpoint() if log is None else log.checkpoint(board, goal)
        return checkpoints[index]

    def show(index: int, iteration: "Iteration") -> None:
        report(iteration)
        display.show_search(instances[index], iteration, checkpoints.get(index) or Checkpoint())

    if batch.is_batched:
        solver = batch.solvers.solver(instances[0].size, goal)
        boards = [instance.board for instance in instances]
        for answers in solver.solve_batch(boards, goal, report=show, pool=pool, checkpoints=checkpoint_of):
            yield from answers
        return
    for index, instance in enumerate(instances):
        answer: Answer
        try:
            answer = _search_one(batch, instance, goal, partial(show, index), pool, checkpoint_of(index))
        except (UnsolvableError, MemoryLimitError) as error:
            answer = error
        yield answer


def _search_one(
    batch: Batch,
    instance: "Instance",
    goal: "Tiles",
    report: "Report",
    pool: "WorkerPool | None",
    checkpoint: "Checkpoint",
) -> Any:
    from solver import find_suboptimal_solution

    board, size, limits, method = instance.board, instance.size, batch.limits, batch.solvers.method
    search = method.search
    if search == APPROXIMATE:
        databases = batch.solvers.databases.databases_for(size, goal) if method.uses_databases else ()
        return find_suboptimal_solution(board, goal, size, time_limit=limits.seconds, databases=databases)
    solver = batch.solvers.solver(size, goal)
    if search != IDA_STAR:
        return solver.solve(board, limits=limits, report=report)
    solve = solver.solve
    if batch.finds_all:
        solve = partial(solver.solve_all, listed=None if batch.listed is None else batch.listed(instance.id))
    return solve(board, goal, limits=limits, report=report, pool=pool, checkpoint=checkpoint)


def cluster_outcomes(
    batch: Batch, client: Any, instances: "Iterable[Instance]", load: str, worker_folder: "Path | None"
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each board in order, found on a cluster. Boards in the log are not searched."""
    from pdb_cluster.solve_boards import ClusterAnswers
    from solver.requests import Request

    log = batch.log
    taken: deque[Instance] = deque()

    def requests() -> "Iterator[Request]":
        for instance in instances:
            taken.append(instance)
            yield Request(instance.id, instance.board, batch.goal_of(instance))

    with ClusterDisplay() as display:
        source = ClusterAnswers(
            client,
            batch.solvers.databases.databases_for,
            limits=batch.limits,
            load=load,  # type: ignore[arg-type]
            worker_folder=worker_folder,
            known=None if log is None else lambda request: log.answer(request.board, request.goal, request.size),
            finished=None if log is None else lambda at: log.add(at.request.board, at.request.goal, at.result),
            report=display.show_progress,
        )
        for answer in source.answers(requests()):
            display.clear()
            yield Outcome(taken.popleft(), answer.request.goal, answer.result)


def answer_boards(
    method: Method,
    options: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    output: LoggedAnswerOptions,
    ida_star: IdaStarOptions,
    cluster: SolveClusterOptions | None = None,
) -> None:
    """Solve the boards of a command, and write the answers. Raises the worst error at the end."""
    _check_list(ida_star, output)
    prepare()
    from pdb_core.resources import available_cores
    from solver import Limits

    boards = boards_to_solve(options, tables.db)
    answers = Answers(
        method.search,
        method.heuristic,
        names=boards.names,
        counts_all=ida_star.all_solutions,
        has_log=output.log is not None,
    )
    # By default one thread solves the boards of standard input, each as soon as it is read.
    n_threads = limits.threads or (available_cores() if method.search == IDA_STAR and not boards.is_stdin else 1)
    with ExitStack() as stack:
        databases = stack.enter_context(tables.open())
        log = None
        if output.log is not None:
            log = stack.enter_context(SolveLog(output.log, _logged_method(method, databases, ida_star)))
        batch = Batch(
            Solvers(databases, method, n_at_a_time=n_threads),
            lambda instance: databases.goal_of(instance, boards.goal),
            Limits(seconds=limits.time_limit, nodes=limits.max_nodes),
            log,
            ida_star.all_solutions,
            solution_list(output.output, boards.names) if ida_star.list_solutions else None,
        )
        outcomes = solve_boards(batch, boards.instances, n_threads)
        if cluster is not None and cluster.scheduler is not None:
            client = stack.enter_context(cluster.connect())
            # Closed before the client, which takes back the tasks.
            outcomes = stack.enter_context(
                closing(cluster_outcomes(batch, client, boards.instances, tables.load, cluster.worker_db))
            )
        answers.write(map(answers.record, outcomes), output)
    answers.finish()


def _check_list(ida_star: IdaStarOptions, output: LoggedAnswerOptions) -> None:
    """Raise a usage error if --list cannot be combined with the other options."""
    if not ida_star.list_solutions:
        return
    if not ida_star.all_solutions:
        raise typer.BadParameter("needs --all; give it, too", param_hint="--list")
    if output.output not in (Format.text, Format.ndjson):
        raise typer.BadParameter("writes only text or ndjson; give --format text or ndjson", param_hint="--list")
    if output.log is not None:
        raise typer.BadParameter(
            "cannot be combined with --log, which does not keep the list; leave out one of them", param_hint="--list"
        )


def _logged_method(method: Method, databases: OpenDatabases, ida_star: IdaStarOptions) -> dict[str, Any]:
    """Return the settings that all answers in a log share."""
    return {
        "search": method.search,
        "heuristic": method.heuristic,
        "weight": method.weight if method.search == WEIGHTED_A_STAR else None,
        "plain": method.plain,
        "all": ida_star.all_solutions,
        "tables": databases.digests() if method.uses_databases else None,
    }
