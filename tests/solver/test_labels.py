"""Labels of boards: distances, optimal first moves, and distances after each move."""

import itertools

import numpy as np
import pytest

from pdb_core.board_size import parse_size
from pdb_core.encoding import Cost, Encoding
from pdb_core.puzzle import parse_goal
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.labels import Labels
from solver.progress import Iteration
from solver.solve import Solver
from tests import rows
from tests.naive.boards_and_tables import naive_distances, naive_labels
from tests.solving import TINY_SLICES, database_for, share

Row = tuple[int, int, list[int]]


def rows_of(labels: Labels) -> list[Row]:
    """Return (distance, first moves, distances after moves) of each board."""
    assert labels.distances.dtype == labels.after.dtype == np.int16
    assert labels.first_moves.dtype == np.uint8
    columns = (labels.distances.tolist(), labels.first_moves.tolist(), labels.after.tolist())
    return list(zip(*columns, strict=True))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("kind", "size", "partition", "table_goal", "goal_text", "encoding", "cost"),
    rows("""
vector | 3x2 | 1,2/3,4,5 | 3 0 5/1 2 4 | 3 0 5/1 2 4 | bits | additive
vector | 3x2 | 1,2/3,4,5 | blank-last | 5 1 0/3 4 2 | bits | additive
vector | 3x3 | 1,2,5/3,4,6/7,8 | blank-last | 8 3 2/7 1 4/5 6 0 | bits | additive
scalar | 3x3 | 1,2,5/3,4,6/7,8 | blank-last | blank-first | bytes | additive
catalogue | 3x3 | 1,2,3,4/5,6,7,8 | blank-last | blank-last | bits | every-move
scalar | 3x3 | 1,2,3/4,5,6/7,8 | 1 2 3/4 0 5/6 7 8 | 8 7 6/5 0 4/3 2 1 | bytes | additive
 | 3x2 | | | snail | |
"""),
)
def test_labels_are_the_distances(
    kind: str, size: str, partition: str, table_goal: str, goal_text: str, encoding: Encoding, cost: Cost
) -> None:
    """Also by heuristics, of boards that cannot be solved, of the goal, and with goals that a symmetry maps to the
    table's.
    """
    board_size = parse_size(size)
    goal = parse_goal(goal_text, board_size)
    distances = naive_distances(board_size, goal)
    permutations = list(itertools.permutations(range(board_size.n_cells)))
    boards = [goal, *share(permutations[:: 1 if size == "3x2" else 1201], 75)]
    expected = [naive_labels(board, board_size, distances) for board in boards]
    solver, reported = HeuristicSolver(board_size, goal, tuning=TINY_SLICES), list[Iteration]()
    if partition:
        database = database_for(partition, size, table_goal, encoding=encoding, cost=cost)
        solver = Solver(database, tuning=TINY_SLICES)
        assert solver.ida_star.engine.kind.name == kind
    for n_threads in (1, 2):  # which share the hard boards
        assert rows_of(solver.label(boards, goal, n_threads=n_threads, report=reported.append)) == expected
    assert reported or size == "3x2"
    lengths = solver.label(boards, goal, moves=False)
    assert lengths.distances.tolist() == [distance for distance, _, _ in expected]
    assert lengths.first_moves is lengths.after is None
    assert rows_of(solver.label(np.empty((0, board_size.n_cells), dtype=np.uint8), goal, n_threads=2)) == []
