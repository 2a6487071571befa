"""`pdb solve`: shortest solutions."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from pdb_cli.any_board import refuse_with_any, solve_any
from pdb_cli.board_files import boards_of_files, split_arguments, write_answers
from pdb_cli.cluster import LocalClusterOption, SchedulerOption, check_cluster_options, cluster_client
from pdb_cli.databases import OpenDatabases
from pdb_cli.options import (
    BoardsArgument,
    DatabaseOption,
    FormatOption,
    GoalOption,
    InstancesOption,
    LoadOption,
    MaxNodesOption,
    SizeOption,
    ThreadsOption,
    TimeLimitOption,
    VerifyOption,
    boards_asked_for,
    check_load,
    size_hint,
)
from pdb_cli.output import Format, command, message, prepare
from pdb_cli.read_ahead import as_they_come, unbuffered_input
from pdb_cli.shard import ShardOption, parse_shard
from pdb_cli.solve_batch import COLUMNS, Batch
from pdb_cli.solve_cluster import WorkerDatabaseOption
from pdb_cli.solve_log import LogOption, SolveLog
from pdb_cli.solve_output import Listing, solutions_text
from pdb_cli.solvers import (
    FrontierMemoryOption,
    HeuristicOption,
    MemoryLimitOption,
    Method,
    SearchOption,
    Solvers,
    WeightOption,
    parse_method,
)
from pdb_cli.tile_names import between_boards, names_of_tiles
from pdb_core.errors import InputError
from solver.algorithms import WEIGHTED_A_STAR


@command
def solve(
    boards: BoardsArgument = None,
    db: DatabaseOption = None,
    instances: InstancesOption = None,
    goal: GoalOption = None,
    size: SizeOption = None,
    threads: ThreadsOption = None,
    time_limit: TimeLimitOption = None,
    max_nodes: MaxNodesOption = None,
    search: SearchOption = "ida-star",
    heuristic: HeuristicOption = None,
    weight: WeightOption = None,
    memory_limit: MemoryLimitOption = None,
    frontier_memory: FrontierMemoryOption = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="The textbook's IDA*, without pruning of duplicate moves, to compare node counts."
        ),
    ] = False,
    all_solutions: Annotated[
        bool, typer.Option("--all", help="Count all shortest solutions, searching the last threshold to its end.")
    ] = False,
    list_solutions: Annotated[
        bool, typer.Option("--list", help="With --all, write each as it is found; as text or ndjson.")
    ] = False,
    any_size: Annotated[
        bool,
        typer.Option("--any", help="A good solution, not the shortest, of any board up to 32x32, without tables."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the solutions to a file, position by position."),
    ] = None,
    from_board: Annotated[
        str | None, typer.Option("--from", metavar="BOARD", help="With --to: the way from one board to another.")
    ] = None,
    to_board: Annotated[
        str | None, typer.Option("--to", metavar="BOARD", help="The board that --from leads to.")
    ] = None,
    tiles: Annotated[
        str,
        typer.Option("--tiles", metavar="numbers|letters", help="Letters: tiles are the words of --goal, _ the blank."),
    ] = "numbers",
    log: LogOption = None,
    shard: ShardOption = None,
    scheduler: SchedulerOption = None,
    local_cluster: LocalClusterOption = None,
    worker_db: WorkerDatabaseOption = None,
    load: LoadOption = "map",
    verify: VerifyOption = False,
    output: FormatOption = Format.text,
) -> None:
    """Find a shortest solution of each board, and prove that it is one.

    Without a board, on a terminal, the 17 hardest boards of the 15-puzzle are solved. Without --db the standard table
    of the board's size is used, and built the first time. An argument that ends in .dat, or names a file, is a file of
    boards in plain text (docs/files.md).
    """
    check_load(load)
    own = parse_shard(shard)
    if any_size:
        refuse_with_any(
            {
                "--db": db,
                "--max-nodes": max_nodes,
                "--threads": threads,
                "--plain": plain,
                "--all": all_solutions,
                "--search": search != "ida-star",
                "--heuristic": heuristic,
                "--weight": weight,
                "--memory-limit": memory_limit,
                "--frontier-memory": frontier_memory,
                "--log": log,
                "--scheduler": scheduler,
                "--local-cluster": local_cluster,
                "--verify": verify,
            }
        )
    if list_solutions and not all_solutions:
        raise typer.BadParameter("goes with --all", param_hint="--list")
    if list_solutions and output not in (Format.text, Format.ndjson):
        raise typer.BadParameter("writes text or ndjson", param_hint="--list")
    method = parse_method(
        search, heuristic, db, weight, memory_limit,
        plain=plain, finds_all=all_solutions, frontier_memory=frontier_memory,
    )  # fmt: skip
    check_cluster_options(scheduler, local_cluster)
    on_cluster = scheduler is not None or local_cluster is not None
    if on_cluster:
        _refuse_on_cluster(
            method,
            "--local-cluster" if scheduler is None else "--scheduler",
            counts_all=all_solutions,
            has_threads=threads is not None,
        )
    if worker_db is not None and scheduler is None:
        raise typer.BadParameter("goes with --scheduler", param_hint="--worker-db")
    if log is not None and list_solutions:
        raise typer.BadParameter("goes without --log, which does not keep the list", param_hint="--list")
    prepare()
    boards, goal = between_boards(from_board, to_board, boards, instances, goal)
    files, boards = split_arguments(boards)
    names = names_of_tiles(tiles, goal)
    if names is not None:
        if instances is not None or list_solutions or not (files or boards):
            raise typer.BadParameter(
                "letters goes with boards on the command line or in .dat files, without --list", param_hint="--tiles"
            )
        boards, goal = [names.numbered(board) for board in boards], names.goal
    if not boards and not files and instances is None:
        instances = _default_instances(db)
    hint = size_hint(db, size)
    stdin = unbuffered_input() if instances == "-" and not any_size else None
    asked = own.of(chain(boards_of_files(files, hint, names), boards_asked_for(boards, instances, hint, stdin=stdin)))
    if any_size:
        solve_any(asked, goal, time_limit, output, out, names, COLUMNS)
        return
    with ExitStack() as stack:
        databases = stack.enter_context(OpenDatabases(db, load, verify=verify))
        n_threads = threads or (1 if instances == "-" or method.keeps_nodes else _cores())
        solvers = Solvers(databases, method, n_at_a_time=n_threads)
        listing = Listing(output) if list_solutions else None
        word = str if names is None else names.word
        kept = (
            None
            if log is None
            else stack.enter_context(SolveLog(log, _logged_method(method, databases, all_solutions)))
        )
        batch = Batch(databases, solvers, goal, time_limit, max_nodes, all_solutions, listing, word, kept)
        if on_cluster:
            client = stack.enter_context(cluster_client(scheduler, local_cluster))
            # Closed before the client is, which has to take the tasks back.
            come = asked if instances != "-" else as_they_come(asked)
            answers = batch.cluster_records(client, come, plain=plain, load=load, worker_folder=worker_db)
            records: Iterator[dict[str, Any]] = stack.enter_context(closing(answers))
        else:
            records = batch.records(asked, n_threads)
        write_answers(records, output, out, columns=COLUMNS, text=solutions_text, names=names)
    batch.tell_summary()
    if batch.worst is not None:
        raise batch.worst


def _refuse_on_cluster(method: Method, option: str, *, counts_all: bool, has_threads: bool) -> None:
    """Raise `InputError` for what a cluster does not do; `option` asked for it."""
    here = f"leave out {option} to do it on this machine, with all its cores"
    if counts_all:
        raise InputError(f"a cluster finds one shortest solution, --all counts every one; {here}")
    if method.keeps_nodes:
        raise InputError(
            f"a cluster searches by IDA*, and --search {method.search} keeps its boards in the memory of one machine; "
            f"{here}, or leave out --search"
        )
    if method.heuristics:
        raise InputError(f"a cluster asks tables, not --heuristic {method.heuristic}; {here}, or leave out --heuristic")
    if method.frontier_bytes is not None:
        raise InputError(f"a cluster keeps no nodes near the root; {here}, or leave out --frontier-memory")
    if has_threads:
        how = "give N of --local-cluster" if option == "--local-cluster" else "set it by dask worker --nthreads"
        raise InputError(f"--threads is for this machine, and how many a cluster has is its own affair; {how}")


def _logged_method(method: Method, databases: OpenDatabases, all_solutions: bool) -> dict[str, Any]:
    """What the answers in a log have in common."""
    weight = method.weight if method.search == WEIGHTED_A_STAR else None
    return {
        "search": method.search,
        "heuristic": method.heuristic,
        "weight": weight,
        "plain": method.plain,
        "all": all_solutions,
        "tables": databases.digests() if method.uses_databases else None,
    }


def _default_instances(db: "list[Path] | None") -> str:
    if sys.stdin is None or not sys.stdin.isatty():
        return "-"
    if db:
        from pdb_query import read_table_header

        size = str(read_table_header(db[0]).size)
        if size != "4x4":
            raise InputError(
                f"give a board: the hardest boards are known for 4x4, the tables in {db[0]} are for {size}"
            )
    message("pdb: no board given: solving the 17 boards of the 15-puzzle that take 80 moves, the most there is")
    return "hardest80"


def _cores() -> int:
    from pdb_core.resources import available_cores

    return available_cores()
