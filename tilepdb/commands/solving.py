"""Boards in the solving commands: reader, requests, a source of answers, the writer; and the log."""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdb_core.errors import InputError
from solver.algorithms import IDA_STAR
from tilepdb.commands.answers import AnswerWriter, solution_list
from tilepdb.commands.board_input import boards_to_solve
from tilepdb.commands.databases import OpenDatabases
from tilepdb.commands.options import (
    LimitOptions,
    LoggedAnswerOptions,
    SolveBoardOptions,
    SolveClusterOptions,
    TableOptions,
)
from tilepdb.commands.output import message, plural, prepare
from tilepdb.commands.progress import ClusterDisplay, SearchDisplay
from tilepdb.commands.solvers import APPROXIMATE, Method, solvers
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from solver import Checkpoint, Limits, Solution, WorkerPool
    from solver.answers.log import AnswerLog
    from solver.answers.requests import Answer, AnswerSource, Request
    from solver.progress import Report

    ListSolutions = Callable[[str, tuple[int, ...]], None]


def answer_boards(
    method: Method,
    options: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    output: LoggedAnswerOptions,
    *,
    lists: bool = False,
    cluster: SolveClusterOptions | None = None,
) -> None:
    """Solve the boards of a command, and write the answers. Raises the worst error at the end."""
    if lists:
        _check_list(method, output)
    prepare()
    from pdb_core.resources import available_cores
    from solver import Limits

    boards = boards_to_solve(options, tables.db)
    has_log = output.log is not None
    writer = AnswerWriter(method, names=boards.names, has_log=has_log)
    # By default one thread solves the boards of standard input, each as soon as it is read.
    n_threads = limits.threads or (available_cores() if method.algorithm == IDA_STAR and not boards.is_stdin else 1)
    search_limits = Limits(limits.time_limit, limits.max_nodes)
    with ExitStack() as stack:
        databases = stack.enter_context(tables.open())
        hooks: dict[str, Any] = {}
        if output.log is not None:
            log = stack.enter_context(_opened_log(output.log, _logged_method(method, databases)))
            hooks = {"known": log.known, "finished": log.add}
        display: ClusterDisplay | SearchDisplay
        source: AnswerSource
        if cluster is not None and cluster.scheduler is not None:
            from pdb_cluster.solve.boards import ClusterAnswers

            display = ClusterDisplay()
            source = ClusterAnswers(
                stack.enter_context(cluster.connect()),
                databases.databases_for,
                limits=search_limits,
                load=tables.load,
                worker_folder=cluster.worker_db,
                report=display.show_progress,
                **hooks,
            )
        else:
            display = SearchDisplay()
            if output.log is not None:
                hooks["checkpoint_of"] = log.checkpoint
            listed = solution_list(output.output, boards.names) if lists else None
            hooks |= {"n_threads": n_threads, "watch": display.show_search}
            source = search_source(method, databases, search_limits, listed=listed, **hooks)
        stack.enter_context(display)
        requests = (databases.request(instance, boards.goal) for instance in boards.instances)
        # Closed before the client, which takes back the tasks.
        answers = stack.enter_context(closing(_answers(source, requests, display)))
        writer.write(answers, output)
    writer.finish()


def _answers(
    source: "AnswerSource", requests: "Iterator[Request]", display: ProgressLine
) -> "Generator[Answer, None, None]":
    for answer in source.answers(requests):
        display.clear()
        yield answer


def search_source(
    method: Method,
    databases: OpenDatabases,
    limits: "Limits",
    *,
    n_threads: int = 1,
    listed: "ListSolutions | None" = None,
    **hooks: Any,
) -> "AnswerSource":
    """Return the source of answers that searches by a method in threads of this process.

    `listed` gets all optimal solutions of each board, with its id. `hooks` are those of the sources.
    """
    from solver.answers.sources import BatchAnswers, SingleAnswers

    is_limited = limits.time_limit is not None or limits.max_nodes is not None
    is_ida_star = method.algorithm == IDA_STAR
    solver_for = solvers(method, databases, n_at_a_time=n_threads)
    if is_ida_star and method.uses_databases and not (method.all_solutions or is_limited):
        return BatchAnswers(solver_for, n_threads=n_threads, **hooks)

    def search(request: "Request", report: "Report", pool: "WorkerPool | None", checkpoint: "Checkpoint") -> "Solution":
        if method.algorithm == APPROXIMATE:
            from solver import find_suboptimal_solution  # loads kernels that no other search needs

            used = databases.databases_for(request.size, request.goal) if method.uses_databases else ()
            return find_suboptimal_solution(
                request.board, request.goal, request.size, time_limit=limits.time_limit, databases=used
            )
        solver = solver_for(request.size, request.goal)
        solve, how = solver.solve, {"limits": limits, "report": report}
        if is_ida_star:
            how |= {"goal": request.goal, "pool": pool, "checkpoint": checkpoint}
        if method.all_solutions:
            solve, how["listed"] = solver.solve_all, None if listed is None else partial(listed, request.id)
        solution: Solution = solve(request.board, **how)
        return solution

    return SingleAnswers(search, n_threads=n_threads, **hooks)


@contextmanager
def _opened_log(path: Path, method: dict[str, Any]) -> "Iterator[AnswerLog]":
    """Open the log of a command, and report what it has."""
    from solver.answers.log import AnswerLog

    with AnswerLog(path, method) as log:
        counts = {"finished": log.n_solved, "unfinished": log.n_unfinished}
        if any(counts.values()):
            found = " and ".join(plural(n, f"{kind} board") for kind, n in counts.items() if n)
            message(f"{found} in {path}")
        yield log


def _check_list(method: Method, output: LoggedAnswerOptions) -> None:
    """Raise `InputError` if --list cannot be combined with the other options."""
    if not method.all_solutions:
        raise InputError("--list needs --all; give it, too")
    if output.output not in ("text", "ndjson"):
        raise InputError("--list writes only text or ndjson; give --format text or ndjson")
    if output.log is not None:
        raise InputError("--list cannot be combined with --log, which does not keep the list; leave out one of them")


def _logged_method(method: Method, databases: OpenDatabases) -> dict[str, Any]:
    """Return the settings that all answers in a log share."""
    return {
        "algorithm": method.algorithm,
        "heuristic": method.heuristic,
        "weight": method.weight,
        "plain": method.plain,
        "all": method.all_solutions,
        "tables": databases.digests() if method.uses_databases else None,
    }
