"""Measure solves on a Dask cluster of this machine: a batch against threads, and a split board with more workers.

Reports seconds and nodes of alternating rounds, and the ratios of the best of each. Run it by scripts/bench --cluster.
It needs `pip install 'tile-pdb[dask]'`.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster

from pdb_cluster.solve_boards import ClusterAnswers
from pdb_core.puzzle import Board, Tiles, parse_goal, random_boards
from pdb_query import Database, open_database, read_instances
from solver import Limits, Solution, Solver
from solver.engine.worker_pool import in_parallel
from solver.requests import Request

Rounds = dict[str, list[dict[str, float]]]


def measured(solve: Callable[[], list[Solution]]) -> dict[str, float]:
    """Return seconds and nodes of a call."""
    start = time.perf_counter()
    solutions = solve()
    return {
        "seconds": time.perf_counter() - start,
        "generated": sum(solution.generated for solution in solutions),
    }


@contextmanager
def local_client(n_workers: int) -> Iterator[Client]:
    """Start a cluster of worker processes of one thread each."""
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def on_cluster(
    client: Client, database: Database, requests: Sequence[Request], max_nodes: int | None = None
) -> list[Solution]:
    """Return the solutions of boards on a cluster."""
    source = ClusterAnswers(client, lambda _size, _goal: (database,), limits=Limits(None, max_nodes))
    solutions = [answer.result for answer in source.answers(requests) if isinstance(answer.result, Solution)]
    assert max_nodes is not None or all(solution.length is not None for solution in solutions)
    return solutions


def measure_batch(database: Database, n_boards: int, n_workers: int, n_rounds: int) -> dict[str, Any]:
    """Measure random boards on the cluster and on as many threads, after a first round of each."""
    boards: list[Tiles] = [tuple(row.tolist()) for row in random_boards(database.size, database.goal, n_boards, 1)]
    requests = [Request(str(n), Board(board, database.size), database.goal) for n, board in enumerate(boards)]
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
    with local_client(n_workers) as client:
        first = measured(lambda: on_cluster(client, database, requests))
        on_threads()
        for _ in range(n_rounds):
            rounds["threads"].append(measured(on_threads))
            rounds["cluster"].append(measured(lambda: on_cluster(client, database, requests)))
    return {"n_boards": n_boards, "n_workers": n_workers, "first": first, **rounds, **ratios(rounds)}


def measure_split(
    database: Database, board: Tiles, goal: Tiles, counts: Sequence[int], n_rounds: int, max_nodes: int
) -> dict[str, Any]:
    """Measure the first `max_nodes` nodes of one board on warm clusters of several sizes.

    The whole board would not do: in the last threshold, luck decides when the solution is found.
    """
    requests = [Request("1", Board(board, database.size), goal)]
    rounds: Rounds = {str(n): [] for n in counts}
    for _ in range(n_rounds):
        for n_workers in counts:
            with local_client(n_workers) as client:
                on_cluster(client, database, requests, max_nodes // 10)  # the workers open the tables
                rounds[str(n_workers)].append(measured(lambda: on_cluster(client, database, requests, max_nodes)))
    return {**rounds, **ratios(rounds)}


def ratios(rounds: Rounds) -> dict[str, float]:
    """Return the ratios of the best rounds of the two entries: seconds, and nodes per second."""
    first, last = rounds
    seconds = {name: min(each["seconds"] for each in rounds[name]) for name in rounds}
    rate = {name: max(each["generated"] / each["seconds"] for each in rounds[name]) for name in rounds}
    return {
        f"{last}_to_{first}_seconds": seconds[last] / seconds[first],
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
