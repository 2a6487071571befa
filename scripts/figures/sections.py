"""Measurements of the sections of docs/figures.json. Times up to 20 s are the least of three, unless stated."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize
from pdb_core.pattern import named_partitions
from pdb_core.puzzle import blank_first, blank_last, random_boards
from pdb_core.resources import available_cores
from pdb_query import Database, open_database, read_instances
from pdb_study.heuristics import heuristic_values
from pdb_study.strength import study_strength
from scripts.figures import service, store
from scripts.figures.tables import databases_of
from solver import HeuristicSolver, Limits, Solver, find_suboptimal_solution
from solver.board_arrays import manhattan_distances
from solver.heuristics import HEURISTICS

Result = TypeVar("Result")
Rows = Mapping[str, Callable[[], store.Row]]

SIZE = BoardSize(4, 4)
GOAL = blank_last(SIZE)
N_BOARDS = 1000
PDB = (sys.executable, "-m", "tilepdb")
# Named partitions, a catalogue, and the other encoding. Databases that are searched together are separated by blanks.
BUILDS = (*named_partitions(), "78+78d", "663 bytes", "78 bytes", "6666 bytes")
BITS = ("555", "663", "78", "78d", "78v", "96", "78 78d", "78 78d 78v", "78 96", "78 78d 96")
BYTES = ("663 bytes", "78 bytes")
HARDEST = {"663": (2,), "78": (1, 2), "78 bytes": (1, 2), "78 78d": (1, 2)}
EASY_24 = ("38", "40", "25", "44", "32")
# Those that other programs were timed with.
THREE_24 = EASY_24[:3]
# Rows of strength: heuristics, with many chains, and databases, with long ones.
STRENGTH = (
    *(("manhattan", 1000, 3000), ("walking-distance", 1000, 3000), ("linear-conflict", 1000, 3000)),
    *((name, 400, 8000) for name in ("55554", "6666", "7773", "24-small", "24-large")),
)
# What takes longer than this is measured once.
_LONG_S = 20.0
# h needs no search, so its mean is over this many boards for each one that is solved.
_H_BOARDS = 100
# Rows of published: databases or a heuristic, and options of the solver.
RESULTS: dict[str, tuple[str, dict[str, bool]]] = {
    "Manhattan distance": ("manhattan", {"plain": True}),
    "linear conflict": ("linear-conflict", {"plain": True}),
    "5-5-5": ("555 bytes", {"plain": True, "reflects": False}),
    "5-5-5 and reflection": ("555 bytes", {"plain": True}),
    # Not published: which rows use the reflection. The mean of h shows it, see the page.
    "6-6-3": ("663 bytes", {"plain": True, "reflects": False}),
    "6-6-3 and reflection": ("663 bytes", {"plain": True}),
    "7-8": ("78 bytes", {"plain": True, "reflects": False}),
    "7-8 and reflection": ("78 bytes", {"plain": True}),
}


class Settings(NamedTuple):
    """Folder of tables, and the number of boards of each row of published."""

    folder: Path
    n_boards: int


def least_time(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the least seconds of three calls, or of the first if it takes long, and the result of the last one."""
    times: list[float] = []
    while len(times) < 3 and max(times, default=0.0) < _LONG_S:
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def means(h: npt.NDArray[Any], nodes: npt.NDArray[Any]) -> store.Row:
    """Return mean h and mean nodes over boards, with their standard errors."""
    return {
        "mean_h": f"{h.mean():.2f}",
        "h_error": f"{_error(h):.2f}",
        "nodes": round(nodes.mean()),
        "nodes_error": round(_error(nodes)),
    }


def _error(values: npt.NDArray[Any]) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


def table_path(name: str, folder: Path) -> Path:
    """Return the table file of a partition, such as `78` or `78 bytes`."""
    return folder / f"{name.replace(' ', '-')}.h5"


def build(name: str, folder: Path) -> store.Row:
    """Build a table file by a command, and return its figures: the least time, and the memory of the last process."""
    partition, _, encoding = name.partition(" ")
    path = table_path(name, folder)
    options = ("--out", path, "--encoding", encoding or "bits", "--format", "ndjson", "--fresh")
    command = [*PDB, "build", partition, *options]
    seconds, output = least_time(lambda: subprocess.check_output(command, stderr=subprocess.DEVNULL))
    record = json.loads(output)
    return {
        "entries": sum(pattern["entries"] for pattern in record["patterns"] if pattern["same_as"] is None),
        "build_s": seconds,
        "memory_gb": record["peak_memory_bytes"] / 1e9,
        "file_mb": path.stat().st_size / 1e6,
        "file_bytes": path.stat().st_size,
    }


