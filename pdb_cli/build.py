"""`pdb build`: make table files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

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
from pdb_cli.cluster import ClusterOptions
from pdb_cli.options import (
    CostOption,
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


@dataclass(frozen=True)
class FileOptions:
    """Table file to build."""

    title: ClassVar[str] = "Table file"
    size: SizeOption = None
    goal: GoalOption = None
    encoding: EncodingOption = "bits"
    cost: CostOption = None
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Table file; PARTITION.h5 by default.")] = (
        None
    )


@dataclass(frozen=True)
class RunOptions:
    """Run of a build, and its checkpoints."""

    title: ClassVar[str] = "Run"
    threads: ThreadsOption = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the memory and the disk that the build takes, and build nothing.")
    ] = False
    checkpoint_every: Annotated[
        float,
        typer.Option(
            "--checkpoint-every",
            min=0,
            metavar="SECONDS",
            help="Time between checkpoints of a long build, in FILE.partial. The same command continues from there.",
        ),
    ] = 60.0
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove FILE.partial and start over.")] = False


@dataclass(frozen=True)
class BuildClusterOptions(ClusterOptions):
    """Dask cluster to build on."""

    shards: Annotated[
        int | None,
        typer.Option(
            "--shards",
            min=1,
            max=4096,
            metavar="N",
            help="On a cluster: search each pattern in N shards on all workers. The default is one worker per pattern, "
            "and shards if no worker has the memory.",
            show_default=False,
        ),
    ] = None


@command
def build(
    partitions: PartitionsArgument,
    file: FileOptions,
    run: RunOptions,
    cluster: BuildClusterOptions,
    output: FormatOption = Format.text,
) -> None:
    """Build pattern databases: search all patterns of a partition, write a table file, and a report beside it."""
    if file.out is not None and len(partitions) > 1:
        raise typer.BadParameter("names one file, but several partitions are to be built", param_hint="--out")
    cluster.check()
    if cluster.shards is not None and not cluster.is_given:
        raise typer.BadParameter("goes with --scheduler or --local-cluster", param_hint="--shards")
    prepare()
    plans = [_plan(partition, file, run.threads) for partition in partitions]
    if run.dry_run:
        write_records([plan_record(plan) for plan in plans], output, columns=PLAN_COLUMNS, text=plan_text)
    results = _build_on_cluster(plans, cluster, run) if cluster.is_given else _build(plans, run)
    if not run.dry_run:
        write_records([result_record(result) for result in results], output, columns=RESULT_COLUMNS, text=result_text)


def _build(plans: "list[BuildPlan]", run: RunOptions) -> "list[BuildResult]":
    """Build on this machine. With --dry-run, only check that memory and disk suffice."""
    from pdb_build import build_database, check_plan

    for plan in plans:
        check_plan(plan)
    results = []
    for plan in [] if run.dry_run else plans:
        with BuildDisplay(plan) as display:
            results.append(
                build_database(
                    plan,
                    progress=display.show,
                    say=display.say,
                    checkpoint_every_s=run.checkpoint_every,
                    fresh=run.fresh,
                )
            )
    return results


def _build_on_cluster(plans: "list[BuildPlan]", cluster: BuildClusterOptions, run: RunOptions) -> "list[BuildResult]":
    """Build on a Dask cluster. With --dry-run, only print how each pattern would be built."""
    from pdb_cluster import build_on_cluster, check_cluster_plan

    results = []
    with cluster.connect() as client:
        for plan in plans:
            tasks = check_cluster_plan(plan, client, n_shards=cluster.shards)
            if run.dry_run:
                for line in _task_lines(plan, tasks):
                    message(line)
        for plan in [] if run.dry_run else plans:
            with BuildDisplay(plan) as display:
                results.append(
                    build_on_cluster(
                        plan,
                        client,
                        n_shards=cluster.shards,
                        progress=display.show,
                        say=display.say,
                        fresh=run.fresh,
                    )
                )
    return results


def _task_lines(plan: "BuildPlan", tasks: "list[PatternTask]") -> Iterator[str]:
    from pdb_core.messages import format_bytes

    for task in tasks:
        how = f"in {plural(task.n_shards, 'shard')} on" if task.n_shards > 1 else "by one of"
        yield (
            f"pdb: {plan.out}: pattern {plan.patterns[task.index].pattern} {how} "
            f"{plural(len(task.workers), 'worker')}, {format_bytes(task.memory_bytes)} of memory each"
        )


def _plan(partition: str, file: FileOptions, threads: int | None) -> "BuildPlan":
    """Return the plan of one table file. Raises `InputError` if the options describe none."""
    from pdb_build import plan_build
    from pdb_core.pattern import parse_partition
    from pdb_core.puzzle import blank_last, parse_goal

    size = parse_optional_size(file.size) or parse_partition(partition, None, cost=file.cost).size
    goal = blank_last(size) if file.goal is None else parse_goal(file.goal, size)
    parsed = parse_partition(partition, size, goal, file.cost)
    return plan_build(size, goal, parsed, file.out or _default_file(parsed), encoding=file.encoding, n_threads=threads)


def _default_file(partition: "Partition") -> Path:
    """Return the file of a partition, named after it, and after its cost unless that is the default."""
    from pdb_core.pattern import default_cost

    name = partition.name.replace("/", "_").replace(",", "-")
    name = name if len(name) <= 80 else "partition"
    if partition.cost != default_cost(partition.name):
        name += f"-{partition.cost}"
    folder = Path("data")
    return (folder if folder.is_dir() else Path()) / f"{name}.h5"
