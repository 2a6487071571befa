"""Strength of heuristics: eta over all boards, and estimated by chains."""

import math

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.puzzle import blank_first, blank_last
from pdb_study.strength import branching_factor, study_strength
from tests.command_line import pdb, records, refused
from tests.naive.boards_and_tables import cell_distance, naive_distances, naive_manhattan
from tests.solving import S3, S4


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "published"), [("3x3", 1.7321), ("4x4", 2.1304), ("5x5", 2.3676)])
def test_branching_factor_is_the_published_one(size: str, published: float) -> None:
    assert branching_factor(parse_size(size)) == pytest.approx(published, abs=5e-5)


@pytest.mark.tiny
def test_eta_of_small_boards_is_the_mean_over_all() -> None:
    size, goal = BoardSize(3, 2), blank_last(BoardSize(3, 2))
    b = branching_factor(size)
    etas = [b ** -naive_manhattan(board, goal, size) for board in naive_distances(size, goal)]
    (row,) = study_strength(size, "manhattan").rows
    assert (row.eta, row.standard_error) == (pytest.approx(math.fsum(etas) / len(etas)), 0)


def manhattan_eta(size: BoardSize) -> float:
    """Return eta of Manhattan distance, exactly: the sum over all permutations of products is a permanent.

    A board can be solved if the sign of its permutation is that of the blank's distance, so half of the boards are the
    permanent and the determinant with these signs together.
    """
    n = size.n_cells
    weights = branching_factor(size) ** -np.array(
        [[cell_distance(i, j, size) for j in range(n)] for i in range(n)], float
    )
    signs = (-1.0) ** np.array([cell_distance(0, j, size) for j in range(n)])
    weights[0] = 1
    signed = weights.copy()
    signed[0] = signs
    # Glynn's formula.
    deltas = 1 - 2 * (np.arange(2 ** (n - 1))[:, None] >> np.arange(n) & 1)
    permanent = float((deltas.prod(axis=1) * (deltas @ weights).prod(axis=1)).mean())
    return (permanent + float(np.linalg.det(signed))) / math.factorial(n)


def test_eta_of_manhattan_distance_is_the_exact_one() -> None:
    (row,) = study_strength(S4, "manhattan", goal=blank_first(S4), n_chains=400, n_steps=800, n_threads=2).rows
    assert row.standard_error < 0.1 * row.eta
    assert row.eta == pytest.approx(manhattan_eta(S4), abs=3 * row.standard_error)


def test_eta_does_not_depend_on_threads() -> None:
    found = [study_strength(S4, "manhattan", n_chains=401, n_steps=5, n_threads=n_threads) for n_threads in (1, 2)]
    assert found[0] == found[1]


def test_command_prints_eta_of_tables_beside_heuristics(small_table: str) -> None:
    tables = ("--db", small_table, "--heuristic", "manhattan")
    rows = records("study", "strength", "3x3", *tables)
    assert [row["heuristic"] for row in rows] == ["manhattan", "db 1,2,5/3,4,6/7,8 bytes"]
    assert rows[0]["eta"] == pytest.approx(study_strength(S3, "manhattan").rows[0].eta)
    assert rows[1]["eta"] < rows[0]["eta"]
    few = pdb("study", "strength", "4x4", "--heuristic", "manhattan", "--chains", "30", "--steps", "2", code=0)
    assert "few chains decide eta of manhattan" in few.stderr
    (own,) = records("study", "strength", "3x3", "--db", small_table, "--heuristic", "db")
    assert (own["heuristic"], own["eta"]) == (rows[1]["heuristic"], pytest.approx(rows[1]["eta"]))
    assert "few chains" not in pdb("study", "strength", "2x2", code=0).stderr
    refused(pdb("study", "strength", "7x7"), 2, "go to boards of 6x6")
