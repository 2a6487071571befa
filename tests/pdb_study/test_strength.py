"""Strength of heuristics: eta over all boards, and estimated by chains."""

import math

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.puzzle import blank_first, blank_last
from pdb_study.strength import branching_factor, study_strength
from tests.naive.boards_and_tables import cell_distance, naive_distances, naive_manhattan
from tests.solving import S4


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
