"""`pdb solve`, `pdb search` and `pdb approximate`: solutions of boards."""

from typing import Annotated

import typer

from pdb_core.errors import InputError
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
from tilepdb.commands.solvers import APPROXIMATE, Method, parse_method
from tilepdb.commands.solving import answer_boards


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
    ends in .dat or .pkl, or names a file, is a file of boards. Without boards, the command reads them from standard
    input; at a terminal, it solves the 17 hardest boards of the 15-puzzle (hardest80).
    """
    method = Method(all_solutions=ida_star.all_solutions)
    _check_cluster(cluster, limits, method)
    answer_boards(method, boards, tables, limits, output, lists=ida_star.list_solutions, cluster=cluster)


def _check_cluster(cluster: SolveClusterOptions, limits: LimitOptions, method: Method) -> None:
    """Raise `InputError` if options cannot be combined with those of a cluster."""
    cluster.check(limits.threads)
    if cluster.scheduler is None:
        if cluster.worker_db is not None:
            raise InputError("--worker-db needs --scheduler; give its address, or leave out --worker-db")
        return
    if method.all_solutions:
        raise InputError(
            "a cluster finds one optimal solution, and --all counts all of them; "
            "leave out --scheduler to solve on this machine, with all its cores"
        )


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
    method = parse_method(algorithm, tables.db, ida_star)
    answer_boards(method, boards, tables, limits, output, lists=ida_star.list_solutions)


def approximate(
    boards: SolveBoardOptions,
    tables: TableOptions,
    output: AnswerOptions,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="S",
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
    logged = LoggedAnswerOptions(output.out, output.output)
    answer_boards(method, boards, tables, LimitOptions(time_limit=time_limit), logged)
