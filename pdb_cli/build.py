"""`pdb build`: make table files."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.cluster import LocalClusterOption, SchedulerOption, check_cluster_options, cluster_client
from pdb_cli.options import (
    CostOption,
    EncodingOption,
    FormatOption,
    GoalOption,
    SizeOption,
    ThreadsOption,
    parse_cost,
    parse_encoding,
    parse_optional_size,
)
from pdb_cli.output import Format, command, count, message, on_terminal, plural, prepare, write_records

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress, BuildResult
    from pdb_cluster import PatternTask
    from pdb_core.pattern import Partition

# Seconds between two lines of a log.
_LOG_S = 10.0


@command
def build(
    partitions: Annotated[
        list[str],
        typer.Argument(
            metavar="PARTITION...",
            help="663, 78, 78d, 78v, 96, 555, 8, 6666, 7773, 55554, fringe, auto for any --size, or written out: "
            "1,2,5/3,4,6/7,8. Several joined by + make one file, a catalogue: 78+78d; so do 24-small and "
            "24-large, of seven partitions of the 24-puzzle.",
        ),
    ],
    size: SizeOption = None,
    goal: GoalOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write; PARTITION.h5 by default.")
    ] = None,
    encoding: EncodingOption = "bits",
    cost: CostOption = None,
    threads: ThreadsOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, build nothing.")] = False,
    scheduler: SchedulerOption = None,
    local_cluster: LocalClusterOption = None,
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards",
            min=1,
            max=4096,
            metavar="N",
            help="On a cluster: share out each pattern among the workers, in N shards; done by itself where a pattern "
            "is too large for the memory of each worker.",
            show_default=False,
        ),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(
            "--checkpoint-every",
            min=0,
            metavar="SECONDS",
            help="A build that takes longer keeps what it has done, in FILE.partial, and the same command goes on from "
            "there.",
        ),
    ] = 60.0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, whatever an earlier build has kept in FILE.partial.")
    ] = False,
    output: FormatOption = Format.text,
) -> None:
    """Build a pattern database: search all patterns of a partition, write one table file and a report beside it."""
    parse_encoding(encoding)
    parse_cost(cost)
    if out is not None and len(partitions) > 1:
        raise typer.BadParameter("names one file, but several partitions are to be built", param_hint="--out")
    check_cluster_options(scheduler, local_cluster)
    on_cluster = scheduler is not None or local_cluster is not None
    if shards is not None and not on_cluster:
        raise typer.BadParameter("goes with --scheduler or --local-cluster", param_hint="--shards")
    prepare()
    from pdb_build import build_database, check_plan

    plans = [_plan(partition, size, goal, encoding, cost, out, threads) for partition in partitions]
    if dry_run:
        write_records([_plan_record(plan) for plan in plans], output, columns=_PLAN_COLUMNS, text=_plan_text)
    if on_cluster:
        results = _build_on_cluster(plans, scheduler, local_cluster, shards, dry_run=dry_run, fresh=fresh)
        if not dry_run:
            write_records(
                [_result_record(result) for result in results], output, columns=_RESULT_COLUMNS, text=_result_text
            )
        return
    for plan in plans:
        check_plan(plan)
    if dry_run:
        return
    results = []
    for plan in plans:
        with _BuildDisplay(plan) as display:
            results.append(
                build_database(
                    plan, progress=display.show, say=display.say, checkpoint_every_s=checkpoint_every, fresh=fresh
                )
            )
    write_records([_result_record(result) for result in results], output, columns=_RESULT_COLUMNS, text=_result_text)


def _build_on_cluster(
    plans: "list[BuildPlan]",
    scheduler: str | None,
    local_cluster: int | None,
    shards: int | None,
    *,
    dry_run: bool,
    fresh: bool,
) -> "list[BuildResult]":
    """Build on a Dask cluster; with `dry_run` only say how, or that there is no room."""
    from pdb_cluster import build_on_cluster, check_cluster_plan

    results = []
    with cluster_client(scheduler, local_cluster) as client:
        for plan in plans:
            tasks = check_cluster_plan(plan, client, n_shards=shards)
            if dry_run:
                for line in _task_lines(plan, tasks):
                    message(line)
        for plan in [] if dry_run else plans:
            with _BuildDisplay(plan) as display:
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
    encoding: str,
    cost: str | None,
    out: Path | None,
    threads: int | None,
) -> "BuildPlan":
    from pdb_build import plan_build
    from pdb_core.pattern import named_partitions, parse_partition
    from pdb_core.puzzle import blank_last, parse_goal

    board_size = parse_optional_size(size) or named_partitions().get(partition.strip())
    if board_size is None:
        board_size = parse_partition(partition, None, cost=parse_cost(cost)).size
    goal_board = blank_last(board_size) if goal is None else parse_goal(goal, board_size)
    parsed = parse_partition(partition, board_size, goal_board, parse_cost(cost))
    if out is None:
        out = _default_file(parsed)
    return plan_build(board_size, goal_board, parsed, out, encoding=parse_encoding(encoding), n_threads=threads)


def _default_file(partition: "Partition") -> Path:
    """The name of the partition; with its cost, where the name stands for another."""
    from pdb_core.pattern import default_cost

    name = partition.name.replace("/", "_").replace(",", "-")
    name = name if len(name) <= 80 else "partition"
    if partition.cost != default_cost(partition.name):
        name += f"-{partition.cost}"
    folder = Path("data")
    return (folder if folder.is_dir() else Path()) / f"{name}.h5"


_PLAN_COLUMNS = ("file", "partition", "size", "entries", "memory_bytes", "disk_bytes")
_RESULT_COLUMNS = ("file", "partition", "size", "entries", "seconds", "peak_memory_bytes", "report")


def _plan_record(plan: "BuildPlan") -> dict[str, Any]:
    return {
        "file": str(plan.out),
        "partition": plan.partition.name,
        "size": str(plan.size),
        "encoding": plan.encoding,
        "cost": plan.partition.cost,
        "patterns": [
            {
                "tiles": list(entry.pattern.tiles),
                "same_as": None if entry.use is None else entry.use.index,
                "entries": entry.n_entries,
                "states": entry.n_states,
                "states_are_exact": entry.states_are_exact,
                "memory_bytes": entry.held_bytes,
            }
            for entry in plan.patterns
        ],
        "entries": plan.n_entries,
        "memory_bytes": plan.memory_bytes,
        "memory_available_bytes": plan.available_memory,
        "disk_bytes": plan.disk_bytes,
        "temporary_disk_bytes": plan.spilled_bytes,
        "checkpoint_bytes": plan.checkpoint_bytes,
        "disk_available_bytes": plan.available_disk,
        "threads": plan.n_threads,
    }


def _plan_text(records: Any) -> Any:
    from pdb_core.messages import format_bytes

    for record in records:
        cost = "" if record["cost"] == "additive" else ", every move counts"
        yield (
            f"{record['file']}: partition {record['partition']} of a {record['size']} board, {record['encoding']}{cost}"
        )
        for entry in record["patterns"]:
            if entry["same_as"] is not None:
                yield _same_table(entry, record)
                continue
            about = "" if entry["states_are_exact"] else "about "
            yield (
                f"  pattern {','.join(map(str, entry['tiles']))}: {count(entry['entries'])} entries, "
                f"{about}{count(entry['states'])} states, {format_bytes(entry['memory_bytes'])} of memory"
            )
        yield (
            f"  memory {format_bytes(record['memory_bytes'])} of {format_bytes(record['memory_available_bytes'])} "
            "available, "
            f"disk {format_bytes(record['disk_bytes'])} of {format_bytes(record['disk_available_bytes'])} free, "
            f"{record['threads']} threads"
        )
        if record["temporary_disk_bytes"]:
            room = format_bytes(record["temporary_disk_bytes"])
            yield f"  bits that do not fit into the memory, in a temporary file: up to {room} of disk more"
        room = format_bytes(record["checkpoint_bytes"])
        yield f"  checkpoints, in a build of over a minute: up to {room} of disk more"


def _result_record(result: "BuildResult") -> dict[str, Any]:
    return {
        "file": str(result.path),
        "partition": result.header.partition.name,
        "size": str(result.header.size),
        "encoding": result.header.encoding,
        "cost": result.header.cost,
        "patterns": [
            {
                "tiles": list(entry.pattern.tiles),
                "same_as": None if entry.use is None else entry.use.index,
                "entries": entry.n_entries,
                "maximum": entry.maximum,
                "mean": entry.mean,
                "sha256": entry.sha256,
                "seconds": search.seconds,
            }
            for entry, search in zip(result.header.patterns, result.searches, strict=True)
        ],
        "entries": sum(entry.n_entries for entry in result.header.tables.values()),
        "seconds": result.seconds,
        "peak_memory_bytes": result.peak_memory_bytes,
        "report": str(result.report),
    }


def _result_text(records: Any) -> Any:
    for record in records:
        for entry in record["patterns"]:
            if entry["same_as"] is not None:
                yield _same_table(entry, record).strip()
                continue
            yield (
                f"pattern {','.join(map(str, entry['tiles']))}: {count(entry['entries'])} entries, "
                f"mean {entry['mean']:.2f}, maximum {entry['maximum']}, {entry['seconds']:.2f} s"
            )
        yield f"{record['file']} written in {record['seconds']:.2f} s; report in {record['report']}"


def _same_table(entry: dict[str, Any], record: dict[str, Any]) -> str:
    """Which table a pattern uses that has none of its own."""
    tiles, first = (",".join(map(str, of["tiles"])) for of in (entry, record["patterns"][entry["same_as"]]))
    return f"  pattern {tiles}: the table of {first}, by a symmetry of the board"


class _BuildDisplay:
    """Shows a build: a bar for each pattern on a terminal, a line now and then in a log."""

    def __init__(self, plan: "BuildPlan") -> None:
        self._plan = plan
        self._bars: Any = None
        self._tasks: dict[int, Any] = {}
        self._last_log = time.monotonic()

    def __enter__(self) -> "_BuildDisplay":
        if on_terminal():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %  depth {task.fields[depth]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        """Write a sentence, above the bars if there are any."""
        if self._bars is None:
            message(f"pdb: {text}")
        else:
            self._bars.console.print(f"pdb: {text}", markup=False, highlight=False, soft_wrap=True)

    def show(self, progress: "BuildProgress") -> None:
        """Show where the build stands; called once for each depth."""
        if self._bars is not None:
            task = self._tasks.get(progress.pattern_index)
            if task is None:
                task = self._bars.add_task(str(progress.pattern), total=progress.n_states, depth=0)
                self._tasks[progress.pattern_index] = task
            self._bars.update(task, completed=progress.n_reached, depth=progress.depth)
        elif time.monotonic() - self._last_log >= _LOG_S:
            self._last_log = time.monotonic()
            message(
                f"pdb: pattern {progress.pattern_index + 1} of {len(self._plan.patterns)} ({progress.pattern}): depth "
                f"{progress.depth}, {100 * progress.n_reached / progress.n_states:.0f} % of "
                f"{count(progress.n_states)} states"
            )
