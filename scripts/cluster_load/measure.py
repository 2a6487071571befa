"""Measure solves on a Dask cluster of this machine: a batch against threads, and a split board with more workers.

Reports seconds, processor seconds and nodes of alternating rounds, and the ratios of the best of each. Run it by
scripts/bench --cluster. It needs `pip install 'tile-pdb[dask]'`.
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
Rounds = dict[str, list[dict[str, float]]]


def processor_seconds() -> float:
    """Return user and system seconds of this process and its children."""
    process = psutil.Process()
    times = [process.cpu_times(), *(child.cpu_times() for child in process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measured(solve: Callable[[], list[Solution]]) -> dict[str, float]:
    """Return seconds, processor seconds and nodes of a call."""
    before, start = processor_seconds(), time.perf_counter()
    solutions = solve()
    return {
        "seconds": time.perf_counter() - start,
        "processor_s": processor_seconds() - before,
        "generated": sum(solution.generated for solution in solutions),
    }


def measured_on_cluster(client: Client, requests: Sequence[Request], max_nodes: int | None = None) -> dict[str, float]:
    """Return the same of a batch, and `busy`: the share of the time that workers were searching."""
    busy = 0.0

    def report(progress: ClusterProgress) -> None:
        nonlocal busy
        busy = progress.busy_s / (progress.seconds * progress.n_threads)

    def solve() -> list[Solution]:
        answers = ClusterBatch(client, report=report, limits=Limits(None, max_nodes)).solutions(requests)
        solutions = [answer for answer in answers if isinstance(answer, Solution)]
        assert max_nodes is not None or all(solution.length is not None for solution in solutions)
        return solutions

    return measured(solve) | {"busy": busy}


def measure_batch(database: Database, n_boards: int, n_workers: int, n_rounds: int) -> dict[str, Any]:
    """Measure random boards on the cluster and on as many threads, after a first round of each."""
    boards: list[Board] = [tuple(row.tolist()) for row in random_boards(database.size, database.goal, n_boards, 1)]
    requests = [Request(board, database.goal, (database,)) for board in boards]
    solver = Solver(database)

    def on_threads() -> list[Solution]:
        return list(
            in_parallel(
                boards,
                lambda board, report, pool: solver.solve(board, report=report, pool=pool),
                n_threads=n_workers,
            )
        )

    rounds: Rounds = {"threads": [], "cluster": []}
    with connected(None, n_workers, print) as client:
        client.wait_for_workers(n_workers)
        first = measured_on_cluster(client, requests)
        on_threads()
        for _ in range(n_rounds):
            rounds["threads"].append(measured(on_threads))
            rounds["cluster"].append(measured_on_cluster(client, requests))
    return {"n_boards": n_boards, "n_workers": n_workers, "first": first, **rounds, **ratios(rounds)}


def measure_commands(path: Path, database: Database, n_boards: int, n_workers: int) -> dict[str, float]:
    """Return the seconds of `pdb solve` with threads and with a local cluster."""
    boards = random_boards(database.size, database.goal, n_boards, 1)
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "boards.txt"
        file.write_text("".join(f"{format_board(row.tolist())}\n" for row in boards))
        for name, option in (("threads", "--threads"), ("cluster", "--local-cluster")):
            command = ["solve", "--db", str(path), "--instances", str(file), "--format", "csv", option, str(n_workers)]
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", _PROGRAM, *command], check=True, capture_output=True)
            seconds[f"{name}_s"] = time.perf_counter() - start
    return seconds


def measure_split(
    database: Database, board: Board, goal: Board, counts: Sequence[int], n_rounds: int, max_nodes: int
) -> dict[str, Any]:
    """Measure the first `max_nodes` nodes of one board on warm clusters of several sizes.

    The whole board would not do: in the last threshold, luck decides when the solution is found.
    """
    # A board one move from the goal lets the workers open the tables.
    near = list(database.goal)
    blank = near.index(0)
    cell = database.size.neighbours[blank][0]
    near[blank], near[cell] = near[cell], near[blank]
    rounds: Rounds = {str(n): [] for n in counts}
    for _ in range(n_rounds):
        for n_workers in counts:
            with connected(None, n_workers, print) as client:
                client.wait_for_workers(n_workers)
                measured_on_cluster(client, [Request(tuple(near), database.goal, (database,))] * 4 * n_workers)
                request = Request(board, goal, (database,))
                rounds[str(n_workers)].append(measured_on_cluster(client, [request], max_nodes))
    return {**rounds, **ratios(rounds)}


def ratios(rounds: Rounds) -> dict[str, float]:
    """Return the ratios of the best rounds of the two entries: seconds, processor seconds and nodes per second."""
    first, last = rounds
    least = {name: [min(each[what] for each in rounds[name]) for what in ("seconds", "processor_s")] for name in rounds}
    rate = {name: max(each["generated"] / each["seconds"] for each in rounds[name]) for name in rounds}
    return {
        f"{last}_to_{first}_seconds": least[last][0] / least[first][0],
        f"{last}_to_{first}_processor": least[last][1] / least[first][1],
        f"{last}_to_{first}_nodes_per_s": rate[last] / rate[first],
    }


def main() -> None:
    """Run the measurements that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("db", type=Path, nargs="?", help="tables of the 15-puzzle, for random boards")
    parser.add_argument("--split-db", type=Path, help="tables of the 24-puzzle, for a board to be split")
    parser.add_argument("--split-id", default="1", help="its number in korf50-24puzzle")
    parser.add_argument("--split-nodes", type=int, default=300_000_000, help="nodes to generate; it must have more")
    parser.add_argument("--boards", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    if options.db is not None:
        with open_database(options.db) as database:
            found["batch"] = measure_batch(database, options.boards, options.workers, options.rounds)
            found["whole"] = measure_commands(options.db, database, options.boards, options.workers)
    if options.split_db is not None:
        instance = next(at for at in read_instances("korf50-24puzzle", None) if at.id == options.split_id)
        with open_database(options.split_db) as database:
            goal = parse_goal(instance.goal or "blank-first", instance.size)
            counts = (1, options.workers)
            found["split"] = measure_split(database, instance.board, goal, counts, options.rounds, options.split_nodes)
    print(json.dumps(found, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
