"""Solutions with databases: nodes of the textbook, node counts of instance sets, replays, refusals; all solutions,
many boards at once. Their lengths: test_agreement.py.
"""

from typing import Any

import numpy as np
import pytest

from pdb_core.board_size import parse_size
from pdb_core.encoding import Encoding
from pdb_core.errors import BoardError, GoalError, TableMismatchError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import Board, Tiles, blank_first, blank_last, parse_goal
from pdb_core.symmetry import BoardMapping
from pdb_query import Instance, read_instances
from solver.engine.result import SearchResult
from solver.engine.tuning import TUNING, Tuning
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
    S4,
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
        (lambda: solver.solve((1, 2, 3)), BoardError, "3 numbers"),
        (lambda: solver.solve_many([near, [1, 1, 3, 4, 5, 6, 7, 0, 8]]), BoardError, "row 1"),
        (lambda: solver.solve(near, CENTRE), GoalError, "goal"),
        (lambda: solver.solve_many([near], CENTRE), GoalError, "goal"),
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


# Set of boards | partition | encoding | the most nodes of a board that is solved.
SETS = """
korf100 | 78 | bits | inf |
classic | 78 | bits | inf |
korf100 | 663 | bits | inf |
korf100 | 663 | bytes | 3e5 |
hardest80 | 78 | bits | inf | slow
worst-for-78 | 78 | bits | inf | slow
hardest80 | 78 | bytes | inf | slow
korf100 | 78 | bytes | inf | slow
korf100 | 663 | bytes | inf | slow
hardest80 | 663 | bits | inf | slow
"""


@pytest.mark.parametrize(("name", "partition", "encoding", "most_nodes"), marked_rows(SETS))
def test_sets_are_solved_in_their_published_lengths(
    name: str, partition: str, encoding: Encoding, most_nodes: str
) -> None:
    """Exact to the node, of the complete thresholds and of all: any change of the search shows here.

    One thread per board: with several the last threshold varies.
    """
    rows = golden_rows("nodes.csv", set=name, partition=partition, encoding=encoding)
    counts = {row["id"]: (int(row["complete"]), int(row["generated"])) for row in rows}
    expected = {at: nodes for at, nodes in counts.items() if nodes[1] < float(most_nodes)}
    solver = solver_for(partition, "4x4", encoding)

    def solve(instance: Instance, _report: object, _pool: object) -> tuple[str, tuple[int, int]]:
        solution = solver.solve(instance.board, parse_goal(instance.goal or "blank-last", S4))
        assert solution.length == instance.optimal_length, instance
        complete = sum(at.generated for at in solution.thresholds if at.threshold < solution.length)
        return instance.id, (complete, solution.generated)

    boards = [at for at in read_instances(name, None) if at.size == S4 and at.id in expected]
    assert dict(in_parallel(boards, solve, n_threads=2)) == expected != {}


# Replays


@pytest.mark.tiny
def test_replay_gives_every_board_and_refuses_what_is_no_solution() -> None:
    board, goal = (1, 2, 3, 4, 5, 6, 0, 7, 8), blank_last(S3)
    assert replay(board, (7, 8), goal, S3) == (board, (1, 2, 3, 4, 5, 6, 7, 0, 8), goal)
    refused: dict[tuple[Any, ...], str] = {
        (1,): "move 1 .* slides tile 1",
        (7, 7): "ends at",
        (): "ends at",
        **{(7, tile): f"move 2 .* slides tile {tile}" for tile in (9, -1, 2.5, "a")},
    }
    for tiles, match in refused.items():
        with pytest.raises(WrongAnswerError, match=match):
            replay(board, tiles, goal, S3)


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
@pytest.mark.parametrize(("encoding", "n_threads", "tuning"), [("bytes", 1, TUNING), ("bits", 3, TINY_SLICES)])
def test_many_boards_have_the_solutions_and_nodes_of_single_ones(
    encoding: Encoding, n_threads: int, tuning: Tuning
) -> None:
    """With tiny slices, all boards are hard ones, which the threads share."""
    goal = blank_first(S3)
    boards = [*solvable_boards(S3, 9, 5, goal), goal]
    solver = solver_for("1,2,5/3,4,6/7,8", "3x3", encoding, tuning)
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
