"""Searches that store nodes: lengths, nodes that A* expands, bounds, limits, all sizes."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pdb_core.encoding import Encoding
from pdb_core.errors import (
    GoalError,
    InputError,
    LimitReachedError,
    MemoryLimitError,
    TableMismatchError,
    UnsolvableError,
)
from pdb_core.puzzle import BoardSize, Tiles, blank_first, blank_last, snail
from solver import ALGORITHMS, GraphSolver, Iteration, Limits, Solution
from solver.graph_search.graph_search import GRAPH_SEARCHES
from solver.graph_search.node_table import NodeTable
from solver.graph_search.node_table_kernels import N_NODES
from solver.heuristics import HEURISTICS, parse_heuristic
from solver.textbook import a_star
from tests import ROOT
from tests.naive.boards_and_tables import naive_distances, naive_manhattan, naive_moves
from tests.solver.test_heuristics import CONSISTENT
from tests.solving import S3, S4, database_for, hard_board

HARDEST_8 = (8, 6, 7, 2, 5, 4, 3, 0, 1)
OPTIMAL = ("a-star", "breadth-first", "bidirectional")
CENTRE = (1, 2, 3, 8, 0, 4, 7, 6, 5)


def search_best_first(
    board: Tiles,
    goal: Tiles,
    size: BoardSize,
    *,
    heuristic: str | None = None,
    limits: Limits | None = None,
    report: Callable[[Iteration], None] | None = None,
    **options: Any,
) -> Solution:
    heuristics = () if heuristic is None else parse_heuristic(heuristic)
    return GraphSolver(size, goal, heuristics=heuristics, **options).solve(board, limits=limits, report=report)


def check(solution: Solution, distance: int, weight: float = 1.0) -> None:
    """Check the claims of a solution against the distance of its board."""
    assert solution.length is not None
    assert solution.tiles is not None
    assert len(solution.tiles) == solution.length >= distance
    assert solution.h <= solution.lower_bound <= distance
    assert solution.is_optimal == (solution.lower_bound == solution.length)
    if solution.is_optimal:
        assert solution.length == distance
        assert solution.bound == 1.0
    if solution.search in OPTIMAL:
        assert solution.is_optimal
    elif solution.search == "weighted-a-star":
        assert solution.bound in (1.0, weight)
        assert solution.length <= weight * distance
    elif not solution.is_optimal:
        assert solution.bound is None
    assert solution.generated <= 4 * solution.expanded
    assert solution.peak_open <= solution.n_nodes


@pytest.mark.tiny
@pytest.mark.parametrize("search", GRAPH_SEARCHES)
@pytest.mark.parametrize(
    ("size", "goal"), [(BoardSize(2, 2), (1, 2, 3, 0)), (BoardSize(3, 2), (1, 0, 2, 3, 4, 5))], ids=["2x2", "3x2"]
)
def test_every_board_of_the_smallest_sizes_is_solved(search: str, size: BoardSize, goal: Tiles) -> None:
    distances = naive_distances(size, goal)
    found = search_best_first(goal, goal, size, search=search)
    assert (found.tiles, found.generated, found.expanded, found.n_nodes) == ((), 0, 0, 1)
    for board, distance in itertools.islice(distances.items(), 0, None, max(1, len(distances) // 40)):
        check(search_best_first(board, goal, size, search=search, weight=1.25), distance, 1.25)


@pytest.mark.parametrize("search", GRAPH_SEARCHES)
@pytest.mark.parametrize(
    ("size", "goal"),
    [(S3, blank_last(S3)), (S3, CENTRE), (BoardSize(4, 2), snail(BoardSize(4, 2)))],
    ids=["3x3", "3x3 centre", "4x2"],
)
def test_boards_of_small_sizes_are_solved(search: str, size: BoardSize, goal: Tiles) -> None:
    distances = naive_distances(size, goal)
    boards = [*itertools.islice(distances, 0, None, len(distances) // 25), next(reversed(distances))]
    for weight, board in zip(itertools.cycle((1.0, 1.01, 1.37, 3.0, 100.0)), boards, strict=False):
        check(search_best_first(board, goal, size, search=search, weight=weight), distances[board], weight)


def test_a_star_expands_all_nodes_with_f_below_the_optimum() -> None:
    goal = blank_last(S3)

    def h(board: Tiles) -> int:
        return naive_manhattan(board, goal, S3)

    distances = naive_distances(S3, goal)
    for board in list(distances)[100:60000:15000]:
        textbook = a_star(board, goal, S3, h)
        found = search_best_first(board, goal, S3, search="a-star", heuristic="manhattan")
        assert found.length == textbook.length == distances[board]
        # Manhattan distance is consistent: every node with f below the length is expanded once, with its least g, none
        # above; of those with f equal to it, as many as it takes.
        from_board = naive_distances_up_to(board, S3, distances[board])
        must = sum(g + h(at) < distances[board] for at, g in from_board.items())
        may = sum(g + h(at) <= distances[board] for at, g in from_board.items())
        assert must <= found.expanded < may
        assert must <= textbook.expanded < may
        assert found.reopened == 0


@pytest.mark.parametrize("name", HEURISTICS)
def test_a_star_reopens_nodes_only_with_inconsistent_heuristics(name: str) -> None:
    goal, n_reopened = blank_last(S3), 0
    distances = naive_distances(S3, goal)
    solver = GraphSolver(S3, goal, heuristics=[name])
    for board in list(distances)[::1500]:
        found = solver.solve(board)
        check(found, distances[board])
        n_reopened += found.reopened
    if name in CONSISTENT:
        assert n_reopened == 0
    elif name in ("corner-tiles", "korf-taylor"):  # others are inconsistent too seldom
        assert n_reopened > 0


def naive_distances_up_to(board: Tiles, size: BoardSize, depth: int) -> dict[Tiles, int]:
    """Return the boards within `depth` moves of `board`, with their distances."""
    distances, layer = {board: 0}, [board]
    for g in range(1, depth + 1):
        layer = list({near for at in layer for _tile, near in naive_moves(at, size)} - distances.keys())
        distances |= dict.fromkeys(layer, g)
    return distances


@pytest.mark.parametrize("encoding", ["bytes", "bits"])
@pytest.mark.parametrize("partition", ["1,2,5/3,4,6/7,8", "1,3,5,7/2,4,6,8"])
def test_a_star_with_databases_finds_the_distance(partition: str, encoding: Encoding) -> None:
    goal = blank_last(S3)
    distances = naive_distances(S3, goal)
    boards = list(distances)[::6000]
    n_reopened = 0
    with database_for(partition, "3x3", encoding=encoding) as database:
        for board in boards:
            found = search_best_first(board, goal, S3, search="a-star", databases=[database])
            assert found.h == database.probe(board).maximum
            check(found, distances[board])
            n_reopened += found.reopened
            greedy = search_best_first(board, goal, S3, search="greedy", databases=[database])
            check(greedy, distances[board])
            weighted = search_best_first(
                board, goal, S3, search="weighted-a-star", weight=1.2, databases=[database], heuristic="manhattan"
            )
            check(weighted, distances[board], 1.2)
    # The additive minimum over blank regions is not consistent; the blank-aware distances are.
    assert (n_reopened > 0) == (encoding == "bytes")


@pytest.mark.parametrize("encoding", ["bytes", "bits"])
def test_databases_serve_other_goals_and_larger_boards(encoding: Encoding) -> None:
    goal = blank_first(S4)
    board = (1, 5, 2, 3, 4, 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    with database_for("555", "4x4", encoding=encoding) as database:
        found = search_best_first(board, goal, S4, databases=[database])
        check(found, 2)
        with pytest.raises(GoalError):
            search_best_first(
                (2, 1, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), snail(S4), S4, databases=[database]
            )
        with pytest.raises(TableMismatchError):
            search_best_first(HARDEST_8, blank_last(S3), S3, databases=[database])


@pytest.mark.parametrize("search", GRAPH_SEARCHES)
def test_limit_of_nodes_ends_the_search_with_a_lower_bound(search: str) -> None:
    found = search_best_first(HARDEST_8, blank_last(S3), S3, search=search, limits=Limits(nodes=60))
    assert found.length is None
    assert found.tiles is None
    assert not found.is_optimal
    assert found.bound is None
    assert found.h <= found.lower_bound <= 31
    assert 60 <= found.generated < 64


@pytest.mark.parametrize("search", ["a-star", "breadth-first", "bidirectional"])
def test_limit_of_time_is_kept(search: str) -> None:
    search_best_first(HARDEST_8, blank_last(S3), S3, search=search)
    start = time.perf_counter()
    found = search_best_first(hard_board(), blank_last(S4), S4, search=search, limits=Limits(seconds=0.3))
    assert found.length is None
    assert time.perf_counter() - start < 2.5


@pytest.mark.parametrize("search", ["a-star", "weighted-a-star", "breadth-first", "bidirectional"])
def test_limit_of_memory_ends_the_search(search: str) -> None:
    limit = 12_000_000
    with pytest.raises(MemoryLimitError, match=r"holds [\d,]+ nodes in .* MB.*12.0 MB; raise --memory-limit") as caught:
        search_best_first(hard_board(), blank_last(S4), S4, search=search, weight=1.01, memory_limit_bytes=limit)
    known = caught.value.solution
    assert isinstance(known, Solution)
    assert known.length is None
    assert known.n_bytes <= limit
    assert known.h <= known.lower_bound <= 80
    assert known.generated >= known.n_nodes > 100_000
    assert isinstance(caught.value, LimitReachedError)
    assert caught.value.exit_code == 5


@pytest.mark.parametrize("search", GRAPH_SEARCHES)
def test_memory_stays_within_its_limit_and_that_decides_nothing_else(search: str) -> None:
    goal = blank_last(S3)
    whole = search_best_first(HARDEST_8, goal, S3, search=search, weight=1.5)
    for limit in (whole.n_bytes, whole.n_bytes - 1, (whole.n_bytes * 9) // 10):
        try:
            found = search_best_first(HARDEST_8, goal, S3, search=search, weight=1.5, memory_limit_bytes=limit)
        except MemoryLimitError:
            continue
        assert found.n_bytes <= limit
        assert (found.length, found.expanded, found.generated) == (whole.length, whole.expanded, whole.generated)


@pytest.mark.parametrize("search", OPTIMAL)
@pytest.mark.parametrize("name", ["rows", "values", "slots"])
def test_search_that_gets_no_memory_from_the_system_keeps_what_it_knows(
    search: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at `ulimit -v`, whichever array cannot grow."""
    make_room = NodeTable.make_room

    class Full(np.ndarray[Any, Any]):
        def resize(self, *_sizes: Any, **_options: Any) -> None:
            raise MemoryError

    def fail_later(table: NodeTable, between: Callable[[], object]) -> None:
        if table.counters[N_NODES] > 30_000:
            table.nodes = table.nodes._replace(**{name: getattr(table.nodes, name).view(Full)})
        make_room(table, between)

    monkeypatch.setattr(NodeTable, "make_room", fail_later)
    with pytest.raises(MemoryLimitError, match="gets no more from the system; raise the limit") as caught:
        search_best_first(hard_board(), blank_last(S4), S4, search=search)
    found = caught.value.solution
    assert isinstance(found, Solution)
    assert found.length is None
    assert found.generated > 30_000
    assert found.lower_bound > 8


