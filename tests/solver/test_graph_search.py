"""Searches that store nodes: what they claim, the nodes that they expand, limits. Their lengths: test_agreement.py."""

import itertools
from typing import Any

import pytest

from pdb_core.board_size import BoardSize
from pdb_core.errors import GoalError, InputError, MemoryLimitError, TableMismatchError, UnsolvableError
from pdb_core.puzzle import Board, blank_last
from pdb_core.resources import available_memory
from solver.graph_search.graph_search import GRAPH_SEARCHES, GraphSolver
from solver.graph_search.node_table import NodeTable, packing_of
from solver.progress import Limits
from solver.solution import Solution
from solver.textbook import a_star, ida_star
from tests.naive.boards_and_tables import naive_distances, naive_manhattan
from tests.solving import CENTRE, HARDEST_8, S3, S4, UNSOLVABLE, database_for, hard_board


def search_hardest(size: BoardSize, search: str, *, limits: Limits | None = None, **options: Any) -> Solution:
    """Search the hardest board of the 8-puzzle, or one of the hardest of the 15-puzzle, with Manhattan distance."""
    board = HARDEST_8 if size == S3 else hard_board()
    return GraphSolver(size, algorithm=search, **options).solve(board, limits=limits)


def check(solution: Solution, distance: int, weight: float) -> None:
    """Check the claims of a solution against the distance of its board."""
    assert solution.h <= solution.lower_bound <= distance <= solution.length
    assert solution.optimal == (solution.lower_bound == solution.length)
    if solution.algorithm == "weighted-a-star":
        assert solution.suboptimality_bound == (1.0 if solution.optimal else weight)
        assert solution.length <= weight * distance
    elif solution.algorithm == "greedy":
        assert solution.suboptimality_bound == (1.0 if solution.optimal else None)
    else:
        assert (solution.optimal, solution.suboptimality_bound) == (True, 1.0)
    assert solution.generated <= 4 * solution.expanded
    assert solution.peak_open <= solution.n_nodes


