"""IDA* without databases: optimal solutions, the nodes of the textbook, threads, reference node counts."""

import csv
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pdb_core.errors import GoalError, InputError
from pdb_core.puzzle import BoardSize, Tiles, blank_first, blank_last
from pdb_query import read_instances
from solver import HeuristicSolver, Limits, WorkerPool, replay
from solver.engine.ida_star import IdaStar
from solver.engine.search_result import SearchResult
from solver.engine.worker_pool import in_parallel
from solver.heuristics import HEURISTICS, heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate
from solver.heuristics.heuristic_engine import heuristic_engine
from solver.move_pruning.move_pruning import DEFAULT_LENGTH, UNDO_LENGTH, pruning_fsm
from solver.textbook import UNDOING, ida_star as textbook_ida_star
from tests import ROOT
from tests.naive.boards_and_tables import naive_manhattan
from tests.solving import S3, S4, duplicates_up_to, node_counts

GOLDEN = ROOT / "tests" / "golden" / "classic.csv"
CENTRE = (1, 2, 3, 8, 0, 4, 7, 6, 5)
# Tables of triples take seconds; the engine evaluates them as it does pairs.
NAMES = [name for name in HEURISTICS if name != "triples"]
CHOSEN = [*((name,) for name in NAMES), tuple(NAMES)]


def ida_star_for(
    size: BoardSize, goal: Tiles, names: Sequence[str], *, plain: bool = False, keeps_equals: bool = False
) -> IdaStar:
    fsm = pruning_fsm(UNDO_LENGTH if plain else DEFAULT_LENGTH, keeps_equals=keeps_equals)
    return IdaStar(heuristic_engine(size, goal, names, fsm), operator_order=plain)


def solved(searcher: IdaStar, board: Tiles, goal: Tiles, size: BoardSize) -> SearchResult:
    result = searcher.search(board)
    assert result.tiles is not None
    replay(board, result.tiles, goal, size)
    return result


@pytest.mark.tiny
@pytest.mark.parametrize("size", [BoardSize(2, 3), BoardSize(5, 5)], ids=str)
@pytest.mark.parametrize(
    "tracked", [("manhattan",), ("manhattan", "linear-conflict"), ("manhattan", "walking-distance")]
)
def test_heuristic_below_the_tracked_sums_finds_optimal_lengths(size: BoardSize, tracked: tuple[str, ...]) -> None:
    goal = blank_last(size)
    searcher = ida_star_for(size, goal, tracked)
    lower = replace(searcher.engine, heuristics=heuristic_tables(["misplaced"], size, goal))
    for n_moves in range(0, 20, 3):
        board = moved_at_random(goal, size, n_moves, n_moves)
        result = IdaStar(lower, operator_order=False).search(board, Limits(nodes=100_000))
        assert result.tiles is not None
        assert len(result.tiles) == len(solved(searcher, board, goal, size).tiles or ())


def moved_at_random(goal: Tiles, size: BoardSize, n_moves: int, seed: int) -> Tiles:
    """Return a board at most this many moves from the goal."""
    cells, blank = list(goal), goal.index(0)
    rng = np.random.default_rng(seed)
    for _ in range(n_moves):
        cell = int(rng.choice(size.neighbours[blank]))
        cells[blank], cells[cell] = cells[cell], 0
        blank = cell
    return tuple(cells)


cached_tables = cache(heuristic_tables)


def naive_h(board: Tiles, goal: Tiles, size: BoardSize, names: tuple[str, ...]) -> int:
    """Return the largest of the heuristics, by the kernel, which has its own twins, and Manhattan distance."""
    largest = evaluate(cached_tables(names, size, goal), np.array(board, dtype=np.uint8))
    return int(largest) if names == ("misplaced",) else max(int(largest), naive_manhattan(board, goal, size))


