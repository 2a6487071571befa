"""`pdb solve`, `pdb search` and `pdb approximate`: solutions of boards."""

import functools
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from pdb_core.errors import InputError
from solver.algorithms import IDA_STAR
from solver.progress import Limits
from tilepdb.commands.answers import AnswerWriter
from tilepdb.commands.board_input import boards_to_solve
from tilepdb.commands.method import APPROXIMATE, Method, parse_method
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    AlgorithmOptions,
    AllSolutionsOption,
    AnswerOptions,
    LimitOptions,
    LoggedAnswerOptions,
    SolveBoardOptions,
    SolveClusterOptions,
    TableOptions,
)
from tilepdb.commands.output import clock, message, plural
from tilepdb.commands.progress import ClusterDisplay, show_search
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_core.board_size import BoardSize
    from pdb_core.puzzle import Tiles
    from solver.answers.log import AnswerLog
    from solver.answers.requests import Request
    from solver.answers.sources import ThreadedAnswers
    from solver.engine.checkpoint import Checkpoint
    from solver.engine.worker_pool import WorkerPool
    from solver.progress import Report
    from solver.solution import Solution


def solve(
    boards: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    cluster: SolveClusterOptions,
    output: LoggedAnswerOptions,
    all_solutions: AllSolutionsOption = False,
) -> None:
    """Find optimal solutions of boards with pattern databases.

    Without --db, the standard tables of the board's size are used, which are built at the first use. An argument that
    ends in .dat, or names a file, is a file of boards. Without boards, the command reads them from standard
    input; at a terminal, it solves the 17 hardest boards of the 15-puzzle (hardest80).

    Examples:
      pdb solve "8 6 7/2 5 4/3 0 1"
      pdb solve --db data/663.h5 "15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"
      pdb solve --db data/663.h5 --instances hardest80 --format csv
    """
    if cluster.scheduler is None and cluster.worker_db is not None:
        raise InputError("--worker-db needs --scheduler; give its address, or leave out --worker-db")
    if cluster.scheduler is not None and all_solutions:
        raise InputError(
            "a cluster finds one optimal solution, and --all counts all of them; "
            "leave out --scheduler to solve on this machine, with all its cores"
        )
    cluster.check(limits.threads)
    _answer_boards(Method(all_solutions=all_solutions), boards, tables, limits, output, cluster)


def search(
    boards: SolveBoardOptions,
    algorithm: AlgorithmOptions,
    tables: TableOptions,
    limits: LimitOptions,
    output: LoggedAnswerOptions,
    all_solutions: AllSolutionsOption = False,
) -> None:
    """Solve boards with a textbook search algorithm.

    Compare algorithms and heuristics without building tables. Solutions are optimal, except those of weighted-a-star
    and greedy. Boards are up to 6x6.

    Examples:
      pdb search "8 6 7/2 5 4/3 0 1"
      pdb search --algorithm a-star --heuristic linear-conflict "8 6 7/2 5 4/3 0 1"
    """
    method = parse_method(algorithm, tables.db, all_solutions=all_solutions)
    _answer_boards(method, boards, tables, limits, output)


def approximate(
    boards: SolveBoardOptions,
    tables: TableOptions,
    output: AnswerOptions,
    time_limit: Annotated[
        float | None,
        Option(
            min=0.0,
            help="Time to improve the solution of each board, in seconds. The default depends on the size, 0.5 to 5.",
        ),
    ] = None,
) -> None:
    """Find suboptimal solutions of boards up to 32x32.

    No tables are needed, and each board takes seconds. Each answer has a lower bound on the optimal length, and the gap
    between both. For boards up to 6x6, databases of --db can raise the lower bound.

    Examples:
      pdb approximate --goal blank-first "1 4 2/3 0 5/6 7 8"
      pdb approximate --instances korf50-24puzzle --format csv
    """
    method = Method(algorithm=APPROXIMATE, uses_databases=bool(tables.db))
    _answer_boards(method, boards, tables, LimitOptions(time_limit=time_limit), LoggedAnswerOptions(**vars(output)))


