"""`pdb build`: make table files."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from pdb_core.errors import InputError, OutputError
from pdb_core.messages import format_bytes
from tilepdb.commands.options import (
    ClusterOptions,
    EncodingOption,
    FormatOption,
    FreshOption,
    GoalOption,
    SizeOption,
    ThreadsOption,
    option_group,
)
from tilepdb.commands.output import Record, message, plural, write_records
from tilepdb.commands.table_files import header_record, pattern_record, pattern_text, spec_record

if TYPE_CHECKING:
    from distributed import Client

    from pdb_build import BuildPlan, BuildResult

_COLUMNS = ("file", "partition", "size", "entries")

PartitionsArgument = Annotated[
    list[str],
    Argument(
        metavar="PARTITION",
        help="Partitions of the tiles, each for one table file: 663, 78, 78d, 78v, 96, 555, 8, 6666, 7773, 55554, "
        "fringe, auto (for any --size), or the patterns written out: 1,2,5/3,4,6/7,8. Partitions joined by + make one "
        "file, a catalogue: 78+78d. 24-small and 24-large are catalogues of seven partitions of the 24-puzzle.",
    ),
]


@option_group
class FileOptions:
    """Table file."""

    size: SizeOption = None
    goal: GoalOption = "blank-last"
    encoding: EncodingOption = "bits"
    cost: Annotated[
        Literal["additive", "every-move"] | None,
        Option(
            help="Moves that a distance counts. additive: moves of the pattern's tiles; distances of patterns are "
            "added up. every-move: all moves (a standard PDB); the maximum counts. The default is every-move "
            "for fringe, else additive."
        ),
    ] = None
    out: Annotated[Path | None, Option(help="Table file to write. The default is data/PARTITION.h5.")] = None


@option_group
class RunOptions:
    """Run."""

    threads: ThreadsOption = None
    dry_run: Annotated[
        bool,
        Option(
            "--dry-run", help="Print the memory, the disk space and the time that the build needs, and build nothing."
        ),
    ] = False
    fresh: FreshOption = False
    force: Annotated[
        bool,
        Option("--force", help="Replace FILE and the report beside it even if pdb build did not write them."),
    ] = False


def build(
    partitions: PartitionsArgument,
    file: FileOptions,
    run: RunOptions,
    cluster: ClusterOptions,
    output: FormatOption = "text",
) -> None:
    """Build pattern databases.

    Search all patterns of a partition, and write a table file, data/PARTITION.h5, and a report beside it. Another size,
    goal, cost or encoding than the default is in the name of the file, too. After an interruption, the same command
    continues with the tables that are finished, in FILE.partial.

    Examples:
      pdb build 663
      pdb build 555 --goal blank-first --out 555.h5
      pdb build 6666 --size 5x5 --dry-run
    """
    if file.out is not None and len(partitions) > 1:
        raise InputError(
            f"--out names one file for {len(partitions)} partitions; leave it out, or build them one by one"
        )
    cluster.check(run.threads)
    from pdb_build import build_database, check_plan
    from pdb_build.report import check_replaced
    from pdb_build.search import search_pattern
    from tilepdb.named_build import TABLE_FOLDER, build_plan, named_plan

    plans = [named_plan(name, **vars(file), n_threads=run.threads) for name in partitions]
    if run.dry_run:
        # The second search of a small pattern, for which kernels are compiled, measures the speed.
        small = named_plan("663", encoding=file.encoding).patterns[0].spec
        speed = small.n_states / min(search_pattern(small, n_threads=plans[0].n_threads).seconds for _ in range(2))
        records = (_plan_record(plan, speed) for plan in plans)
        write_records(records, output, _plan_text, (*_COLUMNS, "memory_bytes", "disk_bytes"))
    # All that can be checked is checked before the first build.
    for plan in plans:
        if plan.out.parent != TABLE_FOLDER and not plan.out.parent.is_dir():
            raise OutputError(f"cannot write {plan.out}: No such file or directory; make its folder first")
        if not run.force:
            check_replaced(plan.out)
    with contextlib.ExitStack() as stack:
        check: Callable[[BuildPlan], None] = check_plan
        builder: Callable[..., BuildResult] = build_database
        if cluster.scheduler is not None:
            from pdb_cluster import build_on_cluster

            client = stack.enter_context(cluster.connect())
            check = partial(_check_cluster_plan, client=client, says_how=run.dry_run)
            builder = partial(build_on_cluster, client=client)
        for plan in plans:
            check(plan)
        if run.dry_run:
            return
        builder = partial(builder, fresh=run.fresh, force=run.force)
        results = (build_plan(plan, builder, log=message) for plan in plans)
        columns = (*_COLUMNS, "seconds", "peak_memory_bytes", "report")
        write_records(map(_result_record, results), output, _result_text, columns)


def _check_cluster_plan(plan: "BuildPlan", *, client: "Client", says_how: bool) -> None:
    """Check that the workers have the memory. Report how each pattern would be built if `says_how`."""
    from pdb_cluster import check_cluster_plan

    for index, workers in check_cluster_plan(plan, client).items():
        if says_how:
            entry = plan.patterns[index]
            message(
                f"{plan.out}: pattern {entry.pattern} by one of {plural(len(workers), 'worker')}, "
                f"{format_bytes(entry.worker_bytes)} of memory each"
            )


def _plan_record(plan: "BuildPlan", states_per_second: float) -> dict[str, Any]:
    return spec_record(plan.out, plan.spec) | {
        "patterns": [
            pattern_record(entry)
            | {
                "entries": entry.spec.n_entries,
                "states": entry.spec.n_states,
                "memory_bytes": entry.held_bytes,
            }
            for entry in plan.patterns
        ],
        "entries": plan.n_entries,
        "memory_bytes": plan.memory_bytes,
        "memory_available_bytes": plan.available_memory,
        "disk_bytes": plan.disk_bytes,
        "temporary_disk_bytes": plan.spilled_bytes,
        "disk_available_bytes": plan.available_disk,
        "threads": plan.n_threads,
        "seconds": sum(entry.spec.n_states for entry in plan.patterns if entry.use is None) / states_per_second,
    }


def _plan_text(record: Record) -> Iterator[str]:
    cost = "" if record["cost"] == "additive" else ", every move counts"
    yield f"{record['file']}: partition {record['partition']} of a {record['size']} board, {record['encoding']}{cost}"
    for entry in record["patterns"]:
        contents = (
            f"{entry['entries']:,} entries, {entry['states']:,} states, {format_bytes(entry['memory_bytes'])} of memory"
        )
        yield f"  {pattern_text(record, entry, contents)}"
    size = {name: format_bytes(n) for name, n in record.items() if name.endswith("_bytes")}
    yield (
        f"  memory {size['memory_bytes']} of {size['memory_available_bytes']} available, "
        f"disk {size['disk_bytes']} of {size['disk_available_bytes']} free, {plural(record['threads'], 'thread')}, "
        f"about {record['seconds']:.0f} s"
    )
    if record["temporary_disk_bytes"]:
        more = size["temporary_disk_bytes"]
        yield f"  bits that do not fit into the memory, in a temporary file: up to {more} of disk more"


def _result_record(result: "BuildResult") -> dict[str, Any]:
    record = header_record(result.path, result.header)
    for entry, search in zip(record["patterns"], result.searches, strict=True):
        entry["seconds"] = search.seconds
    return record | {
        "entries": sum(entry.n_entries for entry in result.header.tables.values()),
        "seconds": result.seconds,
        "peak_memory_bytes": result.peak_memory_bytes,
        "report": str(result.report),
    }


def _result_text(record: Record) -> Iterator[str]:
    for entry in record["patterns"]:
        contents = f"mean {entry['mean']:.2f}, maximum {entry['maximum']}, {entry['seconds']:.2f} s"
        yield pattern_text(record, entry, f"{entry['entries']:,} entries, {contents}")
    yield f"{record['file']} written in {record['seconds']:.2f} s; report in {record['report']}"
