"""`pdb solve`, `pdb search` and `pdb approximate`: solutions of boards."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from pdb_core.errors import InputError
from solver.algorithms import IDA_STAR
from tilepdb.commands.answers import AnswerWriter, solution_list
from tilepdb.commands.board_input import boards_to_solve
from tilepdb.commands.method import APPROXIMATE, Method, parse_method, search_source
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    AlgorithmOptions,
    AnswerOptions,
    IdaStarOptions,
    LimitOptions,
    LoggedAnswerOptions,
    SolveBoardOptions,
    SolveClusterOptions,
    TableOptions,
)
from tilepdb.commands.output import message, plural, prepare
from tilepdb.commands.progress import ClusterDisplay, SearchDisplay
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from solver.answers.log import AnswerLog
    from solver.answers.requests import Answer, AnswerSource, Request


def solve(
    boards: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    ida_star: IdaStarOptions,
    cluster: SolveClusterOptions,
    output: LoggedAnswerOptions,
) -> None:
    """Find optimal solutions of boards with pattern databases.

    Without --db, the standard tables of the board's size are used, which are built at the first use. An argument that
    ends in .dat, or names a file, is a file of boards. Without boards, the command reads them from standard
    input; at a terminal, it solves the 17 hardest boards of the 15-puzzle (hardest80).
    """
    if cluster.scheduler is None and cluster.worker_db is not None:
        raise InputError("--worker-db needs --scheduler; give its address, or leave out --worker-db")
    if cluster.scheduler is not None and ida_star.all_solutions:
        raise InputError(
            "a cluster finds one optimal solution, and --all counts all of them; "
            "leave out --scheduler to solve on this machine, with all its cores"
        )
    cluster.check(limits.threads)
    _answer_boards(Method(all_solutions=ida_star.all_solutions), boards, tables, limits, output, ida_star, cluster)


def search(
    boards: SolveBoardOptions,
    algorithm: AlgorithmOptions,
    tables: TableOptions,
    limits: LimitOptions,
    ida_star: IdaStarOptions,
    output: LoggedAnswerOptions,
) -> None:
    """Solve boards with a textbook search algorithm.

    Compare algorithms and heuristics without building tables. Solutions are optimal, except those of weighted-a-star
    and greedy. Boards are up to 6x6.
    """
    method = parse_method(algorithm, tables.db, all_solutions=ida_star.all_solutions)
    _answer_boards(method, boards, tables, limits, output, ida_star)


def approximate(
    boards: SolveBoardOptions,
    tables: TableOptions,
    output: AnswerOptions,
    time_limit: Annotated[
        float | None,
        Option(
            min=0.0,
            help="Time to improve the solution of each board, in seconds. The default depends on the size, 0.5 to 5.",
            rich_help_panel="Limits",
        ),
    ] = None,
) -> None:
    """Find suboptimal solutions of boards up to 32x32.

    No tables are needed, and each board takes seconds. Each answer has a lower bound on the optimal length, and the gap
    between both. For boards up to 6x6, databases of --db can raise the lower bound.
    """
    method = Method(algorithm=APPROXIMATE, uses_databases=bool(tables.db))
    _answer_boards(method, boards, tables, LimitOptions(time_limit=time_limit), LoggedAnswerOptions(**vars(output)))


def _answer_boards(
    method: Method,
    options: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    output: LoggedAnswerOptions,
    ida_star: IdaStarOptions = IdaStarOptions(),
    cluster: SolveClusterOptions = SolveClusterOptions(),
) -> None:
    """Solve the boards of a command, and write the answers. Raises the worst error at the end."""
    if ida_star.list_solutions:
        _check_list(method, output)
    prepare(method.search)
    from pdb_core.resources import available_cores
    from solver import Limits
    from solver.answers.requests import Hooks

    search_limits = Limits(limits.time_limit, limits.max_nodes)
    with ExitStack() as stack:
        databases = stack.enter_context(OpenDatabases(tables))
        boards = boards_to_solve(options, databases)
        writer = AnswerWriter(method, names=boards.names, has_log=output.log is not None)
        hooks = Hooks()
        if output.log is not None:
            from solver.answers.log import AnswerLog

            log = stack.enter_context(AnswerLog(output.log, method.logged(databases)))
            _report_log(log, output.log, cluster.scheduler is not None)
            hooks = Hooks(log.known, log.add, log.checkpoint)
        display: ClusterDisplay | SearchDisplay
        source: AnswerSource
        if cluster.scheduler is not None:
            from pdb_cluster.boards import ClusterAnswers

            display = ClusterDisplay()
            source = ClusterAnswers(
                stack.enter_context(cluster.connect()),
                databases.databases_for,
                limits=search_limits,
                load=tables.load,
                worker_folder=cluster.worker_db,
                report=display.show_progress,
                hooks=hooks,
            )
        else:
            display = SearchDisplay()
            # By default one thread solves the boards of standard input, each as soon as it is read.
            is_parallel = method.algorithm == IDA_STAR and not boards.is_stdin
            source = search_source(
                method,
                databases,
                search_limits,
                replace(hooks, watch=display.show_search),
                n_threads=limits.threads or (available_cores() if is_parallel else 1),
                listed=solution_list(output.output, boards.names) if ida_star.list_solutions else None,
            )
        stack.enter_context(display)
        requests = (databases.request(instance, boards.goal) for instance in boards.instances)
        # Closed before the client, which takes back the tasks.
        writer.write(stack.enter_context(closing(_answers(source, requests, display))), output)
    writer.finish(databases.seconds)


def _answers(
    source: "AnswerSource", requests: "Iterator[Request]", display: ProgressLine
) -> "Generator[Answer, None, None]":
    for answer in source.answers(requests):
        display.clear()
        yield answer


def _report_log(log: "AnswerLog", path: Path, on_cluster: bool) -> None:
    """Report the boards that are in a log."""
    counts = {"finished": log.n_solved, "unfinished": log.n_unfinished}
    if found := " and ".join(plural(n, f"{kind} board") for kind, n in counts.items() if n):
        again = "; a cluster begins unfinished boards again" if on_cluster and log.n_unfinished else ""
        message(f"{found} in {path}{again}")


def _check_list(method: Method, output: LoggedAnswerOptions) -> None:
    """Raise `InputError` if --list cannot be combined with the other options."""
    if not method.all_solutions:
        raise InputError("--list needs --all; give it, too")
    if output.output not in ("text", "ndjson"):
        raise InputError("--list writes only text or ndjson; give --format text or ndjson")
    if output.notation != "tiles":
        raise InputError("--list writes tiles; leave out --notation")
    if output.log is not None:
        raise InputError("--list cannot be combined with --log, which does not keep the list; leave out one of them")