def _answer_boards(
    method: Method,
    options: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    output: LoggedAnswerOptions,
    cluster: SolveClusterOptions = SolveClusterOptions(),
) -> None:
    """Solve the boards of a command, and write the answers. Raises the worst error at the end."""
    from pdb_core.resources import available_cores
    from solver.answers.log import AnswerLog
    from solver.answers.requests import Log

    search_limits = Limits(limits.time_limit, limits.max_nodes)
    with ExitStack() as stack:
        databases = stack.enter_context(OpenDatabases(tables))
        boards = boards_to_solve(options, databases)
        log = None
        if output.log is not None:
            log = stack.enter_context(AnswerLog(output.log, method.logged(databases)))
            _report_log(log, output.log, cluster.scheduler is not None)
        cluster_display = ClusterDisplay()
        display = ProgressLine(message) if cluster.scheduler is None else cluster_display
        writer = AnswerWriter(method, boards.names, stack.enter_context(display))
        source: Any
        if cluster.scheduler is not None:
            from pdb_cluster.boards import ClusterAnswers

            source = ClusterAnswers(
                stack.enter_context(cluster.connect()),
                databases.databases_for,
                limits=search_limits,
                load=tables.load,
                worker_folder=cluster.worker_db,
                report=cluster_display.show_progress,
                log=log or Log(),
            )
        else:
            # By default one thread solves the boards of standard input, each as soon as it is read.
            is_parallel = method.algorithm == IDA_STAR and not boards.is_stdin
            source = search_source(
                method,
                databases,
                search_limits,
                log=log or Log(),
                watch=lambda *at: show_search(display, *at, n_done=writer.n_boards),
                n_threads=limits.threads or (available_cores() if is_parallel else 1),
            )
        requests = (databases.request(instance, boards.goal) for instance in boards.instances)
        # Closed before the client, which takes back the tasks.
        writer.write(stack.enter_context(closing(source.answers(requests))), output)
    writer.finish(databases.seconds, log)


def search_source(
    method: Method,
    databases: OpenDatabases,
    limits: Limits,
    *,
    n_threads: int,
    **hooks: Any,
) -> "ThreadedAnswers":
    """Return the source of answers that searches by a method in threads of this process.

    `hooks` are those of `ThreadedAnswers`.
    """
    from solver.answers.sources import ThreadedAnswers, in_batches, one_by_one
    from solver.engine.search import MOST_BOARDS

    is_limited = limits.time_limit is not None or limits.max_nodes is not None
    is_ida_star = method.algorithm == IDA_STAR
    solver_for = solvers(method, databases, n_at_a_time=n_threads)
    if is_ida_star and method.uses_databases and not (method.all_solutions or is_limited):
        return ThreadedAnswers(in_batches(solver_for), MOST_BOARDS, n_threads=n_threads, **hooks)

    def search(request: "Request", report: "Report", pool: "WorkerPool | None", checkpoint: "Checkpoint") -> "Solution":
        if method.algorithm == APPROXIMATE:
            used = databases.databases_for(request.size, request.goal) if method.uses_databases else ()
            from solver.approximate.suboptimal import find_suboptimal_solution

            return find_suboptimal_solution(request.board, request.goal, time_limit=limits.time_limit, databases=used)
        made = solver_for(request.size, request.goal)
        options: dict[str, Any] = {"limits": limits, "report": report}
        if is_ida_star:
            options |= {"goal": request.goal, "pool": pool, "checkpoint": checkpoint}
        solution: Solution = (made.solve_all if method.all_solutions else made.solve)(request.board, **options)
        return solution

    return ThreadedAnswers(one_by_one(search), n_threads=n_threads, **hooks)


def solvers(method: Method, databases: OpenDatabases, *, n_at_a_time: int) -> "Callable[[BoardSize, Tiles], Any]":
    """Return a function that returns the solver for a size and a goal, made when it is first needed. Thread-safe.

    It is a `Solver`, a `HeuristicSolver` or a `GraphSolver`. `n_at_a_time` boards share the memory limits. The function
    raises `TableMismatchError`, `InputError`.
    """
    from solver.solve import Solver

    lock = threading.Lock()
    # A solver with tables serves several goals.
    of_tables = functools.cache(lambda *tables: Solver(*tables, plain=method.plain))

    @functools.cache
    def make(size: "BoardSize", goal: "Tiles") -> Any:
        tables = databases.databases_for(size, goal) if method.uses_databases else ()
        # Each kind of solver loads kernels that the others do not need.
        if method.algorithm != IDA_STAR:
            from pdb_core.resources import available_memory
            from solver.graph_search.graph_search import GraphSolver

            limit = method.memory_limit_bytes
            if limit is None:
                limit = available_memory() * 3 // 4
            return GraphSolver(
                size,
                goal,
                algorithm=method.algorithm,
                heuristics=method.heuristics,
                databases=tables,
                weight=method.weight,
                memory_limit_bytes=limit // n_at_a_time,
            )
        if method.heuristics:
            from solver.heuristics.heuristic_solver import HeuristicSolver

            return HeuristicSolver(size, goal, method.heuristics, plain=method.plain)
        return of_tables(*tables)

    def solver_for(size: "BoardSize", goal: "Tiles") -> Any:
        with lock:
            start = clock()
            made = make(size, goal)
            databases.seconds += clock() - start
            return made

    return solver_for


def _report_log(log: "AnswerLog", path: Path, on_cluster: bool) -> None:
    """Report the boards that are in a log."""
    counts = {"finished": log.n_solved, "unfinished": log.n_unfinished}
    if found := " and ".join(plural(n, f"{kind} board") for kind, n in counts.items() if n):
        again = "; a cluster begins unfinished boards again" if on_cluster and log.n_unfinished else ""
        message(f"{found} in {path}{again}")