@pytest.mark.tiny
def test_limit_below_the_smallest_table_raises() -> None:
    with pytest.raises(MemoryLimitError, match="to begin with; raise --memory-limit"):
        search_best_first(HARDEST_8, blank_last(S3), S3, memory_limit_bytes=1000)


@pytest.mark.parametrize("search", ["a-star", "breadth-first", "bidirectional"])
def test_report_gets_progress_and_can_end_the_search(search: str) -> None:
    told: list[Iteration] = []

    def report(iteration: Iteration) -> None:
        told.append(iteration)
        if len(told) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_best_first(hard_board(), blank_last(S4), S4, search=search, report=report)
    assert [i.threshold for i in told] == sorted(i.threshold for i in told)
    assert [i.generated for i in told] == sorted(i.generated for i in told)
    assert told[-1].expanded > told[0].expanded


@pytest.mark.tiny
def test_every_algorithm_is_documented() -> None:
    page = (ROOT / "docs" / "searches.md").read_text(encoding="utf-8")
    assert set(GRAPH_SEARCHES) < set(ALGORITHMS)
    assert all(f"`{name}`" in page for name in ALGORITHMS)


@pytest.mark.tiny
def test_invalid_searches_are_rejected() -> None:
    goal = blank_last(S3)
    with pytest.raises(UnsolvableError, match="cannot be solved"):
        search_best_first((2, 1, 3, 4, 5, 6, 7, 8, 0), goal, S3)
    with pytest.raises(InputError, match="give one of a-star, weighted-a-star, greedy, breadth-first, bidirectional"):
        search_best_first(HARDEST_8, goal, S3, search="depth-first")
    with pytest.raises(InputError, match="is not known; give one of misplaced"):
        search_best_first(HARDEST_8, goal, S3, heuristic="euclid")
    for weight in (0.99, 101.0, float("nan")):
        with pytest.raises(InputError, match="a suboptimality bound from 1"):
            search_best_first(HARDEST_8, goal, S3, search="weighted-a-star", weight=weight)


