"""Boards that are their own image: only some first moves are searched, and nothing is lost."""

from dataclasses import replace

import pytest

from pdb_core.puzzle import as_goal
from pdb_core.symmetry import mappings_between
from solver.engine.search import IdaStar
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.pruning.fsm import START
from solver.solve import Solver
from tests.naive.boards_and_tables import naive_distances
from tests.solving import S3, database_for, share

# Goals with the blank in a corner, in the centre or at an edge, and how many boards are their own image.
GOALS = {"blank-last": 144, "1 2 3/4 0 5/6 7 8": 736, "1 0 2/3 4 5/6 7 8": 144}


@pytest.mark.tiny
@pytest.mark.parametrize(("name", "n_boards"), GOALS.items())
def test_own_images_keep_their_lengths_with_fewer_nodes(name: str, n_boards: int) -> None:
    """With the state of the FSM after the first move, some of them would not."""
    goal = as_goal(name, S3)
    distances, symmetries = naive_distances(S3, goal), mappings_between(goal, goal, S3)[1:]
    own_images = [board for board in distances if any(each.apply(board) == board for each in symmetries)]
    assert len(own_images) == n_boards
    tried = share(own_images[:: n_boards // 72], 12)
    tables = database_for("1,2,5/3,4,6/7,8", "3x3", name, encoding="bits")
    for solver in (HeuristicSolver(S3, goal, "manhattan"), Solver(tables)):
        engine = solver.ida_star.engine
        like_others = IdaStar(replace(engine, fsm=replace(engine.fsm, own_image=START)))
        found, whole = ([each.search(board) for board in tried] for each in (solver.ida_star, like_others))
        assert [len(each.moves) for each in found] == [distances[board] for board in tried]
        n, n_whole = (sum(at.generated for each in many for at in each.thresholds) for many in (found, whole))
        assert n < 0.95 * n_whole
