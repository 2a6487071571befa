"""Dual lookups, for the table of published results (scripts/reproduction/dual_lookups.py)."""

import random
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from pdb_core.errors import GoalError
from pdb_core.puzzle import Board, BoardSize, blank_first, blank_last, format_board
from pdb_query import Database, open_database
from scripts.reproduction.dual_lookups import DualSolver, dual_goal
from solver.textbook import ida_star
from tests.naive.boards_and_tables import naive_distances, naive_dual, naive_moves
from tests.solving import node_counts
from tests.tables import table_file

SIZE = BoardSize(3, 3)
GOAL = blank_last(SIZE)
PATTERNS = "1,2,3,4/5,6,7,8"


@pytest.fixture(scope="module")
def databases() -> Iterator[list[Database]]:
    """For goals with the blank in a corner, inside, and at an edge."""
    with ExitStack() as stack:
        goals = [dual_goal(GOAL, blank) for blank in (8, 4, 7)]
        yield [stack.enter_context(open_database(table_file(PATTERNS, "3x3", format_board(goal)))) for goal in goals]


def naive_h(board: Board, databases: list[Database]) -> int:
    """Return the largest sum of a board and of its dual state, looked up one by one."""
    dual, wanted = naive_dual(board, GOAL)
    found = [databases[0].probe(board).maximum]
    for database in databases:
        try:
            mapping = database.mappings(wanted)[0]
        except GoalError:
            continue
        found.append(database.probe(mapping.apply(dual)).maximum)
    assert len(found) == 2
    return max(found)


@pytest.mark.tiny
@pytest.mark.parametrize("goal", [blank_last(BoardSize(3, 2)), blank_first(BoardSize(3, 2)), (1, 0, 2, 3, 4, 5)])
def test_dual_board_is_as_far_from_its_own_goal(goal: Board) -> None:
    size = BoardSize(3, 2)
    for board, distance in naive_distances(size, goal).items():
        dual, wanted = naive_dual(board, goal)
        assert naive_distances(size, wanted)[dual] == distance
        assert wanted == dual_goal(goal, board.index(0))
        assert naive_dual(dual, wanted)[0] == board


def test_values_are_those_of_lookups_one_by_one(databases: list[Database]) -> None:
    distances = naive_distances(SIZE, GOAL)
    boards = random.Random(1).sample(sorted(distances), 1000)
    values = DualSolver(*databases, pathmax=False).values(np.array(boards, dtype=np.uint8)).tolist()
    assert values == [naive_h(board, databases) for board in boards]
    own = databases[0].probe_batch(np.array(boards, dtype=np.uint8)).maximum.tolist()
    assert all(
        of_board <= value <= distances[board] for of_board, value, board in zip(own, values, boards, strict=True)
    )
    assert sum(values) > sum(own)


def test_nodes_are_those_of_the_textbook(databases: list[Database]) -> None:
    distances = naive_distances(SIZE, GOAL)
    solver, inconsistent = DualSolver(*databases, pathmax=False), 0
    for board in random.Random(2).sample(sorted(distances), 30):
        solution = solver.solve(board)
        assert solution.length == distances[board]
        expected = ida_star(board, GOAL, SIZE, lambda at: naive_h(at, databases))
        assert node_counts(solution.iterations) == node_counts(expected.iterations)
        values = [naive_h(at, databases) for at in (board, *(after for _, after in naive_moves(board, SIZE)))]
        inconsistent += max(abs(value - values[0]) for value in values) > 1
    assert inconsistent


def test_pathmax_finds_the_same_lengths_with_fewer_nodes(databases: list[Database]) -> None:
    distances = naive_distances(SIZE, GOAL)
    boards = random.Random(3).sample(sorted(distances), 200)
    plain, believing = (
        [DualSolver(*databases, pathmax=pathmax).solve(board) for board in boards] for pathmax in (False, True)
    )
    assert [solution.length for solution in believing] == [distances[board] for board in boards]
    assert all(fewer.generated <= more.generated for fewer, more in zip(believing, plain, strict=True))
    assert sum(solution.generated for solution in believing) < sum(solution.generated for solution in plain)


def test_missing_tables_and_tables_in_bits_are_rejected(databases: list[Database]) -> None:
    with pytest.raises(GoalError, match="cannot serve the goal"):
        DualSolver(*databases[:2], pathmax=False)
    with open_database(table_file(PATTERNS, "3x3", encoding="bits")) as bits, pytest.raises(ValueError, match="bytes"):
        DualSolver(bits, pathmax=False)
