"""Labels of boards: distances, optimal first moves, and distances after each move."""

import itertools

import numpy as np
import pytest

from pdb_core.board_size import parse_size
from pdb_core.encoding import Cost, Encoding
from pdb_core.puzzle import blank_last, parse_goal
from solver import Iteration, Labels, Solver
from tests import rows
from tests.naive.boards_and_tables import naive_distances, naive_labels, naive_moves
from tests.solving import S4, TINY_SLICES, database_for, share, solvable_boards, walked

Row = tuple[int, int, list[int]]
FOURS = "1,2,3,4/5,6,7,8/9,10,11,12/13,14,15,16/17,18,19,20/21,22,23,24"
OTHER_FOURS = "1,2,6,7/3,4,5,8/9,10,14,15/11,12,16,17/13,18,19,20/21,22,23,24"


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
"""),
)
def test_labels_are_the_distances(
    kind: str, size: str, partition: str, table_goal: str, goal_text: str, encoding: Encoding, cost: Cost
) -> None:
    """Also of boards that cannot be solved, of the goal, and with goals whose boards a symmetry maps to the table's."""
    board_size = parse_size(size)
    goal = parse_goal(goal_text, board_size)
    distances = naive_distances(board_size, goal)
    permutations = list(itertools.permutations(range(board_size.n_cells)))
    boards = [goal, *share(permutations[:: 1 if size == "3x2" else 1201], 75)]
    expected = [naive_labels(board, board_size, distances) for board in boards]
    with database_for(partition, size, table_goal, encoding=encoding, cost=cost) as database:
        solver = Solver(database)
        assert solver.ida_star.engine.kind.name == kind
        for n_threads in (1, 2):
            assert rows_of(solver.label(boards, goal, n_threads=n_threads)) == expected
        lengths = solver.label(boards, goal, moves=False)
        assert lengths.distances.tolist() == [distance for distance, _, _ in expected]
        assert lengths.first_moves is None
        assert lengths.after is None
        assert rows_of(solver.label(np.empty((0, board_size.n_cells), dtype=np.uint8), goal, n_threads=2)) == []


@pytest.mark.parametrize(
    ("kind", "size", "partitions", "encoding"),
    rows(f"""
vector | 4x4 | 663 555 | bits
wide | 5x5 | {FOURS} | bits
catalogue | 5x5 | {FOURS}+{OTHER_FOURS} | bits
"""),
)
def test_labels_are_the_lengths_of_solutions(kind: str, size: str, partitions: str, encoding: Encoding) -> None:
    """Hard boards are shared by threads."""
    board_size = parse_size(size)
    solver = Solver(*(database_for(name, size, encoding=encoding) for name in partitions.split()), tuning=TINY_SLICES)
    assert solver.ida_star.engine.kind.name == kind
    goal, generator = blank_last(board_size), np.random.default_rng(40)
    near_goal = [goal, *(walked(goal, board_size, n_moves, generator) for n_moves in range(15, 40))]
    boards = solvable_boards(S4, 5, 5) if board_size == S4 else near_goal
    near = {after for board in boards for _tile, after in naive_moves(board, board_size)}
    lengths = {board: solver.solve(board).length for board in near.union(boards)}
    for n_threads in (1, 2):
        reported: list[Iteration] = []
        found = rows_of(solver.label(boards, n_threads=n_threads, report=reported.append))
        assert found == [naive_labels(board, board_size, lengths) for board in boards]
        assert reported
