"""`pdb solve`: optimal solutions with pattern databases."""

from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass

import typer

from pdb_cli.answers import Outcome
from pdb_cli.board_input import BoardInput
from pdb_cli.cluster import ClusterOptions
from pdb_cli.databases import OpenDatabases
from pdb_cli.options import IdaStarOptions, LimitOptions, LoggedAnswerOptions, SolveBoardOptions, TableOptions
from pdb_cli.output import command
from pdb_cli.read_ahead import as_they_come
from pdb_cli.solve_cluster import WorkerDatabaseOption, cluster_outcomes
from pdb_cli.solvers import Method, frontier_bytes
from pdb_cli.solving import Batch, answer_boards
from pdb_core.errors import InputError


@dataclass(frozen=True)
class SolveClusterOptions(ClusterOptions):
    """Dask cluster to solve on."""

    worker_db: WorkerDatabaseOption = None


@command
def solve(
    boards: SolveBoardOptions,
    tables: TableOptions,
    limits: LimitOptions,
    ida_star: IdaStarOptions,
    cluster: SolveClusterOptions,
    output: LoggedAnswerOptions,
) -> None:
    """Find an optimal solution of each board with pattern databases.

    Without --db, the standard table of the board's size is used, and built the first time. An argument that ends in
    .dat, or names a file, is a text file of boards (docs/files.md). Without boards, a terminal gets the 17 hardest
    boards of the 15-puzzle; otherwise boards are read from standard input.
    """
    method = Method(frontier_bytes=frontier_bytes(ida_star))
    _check_cluster(cluster, limits, ida_star)

    def on_cluster(
        stack: ExitStack, batch: Batch, given: BoardInput, databases: OpenDatabases
    ) -> "Generator[Outcome, None, None]":
        client = stack.enter_context(cluster.connect())
        outcomes = cluster_outcomes(
            client,
            as_they_come(given.instances) if given.is_stdin else given.instances,
            databases,
            batch.goal_of,
            batch.log,
            limits=batch.limits,
            load=tables.load,
            worker_folder=cluster.worker_db,
        )
        return (Outcome(*outcome) for outcome in outcomes)

    answer_boards(method, boards, tables, limits, output, ida_star, on_cluster if cluster.is_given else None)


def _check_cluster(cluster: SolveClusterOptions, limits: LimitOptions, ida_star: IdaStarOptions) -> None:
    """Raise a usage error or `InputError` if options cannot be combined with those of a cluster."""
    cluster.check()
    if cluster.worker_db is not None and cluster.scheduler is None:
        raise typer.BadParameter("needs --scheduler", param_hint="--worker-db")
    if not cluster.is_given:
        return
    option = "--local-cluster" if cluster.scheduler is None else "--scheduler"
    here = f"leave out {option} to solve on this machine, with all its cores"
    if ida_star.all_solutions:
        raise InputError(f"a cluster finds one optimal solution, and --all counts all of them; {here}")
    if ida_star.frontier_memory is not None:
        raise InputError(f"a cluster keeps no nodes near the root; {here}, or leave out --frontier-memory")
    if limits.threads is not None:
        how = "give N of --local-cluster" if cluster.scheduler is None else "set it by dask worker --nthreads"
        raise InputError(f"--threads is for this machine, not for the workers of a cluster; {how}")
