"""The loop of the solving commands: boards in, answers out, in the order of the boards."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from pdb_cli.answers import Answers, Outcome, SolutionList
from pdb_cli.board_input import BoardInput, boards_to_solve
from pdb_cli.databases import OpenDatabases
from pdb_cli.options import IdaStarOptions, LimitOptions, LoggedAnswerOptions, SolveBoardOptions, TableOptions
from pdb_cli.output import Format, prepare
from pdb_cli.read_ahead import in_chunks
from pdb_cli.search_display import SearchDisplay
from pdb_cli.solve_log import SolveLog
from pdb_cli.solvers import Method, Solvers
from pdb_core.errors import MemoryLimitError, UnsolvableError
from solver.algorithms import IDA_STAR, WEIGHTED_A_STAR

if TYPE_CHECKING:
    from pdb_cli.answers import Answer
    from pdb_core.puzzle import Board
    from pdb_query import Instance
    from solver import Checkpoint, Iteration, Limits, WorkerPool
    from solver.progress import Report


class _Job(NamedTuple):
    """Board, its goal, and whether it is searched."""

    instance: "Instance"
    goal: "Board"
    is_searched: bool


@dataclass(frozen=True)
class Batch:
    """Boards with goals to solve by one method, with the log if there is one.

    `listed` returns the function that gets all optimal solutions of the board with an id.
    """

    solvers: Solvers
    goal_of: "Callable[[Instance], Board]"
    limits: "Limits"
    log: SolveLog | None = None
    finds_all: bool = False
    listed: "Callable[[str], Callable[[tuple[int, ...]], None]] | None" = None


def solve_boards(batch: Batch, instances: "Iterable[Instance]", n_threads: int) -> Iterator[Outcome]:
    """Yield the outcome of each board in order, found by threads of this process.

    With a log, boards that have an answer there and boards that come again are not searched. Raises what the solvers
    raise.
    """
    from solver.engine.worker_pool import stream_in_parallel
    from solver.solve import MOST_BOARDS

    log, display = batch.log, SearchDisplay()

    def jobs() -> "Iterator[_Job]":
        for instance in instances:
            goal = batch.goal_of(instance)
            yield _Job(instance, goal, log is None or log.begin(instance.board, goal))

    chunks = in_chunks(jobs(), MOST_BOARDS if _solves_in_batches(batch) else 1, n_threads=n_threads)
    # Answers that the log does not keep: of unsolvable boards, and of those that were given up.
    unlogged: dict[tuple[Board, Board], Answer] = {}
    for found in stream_in_parallel(chunks, partial(_solve_chunk, batch, display), n_threads=n_threads):
        for job, result in found:
            display.clear()
            instance, goal = job.instance, job.goal
            answer = result or unlogged.get((instance.board, goal))
            if answer is None and log is not None:
                answer = log.answer(instance.board, goal, instance.size)
            assert answer is not None  # the first of equal boards comes first
            if log is not None and _is_unlogged(answer):
                unlogged[instance.board, goal] = answer
            yield Outcome(instance, goal, answer)


def _is_unlogged(answer: "Answer") -> bool:
    return isinstance(answer, UnsolvableError | MemoryLimitError) or answer.length is None


def _solves_in_batches(batch: Batch) -> bool:
    """Return True if many boards are searched by one call of the solver: IDA* with tables and without limits."""
    method, limits = batch.solvers.method, batch.limits
    is_limited = limits.seconds is not None or limits.nodes is not None
    return method.search == IDA_STAR and method.uses_databases and not (batch.finds_all or is_limited)


def _solve_chunk(
    batch: Batch, display: SearchDisplay, jobs: list[_Job], report: "Report", pool: "WorkerPool | None"
) -> "Generator[list[tuple[_Job, Answer | None]], None, None]":
    """Yield jobs and their answers in lists of those that are ready; None if the board is not searched."""
    for (_, goal, is_searched), group in groupby(jobs, key=lambda job: (job.instance.size, job.goal, job.is_searched)):
        left = deque(group)
        if not is_searched:
            yield [(job, None) for job in left]
            continue
        for answers in _search(batch, display, [job.instance for job in left], goal, report, pool):
            for answer in answers:
                if batch.log is not None and not isinstance(answer, UnsolvableError | MemoryLimitError):
                    batch.log.add(answer)
            yield [(left.popleft(), answer) for answer in answers]


def _search(
    batch: Batch,
    display: SearchDisplay,
    instances: "list[Instance]",
    goal: "Board",
    report: "Report",
    pool: "WorkerPool | None",
) -> "Generator[Sequence[Answer], None, None]":
    """Yield the answers of boards of one size and goal in lists of those that are ready."""
    from solver import Checkpoint

    checkpoints: dict[int, Checkpoint] = {}

    def checkpoint_of(index: int) -> "Checkpoint":
        log, board = batch.log, instances[index].board
        checkpoints[index] = Checkpoint() if log is None else log.checkpoint(board, goal)
        return checkpoints[index]

    def show(index: int, iteration: "Iteration") -> None:
        report(iteration)
        display.show(instances[index], iteration, checkpoints.get(index) or Checkpoint())

    if not _solves_in_batches(batch):
        for index, instance in enumerate(instances):
            yield [_search_one(batch, instance, goal, partial(show, index), pool, checkpoint_of(index))]
        return
    solver = batch.solvers.table_solver(instances[0].size, goal)
    boards = [instance.board for instance in instances]
    yield from solver.solve_batch(boards, goal, report=show, pool=pool, checkpoints=checkpoint_of)


def _search_one(
    batch: Batch,
    instance: "Instance",
    goal: "Board",
    report: "Report",
    pool: "WorkerPool | None",
    checkpoint: "Checkpoint",
) -> "Answer":
    board, size, limits = instance.board, instance.size, batch.limits
    try:
        if not batch.finds_all:
            return batch.solvers.solve(board, size, goal, limits, report, pool, checkpoint)
        listed = None if batch.listed is None else batch.listed(instance.id)
        return batch.solvers.ida_star_solver(size, goal).solve_all(
            board, goal, listed=listed, limits=limits, report=report, pool=pool, checkpoint=checkpoint
        )
    except (UnsolvableError, MemoryLimitError) as error:
        return error


# Solves boards on a cluster; the stack closes what this opens.
ClusterSolver = Callable[[ExitStack, Batch, BoardInput, OpenDatabases], Generator[Outcome, None, None]]


def answer_boards(
    method: Method,
    options: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    output: LoggedAnswerOptions,
    ida_star: IdaStarOptions,
    on_cluster: ClusterSolver | None = None,
) -> None:
    """Solve the boards of a command, and write the answers. Raises the worst error at the end."""
    _check_list(ida_star, output)
    prepare()
    from solver import Limits

    boards = boards_to_solve(options, tables.db)
    answers = Answers(method.search, method.heuristic, names=boards.names, counts_all=ida_star.all_solutions)
    with ExitStack() as stack:
        databases = stack.enter_context(tables.open())
        log = None
        if output.log is not None:
            log = stack.enter_context(SolveLog(output.log, _logged_method(method, databases, ida_star)))
        n_threads = _n_threads(method, limits.threads, boards)
        batch = Batch(
            Solvers(databases, method, n_at_a_time=n_threads),
            lambda instance: databases.goal_of(instance, boards.goal),
            Limits(seconds=limits.time_limit, nodes=limits.max_nodes),
            log,
            ida_star.all_solutions,
            SolutionList(output.output, boards.names).writer_of if ida_star.list_solutions else None,
        )
        if on_cluster is None:
            outcomes = solve_boards(batch, boards.instances, n_threads)
        else:
            # Closed before the client, which takes back the tasks.
            outcomes = stack.enter_context(closing(on_cluster(stack, batch, boards, databases)))
        answers.write(map(answers.record, outcomes), output)
    answers.finish()


def _check_list(ida_star: IdaStarOptions, output: LoggedAnswerOptions) -> None:
    """Raise a usage error if --list cannot be combined with the other options."""
    if not ida_star.list_solutions:
        return
    if not ida_star.all_solutions:
        raise typer.BadParameter("needs --all", param_hint="--list")
    if output.output not in (Format.text, Format.ndjson):
        raise typer.BadParameter("writes text or ndjson only", param_hint="--list")
    if output.log is not None:
        raise typer.BadParameter("excludes --log, which does not keep the list", param_hint="--list")


def _n_threads(method: Method, threads: int | None, boards: BoardInput) -> int:
    """Return the number of threads. By default one solves boards of standard input, as they come."""
    from pdb_core.resources import available_cores

    if threads is not None:
        return threads
    return available_cores() if method.search == IDA_STAR and not boards.is_stdin else 1


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
