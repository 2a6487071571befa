"""IDA* without databases: the nodes of the textbook. Its lengths: test_agreement.py; nodes on record: test_solve.py."""

import time
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles, blank_last, snail
from solver.heuristics import HEURISTICS, heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.progress import Limits
from solver.pruning.fsm import DEFAULT_LENGTH
from solver.textbook import UNDOING, ida_star
from tests.naive.boards_and_tables import naive_manhattan
from tests.solving import S3, duplicates_up_to, node_counts, walked

cached_tables = cache(heuristic_tables)


def naive_h(board: Tiles, goal: Tiles, size: BoardSize, names: Sequence[str]) -> int:
    """Return the largest of the heuristics, by the kernel, which has its own twins, and Manhattan distance."""
    largest = int(evaluate(cached_tables(tuple(names), size, goal), np.array(board, dtype=np.uint8)))
    if all(HEURISTICS[name].than_manhattan != "higher" for name in names):
        return largest
    # Manhattan distance prunes along with all others, see `Heuristics.engine`.
    return max(largest, naive_manhattan(board, goal, size))


@pytest.mark.parametrize(
    ("size", "names", "plain"),
    [
        *(pytest.param(S3, [name], True, marks=pytest.mark.tiny) for name in HEURISTICS),
        *((S3, [name], False) for name in HEURISTICS),
        (S3, HEURISTICS, True),
        (BoardSize(6, 3), ["linear-conflict"], True),
    ],
)
def test_nodes_of_each_threshold_are_those_of_the_textbook(size: BoardSize, names: list[str], plain: bool) -> None:
    duplicates = UNDOING if plain else duplicates_up_to(DEFAULT_LENGTH)
    for goal in (blank_last(size), snail(size)):
        solver = HeuristicSolver(size, goal, names, plain=plain)
        for seed in range(3):
            board = walked(goal, size, 20, np.random.default_rng(seed))
            solution = solver.solve(board)
            textbook = ida_star(
                board, lambda at, goal=goal: naive_h(at, goal, size, names), goal, size, pruned=duplicates
            )
            assert solution.h == textbook.h
            expected = node_counts(textbook.thresholds)
            found = node_counts(solution.thresholds)
            # Only the order of the textbook has its nodes in the last threshold.
            assert found == expected if plain else found[:-1] == expected[:-1]


@pytest.mark.slow
def test_time_limit_of_a_slow_heuristic_is_kept() -> None:
    solver = HeuristicSolver("5x5", heuristics="pairs")
    start = time.perf_counter()
    assert solver.solve((23, 24, *range(22, 4, -1), 4, 3, 1, 2, 0), limits=Limits(time_limit=1)).length is None
    # A slice takes some 60 ms. With as many nodes as of other heuristics, it takes seconds.
    assert time.perf_counter() - start < 2
