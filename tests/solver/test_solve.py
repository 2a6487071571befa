"""Solutions with databases: nodes of the textbook, node counts of instance sets, replays, refusals; all solutions,
many boards at once. Their lengths: test_agreement.py.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from pdb_core.board_size import parse_size
from pdb_core.encoding import Encoding
from pdb_core.errors import GoalError, InputError, TableMismatchError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import Board, Tiles, blank_first, blank_last
from pdb_core.symmetry import BoardMapping
from scripts.golden import counted
from solver.engine.result import SearchResult
from solver.engine.worker_pool import in_parallel
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.solution import replay
from solver.solve import Solver
from solver.textbook import ida_star
from tests import marked_rows
from tests.naive.boards_and_tables import naive_distances, naive_shortest_solutions
from tests.solving import (
    CENTRE,
    HARDEST_8,
    S3,
    TINY_SLICES,
    UNSOLVABLE,
    database_for,
    golden_rows,
    node_counts,
    share,
    solvable_boards,
    solver_for,
)


@pytest.mark.tiny
def test_boards_goals_and_tables_that_do_not_fit_are_rejected() -> None:
    near = [1, 2, 3, 4, 5, 6, 7, 0, 8]
    solver, other = solver_for("1,2,5/3,4,6/7,8", "3x3"), database_for("1,2,3", "2x2")
    for call, error, match in (
        (lambda: solver.solve(UNSOLVABLE), UnsolvableError, "odd"),
        (lambda: solver.solve_all(UNSOLVABLE), UnsolvableError, "odd"),
        (lambda: solver.solve(near, CENTRE), GoalError, "goal"),
        (lambda: solver.solve_many([near], CENTRE), GoalError, "goal"),
        (lambda: HeuristicSolver("3x3").solve(near, CENTRE), GoalError, "make one for another goal"),
        (lambda: HeuristicSolver("7x4"), InputError, "go to boards of 6x6"),
        (lambda: HeuristicSolver("4x6", heuristics="walking-distance"), InputError, "not for 4x6"),
        (lambda: Solver(*solver.databases, other), TableMismatchError, "holds tables for 2x2"),
    ):
        with pytest.raises(error, match=match):
            call()
    found = solver.solve_many([UNSOLVABLE, near])
    assert found.lengths.tolist() == [-1, 1]
    assert found.moves is None
    assert solver.solve_many(np.empty((0, 9), dtype=np.uint8), n_threads=2).lengths.shape == (0,)


@pytest.mark.tiny
@pytest.mark.parametrize(
    "tables",
    [
        "1,2,5/3,4,6/7,8; 1,4,7,8/2,3,5,6 blank-last bits",
        "1,2,5/3,4,6/7,8; 1,2,3,4/5,6,7,8 blank-first bits",
        "1,4,7/2,3 blank-last bits every-move",
    ],
)
def test_nodes_are_those_of_the_textbook_with_the_largest_sum(tables: str) -> None:
    goal = blank_last(S3)
    # In the last board, all tiles of the tables in which every move counts are on their goal cells.
    boards = [*share(solvable_boards(S3, 4, 15), 4), (1, 2, 3, 4, 6, 8, 7, 5, 0)]
    given = [table.split() for table in tables.split(";")]
    databases = [database_for(partition, "3x3", *options) for partition, *options in given]

    def h(at: Tiles) -> int:
        return max(database.probe(at, goal).h for database in databases)

    solver = Solver(*databases, plain=True)
    for board in boards:
        expected = node_counts(ida_star(board, h, goal, S3).thresholds)
        solution = solver.solve(board)
        found = node_counts(solution.thresholds)
        assert solution.h == h(board)
        # The last threshold ends at the goal, whichever child is searched first.
        assert found[:-1] == expected[:-1]
        assert found[-1][0] == expected[-1][0]


# Instance sets


# Columns of tests/golden/nodes.csv, or of classic.csv for heuristics | the most nodes of a board that is solved.
SETS = """
set=korf100 partition=78 encoding=bits | inf |
set=classic partition=78 encoding=bits | inf |
set=korf100 partition=663 encoding=bits | inf |
set=korf100 partition=663 encoding=bytes | 3e5 |
set=hardest80 partition=78 encoding=bits | inf | slow
set=worst-for-78 partition=78 encoding=bits | inf | slow
set=hardest80 partition=78 encoding=bytes | inf | slow
set=korf100 partition=78 encoding=bytes | inf | slow
set=korf100 partition=663 encoding=bytes | inf | slow
set=hardest80 partition=663 encoding=bits | inf | slow
heuristic=manhattan algorithm=plain | 1e6 |
heuristic=manhattan algorithm=pruned | 1e6 |
heuristic=linear-conflict algorithm=pruned | 1e6 |
heuristic=manhattan algorithm=plain | 2e7 | slow
heuristic=manhattan algorithm=pruned | 2e7 | slow
heuristic=linear-conflict algorithm=pruned | 2e7 | slow
"""


@pytest.mark.parametrize(("columns", "most_nodes"), marked_rows(SETS))
def test_published_boards_have_their_lengths_and_the_nodes_on_record(columns: str, most_nodes: str) -> None:
    """Exact to the node, of the complete thresholds and of all: any change of the search shows here."""
    where = dict(column.split("=") for column in columns.split())
    kept = golden_rows("nodes.csv" if "set" in where else "classic.csv", **where)
    kept = [row for row in kept if int(row["generated"]) < float(most_nodes)]
    assert kept
    for row, found in zip(kept, in_parallel(kept, counted, n_threads=2), strict=True):
        assert {name: str(value) for name, value in found.items()} == row


@pytest.mark.tiny
def test_result_that_fails_its_replay_is_no_solution() -> None:
    identity = BoardMapping("identity", tuple(range(9)), tuple(range(9)))
    with pytest.raises(WrongAnswerError, match="ends at"):
        SearchResult((1,), (), 0.0).solution(Board(HARDEST_8), Board(blank_last(S3)), identity)


# All optimal solutions: each listed once, and counted


# Size | partition | encoding | every how many boards.
EVERY = """
2x3 | 1,2,3/4,5 | bytes | 1 | tiny
3x2 | 1,2,3,4,5 | bits | 1 | tiny
3x2 | | bits | 7 | tiny
3x3 | 8 | bits | 197 |
3x3 | 1,2,5/3,4,6/7,8 | bits | 97 | slow
"""


@pytest.mark.parametrize(("size", "partition", "encoding", "step"), marked_rows(EVERY))
def test_all_optimal_solutions_are_listed(size: str, partition: str, encoding: Encoding, step: str) -> None:
    """With tables, or with linear conflicts."""
    board_size = parse_size(size)
    goal = blank_last(board_size)
    distances = naive_distances(board_size, goal)
    counts = naive_shortest_solutions(board_size, goal)
    solver = (
        solver_for(partition, size, encoding) if partition else HeuristicSolver(board_size, goal, ["linear-conflict"])
    )
    for board in share(list(distances)[:: int(step)], 6):
        found: list[tuple[int, ...]] = []
        solution = solver.solve_all(board, listed=found.append)
        assert (solution.length, solution.is_complete) == (distances[board], True)
        assert solution.n_solutions == counts[board] == len(found) == len(set(found))
        for tiles in found:
            assert len(tiles) == distances[board]
            replay(board, tiles, goal, board_size)
        assert solver.solve_all(board).n_solutions == counts[board]


# Many boards at once: the same as one after another


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("make", "n_threads"),
    [
        (partial(solver_for, "1,2,5/3,4,6/7,8", "3x3"), 1),
        (partial(solver_for, "1,2,5/3,4,6/7,8", "3x3", "bits", TINY_SLICES), 3),
        (partial(HeuristicSolver, S3, "blank-first"), 1),
    ],
    ids=["bytes", "bits", "heuristic"],
)
def test_many_boards_have_the_solutions_and_nodes_of_single_ones(make: Callable[[], Solver], n_threads: int) -> None:
    """With tiny slices, all boards are hard ones, which the threads share."""
    goal, solver = blank_first(S3), make()
    boards = [*solvable_boards(S3, 9, 5, goal), goal]
    many = solver.solve_many(boards, goal, n_threads=n_threads, moves=True)
    for row, board in enumerate(boards):
        alone, length = solver.solve(board, goal), many.lengths[row]
        assert (length, many.h[row]) == (alone.length, alone.h)
        tiles = many.moves[row].tolist()
        replay(board, tiles[:length], goal, S3)
        assert not any(tiles[length:])
        if n_threads == 1:
            assert tuple(tiles[:length]) == alone.moves
            assert (many.generated[row], many.expanded[row]) == (alone.generated, alone.expanded)
