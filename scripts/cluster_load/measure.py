"""Compare a Dask cluster of this machine with threads, and a divided board on one worker and on several.

Both sides run in turns, and the best round of each counts, so that other work on the machine disturbs both alike.
Processor seconds are reported, too. Needs `pip install 'tile-pdb[dask]'`; run it by scripts/bench --cluster.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
from distributed import Client

from pdb_cluster.connect import connected
from pdb_cluster.solve_boards import ClusterBatch, ClusterProgress, Request
from pdb_core.puzzle import Board, format_board, parse_goal, random_boards
from pdb_query import Database, open_database, read_instances
from solver import Limits, Solution, Solver
from solver.engine.worker_pool import in_parallel

_PROGRAM = "from pdb_cli.main import run; run()"


def processor_seconds() -> float:
    """Return user and system seconds of this process and its descendants."""
    process = psutil.Process()
    times = [process.cpu_times(), *(child.cpu_times() for child in process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measured(work: Callable[[], list[Solution]]) -> dict[str, float]:
    """Run `work`, and return its seconds, processor seconds and nodes."""
    before, start = processor_seconds(), time.perf_counter()
    solutions = work()
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "processor_s": processor_seconds() - before,
        "generated": sum(solution.generated for solution in solutions),
    }


def on_cluster(
    client: Client, requests: Sequence[Request], busy: list[float] | None = None, max_nodes: int | None = None
) -> list[Solution]:
    """Solve boards, or stop after `max_nodes`. Appends the share of time in which workers searched to `busy`."""

    def report(progress: ClusterProgress) -> None:
        share[:] = [progress.busy_s / (progress.seconds * progress.n_threads)]

    share: list[float] = []
    answers = ClusterBatch(client, report=report, limits=Limits(None, max_nodes)).solutions(requests)
    solutions = [answer for answer in answers if isinstance(answer, Solution)]
    assert max_nodes is not None or all(solution.length is not None for solution in solutions)
    if busy is not None:
        busy += share
    return solutions


def measured_on_cluster(client: Client, requests: Sequence[Request], max_nodes: int | None = None) -> dict[str, float]:
    """Return `measured` and the share of time in which workers searched; the rest is overhead of the cluster."""
    busy: list[float] = []
    return measured(lambda: on_cluster(client, requests, busy, max_nodes)) | {"busy": busy[0]}


def on_threads(solver: Solver, boards: Sequence[Board], n_threads: int) -> list[Solution]:
    """Solve boards on threads."""
    return list(
        in_parallel(
            boards,
            lambda board, report, pool: solver.solve(board, report=report, pool=pool),
            n_threads=n_threads,
        )
    )


def measure_batch(database: Database, n_boards: int, n_workers: int, n_rounds: int) -> dict[str, Any]:
    """Compare random boards on the cluster and on as many threads, after a first run of each."""
    boards: list[Board] = [tuple(row.tolist()) for row in random_boards(database.size, database.goal, n_boards, 1)]
    requests = [Request(board, database.goal, (database,)) for board in boards]
    solver = Solver(database)
    rounds: dict[str, list[dict[str, float]]] = {"threads": [], "cluster": []}
    with connected(None, n_workers, print) as client:
        client.wait_for_workers(n_workers)
        first = measured_on_cluster(client, requests)
        on_threads(solver, boards, n_workers)
        for _ in range(n_rounds):
            rounds["threads"].append(measured(lambda: on_threads(solver, boards, n_workers)))
            rounds["cluster"].append(measured_on_cluster(client, requests))
    return {"n_boards": n_boards, "n_workers": n_workers, "first": first, **rounds} | ratios(
        rounds, "cluster", "threads"
    )


def measure_whole_processes(path: Path, database: Database, n_boards: int, n_workers: int) -> dict[str, float]:
    """Compare the commands from start to exit, with compiled kernels."""
    boards = random_boards(database.size, database.goal, n_boards, 1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "boards.txt"
        file.write_text("".join(f"{format_board(row.tolist())}\n" for row in boards))
        command = [
            sys.executable,
            "-c",
            _PROGRAM,
            "solve",
            "--db",
            str(path),
            "--instances",
            str(file),
            "--format",
            "csv",
        ]
        seconds = {}
        for name, options in {
            "threads": ["--threads", str(n_workers)],
            "cluster": ["--local-cluster", str(n_workers)],
        }.items():
            start = time.perf_counter()
            subprocess.run([*command, *options], check=True, capture_output=True)
            seconds[f"{name}_s"] = time.perf_counter() - start
    return seconds


def measure_split(
    database: Database, board: Board, goal: Board, counts: Sequence[int], n_rounds: int, max_nodes: int
) -> dict[str, Any]:
    """Compare clusters of several sizes on the first `max_nodes` nodes of one board, after a first run of each.

    The nodes of the last threshold depend on timing, by a factor of two, so the board is not solved.
    """
    request = [Request(board, goal, (database,))]
    rounds: dict[str, list[dict[str, float]]] = {str(n): [] for n in counts}
    for _ in range(n_rounds):
        for n_workers in counts:
            with connected(None, n_workers, print) as client:
                client.wait_for_workers(n_workers)
                warm = [
                    Request(tuple(row.tolist()), database.goal, (database,)) for row in _easy(database, 4 * n_workers)
                ]
                on_cluster(client, warm)
                rounds[str(n_workers)].append(measured_on_cluster(client, request, max_nodes))
    first, last = str(counts[0]), str(counts[-1])
    return {**rounds} | ratios(rounds, first, last)


def _easy(database: Database, n_boards: int) -> Any:
    """Return boards near the goal, so that workers open the tables."""
    import numpy as np

    rows = np.array([database.goal] * n_boards, dtype=np.uint8)
    blank = database.goal.index(0)
    cell = database.size.neighbours[blank][0]
    rows[:, [blank, cell]] = rows[:, [cell, blank]]
    return rows


def ratios(rounds: dict[str, list[dict[str, float]]], above: str, below: str) -> dict[str, float]:
    """Return ratios of the least seconds and processor seconds, and of the largest nodes/s."""

    def least(name: str, what: str) -> float:
        return min(each[what] for each in rounds[name])

    def rate(name: str) -> float:
        return max(each["generated"] / each["seconds"] for each in rounds[name])

    return {
        f"{above}_to_{below}": least(above, "seconds") / least(below, "seconds"),
        f"{above}_to_{below}_processor": least(above, "processor_s") / least(below, "processor_s"),
        f"{below}_to_{above}_nodes_per_s": rate(below) / rate(above),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("db", type=Path, nargs="?", help="tables of the 15-puzzle, for random boards")
    parser.add_argument("--split-db", type=Path, help="tables of the 24-puzzle, for a divided board")
    parser.add_argument("--split-id", default="1", help="its number in korf50-24puzzle")
    parser.add_argument(
        "--split-nodes", type=int, default=300_000_000, help="nodes to generate; the board must have more"
    )
    parser.add_argument("--boards", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    if arguments.db is not None:
        with open_database(arguments.db) as database:
            found["batch"] = measure_batch(database, arguments.boards, arguments.workers, arguments.rounds)
            print(json.dumps(found["batch"]), flush=True)
            found["whole"] = measure_whole_processes(arguments.db, database, arguments.boards, arguments.workers)
            print(json.dumps(found["whole"]), flush=True)
    if arguments.split_db is not None:
        instance = next(at for at in read_instances("korf50-24puzzle", None) if at.id == arguments.split_id)
        with open_database(arguments.split_db) as database:
            goal = parse_goal(instance.goal or "blank-first", instance.size)
            counts = (1, arguments.workers)
            found["split"] = measure_split(
                database, instance.board, goal, counts, arguments.rounds, arguments.split_nodes
            )
        print(json.dumps(found["split"]), flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