@contextmanager
def opened(names: str, folder: Path) -> Iterator[list[Database]]:
    """Open databases, such as `78 78d` or `78 bytes`, none for a heuristic; build those that are missing."""
    files = [] if names in HEURISTICS else databases_of(names)
    for name in files:
        if not table_path(name, folder).exists():
            build(name, folder)
    with ExitStack() as stack:
        yield [stack.enter_context(open_database(table_path(name, folder), load="huge")) for name in files]


def random1000(names: str, folder: Path, *, is_plain: bool) -> store.Row:
    """Return mean h and mean nodes, and the mean time on one thread."""
    boards = random_boards(SIZE, GOAL, 1000, seed=1)
    with opened(names, folder) as databases:
        solver = Solver(*databases, plain=is_plain)
        solver.solve_many(boards[:10])
        seconds, solved = least_time(lambda: solver.solve_many(boards, n_threads=1))
    return {
        **means(solved.h, solved.generated),
        "mean_ms": seconds,
        "million_nodes_per_s": solved.generated.sum() / seconds / 1e6,
    }


def instance_set(name: str, ids: tuple[str, ...], names: str, folder: Path, n_threads: int) -> store.Row:
    """Return seconds and nodes of boards of a set, all if no `ids` are given."""
    instances = [instance for instance in read_instances(name) if not ids or instance.id in ids]
    boards = np.array([instance.board for instance in instances])
    with opened(names, folder) as databases:
        solver = Solver(*databases)
        seconds, solved = least_time(lambda: solver.solve_many(boards, instances[0].goal, n_threads=n_threads))
    assert solved.lengths.tolist() == [instance.optimal_length for instance in instances]
    generated, expanded = int(solved.generated.sum()), int(solved.expanded.sum())
    if ids:
        return {"seconds_s": seconds, "generated": generated, "expanded": expanded}
    return {"threads": n_threads, "seconds_s": seconds, "nodes": generated}


def result(name: str, folder: Path, n_boards: int) -> store.Row:
    """Return the columns of a row of published: means over random boards, of h and of nodes."""
    source, options = RESULTS[name]
    boards = random_boards(SIZE, GOAL, n_boards * _H_BOARDS, seed=1).astype(np.uint8)
    with opened(source, folder) as databases:
        solver: Solver | HeuristicSolver
        if databases:
            solver = Solver(*databases, **options)
            batches = [database.probe_batch(boards) for database in databases]
            reflects = options.get("reflects", True)
            h = np.max([batch.h if reflects else batch.sums[:, 0] for batch in batches], axis=0)
        else:
            solver = HeuristicSolver(SIZE, GOAL, [source], **options)
            h = heuristic_values(boards, SIZE, GOAL, [source])[:, 0]
        with ThreadPoolExecutor(available_cores()) as threads:
            solutions = list(threads.map(solver.solve, boards[:n_boards]))
    assert [solution.h for solution in solutions] == h[:n_boards].tolist()
    nodes = np.array([solution.generated for solution in solutions])
    return {**means(h, nodes), "boards": n_boards}


def start_times(folder: Path) -> store.Row:
    """Return the time of the import, and of a first and a second `pdb solve` with an empty cache folder."""
    code = "import time; s = time.perf_counter(); import tilepdb; print(time.perf_counter() - s)"
    imports = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    times = []
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        for _ in range(2):
            start = time.perf_counter()
            board = "15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"
            environment = {**os.environ, "TILE_PDB_CACHE": cache}
            subprocess.run([*PDB, "solve", board], check=True, env=environment, capture_output=True)
            times.append(time.perf_counter() - start)
    return {"import_s": statistics.median(imports), "first_solve_s": times[0], "second_solve_s": times[1]}


def labels(folder: Path) -> store.Row:
    """Return boards per second of `pdb label --random 100000` with 78, a whole command, on all cores."""
    found = {}
    with opened("78", folder), tempfile.TemporaryDirectory(dir=folder) as out:
        for column, options in (("boards_per_s", ()), ("distances_per_s", ("--distances-only",))):
            files = ("--db", table_path("78", folder), "--out", Path(out) / f"{column}.npz")
            start = time.perf_counter()
            command = [*PDB, "label", *files, "--random", "100000", *options]
            subprocess.run(command, check=True, capture_output=True)
            found[column] = int(round(100_000 / (time.perf_counter() - start), -2))
    return found


