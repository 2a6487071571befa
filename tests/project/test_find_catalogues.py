"""scripts/find_catalogues.py, which finds sets of partitions by sampling nodes of a search."""

import sys
from pathlib import Path

import numpy as np
import pytest

from pdb_core.puzzle import blank_last
from scripts import find_catalogues
from scripts.find_catalogues import Patterns, choose, mean_left, sample_nodes
from solver.textbook import ida_star
from tests.naive import boards_and_tables as naive
from tests.solving import S3, database_for, node_counts, solvable_boards
from tests.tables import table_file

PARTS = ((1, 2, 5), (3, 4, 6), (7, 8))
NAME = "1,2,5/3,4,6/7,8"


def test_all_nodes_of_a_threshold_are_sampled_if_all_are_kept() -> None:
    with database_for(NAME, "3x3", encoding="bits") as database:
        for board in solvable_boards(S3, database.goal, 4, 8):
            solution = ida_star(board, database.goal, S3, lambda at: database.probe(at).maximum)
            *_, (threshold, _generated, expanded), _last = node_counts(solution.iterations)
            rng = np.random.default_rng(1)
            boards, moves_left, n_nodes = sample_nodes(database, board, threshold, 10**9, 400, rng)
            assert n_nodes == expanded
            assert len(boards) == len(moves_left) == 400
            assert (database.probe_batch(boards).maximum <= moves_left).all()
            _, _, estimate = sample_nodes(database, board, threshold, 100, 400, rng)
            assert expanded / 3 < estimate < 3 * expanded


def test_patterns_leave_what_their_partition_leaves() -> None:
    goal = blank_last(S3)
    boards = np.array(solvable_boards(S3, goal, 500, 3), dtype=np.uint8)
    moves_left = np.random.default_rng(4).integers(8, 28, len(boards))
    patterns = Patterns(S3, goal, boards)
    with database_for(NAME, "3x3", encoding="bits") as database:
        expected = database.probe_batch(boards).maximum <= moves_left
    assert (patterns.leaves(PARTS, moves_left) == expected).all()
    assert (patterns.leaves(tuple(map(patterns.reflected, PARTS)), moves_left) == expected).all()
    assert patterns.reflected((1, 2, 5)) == (1, 4, 5)


def test_the_chosen_set_cannot_be_improved_by_one_exchange() -> None:
    rng = np.random.default_rng(5)
    left = rng.integers(0, 256, (8, 3, 40), dtype=np.uint8) | rng.integers(0, 256, (8, 3, 40), dtype=np.uint8)
    units, base = rng.random((8, 20)) < 0.3, rng.random(20) < 0.2

    def time(at: list[int]) -> float:
        nodes = mean_left(np.bitwise_and.reduce(left[at], axis=0, initial=255))
        return float(nodes) * ((units[at].any(axis=0) | base).sum() + 3)

    chosen = choose(left, units, base)
    exchanged = [[*chosen[:i], *chosen[i + 1 :], j] for i in range(len(chosen)) for j in range(8)]
    assert chosen
    assert all(time(chosen) <= time(at) + 1e-9 for at in [*exchanged, *([*chosen, j] for j in range(8))])


def test_sets_are_found_for_a_small_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = blank_last(S3)
    distances = naive.naive_distances(S3, goal)
    boards = [board for board in solvable_boards(S3, goal, 30, 6) if distances[board] >= 22][:3]
    rows = [f"{i},{distances[board]},{' '.join(map(str, board))}" for i, board in enumerate(boards)]
    file = tmp_path / "boards.csv"
    file.write_text("\n".join(["id,optimal_length,board", *rows, ""]))
    table = str(table_file(NAME, "3x3", "blank-last", "bits"))
    arguments = ["--boards", str(file), "--tiles", "3,3,2", "--patterns", "10", "--rest", "2", "--nodes", "400"]
    monkeypatch.setattr(sys, "argv", ["find_catalogues.py", table, *arguments])
    monkeypatch.setattr(find_catalogues, "_ANNEALINGS", 2)
    find_catalogues.main()
    lines = capsys.readouterr().out.splitlines()
    assert "of the nodes are left" in lines[1]
    for line in lines[2:]:
        assert sorted(int(tile) for part in line.split("/") for tile in part.split(",")) == list(range(1, 9))
