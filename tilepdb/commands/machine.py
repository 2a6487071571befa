"""`pdb doctor` and `pdb bench`: versions, resources and a self-test of this installation; its speed."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

from pdb_core.errors import WrongAnswerError
from tilepdb.commands.opened_tables import open_file
from tilepdb.commands.options import FormatOption
from tilepdb.commands.output import Record, message, write_records

if TYPE_CHECKING:
    from pdb_core.puzzle import Tiles
    from solver.solve import Solver

    # Boards, and their goals if they differ from the solver's.
    Boards = Sequence[tuple[Tiles, str | None]]

_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_HARDEST_8_PUZZLE = (8, 6, 7, 2, 5, 4, 3, 0, 1)
# Sets of boards that are solved with tables of their size.
_SETS = ("hardest80", "worst-for-78", "korf100")
_N_BUILDS = 3


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
        warm_up(program)
        yield "warm-up", f"passed: kernels compiled in {time.perf_counter() - start:.2f} s"


def _huge_pages() -> str:
    """Return the setting of the system, in brackets among the possible ones."""
    try:
        return _HUGE_PAGES.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _self_test() -> str:
    import tempfile

    from solver.solve import Solver
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
            help="Partitions, as for pdb build.",
            show_default="663 78",
        ),
    ] = None,
    boards: Annotated[int, Option(min=1, help="Number of random boards to solve.")] = 1000,
    output: FormatOption = "text",
) -> None:
    """Measure builds and searches on this machine.

    Build each partition three times as a whole process. Then solve random boards on one thread, and with tables of the
    15-puzzle also the boards of the sets hardest80, worst-for-78 and korf100. Print the median time of the builds, and
    the nodes and nodes/s of the searches.

    Examples:
      pdb bench 663 --boards 100
    """
    import tempfile

    from pdb_core.pattern import parse_partition
    from pdb_core.puzzle import random_boards
    from pdb_query import read_instances
    from solver.solve import Solver

    chosen = partitions or ["663", "78"]
    # All partitions are checked before the first build.
    sizes = [parse_partition(partition, None).size for partition in chosen]

    def measure(path: Path) -> Iterator[Record]:
        for partition, size in zip(chosen, sizes, strict=True):
            yield _measure_build(partition, path)
            with open_file(path, "huge", verify=False) as database:
                solver = Solver(database)
                random: Boards = [(board, None) for board in random_boards(size, database.goal, boards, 0)]
                name = f"{partition}: {boards} random boards"
                yield _measure_searches(f"{name}, --plain", Solver(database, plain=True), random)
                yield _measure_searches(name, solver, random)
                for set_name in _SETS:
                    of_size = [(at.board, at.goal) for at in read_instances(set_name, None) if at.size == size]
                    if of_size:
                        yield _measure_searches(f"{partition}: {set_name}", solver, of_size)

    columns = (
        "measurement", "boards", "seconds", "mean_ms", "mean_h", "mean_generated", "nodes_per_second",
        "peak_memory_bytes",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="pdb-bench-", ignore_cleanup_errors=True) as folder:
        write_records(measure(Path(folder) / "table.h5"), output, columns=columns, text=_bench_text)


def _measure_build(partition: str, path: Path) -> Record:
    """Build in new processes, to include start, imports, writing and digests."""
    import statistics
    import subprocess

    seconds = []
    for _ in range(1 + _N_BUILDS):
        path.unlink(missing_ok=True)
        start = time.perf_counter()
        build = [sys.executable, "-m", "tilepdb", "build", partition, "--out", str(path)]
        if code := subprocess.run(build, check=False, stdout=subprocess.DEVNULL).returncode:
            raise SystemExit(code)  # the build has said why
        seconds.append(time.perf_counter() - start)
    message(f"{partition}: first build, which may compile kernels: {seconds.pop(0):.2f} s, not counted")
    report = json.loads(path.with_name(f"{path.name}.build.json").read_text(encoding="utf-8"))
    return {
        "measurement": f"{partition}: build, whole process",
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "peak_memory_bytes": report["peak_memory_bytes"],
    }


def _measure_searches(name: str, solver: "Solver", boards: "Boards") -> Record:
    found = [solver.solve(board, goal) for board, goal in boards]
    seconds, h, generated = (sum(getattr(at, of) for at in found) for of in ("seconds", "h", "generated"))
    return {
        "measurement": name,
        "boards": len(found),
        "seconds": seconds,
        "mean_ms": 1000 * seconds / len(found),
        "mean_h": h / len(found),
        "mean_generated": generated / len(found),
        "nodes_per_second": generated / seconds,
    }


def _bench_text(record: Record) -> Iterator[str]:
    start = f"{record['measurement']:<40} {record['seconds']:8.2f} s"
    if "boards" in record:
        yield (
            f"{start}, {record['mean_ms']:9.2f} ms a board, mean h {record['mean_h']:.2f}, "
            f"{round(record['mean_generated']):,} nodes, {record['nodes_per_second'] / 1e6:.1f} million/s"
        )
    else:
        yield f"{start} (median of {_N_BUILDS}), {record['peak_memory_bytes'] / 1e6:.0f} MB"