@pytest.mark.parametrize("search", GRAPH_SEARCHES)
@pytest.mark.parametrize(
    "text",
    [pytest.param("1 0 2/3 4 5", marks=pytest.mark.tiny), "1 2 3/8 0 4/7 6 5"],
)
def test_solutions_are_as_good_as_they_claim(search: str, text: str) -> None:
    goal = Board(text)
    size = goal.size
    found = GraphSolver(size, goal, algorithm=search).solve(goal)
    assert (found.moves, found.generated, found.expanded, found.n_nodes) == ((), 0, 0, 1)
    distances = naive_distances(size, goal)
    boards = [*itertools.islice(distances, 1, None, max(1, len(distances) // 25)), next(reversed(distances))]
    weights = (1.0, 1.01, 1.37, 3, 100, None) if search == "weighted-a-star" else (None,)
    solvers = [(weight or 1.5, GraphSolver(size, goal, algorithm=search, weight=weight)) for weight in weights]
    for (weight, solver), board in zip(itertools.cycle(solvers), boards, strict=False):
        check(solver.solve(board), distances[board], weight)


@pytest.mark.parametrize(
    ("search", "side", "weight", "length", "expanded"),
    [
        ("a-star", 3, None, 31, 6728),
        ("weighted-a-star", 3, 3, 35, 592),
        ("weighted-a-star", 4, 100, 134, 4093),  # the open list grows for nodes of more than 128 moves
        ("greedy", 3, None, 45, 66),
        ("breadth-first", 3, None, 31, 181_380),
        ("bidirectional", 3, None, 31, 10_068),
    ],
)
def test_nodes_of_the_hardest_board_are_those_on_record(
    search: str, side: int, weight: float | None, length: int, expanded: int
) -> None:
    found = search_hardest(BoardSize(side, side), search, weight=weight)
    assert (found.length, found.expanded) == (length, expanded)


@pytest.mark.parametrize("search", [a_star, ida_star])
def test_textbook_takes_any_number_as_the_value_of_a_heuristic(search: Any) -> None:
    """If it exceeds the moves left, no solution is called optimal."""
    board, goal = "2 0 3/4 7 1/8 5 6", blank_last(S3)
    length = naive_distances(S3, goal)[Board(board)]
    for part in (0.9, 0.7, 1 / 3, 2):
        found = search(board, lambda at, part=part: part * naive_manhattan(at, goal, S3))
        if part < 1:
            assert (found.length, found.optimal) == (length, True)
        else:
            assert found.length >= length
            assert (found.optimal, found.suboptimality_bound, found.lower_bound) == (False, None, 0)
    for value in (None, "3", float("nan"), float("inf")):
        with pytest.raises(InputError, match=r"the value of the heuristic is .*; give a number"):
            search(board, lambda _at, value=value: value)


def test_textbook_counts_reopened_and_open_nodes() -> None:
    goal = blank_last(S3)
    found = a_star("1 3 0/7 5 6/4 2 8", lambda at: naive_manhattan(at, goal, S3) if at[0] % 2 else 0)
    assert (found.length, found.expanded, found.reopened, found.peak_open) == (16, 1000, 15, 559)


@pytest.mark.parametrize(
    ("tables", "reopens"),
    [
        # The least distance over the blank's regions is not consistent; zero-aware distances are.
        ("1,2,5/3,4,6/7,8 bytes", True),
        ("1,2,5/3,4,6/7,8 bits", False),
        ("1,2,5/3,4 bits every-move; 1,2,5/3,4,6/7,8 bits", False),
    ],
)
def test_a_star_reopens_nodes_only_with_inconsistent_tables(tables: str, reopens: bool) -> None:
    """A wrong value on the way would show here, too."""
    goal = blank_last(S3)
    distances = naive_distances(S3, goal)
    given = [table.split() for table in tables.split(";")]
    databases = [database_for(partition, "3x3", "blank-last", *options) for partition, *options in given]
    solver, n_reopened = GraphSolver(S3, goal, databases=databases), 0
    for board in list(distances)[::6000]:
        found = solver.solve(board)
        assert found.h == max(database.probe(board).h for database in databases)
        assert found.length == distances[board]
        n_reopened += found.reopened
    assert (n_reopened > 0) == reopens


# Limits. Reports: test_solve_threads.py


@pytest.mark.parametrize("search", GRAPH_SEARCHES)
def test_limit_of_nodes_ends_the_search_with_a_lower_bound(search: str) -> None:
    found = search_hardest(S3, search, limits=Limits(max_nodes=60))
    assert (found.length, found.moves, found.optimal, found.suboptimality_bound) == (None, None, False, None)
    assert found.h <= found.lower_bound <= 31
    assert 60 <= found.generated < 64


def test_limit_of_time_ends_the_search_before_the_memory_is_full() -> None:
    assert search_hardest(S4, "a-star", limits=Limits(time_limit=0.3)).length is None


@pytest.mark.parametrize("search", ["a-star", "bidirectional"])
def test_search_without_memory_keeps_what_it_knows(search: str) -> None:
    with pytest.raises(MemoryLimitError, match=r"holds [\d,]+ nodes in .* MB.*12.0 MB; raise the memory") as caught:
        search_hardest(S4, search, memory_limit_bytes=12_000_000)
    known = caught.value.solution
    assert known.length is None
    assert known.n_bytes <= 12_000_000
    assert max(8, known.h - 1) < known.lower_bound <= 80
    assert known.generated >= known.n_nodes > 100_000
    with pytest.raises(MemoryLimitError, match="to begin with; raise the memory limit"):
        search_hardest(S3, search, memory_limit_bytes=1000)


# The table of nodes


@pytest.mark.tiny
def test_limit_is_three_quarters_of_the_available_memory() -> None:
    table = NodeTable(packing_of(S3, blank_last(S3)), n_notes=1, n_values=1, memory_limit_bytes=None)
    assert 0.7 < table.limit_bytes / available_memory() < 0.8


# Parameters and claims


@pytest.mark.tiny
def test_invalid_searches_are_rejected() -> None:
    with pytest.raises(UnsolvableError, match="cannot be solved"):
        GraphSolver(S3).solve(UNSOLVABLE)
    for options, match in (
        ({"algorithm": "depth-first"}, "give one of a-star, weighted"),
        ({"weight": 1.5}, "a-star has no weight; leave it out"),
        ({"algorithm": "weighted-a-star", "weight": 101.0}, "give a number from 1 to 100"),
        ({"algorithm": "weighted-a-star", "weight": float("nan")}, "give a number from 1 to 100"),
    ):
        with pytest.raises(InputError, match=match):
            GraphSolver(S3, **options)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        with pytest.raises(GoalError):
            GraphSolver(S3, CENTRE, databases=[database])
        with pytest.raises(TableMismatchError):
            GraphSolver(S4, databases=[database])


@pytest.mark.tiny
def test_solution_contradicts_impossible_optimal_lengths() -> None:
    """Optimal solutions: wrong.csv in tests/golden/doors."""
    goal = blank_last(S3)
    for length, lower_bound, bound, least, most in (
        (137, 21, 1.37, 100, 137),
        (45, 21, None, 21, 45),
        (None, 41, None, 41, 199),
    ):
        claims = Solution(goal, goal, length, None, False, bound, 0, lower_bound, 0, 0, 0.0)
        allowed = [shortest for shortest in range(200) if not claims.contradicts(shortest)]
        assert allowed == list(range(least, most + 1))
