"""Measure the figures of the pages, and write them into docs/figures.json and the pages.

Run by scripts/bench --figures. Give the sections to measure; all of them take about half an hour on an idle machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from pdb_core.pattern import named_partitions
from pdb_core.puzzle import BoardSize, parse_goal, random_boards
from pdb_core.resources import available_cores
from pdb_query import Database, open_database, read_instances
from pdb_study.heuristics import heuristic_values
from scripts.figures import store
from scripts.figures.pages import write_pages
from solver import HeuristicSolver, Limits, Solver, find_suboptimal_solution
from solver.engine.worker_pool import in_parallel
from solver.heuristics import HEURISTICS

PDB = (sys.executable, "-c", "from tilepdb.commands.main import run; run()")
# Builds that take longer than this are measured once.
LONG_S = 20.0
# Named partitions, a catalogue, and the other encoding.
BUILDS = (*named_partitions(), "78+78d", "663 bytes", "78 bytes", "6666 bytes")
# Databases that are searched together -> whether --plain is measured, too.
RANDOM = {
    "555": False, "663": True, "663 bytes": True, "78": True, "78 bytes": True, "78d": False, "78v": False, "96": False,
    "78 78d": False, "78 78d 78v": False, "78 96": False, "78 78d 96": False,
}  # fmt: skip
HARDEST = {"663": (2,), "78": (1, 2), "78 bytes": (1, 2), "78 78d": (1, 2)}
EASY_24 = ("38", "40", "25", "44", "32")


def build(name: str, folder: Path) -> dict[str, Any]:
    """Return the figures of a build: the least time of three whole processes, and the memory of that one."""
    partition, _, encoding = name.partition(" ")
    path = folder / f"{name.replace(' ', '-')}.h5"
    best: dict[str, Any] = {}
    for _ in range(3):
        start = time.perf_counter()
        process = subprocess.run(
            [
                *PDB,
                "build",
                partition,
                "--out",
                path,
                "--encoding",
                encoding or "bits",
                "--format",
                "ndjson",
                "--fresh",
            ],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - start
        record = json.loads(process.stdout)
        if not best or seconds < best["build_s"]:
            best = {
                "entries": sum(pattern["entries"] for pattern in record["patterns"] if pattern["same_as"] is None),
                "build_s": seconds,
                "memory_gb": record["peak_memory_bytes"] / 1e9,
                "file_mb": path.stat().st_size / 1e6,
                "file_bytes": path.stat().st_size,
            }
        if seconds > LONG_S:
            break
    return best


def opened(name: str, folder: Path, stack: ExitStack) -> list[Database]:
    """Return the databases of a set, such as `78 78d` or `78 bytes`."""
    first, *others = name.split()
    stems = [f"{first}-bytes"] if others == ["bytes"] else name.split()
    return [stack.enter_context(open_database(folder / f"{stem}.h5", load="huge")) for stem in stems]


def random1000(name: str, folder: Path, *, is_plain: bool) -> dict[str, Any]:
    """Return mean h and mean nodes with standard errors, and the least mean time of three rounds, on one thread."""
    with ExitStack() as stack:
        databases = opened(name, folder, stack)
        solver = Solver(*databases, plain=is_plain)
        boards = random_boards(databases[0].size, databases[0].goal, 1000, seed=1)
        solver.solve_many(boards[:10])
        times = []
        for _ in range(3):
            start = time.perf_counter()
            solved = solver.solve_many(boards)
            times.append(time.perf_counter() - start)
    return {
        "mean_h": f"{solved.h.mean():.2f}",
        "h_error": f"{solved.h.std(ddof=1) / len(boards) ** 0.5:.2f}",
        "nodes": round(solved.generated.mean()),
        "nodes_error": round(solved.generated.std(ddof=1) / len(boards) ** 0.5),
        "mean_ms": min(times),
        "million_nodes_per_s": solved.generated.sum() / min(times) / 1e6,
    }


def hardest80(name: str, n_threads: int, folder: Path) -> dict[str, Any]:
    """Return nodes and the least seconds of three rounds of the 17 hardest boards."""
    with ExitStack() as stack:
        solver = Solver(*opened(name, folder, stack))
        instances = list(read_instances("hardest80", BoardSize(4, 4)))
        boards = np.array([instance.board for instance in instances])
        goal = parse_goal(instances[0].goal or "blank-last", BoardSize(4, 4))
        times = []
        for _ in range(3):
            start = time.perf_counter()
            solved = solver.solve_many(boards, goal, n_threads=n_threads)
            times.append(time.perf_counter() - start)
            assert (solved.lengths == 80).all()
    return {"threads": n_threads, "seconds_s": min(times), "nodes": int(solved.generated.sum())}


def easy24(name: str, folder: Path) -> dict[str, Any]:
    """Return nodes and the least seconds of three rounds of five easy boards of the 24-puzzle, on all cores."""
    instances = [instance for instance in read_instances("korf50-24puzzle", None) if instance.id in EASY_24]
    with ExitStack() as stack:
        solver = Solver(*opened(name, folder, stack), frontier_bytes=8 * 10**9)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            found = in_parallel(
                instances,
                lambda at, report, pool: solver.solve(at.board, at.goal, report=report, pool=pool),
                n_threads=available_cores(),
            )
            solutions = list(found)
            times.append(time.perf_counter() - start)
            assert [solution.length for solution in solutions] == [at.optimal_length for at in instances]
    return {
        "seconds_s": min(times),
        "generated": sum(solution.generated for solution in solutions),
        "expanded": sum(solution.expanded for solution in solutions),
    }


def start_times(folder: Path) -> dict[str, Any]:
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


def labels(folder: Path) -> dict[str, Any]:
    """Return boards per second of `pdb label --random 100000` with 78, a whole command, on all cores."""
    found = {}
    with tempfile.TemporaryDirectory(dir=folder) as out:
        for column, option in (("boards_per_s", []), ("distances_per_s", ["--distances-only"])):
            path = Path(out) / f"{column}.npz"
            start = time.perf_counter()
            subprocess.run(
                [*PDB, "label", "--db", folder / "78.h5", "--random", "100000", "--out", path, *option],
                check=True,
                capture_output=True,
            )
            found[column] = round(100_000 / (time.perf_counter() - start), -2)
    return {column: int(value) for column, value in found.items()}


def service(folder: Path) -> dict[str, Any]:
    """Return the figures of scripts/service_load/measure.py that the pages have."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        path = Path(out) / "service.json"
        tables = (folder / "78-bytes.h5", "--solve-db", folder / "663.h5")
        command = (sys.executable, "scripts/service_load/measure.py", *tables, "--json", path)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = json.loads(path.read_text(encoding="utf-8"))
    return {
        "ready_s": found["ready_s"],
        "single_per_s": found["single"]["per_s"],
        "single_p99_ms": found["single"]["p99_ms"],
        **{f"{name}_per_s": found[name]["boards_per_s"] for name in ("bytes", "json", "in_process")},
    }