def lookups_over_http(name: str, folder: Path) -> store.Row:
    """Return the figures of `pdb serve` with a table, and of its batches when the library looks them up."""
    with opened(name, folder) as (database,):
        boards = random_boards(SIZE, GOAL, service.BATCH, 4)
        seconds, _ = least_time(lambda: database.probe_batch(boards))
    return service.measured(table_path(name, folder)) | {"in_process_per_s": round(service.BATCH / seconds)}


def heuristic(name: str) -> store.Row:
    """Return the mean h of a heuristic over random boards, and the nodes per second of IDA* on one thread."""
    boards = random_boards(SIZE, GOAL, 400_000, seed=1).astype(np.uint8)
    h = heuristic_values(boards, SIZE, GOAL, [name])[:, 0]
    solver = HeuristicSolver(SIZE, GOAL, [name])
    board = next(read_instances("hardest80", SIZE)).board
    solver.solve(board, limits=Limits(max_nodes=1000))
    rates = []
    for _ in range(3):
        solution = solver.solve(board, limits=Limits(time_limit=2.0))
        rates.append(solution.generated / solution.seconds / 1e6)
    return {"mean_h": f"{h.mean():.2f}", "million_nodes_per_s": max(rates)}


def approximate(side: int, n_boards: int) -> store.Row:
    """Return lengths of `pdb approximate` relative to the Manhattan distance and the lower bound, and seconds."""
    size = BoardSize(side, side)
    goal = blank_last(size)
    boards = random_boards(size, goal, n_boards, seed=1)
    find_suboptimal_solution(boards[0], size=size, time_limit=0.01)
    solutions = [find_suboptimal_solution(board, size=size) for board in boards]
    by_tile_and_cell = manhattan_distances(size, goal)
    distances = by_tile_and_cell[boards, np.arange(size.n_cells)].sum(axis=1, dtype=int)
    lengths = np.array([solution.length for solution in solutions])
    return {
        "boards": n_boards,
        "to_manhattan": f"{lengths.sum() / distances.sum():.3f}",
        "largest_to_manhattan": f"{(lengths / distances).max():.3f}",
        "to_lower_bound": f"{lengths.sum() / sum(solution.lower_bound for solution in solutions):.3f}",
        "seconds_s": statistics.mean(solution.seconds for solution in solutions),
    }


def strength(name: str, n_chains: int, n_steps: int, folder: Path) -> store.Row:
    """Return eta of a heuristic or of a database for the 24-puzzle, and its standard error."""
    size = BoardSize(5, 5)
    with opened(name, folder) as databases:
        heuristics = () if databases else name
        found = study_strength(size, heuristics, databases, goal=blank_first(size), n_chains=n_chains, n_steps=n_steps)
    (row,) = found.rows
    return {"eta": f"{row.eta:.3g}", "eta_error": f"{row.standard_error:.1e}", "effective": round(row.n_effective)}


SECTIONS: dict[str, Callable[[Settings], Rows]] = {
    "builds": lambda at: {name: partial(build, name, at.folder) for name in BUILDS},
    "random1000": lambda at: {
        f"{names} --plain" if is_plain else names: partial(random1000, names, at.folder, is_plain=is_plain)
        for is_plain, rows in ((False, BITS + BYTES), (True, ("663", "78", *BYTES)))
        for names in rows
    },
    "hardest80": lambda at: {
        f"{names}, {n} threads": partial(instance_set, "hardest80", (), names, at.folder, n)
        for names, counts in HARDEST.items()
        for n in counts
    },
    "easy24": lambda at: {
        name: partial(instance_set, "korf50-24puzzle", EASY_24, name, at.folder, available_cores())
        for name in ("6666", "24-small", "24-large")
    },
    "three24": lambda at: {"24-small": partial(instance_set, "korf50-24puzzle", THREE_24, "24-small", at.folder, 1)},
    "start": lambda at: {"all": partial(start_times, at.folder)},
    "labels": lambda at: {"78": partial(labels, at.folder)},
    "service": lambda at: {name: partial(lookups_over_http, name, at.folder) for name in ("78", "78 bytes")},
    "heuristics": lambda _at: {name: partial(heuristic, name) for name in HEURISTICS},
    "approximate": lambda _at: {
        f"{side}x{side}": partial(approximate, side, 20 if side <= 6 else 10) for side in range(4, 11)
    },
    "strength": lambda at: {name: partial(strength, name, *how, at.folder) for name, *how in STRENGTH},
    "published": lambda at: {name: partial(result, name, at.folder, at.n_boards) for name in RESULTS},
}
