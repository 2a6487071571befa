"""Long searches on a card, beside the processor of the same machine. `scripts/test-cuda` runs this file.

Each test prints lines for docs/design/cuda.md. `BOARDS` in the environment sets the number of random boards.
"""

import os
import time
from pathlib import Path

import numpy as np
import pytest

import tilepdb
from pdb_query import read_instances
from solver.cuda.card import describe_card
from solver.solve import Solver
from tests.solving import node_counts

N_BOARDS = int(os.environ.get("BOARDS", "1000000"))
N_COMPARED = min(N_BOARDS, 50_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    print(f"\n{describe_card()}, {os.cpu_count()} cores")
    return tmp_path_factory.mktemp("tables")


def shown(what: str, n_boards: int, n_nodes: int, seconds: float) -> None:
    print(f"{what}: {n_boards / seconds:,.0f} boards/s, {n_nodes / seconds / 1e9:.2f} billion nodes/s, {seconds:.1f} s")


def test_random_boards_have_the_lengths_of_the_processor(folder: Path) -> None:
    boards = tilepdb.random_boards("4x4", n_boards=N_BOARDS, seed=1)
    for partition in ("78", "663"):
        with tilepdb.build(partition, folder / f"{partition}.h5") as database:
            card, processor = Solver(database, device="cuda"), Solver(database)
            card.solve_many(boards[:2000])  # compiles
            start = time.perf_counter()
            found = card.solve_many(boards)
            shown(f"{partition}, card", len(boards), int(found.generated.sum()), time.perf_counter() - start)
            start = time.perf_counter()
            expected = processor.solve_many(boards[:N_COMPARED])
            shown(f"{partition}, cores", N_COMPARED, int(expected.generated.sum()), time.perf_counter() - start)
            np.testing.assert_array_equal(found.lengths[:N_COMPARED], expected.lengths)


def test_labels_have_the_moves_of_the_processor(folder: Path) -> None:
    boards = tilepdb.random_boards("4x4", n_boards=max(1, N_BOARDS // 10), seed=2)
    with tilepdb.build("78", folder / "78.h5") as database:
        start = time.perf_counter()
        found = Solver(database, device="cuda").label(boards)
        shown("labels with moves, card", len(boards), 0, time.perf_counter() - start)
        expected = Solver(database).label(boards[: N_COMPARED // 10])
        np.testing.assert_array_equal(found.after[: N_COMPARED // 10], expected.after)


def test_hard_boards_have_the_lengths_and_counts_of_the_processor(folder: Path) -> None:
    """Complete thresholds of up to some hundred million nodes, and all published lengths."""
    with tilepdb.build("24-small", folder / "24-small.h5") as database:
        card, processor = Solver(database, device="cuda"), Solver(database)
        instances = list(read_instances("korf50-24puzzle", None))
        n_nodes, whole = 0, time.perf_counter()
        for instance in instances:
            start = time.perf_counter()
            found = card.solve(instance.board, instance.goal or "blank-last")
            seconds = time.perf_counter() - start
            n_nodes += found.generated
            shown(f"board {instance.id}, {found.length} moves", 1, found.generated, seconds)
            assert found.length == instance.optimal_length
            if instance.id in ("1", "13", "25"):
                limits = tilepdb.Limits(max_nodes=300_000_000)
                expected = processor.solve(instance.board, instance.goal or "blank-last", limits=limits)
                n_whole = min(len(expected.thresholds), len(found.thresholds)) - 1
                assert node_counts(found.thresholds[:n_whole]) == node_counts(expected.thresholds[:n_whole])
        shown("Korf's 50 24-puzzles", len(instances), n_nodes, time.perf_counter() - whole)


def test_single_boards_take_at_most_twice_the_time_of_the_processor(folder: Path) -> None:
    random = tilepdb.random_boards("4x4", n_boards=1, seed=3)
    hardest = [instance.board for instance in read_instances("hardest80", None)]
    with tilepdb.build("78", folder / "78.h5") as database:
        for what, boards in (("a random board", random), ("the 17 hardest boards", hardest)):
            seconds = []
            for device in ("cuda", "cpu"):
                solver = Solver(database, device=device)
                solver.solve(boards[0])  # compiles
                start = time.perf_counter()
                n_nodes = sum(solver.solve(board).generated for board in boards)
                seconds.append(time.perf_counter() - start)
                shown(f"{what}, {device}", len(boards), n_nodes, seconds[-1])
            assert seconds[0] <= 2 * seconds[1]
