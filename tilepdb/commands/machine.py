"""`pdb doctor` and `pdb bench`: versions, resources and a self-test of this installation; its speed."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

from pdb_core.errors import InputError, WrongAnswerError
from tilepdb.commands import completion
from tilepdb.commands.opened_tables import open_file
from tilepdb.commands.options import EncodingOption, FormatOption, LoadOption, SeedOption
from tilepdb.commands.output import Record, message, write_records

if TYPE_CHECKING:
    from pdb_core.puzzle import Tiles
    from solver import Solver

    # Boards, and their goals if they differ from the solver's.
    Boards = Sequence[tuple[Tiles, str | None]]

_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_HARDEST_8_PUZZLE = (8, 6, 7, 2, 5, 4, 3, 0, 1)
_SETS = ("hardest80", "worst-for-78", "korf100")


def doctor(
    context: Context,
    warm_up: Annotated[
        bool,
        Option(
            "--warm-up",
            help="Compile the kernels of build, solve, label, search, approximate, query and serve, and build the "
            "standard tables of 3x3 and 4x4. Later commands start at once.",
        ),
    ] = False,
    output: FormatOption = "text",
) -> None:
    """Check this installation.

    Print versions, cores, memory and cache folders, and test a small build, a lookup and a search.

    Examples:
      pdb doctor
      pdb doctor --warm-up
    """
    checks = _checks(context.find_root().command if warm_up else None)
    records = ({"check": check, "value": value} for check, value in checks)
    write_records(records, output, columns=("check", "value"), text=_check_text)


def _checks(program: Any) -> Iterator[tuple[str, Any]]:
    """Yield the checks; with `program`, warm its commands up at the end."""
    import platform

    import h5py
    import numba
    import numpy as np

    from pdb_core import jit
    from pdb_core.messages import format_bytes
    from pdb_core.resources import available_cores, available_disk, available_memory
    from pdb_core.version import version_text

    yield "tile-pdb", version_text()
    yield "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield (
        "libraries",
        f"numpy {np.__version__}, numba {numba.__version__}, h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}",
    )
    yield "cores", available_cores()
    yield "memory", f"{format_bytes(available_memory())} available"
    try:
        free = f"{format_bytes(available_disk(jit.cache_home()))} free"
    except OSError as error:
        free = f"{error.strerror}: set TILE_PDB_CACHE to a folder that can be written"
    yield "cache", f"{jit.cache_home()}, {free}"
    yield (
        "compiled kernels",
        "new ones are kept on disk" if jit.keeps_compiled_kernels() else "new ones are compiled anew in every run",
    )
    yield "huge pages", _huge_pages()
    yield "self-test", _self_test()
    if program is not None:
        from tilepdb.commands.warm_up import warm_up

        start = time.perf_counter()
        for shown, seconds in warm_up(program):
            yield "warm-up", f"{seconds:6.2f} s  {shown}"
        yield "warm-up", f"passed: kernels compiled in {time.perf_counter() - start:.2f} s"


def _huge_pages() -> str:
    try:
        text = _HUGE_PAGES.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
    chosen = text.partition("[")[2].partition("]")[0]
    return "never: copied tables are looked up more slowly" if chosen == "never" else chosen


def _self_test() -> str:
    import tempfile

    from solver import Solver
    from tilepdb.named_build import build

    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        build("8", Path(folder) / "8.h5", progress=lambda _: None) as database,
    ):
        h = database.probe(_HARDEST_8_PUZZLE).h
        length = Solver(database).solve(_HARDEST_8_PUZZLE).length
    if (h, length) != (31, 31):
        raise WrongAnswerError(
            f"self-test: the hardest 8-puzzle takes 31 moves, found h {h} and length {length}; please report this"
        )
    return f"passed: 8-puzzle built, looked up and solved in {time.perf_counter() - start:.2f} s"


def _check_text(record: Record) -> Iterator[str]:
    value = record["value"]
    yield f"{record['check']:<17} {f'{value:,}' if isinstance(value, int) else value}"


def bench(
    partitions: Annotated[
        list[str] | None,
        Argument(
            metavar="PARTITION",
            help="Partitions of the 4x4 board, as for pdb build.",
            show_default="663 78",
            autocompletion=completion.partitions,
        ),
    ] = None,
    repeats: Annotated[int, Option(min=1, max=100, help="Number of builds of each partition.")] = 3,
    boards: Annotated[int, Option(min=1, help="Number of random boards to solve.")] = 1000,
    seed: SeedOption = 0,
    sets: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="SET",
            help="Set of boards to solve. Repeat the option for several.",
            show_default=", ".join(_SETS),
            autocompletion=completion.instance_sets,
        ),
    ] = None,
    encoding: EncodingOption = "bits",
    load: LoadOption = "huge",
    output: FormatOption = "text",
) -> None:
    """Measure builds and searches on this machine.

    Build each partition as a whole process, then solve random boards and sets of boards on one thread. Print the median
    time of the builds, and the nodes and nodes/s of the searches.

    Examples:
      pdb bench 663 --boards 100 --set hardest80
    """
    import tempfile

    from pdb_core.puzzle import random_boards
    from solver import Solver

    # All sets before the first build.
    chosen = [(partition, _sets(partition, sets)) for partition in partitions or ["663", "78"]]

    def measure(path: Path) -> Iterator[dict[str, Any]]:
        for partition, of_size in chosen:
            name = f"{partition} {encoding}"
            yield _measure_build(partition, encoding, path, repeats)
            with open_file(path, load, verify=False) as database:
                solver, plain = Solver(database), Solver(database, plain=True)
                random = [(board, None) for board in random_boards(database.size, database.goal, boards, seed)]
                yield _measure_searches(f"{name}: {boards} random boards, --plain", plain, random)
                yield _measure_searches(f"{name}: {boards} random boards", solver, random)
                for set_name, instances in of_size.items():
                    yield _measure_searches(f"{name}: {set_name}", solver, instances)

    columns = (
        "measurement", "boards", "seconds", "mean_ms", "mean_h", "mean_generated", "nodes_per_second",
        "peak_memory_bytes",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="pdb-bench-", ignore_cleanup_errors=True) as folder:
        write_records(measure(Path(folder) / "table.h5"), output, columns=columns, text=_bench_text)


def _sets(partition: str, names: list[str] | None) -> "dict[str, Boards]":
    """Return the boards and goals of each set that are of the size of a partition.

    Raises `InputError` if a given set has none, and for what is not a partition or a set.
    """
    from pdb_core.pattern import parse_partition
    from pdb_query import read_instances

    size = parse_partition(partition, None).size
    sets: dict[str, Boards] = {}
    for name in names or _SETS:
        instances = [at for at in read_instances(name, None) if at.size == size]
        if names and not instances:
            raise InputError(f"{name} has no {size} boards, which {partition} is for; give another --set")
        if instances:
            sets[name] = [(at.board, at.goal) for at in instances]
    return sets


def _measure_build(partition: str, encoding: str, path: Path, repeats: int) -> dict[str, Any]:
    """Build in a new process, to include start, imports, writing and digests."""
    import statistics
    import subprocess

    build = [sys.executable, "-m", "tilepdb", "build", partition, "--encoding", encoding, "--out", str(path)]
    seconds, peaks = [], []
    for repeat in range(repeats + 1):
        path.unlink(missing_ok=True)
        start = time.perf_counter()
        code = subprocess.run(build, check=False, stdout=subprocess.DEVNULL).returncode
        if code != 0:
            raise SystemExit(code)  # the build has said why
        elapsed = time.perf_counter() - start
        if repeat == 0:
            message(f"{partition}: first build, which may compile kernels: {elapsed:.2f} s, not counted")
            continue
        seconds.append(elapsed)
        peaks.append(
            json.loads(path.with_name(f"{path.name}.build.json").read_text(encoding="utf-8"))["peak_memory_bytes"]
        )
    return {
        "measurement": f"{partition} {encoding}: build, whole process",
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "peak_memory_bytes": max(peaks),
    }


def _measure_searches(name: str, solver: "Solver", boards: "Boards") -> dict[str, Any]:
    found = [solver.solve(board, goal) for board, goal in boards]
    names = ("seconds", "h", "length", "generated", "expanded")
    seconds, h, length, generated, expanded = (sum(getattr(at, name) for at in found) for name in names)
    return {
        "measurement": name,
        "boards": len(found),
        "seconds": seconds,
        "mean_ms": 1000 * seconds / len(found),
        "mean_h": h / len(found),
        "mean_length": length / len(found),
        "mean_generated": generated / len(found),
        "generated": generated,
        "expanded": expanded,
        "nodes_per_second": generated / seconds,
        "slowest_ms": 1000 * max(at.seconds for at in found),
    }


def _bench_text(record: Record) -> Iterator[str]:
    start = f"{record['measurement']:<40} {record['seconds']:8.2f} s"
    if "boards" in record:
        yield (
            f"{start}, {record['mean_ms']:9.2f} ms a board, mean h {record['mean_h']:.2f}, "
            f"{round(record['mean_generated']):,} nodes, {record['nodes_per_second'] / 1e6:.1f} million/s"
        )
    else:
        yield f"{start} (median of {len(record['all_seconds'])}), {record['peak_memory_bytes'] / 1e6:.0f} MB"
