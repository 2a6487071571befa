"""Compiled lookups: bounds along walks equal those of batches, and a search of a user's own is right."""

import runpy
from typing import Any

import numpy as np
import pytest
from numba import njit

from pdb_core.encoding import Cost, Encoding
from pdb_core.types import BLANK
from solver.solve import Solver
from tests import ROOT
from tests.solving import S3, database_for, share, solvable_boards
from tests.tables import table_file


@njit  # type: ignore[untyped-decorator]
def expand(lookups: Any, board: Any, blank: int, last: int, node: Any, children: Any, bounds: Any) -> None:
    """Call the function as users do: Python cannot call it."""
    lookups.expand(lookups.tables, board, blank, last, node, children, bounds)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("partition", "encoding", "cost"),
    [
        ("1,2,5/3,4,6/7,8", "bytes", "additive"),
        ("1,2,5/3,4,6/7,8", "bits", "additive"),
        ("1,2,5/3,4,6/7,8", "bits", "every-move"),
        ("1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8", "bits", "additive"),
    ],
)
@pytest.mark.parametrize("goal", ["blank-last", "blank-first"])
def test_bounds_along_a_walk(partition: str, encoding: Encoding, cost: Cost, goal: str) -> None:
    """Also with the board's last move left out, and for a goal that is an image of the tables' own."""
    with database_for(partition, "3x3", encoding=encoding, cost=cost) as database:
        lookups = database.compiled(goal)
        tables, moves = lookups.tables, np.random.default_rng(1)
        node, children = np.empty(lookups.n, dtype=np.int64), np.empty((4, lookups.n), dtype=np.int64)
        bounds = np.empty(4, dtype=np.int64)
        board, last = np.array(solvable_boards(S3, 1, 1, goal)[0], dtype=np.uint8), -1
        assert lookups.begin(tables, board, node) == database.probe(board, goal).h
        for _ in range(len(share(range(300), 10))):
            blank = int(board.argmin())
            expand(lookups, board, blank, last, node, children, bounds)
            cells = tables.neighbours[blank]
            assert last < 0 or bounds[3 - last] == -1
            after = []
            for move in np.flatnonzero(bounds >= 0):
                child = board.copy()
                child[blank], child[cells[move]] = child[cells[move]], BLANK
                after.append(child)
                assert bounds[move] == database.probe(child, goal).h
            assert len(after) == (cells >= 0).sum() - (last >= 0)
            chosen = int(moves.integers(len(after)))
            last = int(np.flatnonzero(bounds >= 0)[chosen])
            board, node = after[chosen], children[last].copy()


def test_example() -> None:
    """docs/examples/own_search.py finds optimal lengths."""
    ida_star = runpy.run_path(str(ROOT / "docs" / "examples" / "own_search.py"))["ida_star"]
    solver = Solver(table_file("663", "4x4", encoding="bits"))
    boards = solvable_boards(solver.databases[0].size, 10, 1)
    lookups = solver.databases[0].compiled()
    lengths = [ida_star(lookups, np.array(board, dtype=np.uint8)) for board in [solver.goal, *boards]]
    assert lengths == [0, *solver.solve_many(boards).lengths]
