"""`pdb bench`: building and solving times of this machine."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from pdb_cli.databases import open_file
from pdb_cli.options import EncodingOption, FormatOption, LoadOption, LoadOptions
from pdb_cli.output import Format, Record, command, count, message, prepare, write_records
from pdb_core.durable_files import written_safely

if TYPE_CHECKING:
    from pdb_core.puzzle import Board
    from solver import Solution, Solver

_COLUMNS = (
    "measurement",
    "boards",
    "seconds",
    "mean_ms",
    "mean_h",
    "mean_generated",
    "nodes_per_second",
    "peak_memory_bytes",
)
_SETS = ("hardest80", "worst-for-78", "korf100")


@dataclass(frozen=True)
class BenchOptions:
    """Partitions to build and boards to solve."""

    title: ClassVar[str] = "Measurements"
    partitions: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PARTITION]...", help="Partitions of the 4x4 board.", show_default="663 78"),
    ] = None
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=100, help="Builds of each partition.")] = 3
    boards: Annotated[int, typer.Option("--boards", min=1, help="Random boards to solve.")] = 1000
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random boards.")] = 1
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Instance sets to solve.", show_default=", ".join(_SETS))
    ] = None
    encoding: EncodingOption = "bits"


@dataclass(frozen=True)
class BenchLoadOptions(LoadOptions):
    """Ways to open the tables that were built."""

    load: LoadOption = "huge"


@command
def bench(
    measured: BenchOptions,
    tables: BenchLoadOptions,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write all figures to a file.")
    ] = None,
    output: FormatOption = Format.text,
) -> None:
    """Build each partition as a whole process, then solve random boards and instance sets on one thread.

    Prints the median of the builds, and nodes and nodes/s of the searches.
    """
    prepare()
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="pdb-bench-") as folder:

        def measurements() -> Iterator[dict[str, Any]]:
            for partition in measured.partitions or ["663", "78"]:
                for record in _measure(partition, Path(folder) / "table.h5", measured, tables):
                    records.append(record)
                    yield record

        write_records(measurements(), output, columns=_COLUMNS, text=_text)
    if json_file is not None:
        with written_safely(json_file, option="--json") as file:
            file.write(json.dumps(records, indent=2) + "\n")


def _measure(partition: str, path: Path, options: BenchOptions, tables: BenchLoadOptions) -> Iterator[dict[str, Any]]:
    from pdb_core.puzzle import parse_goal, random_boards
    from pdb_query import read_instances
    from solver import Solver

    n_boards = options.boards
    yield _measure_build(partition, options.encoding, path, options.repeats)
    partition = f"{partition} {options.encoding}"
    with open_file(path, tables.load, verify=tables.verify) as database:
        solver = Solver(database)
        plain = Solver(database, plain=True)
        sample = random_boards(database.size, database.goal, n_boards, options.seed)
        random = [(tuple(board.tolist()), None) for board in sample]
        yield _measure_searches(f"{partition}: {n_boards} random boards, --plain", plain, random)
        yield _measure_searches(f"{partition}: {n_boards} random boards", solver, random)
        for name in options.sets or _SETS:
            instances = [
                (instance.board, parse_goal(instance.goal or "blank-last", instance.size))
                for instance in read_instances(name, None)
                if instance.size == database.size
            ]
            yield _measure_searches(f"{partition}: {name}", solver, instances)


def _measure_build(partition: str, encoding: str, path: Path, repeats: int) -> dict[str, Any]:
    """Build in a new process, to include start, imports, writing and digests."""
    program = "from pdb_cli.main import run; run()"
    seconds, peaks = [], []
    for repeat in range(repeats + 1):
        path.unlink(missing_ok=True)
        start = time.perf_counter()
        subprocess.run(
            [
                sys.executable, "-c", program, "build", partition, "--encoding", encoding, "--out", str(path),
                "--format", "json",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        elapsed = time.perf_counter() - start
        if repeat == 0:
            message(f"pdb: {partition}: first build, which may compile kernels: {elapsed:.2f} s, not counted")
            continue
        seconds.append(elapsed)
        peaks.append(json.loads(path.with_suffix(".build.json").read_text(encoding="utf-8"))["peak_memory_bytes"])
    return {
        "measurement": f"{partition} {encoding}: build, whole process",
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "peak_memory_bytes": max(peaks),
    }


def _measure_searches(name: str, solver: "Solver", boards: "Sequence[tuple[Board, Board | None]]") -> dict[str, Any]:
    solutions: list[Solution] = [solver.solve(board, goal) for board, goal in boards]
    seconds = sum(solution.seconds for solution in solutions)
    generated = sum(solution.generated for solution in solutions)
    return {
        "measurement": name,
        "boards": len(solutions),
        "seconds": seconds,
        "mean_ms": 1000 * seconds / len(solutions),
        "slowest_ms": 1000 * max(solution.seconds for solution in solutions),
        "mean_h": statistics.mean(solution.h for solution in solutions),
        "mean_length": statistics.mean(solution.length or 0 for solution in solutions),
        "mean_generated": generated / len(solutions),
        "generated": generated,
        "expanded": sum(solution.expanded for solution in solutions),
        "nodes_per_second": generated / seconds,
    }


def _text(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        if "boards" in record:
            yield (
                f"{record['measurement']:<40} {record['seconds']:8.2f} s, {record['mean_ms']:9.2f} ms a board, "
                f"mean h {record['mean_h']:.2f}, {count(round(record['mean_generated']))} nodes, "
                f"{record['nodes_per_second'] / 1e6:.1f} million/s"
            )
        else:
            yield (
                f"{record['measurement']:<40} {record['seconds']:8.2f} s (median of {len(record['all_seconds'])}), "
                f"{record['peak_memory_bytes'] / 1e6:.0f} MB"
            )
