"""`pdb study compare`: heuristics and searches on the same boards."""

import statistics
from pathlib import Path

import pytest

from pdb_study.compare import compare
from solver.heuristics.heuristic_solver import HeuristicSolver
from tests.command_line import BOARD, UNSOLVABLE, records

MANHATTAN = ("study", "compare", "--heuristic", "manhattan")


def test_every_pair_has_a_row_and_optimal_lengths_agree(tmp_path: Path) -> None:
    plot = tmp_path / "a.svg"
    searches = ("ida-star", "a-star", "weighted-a-star", "bidirectional")
    arguments = [argument for name in searches for argument in ("--algorithm", name)]
    arguments += ["--heuristic", "db", "--size", "3x2", "--boards", "9", "--plot", str(plot)]
    rows = {(row["heuristic"], row["algorithm"]): row for row in records(*MANHATTAN, *arguments)}
    assert set(rows) == {(name, search) for name in ("manhattan", "db") for search in searches[:3]} | {
        (None, "bidirectional")
    }
    optimal = {row["mean_length"] for (_name, search), row in rows.items() if search != "weighted-a-star"}
    assert len(optimal) == 1
    weighted = rows["manhattan", "weighted-a-star"]["mean_length"]
    assert min(optimal) <= weighted <= 1.5 * min(optimal)
    # The complete table of 3x2 knows every distance.
    assert rows["db", "a-star"]["mean_h"] == min(optimal)
    assert "<svg" in plot.read_text()


def test_means_by_length_are_those_of_the_boards() -> None:
    boards = ["1 2 3/4 5 6/7 8 0", "1 2 3/4 5 6/7 0 8", "1 2 3/4 5 0/7 8 6", "1 2 3/4 5 6/0 7 8", BOARD]
    solver = HeuristicSolver("3x3", heuristics="misplaced")
    nodes = [solver.solve(board).generated for board in boards]
    (row,) = compare({"a": solver}, [*boards, UNSOLVABLE]).rows
    assert (row.n_boards, row.n_unsolvable, row.n_solved, row.algorithm) == (6, 1, 5, "ida-star")
    assert (row.mean_generated, row.mean_length) == (statistics.mean(nodes), 7)
    found = [(means.length, means.n_boards, means.mean_generated) for means in row.by_length]
    assert found == [(0, 1, 0), (1, 2, sum(nodes[1:3]) / 2), (2, 1, nodes[3]), (31, 1, nodes[4])]
    errors = [means.mean_generated_error for means in row.by_length]
    assert errors == [None, pytest.approx(abs(nodes[1] - nodes[2]) / 2, abs=0.06), None, None]
    factors = [means.effective_branching_factor for means in row.by_length]
    assert factors[:2] == [None, found[1][2]]
    assert sum(factors[3] ** k for k in range(1, 32)) == pytest.approx(nodes[4], rel=1e-4)