def heuristic(name: str) -> dict[str, Any]:
    """Return the mean h of a heuristic over random boards, and the nodes per second of IDA* on one thread."""
    size, goal = BoardSize(4, 4), parse_goal("blank-last", BoardSize(4, 4))
    boards = random_boards(size, goal, 400_000, seed=1)
    h = heuristic_values(boards, size, goal, [name])[:, 0]
    solver = HeuristicSolver(size, goal, [name])
    board = next(read_instances("hardest80", size)).board
    solver.solve(board, limits=Limits(nodes=1000))
    rates = []
    for _ in range(3):
        solution = solver.solve(board, limits=Limits(seconds=2.0))
        rates.append(solution.generated / solution.seconds / 1e6)
    return {"mean_h": f"{h.mean():.2f}", "million_nodes_per_s": max(rates)}


def approximate(side: int, n_boards: int, time_limit: float | None = None) -> dict[str, Any]:
    """Return lengths of `pdb approximate` relative to the Manhattan distance and the lower bound, and seconds."""
    size = BoardSize(side, side)
    goal = parse_goal("blank-last", size)
    boards = random_boards(size, goal, n_boards, seed=1)
    cells = np.arange(size.n_cells)
    goal_cells = np.argsort(goal)
    find_suboptimal_solution(boards[0], size=size, time_limit=0.01)
    solutions, distances = [], []
    for board in boards:
        solutions.append(find_suboptimal_solution(board, size=size, time_limit=time_limit))
        at, to = cells[board > 0], goal_cells[board[board > 0]]
        distances.append(int((abs(at // side - to // side) + abs(at % side - to % side)).sum()))
    lengths = np.array([solution.length for solution in solutions])
    return {
        "boards": n_boards,
        "to_manhattan": f"{lengths.sum() / sum(distances):.3f}",
        "largest_to_manhattan": f"{(lengths / distances).max():.3f}",
        "to_lower_bound": f"{lengths.sum() / sum(solution.lower_bound for solution in solutions):.3f}",
        "seconds_s": statistics.mean(solution.seconds for solution in solutions),
    }


def measured_rows(section: str, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a section."""
    if section == "builds":
        yield from ((name, build(name, folder)) for name in BUILDS)
    elif section == "random1000":
        for name, has_plain in RANDOM.items():
            for is_plain in (False, True) if has_plain else (False,):
                yield name + " --plain" * is_plain, random1000(name, folder, is_plain=is_plain)
    elif section == "hardest80":
        for name, counts in HARDEST.items():
            yield from ((f"{name}, {n} threads", hardest80(name, n, folder)) for n in counts)
    elif section == "easy24":
        yield from ((name, easy24(name, folder)) for name in ("6666", "24-small", "24-large"))
    elif section == "start":
        yield "all", start_times(folder)
    elif section == "labels":
        yield "78", labels(folder)
    elif section == "service":
        yield "78 bytes", service(folder)
    elif section == "heuristics":
        yield from ((name, heuristic(name)) for name in HEURISTICS)
    elif section == "approximate":
        for side in range(4, 11):
            yield f"{side}x{side}", approximate(side, 20 if side <= 6 else 10)
        yield "6x6, 10 s", approximate(6, 14, 10.0)


SECTIONS = ("builds", "random1000", "hardest80", "easy24", "start", "labels", "service", "heuristics", "approximate")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --figures", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="by default all")
    parser.add_argument("--data", type=Path, default=Path("data/bench"), help="folder of the tables, 6 GB")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    for section in options.sections or SECTIONS:
        for name, row in measured_rows(section, options.data):
            print(f"{section}, {name}: {row}", flush=True)
            store.save_rows(section, {name: row})
    write_pages()


if __name__ == "__main__":
    main()