@pytest.mark.parametrize("plain", [pytest.param(True, marks=pytest.mark.tiny), False])
@pytest.mark.parametrize("names", CHOSEN)
def test_nodes_of_each_threshold_are_those_of_the_textbook(names: tuple[str, ...], plain: bool) -> None:
    duplicates = UNDOING if plain else duplicates_up_to(DEFAULT_LENGTH)
    for goal in (blank_last(S3), CENTRE):
        searcher = ida_star_for(S3, goal, names, plain=plain)
        for board in (moved_at_random(goal, S3, 24, seed) for seed in range(3)):
            if board == goal:
                continue
            result = searcher.search(board)
            textbook = textbook_ida_star(
                board, goal, S3, lambda at, goal=goal: naive_h(at, goal, S3, names), pruned=duplicates
            )
            assert result.h == textbook.h
            expected = node_counts(textbook.iterations)
            found = node_counts(result.iterations)
            # Only the order of the textbook has its nodes in the last threshold.
            assert found == expected if plain else found[:-1] == expected[:-1]


@pytest.mark.tiny
def test_boards_larger_than_6x6_are_rejected() -> None:
    size = BoardSize(7, 4)
    with pytest.raises(InputError, match="go to boards of 6x6"):
        ida_star_for(size, blank_last(size), ["manhattan"])


# Limits


@pytest.mark.slow
def test_slices_of_a_slow_heuristic_are_short() -> None:
    size = BoardSize(5, 5)
    goal = blank_last(size)
    searcher = ida_star_for(size, goal, ["triples"])
    searcher.search(moved_at_random(goal, size, 20, 1))
    board = (23, 24, *range(22, 4, -1), 4, 3, 1, 2, 0)
    told: list[float] = []
    searcher.search(board, Limits(seconds=1), report=lambda _iteration: told.append(time.perf_counter()))
    # Some 60 ms each on a machine that is not busy: half a million nodes, as of other heuristics, take seconds.
    assert len(told) > 5


# Threads


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("name", ["manhattan", "linear-conflict"])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_helpers_change_neither_lengths_nor_finished_thresholds(n_workers: int, name: str) -> None:
    goal = blank_last(S4)
    searcher = ida_star_for(S4, goal, [name])
    for seed in range(3):
        board = moved_at_random(goal, S4, 150, seed)
        alone = solved(searcher, board, goal, S4)
        with WorkerPool(n_workers) as pool:
            shared = searcher.search(board, pool=pool)
        assert shared.tiles is not None
        replay(board, shared.tiles, goal, S4)
        assert len(shared.tiles) == len(alone.tiles or ())
        assert node_counts(shared.iterations[:-1]) == node_counts(alone.iterations[:-1])


# Published boards


def test_nodes_of_published_boards_are_those_on_record() -> None:
    """Exact to the node: any change of the search shows here."""
    with GOLDEN.open(encoding="utf-8") as file:
        records = [(row["heuristic"], row["search"], row["id"], int(row["generated"])) for row in csv.DictReader(file)]
    instances = {instance.id: instance for instance in read_instances("korf100", None)}
    goal = blank_first(S4)
    assert len({identity for _name, _search, identity, _generated in records}) > 20
    for name, kind in sorted({(name, kind) for name, kind, _id, _generated in records}):
        searcher = ida_star_for(S4, goal, [name], plain=kind == "plain")
        expected = {identity: generated for *key, identity, generated in records if key == [name, kind]}

        def solve(identity: str, _report: object, _pool: object, searcher=searcher) -> int:
            result = searcher.search(instances[identity].board)
            assert len(result.tiles or ()) == instances[identity].optimal_length
            return result.generated

        assert dict(zip(expected, in_parallel(expected, solve, n_threads=2), strict=True)) == expected


@pytest.mark.tiny
def test_other_goals_are_rejected() -> None:
    solver = HeuristicSolver(S3, blank_last(S3), ["manhattan"])
    with pytest.raises(GoalError, match="make one for another goal"):
        solver.solve((1, 2, 3, 4, 5, 6, 7, 0, 8), CENTRE)
