"""`pdb build`: make table files."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdb_cli.build_output import (
    PLAN_COLUMNS,
    RESULT_COLUMNS,
    BuildDisplay,
    plan_record,
    plan_text,
    result_record,
    result_text,
)
from pdb_cli.cluster import LocalClusterOption, SchedulerOption, check_cluster_options, cluster_client
from pdb_cli.options import (
    Cost,
    CostOption,
    Encoding,
    EncodingOption,
    FormatOption,
    GoalOption,
    SizeOption,
    ThreadsOption,
    parse_optional_size,
)
from pdb_cli.output import Format, command, message, plural, prepare, write_records

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildResult
    from pdb_cluster import PatternTask
    from pdb_core.pattern import Partition

PartitionsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PARTITION...",
        help="663, 78, 78d, 78v, 96, 555, 8, 6666, 7773, 55554, fringe, auto for any --size, or written out: "
        "1,2,5/3,4,6/7,8. Several joined by + make one file, a catalogue: 78+78d; so do 24-small and "
        "24-large, of seven partitions of the 24-puzzle.",
    ),
]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Table file; PARTITION.h5 by default.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print the memory and the disk that the build takes, and build nothing.")
]
ShardsOption = Annotated[
    int | None,
    typer.Option(
        "--shards",
        min=1,
        max=4096,
        metavar="N",
        help="On a cluster: search each pattern in N shards on all workers. The default is one worker per pattern, and "
        "shards if no worker has the memory.",
        show_default=False,
        rich_help_panel="Cluster",
    ),
]
CheckpointEveryOption = Annotated[
    float,
    typer.Option(
        "--checkpoint-every",
        min=0,
        metavar="SECONDS",
        help="Time between checkpoints of a long build, in FILE.partial. The same command continues from there.",
        rich_help_panel="Checkpoints",
    ),
]
FreshOption = Annotated[
    bool,
    typer.Option("--fresh", help="Remove FILE.partial and start over.", rich_help_panel="Checkpoints"),
]


@command
def build(
    partitions: PartitionsArgument,
    size: SizeOption = None,
    goal: GoalOption = None,
    out: OutOption = None,
    encoding: EncodingOption = "bits",
    cost: CostOption = None,
    threads: ThreadsOption = None,
    dry_run: DryRunOption = False,
    scheduler: SchedulerOption = None,
    local_cluster: LocalClusterOption = None,
    shards: ShardsOption = None,
    checkpoint_every: CheckpointEveryOption = 60.0,
    fresh: FreshOption = False,
    output: FormatOption = Format.text,
) -> None:
    """Build pattern databases: search all patterns of a partition, write a table file, and a report beside it."""
    if out is not None and len(partitions) > 1:
        raise typer.BadParameter("names one file, but several partitions are to be built", param_hint="--out")
    check_cluster_options(scheduler, local_cluster)
    on_cluster = scheduler is not None or local_cluster is not None
    if shards is not None and not on_cluster:
        raise typer.BadParameter("goes with --scheduler or --local-cluster", param_hint="--shards")
    prepare()
    plans = [_plan(partition, size, goal, encoding, cost, out, threads) for partition in partitions]
    if dry_run:
        write_records([plan_record(plan) for plan in plans], output, columns=PLAN_COLUMNS, text=plan_text)
    if on_cluster:
        results = _build_on_cluster(plans, scheduler, local_cluster, shards, dry_run=dry_run, fresh=fresh)
    else:
        results = _build(plans, checkpoint_every, dry_run=dry_run, fresh=fresh)
    if not dry_run:
        write_records([result_record(result) for result in results], output, columns=RESULT_COLUMNS, text=result_text)


def _build(plans: "list[BuildPlan]", checkpoint_every: float, *, dry_run: bool, fresh: bool) -> "list[BuildResult]":
    """Build on this machine. With `dry_run`, only check that memory and disk suffice."""
    from pdb_build import build_database, check_plan

    for plan in plans:
        check_plan(plan)
    results = []
    for plan in [] if dry_run else plans:
        with BuildDisplay(plan) as display:
            results.append(
                build_database(
                    plan, progress=display.show, say=display.say, checkpoint_every_s=checkpoint_every, fresh=fresh
                )
            )
    return results


def _build_on_cluster(
    plans: "list[BuildPlan]",
    scheduler: str | None,
    local_cluster: int | None,
    shards: int | None,
    *,
    dry_run: bool,
    fresh: bool,
) -> "list[BuildResult]":
    """Build on a Dask cluster. With `dry_run`, only print how each pattern would be built."""
    from pdb_cluster import build_on_cluster, check_cluster_plan

    results = []
    with cluster_client(scheduler, local_cluster) as client:
        for plan in plans:
            tasks = check_cluster_plan(plan, client, n_shards=shards)
            if dry_run:
                for line in _task_lines(plan, tasks):
                    message(line)
        for plan in [] if dry_run else plans:
            with BuildDisplay(plan) as display:
                results.append(
                    build_on_cluster(
                        plan,
                        client,
                        n_shards=shards,
                        progress=display.show,
                        say=display.say,
                        fresh=fresh,
                    )
                )
    return results


def _task_lines(plan: "BuildPlan", tasks: "tuple[PatternTask, ...]") -> Iterator[str]:
    from pdb_core.messages import format_bytes

    for task in tasks:
        how = f"in {plural(task.n_shards, 'shard')} on" if task.n_shards else "by one of"
        yield (
            f"pdb: {plan.out}: pattern {plan.patterns[task.index].pattern} {how} "
            f"{plural(len(task.workers), 'worker')}, {format_bytes(task.memory_bytes)} of memory each"
        )


def _plan(
    partition: str,
    size: str | None,
    goal: str | None,
    encoding: Encoding,
    cost: Cost | None,
    out: Path | None,
    threads: int | None,
) -> "BuildPlan":
    from pdb_build import plan_build
    from pdb_core.pattern import named_partitions, parse_partition
    from pdb_core.puzzle import blank_last, parse_goal

    board_size = parse_optional_size(size) or named_partitions().get(partition.strip())
    if board_size is None:
        board_size = parse_partition(partition, None, cost=cost).size
    goal_board = blank_last(board_size) if goal is None else parse_goal(goal, board_size)
    parsed = parse_partition(partition, board_size, goal_board, cost)
    if out is None:
        out = _default_file(parsed)
    return plan_build(board_size, goal_board, parsed, out, encoding=encoding, n_threads=threads)


def _default_file(partition: "Partition") -> Path:
    """Return the file of a partition, named after it, and after its cost unless that is the default."""
    from pdb_core.pattern import default_cost

    name = partition.name.replace("/", "_").replace(",", "-")
    name = name if len(name) <= 80 else "partition"
    if partition.cost != default_cost(partition.name):
        name += f"-{partition.cost}"
    folder = Path("data")
    return (folder if folder.is_dir() else Path()) / f"{name}.h5"
