"""Boards that are their own image: only some first moves are searched, and nothing is lost."""

import numpy as np
import pytest

from pdb_core.puzzle import as_goal
from pdb_core.symmetry import mappings_between
from solver import HeuristicSolver
from solver.pruning.mirrored_moves import EVERY_MOVE
from tests.naive.boards_and_tables import naive_distances
from tests.solving import S3

# Goals whose blank is in a corner, in the centre or at an edge | boards of the 8-puzzle that are their own image.
GOALS = {"blank-last": 144, "1 2 3/4 0 5/6 7 8": 736, "1 0 2/3 4 5/6 7 8": 144}


@pytest.mark.tiny
@pytest.mark.parametrize(("name", "n_boards"), GOALS.items())
def test_boards_of_the_8_puzzle_keep_their_lengths_with_fewer_nodes(
    name: str, n_boards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the state of the FSM after the first move, some of them would not."""
    goal = as_goal(name, S3)
    distances, mappings = naive_distances(S3, goal), mappings_between(goal, goal, S3)[1:]
    own_images = [board for board in distances if any(each.apply(board) == board for each in mappings)]
    assert len(own_images) == n_boards
    solver = HeuristicSolver(S3, goal, "manhattan")
    found = [solver.solve(board) for board in own_images]
    assert [each.length for each in found] == [distances[board] for board in own_images]
    monkeypatch.setattr("solver.engine.engine.kept_moves", lambda boards, *_: np.full(len(boards), EVERY_MOVE))
    whole = [solver.solve(board) for board in own_images]
    assert sum(each.generated for each in found) < 0.9 * sum(each.generated for each in whole)