@pytest.mark.tiny
def test_solution_contradicts_impossible_optimal_lengths() -> None:
    def claims(length: int | None, lower_bound: int, bound: float | None) -> Solution:
        goal, is_optimal = blank_last(S3), bound == 1.0
        return Solution(goal, goal, length, None, is_optimal, bound, 0, lower_bound, 0, 0, 0.0)

    for solution, allowed in (
        (claims(31, 31, 1.0), {31}),
        (claims(33, 25, 1.5), set(range(25, 34))),
        (claims(33, 11, 1.5), set(range(22, 34))),
        (claims(137, 21, 1.37), set(range(100, 138))),
        (claims(45, 21, None), set(range(21, 46))),
        (claims(None, 41, None), set(range(41, 200))),
    ):
        assert {shortest for shortest in range(200) if not solution.contradicts(shortest)} == allowed


@pytest.mark.tiny
@pytest.mark.parametrize("search", ["a-star", "weighted-a-star", "greedy"])
def test_open_list_grows_for_large_keys(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = BoardSize(3, 2)
    goal = blank_last(size)
    boards = list(naive_distances(size, goal))[::37]

    def solve_all() -> list[tuple[int | None, int]]:
        solver = GraphSolver(size, goal, search=search, heuristics=["misplaced"])
        return [(found.length, found.expanded) for found in map(solver.solve, boards)]

    roomy = solve_all()
    monkeypatch.setattr("solver.graph_search.best_first._FIRST_G", 1)
    assert solve_all() == roomy
