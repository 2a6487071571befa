"""Compiled lookups: bounds along walks equal those of batches, and a search of a user's own is right."""

import random
import runpy
from typing import Any

import numpy as np
import pytest
from numba import njit

from pdb_core.encoding import Cost, Encoding
from pdb_core.moves import blank_steps
from pdb_core.puzzle import Board
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
        node, children = np.empty(lookups.n, dtype=np.int64), np.empty((4, lookups.n), dtype=np.int64)
        bounds, choices = np.empty(4, dtype=np.int64), random.Random(1)
        board, last = Board(solvable_boards(S3, 1, 1, goal)[0], S3), -1
        assert lookups.begin(lookups.tables, np.array(board, dtype=np.uint8), node) == database.probe(board, goal).h
        for _ in range(len(share(range(300), 10))):
            blank = board.index(BLANK)
            expand(lookups, np.array(board, dtype=np.uint8), blank, last, node, children, bounds)
            after = {
                move: board.move(board[blank + step])
                for move, step in enumerate(blank_steps(S3))
                if blank + step in S3.neighbours[blank] and move != 3 - last
            }
            assert bounds.tolist() == [database.probe(after[m], goal).h if m in after else -1 for m in range(4)]
            last = choices.choice([*after])
            board, node = after[last], children[last].copy()


def test_example() -> None:
    """docs/examples/own_search.py finds optimal lengths."""
    ida_star = runpy.run_path(str(ROOT / "docs" / "examples" / "own_search.py"))["ida_star"]
    solver = Solver(table_file("663", "4x4", encoding="bits"))
    boards = solvable_boards(solver.databases[0].size, 10, 1)
    lookups = solver.databases[0].compiled()
    lengths = [ida_star(lookups, np.array(board, dtype=np.uint8)) for board in [solver.goal, *boards]]
    assert lengths == [0, *solver.solve_many(boards).lengths]
